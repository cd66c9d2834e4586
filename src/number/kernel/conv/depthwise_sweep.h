/* kernel/conv/depthwise_sweep.h - the inner loops of depthwise convolutions, one body per ISA, the
 * same bits on every ISA: lanes are independent sums. Steps are in floats. */
#ifndef HU_KERNEL_CONV_DEPTHWISE_SWEEP_H
#define HU_KERNEL_CONV_DEPTHWISE_SWEEP_H
#include "base/cpu.h"
#include "kernel/conv/conv.h"

enum { HU_DEPTHWISE_LANES = 8 }; /* most lanes of a body */

/* Lines of `length` neighbouring sums at rows x columns places that the same taps reach. Number i
 * of a line begins with start[i % period] and adds, tap by tap, its source times weights[tap][i %
 * period]. period is a multiple of HU_DEPTHWISE_LANES or at least length; behind each line of start
 * and weights as many more floats can be read. */
typedef struct hu_depthwise_sweep {
    const float *source; /* of the first place and tap */
    const float *start, *weights;
    float *target;
    int64_t rows, columns, length, period;
    int64_t source_row, source_column, target_row, target_column;
    int64_t tap_rows, tap_columns;
    int64_t tap_source_row, tap_source_column, tap_weight_row, tap_weight_column;
} hu_depthwise_sweep;

/* sums[tap][channels] over images, of the output places in rows and columns, of dy times x; taps
 * that the plan's runs leave out take no part. */
typedef struct hu_depthwise_outer {
    const float *x, *dy;
    float *sums;
    const hu_conv_axis *rows, *columns;
    int64_t images, channels, kernel_h, kernel_w;
    int64_t x_image, x_row, dy_image, dy_row;
} hu_depthwise_outer;

/* The loops of one instruction set. */
typedef struct hu_depthwise_kernels {
    void (*sweep)(const hu_depthwise_sweep *sweep);
    void (*outer)(const hu_depthwise_outer *outer);
} hu_depthwise_kernels;

extern const hu_depthwise_kernels HU_OF_ISA(hu_depthwise_kernels);

#endif
