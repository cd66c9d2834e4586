/* kernel/peak/avx2.c - one instruction for each vector. */
#include <immintrin.h>

#include "kernel/peak/peak.h"

typedef __m256 vector;
#define SPREAD(x) _mm256_set1_ps(x)
#define MULTIPLY_ADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define LOGICAL_AND(x, y) _mm256_and_ps(x, y)
#define KEEP(x) __asm__("" : "+v"(x))
#define NAME hu_peak_avx2
#define MIXED_NAME hu_peak_mixed_avx2

#include "kernel/peak/body.inc"
