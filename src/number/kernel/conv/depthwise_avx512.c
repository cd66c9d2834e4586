/* kernel/conv/depthwise_avx512.c - eight lanes too, for lines of 14 or 29 channels are usual, but
 * 32 registers. */
#include <immintrin.h>
#include <stdint.h>

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };

#define multiply_add(a, b, c) ((vector)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

static inline vector read_part(const float *p, int64_t n) {
    return (vector)_mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), p);
}

#define HU_RECORD hu_depthwise_kernels_avx512
#include "kernel/conv/depthwise.inc"
