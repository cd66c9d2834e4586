/* kernel/conv/depthwise_scalar.c - four lanes that every compiler knows, fused by the C library. */
#include <math.h>
#include <stdint.h>

typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));
enum { LANES = 4 };

static inline vector multiply_add(vector a, vector b, vector c) {
    return (vector){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]),
                    fmaf(a[3], b[3], c[3])};
}

static inline vector read_part(const float *p, int64_t n) {
    vector x = {0};
    for (int64_t i = 0; i < n; i++) x[i] = p[i];
    return x;
}

#define HU_RECORD hu_depthwise_kernels_scalar
#include "kernel/conv/depthwise.inc"
