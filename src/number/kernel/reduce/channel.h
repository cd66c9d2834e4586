/* kernel/reduce/channel.h - per-channel sums of [rows, channels] arrays (channels last), in double.
 *
 * The array is read as [rows*channels/width, width] with width a multiple of channels, so that
 * every channel count fills whole vectors. Blocks of 128 such rows are summed in float32, blocks
 * and then columns are added in double: the order depends on rows and channels only, never on ISA
 * or threads. scratch: hu_channel_scratch_bytes(channels) bytes, 64-byte aligned.
 */
#ifndef HU_KERNEL_REDUCE_CHANNEL_H
#define HU_KERNEL_REDUCE_CHANNEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* Length of the rows that the kernels see: a multiple of channels and of 8. */
int64_t hu_channel_width(int64_t channels);

/* wide[j] = narrow[j mod channels] for j < hu_channel_width(channels). */
void hu_channel_widen(int64_t channels, const float *narrow, float *wide);

/* Bytes of scratch of the functions below but hu_channel_totals and hu_channel_extremes. */
size_t hu_channel_scratch_bytes(int64_t channels);

/* sum[c] = sum of x[., c]. */
void hu_channel_sums(int64_t rows, int64_t channels, const float *x, void *scratch, double *sum);

/* to[c] = sum of x[., c] rounded once, or added to what is present. scratch:
 * hu_channel_total_scratch_bytes(channels) bytes. */
void hu_channel_totals(int64_t rows, int64_t channels, const float *x, bool adds, void *scratch,
                       float *to);
size_t hu_channel_total_scratch_bytes(int64_t channels);

/* mean[c], and m2[c] = sum of (x[., c] - mean[c])^2; rows >= 1. */
void hu_channel_moments(int64_t rows, int64_t channels, const float *x, void *scratch, double *mean,
                        double *m2);

/* sum[c] = sum of dy[., c]; product[c] = sum of dy[., c] * (x[., c] - center[c]). */
void hu_channel_products(int64_t rows, int64_t channels, const float *dy, const float *x,
                         const float *center, void *scratch, double *sum, double *product);

/* Extremes of the channels of an array, and the rows where they first stand. */
typedef struct hu_channel_range {
    float *high, *low;         /* [channels] */
    int64_t *high_at, *low_at; /* [channels] */
} hu_channel_range;

/* high[c], low[c] = largest and smallest x[., c]; high_at[c], low_at[c] = the first row that holds
 * it. -0 and +0 are the same number. NaNs are passed over. Where a channel has nothing above
 * -infinity, high is -infinity and high_at 0; low likewise. 1 <= rows < 2^31. scratch:
 * hu_channel_range_scratch_bytes(channels) bytes. */
void hu_channel_extremes(int64_t rows, int64_t channels, const float *x, void *scratch,
                         const hu_channel_range *range);
size_t hu_channel_range_scratch_bytes(int64_t channels);

/* (n, mean, m2) <- the union with (n_right, mean_right, m2_right) (Chan, Golub and LeVeque, 1979),
 * for count columns with the same n. */
void hu_moments_merge(int64_t count, double n, double *mean, double *m2, double n_right,
                      const double *mean_right, const double *m2_right);

/* Float32 sums down the columns of a short matrix, one body per ISA.
 *
 * x, dy: [rows, width]; everything else: [width]; width is a multiple of 8. Row order, one float32
 * rounding per operation: the same bits on every ISA. rows is small (hu_channel_* pass at most
 * 128), so that float32 is enough; callers add the results up in double. */

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

/* Long sums in double precision, in an order that vectors keep: element i
 * is added to sum i mod 16, in order, and these sums are added at the end. */

enum { HU_LANES = 16 };

typedef struct hu_lanes {
    double sum[HU_LANES];
} hu_lanes;

/* Adds n terms, from element `first` on. */
void hu_lanes_add(hu_lanes *lanes, int64_t first, int64_t n, const double *term);

/* Adds the terms x[i] * y[i], which are exact, likewise. */
void hu_lanes_add_products(hu_lanes *lanes, int64_t first, int64_t n, const float *x,
                           const float *y);

double hu_lanes_total(const hu_lanes *lanes);

#endif
