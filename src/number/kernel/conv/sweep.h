/* kernel/conv/sweep.h - the inner loops of convolutions, one body per ISA, the same bits on every
 * ISA: lanes are independent sums. Steps are in floats. */
#ifndef HU_KERNEL_CONV_SWEEP_H
#define HU_KERNEL_CONV_SWEEP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

/* Sums of a few channel blocks at places that the same taps reach: images x rows x columns places,
 * for each tap_rows x tap_columns x depth terms of source times panel ([depth][16] per tap; those
 * of the next 16 channels lie panel_block further). */
typedef struct hu_conv_sweep {
    const float *source; /* of the first place and tap */
    const float *panel;
    const float *start; /* [blocks][16] what the sums begin with; NULL: with target */
    float *target;      /* width <= 16 hu_conv_kernels' blocks channels of each place */
    int64_t images, rows, columns, width;
    int64_t source_image, source_row, source_column;
    int64_t target_image, target_row, target_column;
    int64_t tap_rows, tap_columns, depth;
    int64_t tap_source_row, tap_source_column, tap_panel_row, tap_panel_column;
    int64_t panel_block, source_term; /* from one block, and from one term of a tap to the next */
} hu_conv_sweep;

/* Sums over images x rows x (before + columns + after) pixels of dy (`filters` neighbours, at most
 * hu_conv_kernels' places) times x (16 neighbours, and 16 more x_block further if width > 16):
 * dw[filter][width] = or += the sums. At the columns before and after only the lanes take part
 * whose mask, [column][16] with mask_column between columns, is all ones; the others are 0, and
 * there x must be -0: the product is -0, which changes no sum. */
typedef struct hu_conv_outer {
    const float *x, *dy;
    const uint32_t *mask;
    float *dw;
    int64_t images, rows, before, columns, after, filters, width;
    int64_t x_image, x_row, x_column;
    int64_t dy_image, dy_row, dy_column;
    int64_t dw_filter, mask_column, x_block;
    bool adds;
} hu_conv_outer;

/* images x rows x columns pixels of dy, each of which meets a window of a row of x. The window
 * begins at place x_first + column * x_column of that row; places outside 0 .. x_end-1 take no
 * part. Of columns inner .. inner_end-1 the windows lie wholly inside. */
typedef struct hu_conv_windows {
    const float *x, *dy;
    int64_t images, rows, columns, inner, inner_end;
    int64_t x_image, x_row, x_column, x_first, x_end;
    int64_t dy_image, dy_row, dy_column;
} hu_conv_windows;

enum { HU_CONV_TAPS = 3 }; /* most of hu_conv_taps */

/* Sums over the pixels of dy (`filters` neighbours, at most hu_conv_kernels' places) times the 16
 * channels at each of 1 to HU_CONV_TAPS places of the window, x_tap apart:
 * dw[filter][tap][16] = or += the sums. */
typedef struct hu_conv_taps {
    hu_conv_windows windows;
    float *dw;
    int64_t taps, filters, x_tap, dw_filter;
    bool adds;
} hu_conv_taps;

enum { HU_CONV_FEW_TERMS = 12 }; /* most of hu_conv_few on any instruction set */

/* Sums over the pixels of dy, whose lanes are `filters` neighbours (a vector, or hu_conv_kernels'
 * few_filters), times each of `terms` neighbours, the window: sums[terms][filters] = or += them,
 * sums_term from one term to the next. */
typedef struct hu_conv_few {
    hu_conv_windows windows;
    float *sums;
    int64_t terms, filters, sums_term;
    bool adds;
} hu_conv_few;

/* Blocks of 16 channels of rows x columns pixels: [block][row][column][16], pixels of a row side by
 * side. */
typedef struct hu_conv_blocks_copy {
    const float *from;
    float *to;
    int64_t rows, columns, blocks;
    int64_t from_row, from_column, to_row, to_block;
} hu_conv_blocks_copy;

enum { HU_CONV_MOST_BLOCKS = 4 }; /* of any instruction set's sweeps */

/* Blocks of a sweep where a vector has so many lanes: 16 registers leave no room for two. */
#define HU_CONV_BLOCKS_OF(lanes) ((lanes) < 16 ? 1 : HU_CONV_MOST_BLOCKS)

/* The loops of one instruction set. */
typedef struct hu_conv_kernels {
    int64_t places;       /* most places (filters) of one tile */
    int64_t blocks;       /* most blocks of 16 channels of a sweep, */
    int64_t outer_blocks; /* and of an outer product */
    void (*sweep)(const hu_conv_sweep *sweep);
    void (*outer)(const hu_conv_outer *outer);
    void (*taps)(const hu_conv_taps *taps); /* NULL: not worth while */
    int64_t few_filters; /* most filters of few, its least is half of it or the same */
    int64_t few_terms;   /* most terms of few */
    void (*few)(const hu_conv_few *few);
    /* width <= 16 rows of terms numbers, `step` apart -> [terms][16], filled up with zeros. */
    void (*turn)(int64_t terms, int64_t step, int64_t width, const float *from, float *to);
    void (*copy_blocks)(const hu_conv_blocks_copy *copy);
    /* `tiles` tiles of n neighbours of each pixel, pixels `step` apart -> [tiles][pixels][n]. */
    void (*copy_tiles)(int64_t pixels, int64_t tiles, int64_t n, int64_t step, const float *from,
                       float *to);
} hu_conv_kernels;

extern const hu_conv_kernels HU_OF_ISA(hu_conv_kernels);

/* The record of hu_cpu_isa(). */
const hu_conv_kernels *hu_conv_kernels_of_isa(void);

/* Of `left` places (filters) the next tile's share, at most `most`, so that no tile is left with
 * few: 7 are 4 and 3, not 6 and 1. */
static inline int64_t hu_conv_share(int64_t left, int64_t most) {
    if (left <= most) return left;
    return left < 2 * most ? (left + 1) / 2 : most;
}

#endif
