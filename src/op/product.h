/* op/product.h - what conv2d and linear share: the record functions that let
 * the room product compute their products.
 */
#ifndef HU_OP_PRODUCT_H
#define HU_OP_PRODUCT_H
#include "op/op.h"

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
