/* kernel/reduce/columns.h - float32 sums down the columns of a short matrix, one body per ISA.
 *
 * x, dy: [rows, width]; everything else: [width]; width is a multiple of 8. Row order, one float32
 * rounding per operation: the same bits on every ISA. rows is small (hu_channel_* pass at most
 * 128), so that float32 is enough; callers add the results up in double.
 */
#ifndef HU_KERNEL_REDUCE_COLUMNS_H
#define HU_KERNEL_REDUCE_COLUMNS_H
#include <stdint.h>

#include "base/cpu.h"

/* Largest and smallest numbers of columns, and their rows. Arrays belong to the caller. */
typedef struct hu_reduce_extremes {
    float *high, *low;         /* [width] */
    int32_t *high_at, *low_at; /* [width] */
} hu_reduce_extremes;

/* The loops of one instruction set. Outputs are overwritten. */
typedef struct hu_reduce_kernels {
    /* sum = sum of x */
    void (*sums)(int64_t rows, int64_t width, const float *x, float *sum);
    /* sum = sum of (x - shift), square = sum of (x - shift)^2 */
    void (*moments)(int64_t rows, int64_t width, const float *x, const float *shift, float *sum,
                    float *square);
    /* sum = sum of dy, product = sum of dy * (x - center) */
    void (*products)(int64_t rows, int64_t width, const float *dy, const float *x,
                     const float *center, float *sum, float *product);
    /* Extremes of each column and the rows where they first stand. A NaN is none; where there is
     * nothing else, high is -infinity, low +infinity, and the row 0. */
    void (*extremes)(int64_t rows, int64_t width, const float *x, hu_reduce_extremes *to);
    /* lane[i mod 16] += x[i] * y[i] for i < n, ascending; lane: 16 doubles. A product of two floats
     * is exact in double precision. */
    void (*lane_products)(int64_t n, const float *x, const float *y, double *lane);
} hu_reduce_kernels;

extern const hu_reduce_kernels HU_OF_ISA(hu_reduce_columns);

/* The record of hu_cpu_isa(). */
const hu_reduce_kernels *hu_reduce(void);

#endif
