/* op/dense.h - products of conv2d and linear without groups by kernel/conv, in float32 and an order
 * of sums that is part of their definition (kernel/conv/conv.h). The bias gradient of a call is
 * summed as in the op bias. No call fails or allocates.
 */
#ifndef HU_OP_DENSE_H
#define HU_OP_DENSE_H
#include "kernel/conv/conv.h"
#include "op/product.h"

/* HU_ERR_MEMORY; product->groups must be 1. Owner frees with hu_conv_plan_free. */
hu_status hu_dense_create(const hu_product *product, hu_conv_plan **plan);

/* Scratch of the weight gradient of a call of up to count samples. */
size_t hu_dense_scratch_bytes(const hu_product *product, const hu_conv_plan *plan, int64_t count);

/* packed: 64-byte aligned, as hu_dense_pack has left it; packed bytes are hu_conv_*_packed_bytes.
 */
void hu_dense_pack(const hu_conv_plan *plan, hu_pass pass, const float *const *param, int n_params,
                   void *packed);
void hu_dense_forward(const hu_op_call *call, const hu_conv_plan *plan);
void hu_dense_data_gradient(const hu_op_call *call, const hu_conv_plan *plan);
void hu_dense_weight_gradient(const hu_op_call *call, const hu_product *product,
                              const hu_conv_plan *plan);

#endif
