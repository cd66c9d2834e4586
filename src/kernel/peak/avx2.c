/* kernel/peak/avx2.c - one fused instruction for each vector. */
#include <immintrin.h>

#include "kernel/peak/peak.h"

typedef __m256 vector;
#define SPREAD(x) _mm256_set1_ps(x)
#define MULTIPLY_ADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define NAME hu_peak_avx2

#include "kernel/peak/body.inc"
