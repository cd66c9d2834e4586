/* kernel/conv/depthwise_avx2.c - eight lanes. */
#include <immintrin.h>

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };

#define multiply_add(a, b, c) ((vector)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

#define HU_RECORD hu_depthwise_kernels_avx2
#include "kernel/conv/depthwise.inc"
