/* kernel/fused/fused.h - elementwise float32 kernels that are bound by memory, one body per ISA,
 * the same bits on every ISA. count is in elements; outputs may be the inputs' own arrays. */
#ifndef HU_KERNEL_FUSED_FUSED_H
#define HU_KERNEL_FUSED_FUSED_H
#include <stdint.h>

#include "base/cpu.h"

/* The loops of one instruction set. One rounding per operation: no fused multiply-add. */
typedef struct hu_fused_kernels {
    /* y = (x - center) * scale + offset; the last three are [width], repeated along count. */
    void (*normalise)(int64_t count, int64_t width, const float *x, const float *center,
                      const float *scale, const float *offset, float *y);
    /* The same, then relu as below; width a multiple of 8. */
    void (*normalise_relu)(int64_t count, int64_t width, const float *x, const float *center,
                           const float *scale, const float *offset, float *y, uint8_t *bits);
    /* dx = scale * ((dy - mean) - (x - center) * slope); vectors [width] as above. */
    void (*normalise_backward)(int64_t count, int64_t width, const float *dy, const float *x,
                               const float *center, const float *scale, const float *mean,
                               const float *slope, float *dx);
    /* y = x if x > 0 or NaN, else +0; bit i mod 8 of bits[i / 8] says which; the unused bits of the
     * last byte are 0. bits: (count + 7) / 8 bytes. */
    void (*relu)(int64_t count, const float *x, float *y, uint8_t *bits);
    /* dx = dy where the bit is 1, else +0. */
    void (*relu_backward)(int64_t count, const float *dy, const uint8_t *bits, float *dx);
    /* y = low if x < low, high if x > high, else x; bits as above say where y is x, or x NaN. */
    void (*clip)(int64_t count, float low, float high, const float *x, float *y, uint8_t *bits);
    /* y = a + b */
    void (*add)(int64_t count, const float *a, const float *b, float *y);
    /* The same, then relu as above. */
    void (*add_relu)(int64_t count, const float *a, const float *b, float *y, uint8_t *bits);
} hu_fused_kernels;

extern const hu_fused_kernels HU_OF_ISA(hu_fused_kernels);

/* The record of hu_cpu_isa(). */
static inline const hu_fused_kernels *hu_fused(void) {
    static const hu_fused_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_fused_kernels)};
    return of_isa[hu_cpu_isa()];
}

#endif
