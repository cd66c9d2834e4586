/* kernel/peak/avx512.c - one instruction for each vector. */
#include <immintrin.h>

#include "kernel/peak/peak.h"

typedef __m512 vector;
#define SPREAD(x) _mm512_set1_ps(x)
#define MULTIPLY_ADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#define LOGICAL_AND(x, y) _mm512_and_ps(x, y)
#define KEEP(x) __asm__("" : "+v"(x))
#define NAME hu_peak_avx512
#define MIXED_NAME hu_peak_mixed_avx512

#include "kernel/peak/body.inc"
