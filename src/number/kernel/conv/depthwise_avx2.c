/* kernel/conv/depthwise_avx2.c - eight lanes. */
#include <immintrin.h>
#include <stdint.h>

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };

#define multiply_add(a, b, c) ((vector)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

static inline vector read_part(const float *p, int64_t n) {
    static const int32_t mask[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    __m256i lanes = _mm256_loadu_si256((const __m256i *)(const void *)(mask + LANES - n));
    return (vector)_mm256_maskload_ps(p, lanes);
}

#define HU_RECORD hu_depthwise_kernels_avx2
#include "kernel/conv/depthwise.inc"
