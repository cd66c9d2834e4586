/* kernel/conv/avx512.c - tiles of 8 places x 16 channels: the fewest that hide the latency. */
#include <immintrin.h>

typedef float vector __attribute__((vector_size(64), aligned(4), may_alias));
typedef __m512 held;
enum { LANES = 16, PLACES = 8 };
#define HU_PLACES 8

#define multiply_add(a, b, c) _mm512_fmadd_ps(a, b, c)
#define spread(x) _mm512_set1_ps(*(x))

#define HU_RECORD hu_conv_kernels_avx512
#include "kernel/conv/body.inc"

#define HU_HAS_16_LANES 1
#define HU_WINOGRAD_RECORD hu_winograd_kernels_avx512
#include "kernel/conv/winograd.inc"
