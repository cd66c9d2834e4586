/* kernel/conv/scalar.c - four lanes that every compiler knows, fused by the C library. */
#include <math.h>

typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));
typedef vector held;
enum { LANES = 4, PLACES = 6 };
#define HU_PLACES 6

static inline vector multiply_add(vector a, vector b, vector c) {
    return (vector){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]),
                    fmaf(a[3], b[3], c[3])};
}

static inline vector spread(const float *x) {
    return (vector){*x, *x, *x, *x};
}

#define HU_RECORD hu_conv_kernels_scalar
#include "kernel/conv/body.inc"

#define HU_WINOGRAD_RECORD hu_winograd_kernels_scalar
#include "kernel/conv/winograd.inc"
