/* op/conv.h - attributes of conv2d and linear, and what they multiply. */
#ifndef HU_OP_CONV_H
#define HU_OP_CONV_H
#include "op/op.h"

/* Weights are [out_channels, kernel_h, kernel_w, in_channels / groups]. Transposed, a layer
 * computes what a convolution from its output to its input gives back as the gradient of its input;
 * weights are those of that convolution, [in_channels, kernel_h, kernel_w, out_channels / groups].
 */
typedef struct hu_conv_attrs {
    int64_t out_channels;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int64_t dilation_h, dilation_w; /* 1 = dense */
    int64_t groups;
    bool has_bias;
    hu_init weight_init, bias_init;
    int64_t more_h, more_w; /* padding below and right of the image beyond pad; may be negative */
    bool transposed;
    int64_t extra_h, extra_w; /* transposed: rows and columns that the stride leaves open, at the
                                 end of the output; less than the stride */
} hu_conv_attrs;

/* Weights are [out, in]. */
typedef struct hu_linear_attrs {
    int64_t out_features; /* the input of any shape is read as one vector per sample */
    bool rows;       /* or as rows, vectors of the last extent, which all have the same weights:
                        [.., C] -> [.., out_features], what a 1x1 convolution computes */
    bool transposed; /* y = x w with w [in, out], so that a decoder can use the weights of its
                        encoder; the bias is then added at the end */
    bool has_bias;
    hu_init weight_init, bias_init;
} hu_linear_attrs;

/* The geometry of a transposed layer is that of the layer whose weights it uses. */
hu_product hu_product_conv2d(const hu_conv_attrs *attrs, const hu_shape *in);
hu_product hu_product_linear(const hu_linear_attrs *attrs, const hu_shape *in);

/* Of a node whose shapes were accepted by the op's shape function; the rank of its weights tells
 * the op. */
hu_product hu_product_of(const hu_node_info *info);
bool hu_product_is_transposed(const hu_node_info *info);

/* ---- product ---- */

/* What conv2d and linear share: the record functions that let
 * the room product compute their products.
 */

/* The record functions. Their state is a hu_products (product/product.h). */
hu_status hu_op_product_create(const hu_node_info *info, void **state);
hu_status hu_op_product_prepare(const hu_node_info *info, void *state, int64_t count);
void hu_op_product_release(void *state);
size_t hu_op_product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass);
size_t hu_op_product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass);
void hu_op_product_begin(const hu_op_call *call, hu_pass pass);
void hu_op_product_forward(const hu_op_call *call);
void hu_op_product_backward(const hu_op_call *call);
bool hu_op_product_in_batch_order(const hu_node_info *info);
void hu_op_product_accumulate(const hu_op_call *call);
int64_t hu_op_product_macs(const hu_node_info *info);
const char *hu_op_product_impl(const hu_node_info *info, void *state, hu_pass pass);

/* The fields of a record whose one input is multiplied with its param[0], and that may add its
 * param[1]. */
#define HU_PRODUCT_RECORD                                                                          \
    .min_in = 1, .max_in = 1, .is_product = true, .saves = HU_SAVE_INPUT_0,                        \
    .scratch_bytes = hu_op_product_scratch_bytes,                                                  \
    .workspace_bytes = hu_op_product_workspace_bytes, .create = hu_op_product_create,              \
    .prepare = hu_op_product_prepare, .release = hu_op_product_release,                            \
    .begin = hu_op_product_begin, .forward = hu_op_product_forward,                                \
    .backward = hu_op_product_backward, .dparam_per_chunk = true,                                  \
    .in_batch_order = hu_op_product_in_batch_order, .accumulate = hu_op_product_accumulate,        \
    .macs = hu_op_product_macs, .impl = hu_op_product_impl

#endif
