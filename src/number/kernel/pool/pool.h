/* kernel/pool/pool.h - the largest numbers of windows of [H, W, C], channel by channel, and the way
 * back; one body per ISA, the same bits on every ISA. */
#ifndef HU_KERNEL_POOL_POOL_H
#define HU_KERNEL_POOL_POOL_H
#include <stdint.h>

#include "base/cpu.h"

/* One window, as far as it lies in the picture. Its taps have numbers, row by row of the whole
 * window. */
typedef struct hu_pool_window {
    int64_t channels, row_step; /* floats from one row of the picture to the next */
    int64_t rows, columns;
    int64_t first_tap, taps_per_row;
} hu_pool_window;

typedef struct hu_pool_kernels {
    /* y [channels]: the largest of the window that begins at x, or its first NaN; taps [channels]:
     * the number of the first such tap, below 256. */
    void (*largest)(const hu_pool_window *window, const float *x, float *y, uint8_t *taps);
    /* dy [channels] is added to the window that begins at dx, in each channel at its tap; +0 to the
     * others, which are no -0. */
    void (*spread)(const hu_pool_window *window, const float *dy, const uint8_t *taps, float *dx);
} hu_pool_kernels;

extern const hu_pool_kernels HU_OF_ISA(hu_pool_kernels);

/* The record of hu_cpu_isa(). */
static inline const hu_pool_kernels *hu_pool(void) {
    static const hu_pool_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_pool_kernels)};
    return of_isa[hu_cpu_isa()];
}

#endif
