/* kernel/conv/conv.h - dense convolutions and linear layers in float32 with fused multiply-adds.
 *
 * Activations are [count, H, W, C], weights [out_c, kernel_h, kernel_w, in_c]. The order of every
 * sum is part of the definition; padding takes no part in any:
 *   forward          y[n,h,w,oc]: from +0 (or the bias), kernel_h, kernel_w, in_c ascending
 *   data gradient    dx[n,h,w,ic]: from +0, kernel_h, kernel_w, out_c ascending
 *   weight gradient  dw[oc,kh,kw,ic]: per strip of the batch from +0, images and output pixels
 *                    ascending; the sums of the strips are added in order
 * with one rounding per multiply-add. A strip is a number of whole images, counted from the first
 * of the call, or a number of rows of one image (hu_conv_strip). The results depend neither on the
 * instruction set nor on threads; forward and data gradient do not depend on count either.
 */
#ifndef HU_KERNEL_CONV_CONV_H
#define HU_KERNEL_CONV_CONV_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Output pixel (y, x) reads input rows y * stride_h - pad_h + k * dilation_h. A linear layer is the
 * case of 1x1 images and kernels. */
typedef struct hu_conv {
    int64_t in_h, in_w, in_c, out_h, out_w, out_c;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
} hu_conv;

/* Strips of the weight gradient: whole images, or rows of one image (images == 1). */
typedef struct hu_conv_strips {
    int64_t images, rows;
} hu_conv_strips;

/* The strips of a convolution: a function of its extents alone, since it is part of the definition.
 */
hu_conv_strips hu_conv_strip(const hu_conv *conv);

typedef struct hu_conv_plan hu_conv_plan;

/* HU_ERR_MEMORY, HU_ERR_LIMIT. Owner frees with hu_conv_plan_free (NULL is allowed). */
hu_status hu_conv_plan_create(const hu_conv *conv, hu_conv_plan **plan);
void hu_conv_plan_free(hu_conv_plan *plan);

/* Bytes of packed weights, 64-byte aligned. Forward: [block of 16 of
 * out_c][kernel_h][kernel_w][in_c][16], after them the bias or zeros. Data gradient: [block of 16
 * of in_c][kernel_h][kernel_w][out_c][16]. Channels that fill up the last block are zeros. */
size_t hu_conv_forward_packed_bytes(const hu_conv_plan *plan);
size_t hu_conv_data_packed_bytes(const hu_conv_plan *plan);

/* Packs weights [out_c, kernel_h, kernel_w, in_c] for one of the passes, and bias [out_c] (NULL:
 * none). The packed weights are good for any number of calls. */
void hu_conv_pack_forward(const hu_conv_plan *plan, const float *weights, const float *bias,
                          float *packed);
void hu_conv_pack_data(const hu_conv_plan *plan, const float *weights, float *packed);

/* x [count, in_h, in_w, in_c] -> y [count, out_h, out_w, out_c], and dy -> dx; overwritten. packed:
 * of hu_conv_pack_*. Thread-safe: calls on different images may run at once. */
void hu_conv_forward(const hu_conv_plan *plan, int64_t count, const float *x, const float *packed,
                     float *y);

/* dx of dy: the transposed product. dx is overwritten. */
void hu_conv_data_gradient(const hu_conv_plan *plan, int64_t count, const float *dy,
                           const float *packed, float *dx);

/* Bytes of scratch, 64-byte aligned, of weight gradients of up to count images. */
size_t hu_conv_scratch_bytes(const hu_conv_plan *plan, int64_t count);

/* dw [out_c, kernel_h, kernel_w, in_c] of count images: overwritten or, if adds, added to. Each
 * thread needs a scratch of its own. */
void hu_conv_weight_gradient(const hu_conv_plan *plan, int64_t count, const float *x,
                             const float *dy, bool adds, void *scratch, float *dw);

/* ---- The places of a convolution, sorted by the taps that reach them ---- */

/* Places along one axis that the same taps reach: first + i * step, i < count. Tap j < taps is
 * k = tap + j * tap_step; at place i it reads source + i * source_step + j * tap_source. Without
 * taps everything but the places is 0. */
typedef struct hu_conv_run {
    int64_t first, step, count;
    int64_t tap, tap_step, taps;
    int64_t source, source_step, tap_source;
} hu_conv_run;

/* All runs of one axis. Every place is in one of them; owned by the plan. */
typedef struct hu_conv_axis {
    hu_conv_run *runs;
    int64_t count;
} hu_conv_axis;

/* From images [source_h, source_w, depth] to images [target_h, target_w, width], by weights packed
 * as [ceil(width / 16)][kernel_h][kernel_w][depth][16]. */
typedef struct hu_conv_gather {
    hu_conv_axis rows, columns;
    int64_t source_h, source_w, depth, target_h, target_w, width, kernel_h, kernel_w;
} hu_conv_gather;

struct hu_conv_plan {
    hu_conv conv;
    hu_conv_gather forward, data;
};

enum { HU_CONV_WIDTH = 16 }; /* channels of a panel of packed weights */

/* Panels of 16 that hold so many channels, the last filled up with zeros. */
static inline int64_t hu_conv_blocks(int64_t channels) {
    return (channels + HU_CONV_WIDTH - 1) / HU_CONV_WIDTH;
}

#endif
