/* op/product.h - the geometry that conv2d and linear share: one description for oneDNN, the plain
 * reference and the products with a low-precision accumulator.
 */
#ifndef HU_OP_PRODUCT_H
#define HU_OP_PRODUCT_H
#include <stdbool.h>
#include <stdint.h>

#include "op/op.h"

/* Input [in_h, in_w, in_c], output [out_h, out_w, out_c], weights [out_c, kernel_h, kernel_w,
 * in_c / groups]; output pixel (y, x) reads input rows y * stride_h - pad_h + k * dilation_h. A
 * linear layer is the case of 1x1 images and kernels. */
typedef struct hu_product {
    int64_t in_h, in_w, in_c, out_h, out_w, out_c;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int64_t groups;
    bool has_bias, is_linear;
} hu_product;

/* The geometry of a node whose shapes were accepted by the op's shape function; hu_product_of knows
 * the op by the rank of its weights. */
hu_product hu_product_conv2d(const hu_conv_attrs *attrs, const hu_shape *in);
hu_product hu_product_linear(const hu_linear_attrs *attrs, const hu_shape *in);
hu_product hu_product_of(const hu_node_info *info);

/* Elements of one input sample, one output sample and the weights; multiply-accumulates of one
 * sample. */
static inline int64_t hu_product_in(const hu_product *p) {
    return p->in_h * p->in_w * p->in_c;
}
static inline int64_t hu_product_out(const hu_product *p) {
    return p->out_h * p->out_w * p->out_c;
}
static inline int64_t hu_product_weights(const hu_product *p) {
    return p->out_c * p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}
static inline int64_t hu_product_macs(const hu_product *p) {
    return p->out_h * p->out_w * hu_product_weights(p);
}

/* The record functions that conv2d and linear share; their state holds what computes the products
 * without a chosen accumulator: kernel/conv (op/dense.h), or oneDNN (op/dnn.h) for other groups and
 * where info->by_dnn; NULL where all have one (op/accumulate.h). If a product fails in a pass (out
 * of memory), what it was to write is filled with NaN. */
hu_status hu_product_create(const hu_node_info *info, void **state);
hu_status hu_product_prepare(const hu_node_info *info, void *state, int64_t count);
void hu_product_release(void *state);
size_t hu_product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass);
size_t hu_product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass);
void hu_product_begin(const hu_op_call *call, hu_pass pass);
void hu_product_run_forward(const hu_op_call *call);
void hu_product_run_backward(const hu_op_call *call);
bool hu_product_whole(const hu_node_info *info);
void hu_product_accumulate(const hu_op_call *call);
int64_t hu_product_node_macs(const hu_node_info *info);
const char *hu_product_impl(const hu_node_info *info, void *state, hu_pass pass);

#endif
