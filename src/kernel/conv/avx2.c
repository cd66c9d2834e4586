/* kernel/conv/avx2.c - tiles of 6 places x 16 channels: 12 sums in 16 registers. */
#include <immintrin.h>

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8, PLACES = 6 };
#define HU_PLACES 6

#define multiply_add(a, b, c) ((vector)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define spread(x) ((vector)_mm256_broadcast_ss(x))

#define HU_RECORD hu_conv_kernels_avx2
#include "kernel/conv/body.inc"

#define HU_WINOGRAD_RECORD hu_winograd_kernels_avx2
#include "kernel/conv/winograd.inc"
