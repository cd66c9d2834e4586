/* kernel/conv/winograd_sweep.h - transforms and products of kernel/conv/winograd.h, one body per
 * ISA, the same bits on every ISA. Steps are in floats. */
#ifndef HU_KERNEL_CONV_WINOGRAD_SWEEP_H
#define HU_KERNEL_CONV_WINOGRAD_SWEEP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

enum { HU_WINOGRAD_POINTS = 16 }; /* numbers of a transformed tile */

/* Tiles first .. first+count-1 of images that are cut into rows x columns tiles. */
typedef struct hu_winograd_tiles {
    int64_t rows, columns, first, count;
} hu_winograd_tiles;

/* Images [][h][w][channels]; the 4x4 pixels of tile (0, 0) begin at (-pad_h, -pad_w). */
typedef struct hu_winograd_source {
    const float *x;
    int64_t h, w, channels, pad_h, pad_w;
} hu_winograd_source;

/* Transformed tiles: [16][tile][channel]. */
typedef struct hu_winograd_points {
    float *at;
    int64_t point, tile; /* from one point (tile) to the next; tile: channels or more */
} hu_winograd_points;

/* The loops of one instruction set. Matrices A, B and G are those of Lavin & Gray for F(2x2, 3x3).
 */
typedef struct hu_winograd_kernels {
    int64_t places; /* most filters of one tile of outer */
    /* B^T d B; channels up to v->tile, those beyond the images' are 0. v->tile: a multiple of 8. */
    void (*input)(const hu_winograd_source *s, const hu_winograd_tiles *t,
                  const hu_winograd_points *v);
    /* A dy A^T of the 2x2 pixels of every tile, those outside 0; pad_h and pad_w must be 0. */
    void (*gradient)(const hu_winograd_source *s, const hu_winograd_tiles *t,
                     const hu_winograd_points *v);
    /* m [16][tiles][16] = sum over depth of v times panels [16][depth][16]. */
    void (*multiply)(const hu_winograd_points *v, const float *panels, int64_t tiles, int64_t depth,
                     const hu_winograd_points *m);
    /* y = A^T m A + bias, `width` <= 16 channels of the images' h x w pixels; y: at the first. */
    void (*output)(const hu_winograd_points *m, const float *bias, const hu_winograd_tiles *t,
                   int64_t h, int64_t w, int64_t channels, int64_t width, float *y);
    /* sums [16][filter][channel, 16 neighbours] = or += sum over tiles of dy times x. */
    void (*outer)(const hu_winograd_points *x, const hu_winograd_points *dy, int64_t tiles,
                  int64_t filters, int64_t channels, bool adds, const hu_winograd_points *sums);
    /* dw [filters][3][3][channels] = or += G^T sums G. */
    void (*weights)(const hu_winograd_points *sums, int64_t filters, int64_t channels, bool adds,
                    float *dw);
} hu_winograd_kernels;

extern const hu_winograd_kernels HU_OF_ISA(hu_winograd_kernels);

/* The record of hu_cpu_isa(). */
const hu_winograd_kernels *hu_winograd_kernels_of_isa(void);

#endif
