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

/* The definition taken literally, one element after the other: what tests compare with. */
void hu_depthwise_reference_forward(const hu_conv *conv, int64_t count, const float *x,
                                    const float *weights, const float *bias, float *y);
void hu_depthwise_reference_data(const hu_conv *conv, int64_t count, const float *dy,
                                 const float *weights, float *dx);
void hu_depthwise_reference_weights(const hu_conv *conv, int64_t count, const float *x,
                                    const float *dy, bool adds, float *dw);

#endif
