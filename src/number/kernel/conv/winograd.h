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

#endif
