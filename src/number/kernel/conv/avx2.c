/* kernel/conv/avx2.c - tiles of 6 places x 16 channels: 12 sums in 16 registers. */
#include <immintrin.h>

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
typedef __m256 held;
enum { LANES = 8, PLACES = 6 };
#define HU_PLACES 6

#define multiply_add(a, b, c) _mm256_fmadd_ps(a, b, c)
#define spread(x) _mm256_broadcast_ss(x)

#define HU_RECORD hu_conv_kernels_avx2
#include "kernel/conv/body.inc"

#define HU_WINOGRAD_RECORD hu_winograd_kernels_avx2
#include "kernel/conv/winograd.inc"
