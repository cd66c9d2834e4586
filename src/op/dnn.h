/* op/dnn.h - conv2d and linear on oneDNN; dnn.c is the only file that includes it.
 *
 * The functions have the signatures of the operation record (op/op.h), so conv.c and linear.c put
 * them into their records as they are. Activations are plain [count, H, W, C]; weights are packed
 * once per pass into the layout that the primitives like. Primitives are made for one thread and
 * are shared by all threads; a result depends on its chunk alone.
 */
#ifndef HU_OP_DNN_H
#define HU_OP_DNN_H
#include "op/product.h"

/* Primitives of product for chunks of info->chunk samples: forward, weight gradient and, where
 * info->need_din[0], data gradient. Call outside parallel regions, as hu_dnn_prepare.
 * HU_ERR_MEMORY, HU_ERR_INTERNAL with oneDNN's status. Owner frees with hu_dnn_release. */
hu_status hu_dnn_create(const hu_node_info *info, const hu_product *product, void **state);

/* The rest: see op/op.h. */
hu_status hu_dnn_prepare(const hu_node_info *info, void *state, int64_t count);
void hu_dnn_release(void *state);
size_t hu_dnn_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass);
size_t hu_dnn_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass);
void hu_dnn_begin(const hu_op_call *call, hu_pass pass);
/* If oneDNN fails (it ran out of memory), the outputs are filled with NaN. */
void hu_dnn_forward(const hu_op_call *call);
void hu_dnn_backward(const hu_op_call *call);

/* oneDNN's name of the implementation behind info->chunk, for example "jit:avx2"; one that begins
 * with "ref" is slow. For the backward pass the name of the data gradient if only that one begins
 * with "ref", else the name of the weight gradient. Borrowed: valid until the state is released. */
const char *hu_dnn_impl(const void *state, hu_pass pass);

#endif
