/* kernel/conv/winograd.h - convolutions with kernels of 3x3 by Winograd's algorithm F(2x2, 3x3):
 * 16 multiplications where the definition has 36. Source: Lavin & Gray, "Fast Algorithms for
 * Convolutional Neural Networks", 2015.
 *
 * The output is cut into tiles of 2x2 pixels; a tile reads 4x4 pixels d, zero outside the image:
 *   forward          Y = A^T [sum over in_c of (G w G^T) * (B^T d B)] A + bias
 *   data gradient    the same of dy, with weights turned by 180 degrees, sums over out_c
 *   weight gradient  dw = G^T [sum over tiles of (A dy A^T) * (B^T x B)] G
 * with * element by element. Sums over channels are chains of fused multiply-adds, ascending; sums
 * over tiles are such chains over HU_WINOGRAD_STRIP tiles, numbered through the images of a call,
 * and the strips are added in order. Everything is float32; the order of every sum is fixed and
 * depends neither on the instruction set nor on threads, forward and data gradient not on count.
 */
#ifndef HU_KERNEL_CONV_WINOGRAD_H
#define HU_KERNEL_CONV_WINOGRAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "kernel/conv/conv.h"

enum { HU_WINOGRAD_STRIP = 64 }; /* tiles of a strip of the weight gradient */

/* 3x3, stride and dilation 1, padding up to 2, at least 8 channels on both sides: what the
 * functions below ask for. */
bool hu_winograd_fits(const hu_conv *conv);

/* Whether it fits and is faster than the definition: with 16 tiles an image (outputs of 7x7) and 16
 * channels on both sides or more, 1.2 to 2.1 times as fast with AVX2 and with AVX-512
 * (`halfulp bench conv`); the transformed weights of many channels do not pay for fewer tiles. A
 * function of the layer alone, so that every machine computes the same bits. */
bool hu_winograd_pays(const hu_conv *conv);

/* Bytes of the transformed weights, 64-byte aligned, and transforming them. bias: [out_c] or NULL.
 */
size_t hu_winograd_forward_packed_bytes(const hu_conv *conv);
size_t hu_winograd_data_packed_bytes(const hu_conv *conv);
void hu_winograd_pack_forward(const hu_conv *conv, const float *weights, const float *bias,
                              float *packed);
void hu_winograd_pack_data(const hu_conv *conv, const float *weights, float *packed);

/* Scratch: 64-byte aligned; the weight gradient's for calls of up to count images. */
size_t hu_winograd_forward_scratch_bytes(const hu_conv *conv);
size_t hu_winograd_data_scratch_bytes(const hu_conv *conv);
size_t hu_winograd_weight_scratch_bytes(const hu_conv *conv, int64_t count);

/* x [count, in_h, in_w, in_c] -> y [count, out_h, out_w, out_c], overwritten. Each thread needs a
 * scratch of its own. */
void hu_winograd_forward(const hu_conv *conv, int64_t count, const float *x, const float *packed,
                         void *scratch, float *y);

/* dx of dy; dx is overwritten. */
void hu_winograd_data_gradient(const hu_conv *conv, int64_t count, const float *dy,
                               const float *packed, void *scratch, float *dx);

/* dw is overwritten or, if adds, added to. */
void hu_winograd_weight_gradient(const hu_conv *conv, int64_t count, const float *x,
                                 const float *dy, bool adds, void *scratch, float *dw);

/* Transforms and products of kernel/conv/winograd.h, one body per
 * ISA, the same bits on every ISA. Steps are in floats. */

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

#endif
