/* kernel/conv/depthwise.h - convolutions of each channel by itself, in float32 with fused
 * multiply-adds.
 *
 * Activations are [count, H, W, C], weights [C, kernel_h, kernel_w]. The order of every sum is part
 * of the definition; padding takes no part in any:
 *   forward          y[n,h,w,c]: from +0 (or the bias), kernel_h, kernel_w ascending
 *   data gradient    dx[n,h,w,c]: from +0, kernel_h, kernel_w ascending
 *   weight gradient  dw[c,kh,kw]: per strip of the batch from +0, images and output pixels
 *                    ascending; the strips are added in order, and then to what dw holds
 * with one rounding per multiply-add. A strip is the least number of whole images that together
 * have HU_DEPTHWISE_STRIP output pixels. The results depend neither on the instruction set nor on
 * threads; forward and data gradient do not depend on count either.
 */
#ifndef HU_KERNEL_CONV_DEPTHWISE_H
#define HU_KERNEL_CONV_DEPTHWISE_H
#include "base/cpu.h"
#include "kernel/conv/conv.h"

enum { HU_DEPTHWISE_STRIP = 256 };

/* Images of a strip. */
int64_t hu_depthwise_strip(const hu_conv *conv);

typedef struct hu_depthwise hu_depthwise;

/* conv->in_c must be conv->out_c. HU_ERR_MEMORY, HU_ERR_LIMIT. Owner frees with hu_depthwise_free
 * (NULL is allowed). */
hu_status hu_depthwise_create(const hu_conv *conv, hu_depthwise **plan);
void hu_depthwise_free(hu_depthwise *plan);

/* Bytes of the packed weights of one pass, 64-byte aligned: a line of sums' starts, then a line for
 * each tap. */
size_t hu_depthwise_packed_bytes(const hu_depthwise *plan);

/* Packs weights [C, kernel_h, kernel_w] and bias [C] (NULL: zeros; the data gradient has none).
 * Both passes take the same packing. */
void hu_depthwise_pack(const hu_depthwise *plan, const float *weights, const float *bias,
                       float *packed);

/* x [count, in_h, in_w, C] -> y [count, out_h, out_w, C], and dy -> dx; overwritten. Thread-safe:
 * calls on different images may run at once. */
void hu_depthwise_forward(const hu_depthwise *plan, int64_t count, const float *x,
                          const float *packed, float *y);

/* dx of dy; dx is overwritten. */
void hu_depthwise_data_gradient(const hu_depthwise *plan, int64_t count, const float *dy,
                                const float *packed, float *dx);

/* Bytes of scratch of a weight gradient, 64-byte aligned. */
size_t hu_depthwise_scratch_bytes(const hu_depthwise *plan);

/* dw [C, kernel_h, kernel_w] of count images: overwritten or, if adds, added to. Each thread needs
 * a scratch of its own. */
void hu_depthwise_weight_gradient(const hu_depthwise *plan, int64_t count, const float *x,
                                  const float *dy, bool adds, void *scratch, float *dw);

/* The inner loops of depthwise convolutions, one body per ISA, the
 * same bits on every ISA: lanes are independent sums. Steps are in floats. */

enum { HU_DEPTHWISE_LANES = 8 }; /* most lanes of a body */

/* Lines of `length` neighbouring sums at rows x columns places that the same taps reach. Number i
 * of a line begins with start[i % period] and adds, tap by tap, its source times weights[tap][i %
 * period]. period is a multiple of HU_DEPTHWISE_LANES or at least length; after each line of start
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
