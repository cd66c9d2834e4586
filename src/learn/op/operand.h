/* op/operand.h - how a product rounds what it multiplies: each operand of each of its three
 * products for itself, in blocks along the dimension that this product sums over.
 *
 * It belongs to the product, as its accumulator does: what is stored has its own format. A layer's
 * products are those of a linear layer, a convolution's those of the linear layers of its taps:
 *
 *   forward      x [pixels, in], w [out, in] of every tap     blocks along in
 *   input_grad   dy [pixels, out], w                          along out
 *   weight_grad  dy, x                                        along the pixels of a chunk
 *
 * Pixels are those of the array itself, sample by sample: x is rounded once, not once for each tap
 * that reads it. The channels of all groups are one row of x and dy; weights have those of their
 * group. Blocks are cut from the first number on; the last of a row, of a column, or of a chunk is
 * shorter. A scale of a whole tensor is that of the pass; in a loop, of the rows of a step that
 * chunk has. A rotation (hadamard=) stays in what is multiplied where both operands are rotated
 * alike and pixels meet one to one; else what is rounded is turned back.
 *
 * Random words of stochastic modes: stream "operand PRODUCT.OPERAND" of the node. Word i serves
 * number i of the array of the batch; in blocks along pixels that the chunk begins with.
 * Proof: tests/unit/op_operand_test.c.
 */
#ifndef HU_OP_OPERAND_H
#define HU_OP_OPERAND_H
#include "op/op.h"
#include "product/product.h"
#include "tensor/quantizer.h"

/* By product, two each. */
typedef enum hu_operand_place {
    HU_OPERAND_FORWARD_X,
    HU_OPERAND_FORWARD_W,
    HU_OPERAND_INPUT_GRAD_DY,
    HU_OPERAND_INPUT_GRAD_W,
    HU_OPERAND_WEIGHT_GRAD_DY,
    HU_OPERAND_WEIGHT_GRAD_X,
    HU_OPERANDS
} hu_operand_place;

/* The formats of a layer's operands; none is rounded where nothing is said. */
typedef struct hu_operand_formats {
    hu_quantizer quantizer[HU_OPERANDS];
} hu_operand_formats;

static inline hu_product_role hu_operand_role(hu_operand_place operand) {
    return (hu_product_role)((int)operand / 2);
}

/* "forward.x", "forward.w", "input_grad.dy", ... Borrowed: valid forever. */
const char *hu_operand_name(hu_operand_place operand);

bool hu_operands_round(const hu_operand_formats *formats);

/* True if both round alike. */
bool hu_operands_same(const hu_operand_formats *a, const hu_operand_formats *b);

/* HU_ERR_ARGUMENT: a format whose scale comes from steps before, or integers, which no operand has.
 */
hu_status hu_operand_check(const hu_quantizer *quantizer);

/* What rounds the operands of a node; NULL: none is rounded. */
typedef struct hu_operand_set hu_operand_set;

/* product: of the node. Owner frees with hu_operands_free (NULL is allowed). */
hu_status hu_operands_create(const hu_node_info *info, const hu_product *product, bool transposed,
                             hu_operand_set **set);
void hu_operands_free(hu_operand_set *set);

/* Bytes of a call's scratch, before that of the product; and of the workspace of a pass, which has
 * the rounded weights. */
size_t hu_operands_scratch_bytes(const hu_operand_set *set, hu_pass pass);
size_t hu_operands_workspace_bytes(const hu_operand_set *set, hu_pass pass);

/* The weights as the product of a pass reads them, rounded into workspace: once before its calls,
 * on one thread. Gives w itself where they are not rounded. */
const float *hu_operands_round_weights(const hu_operand_set *set, hu_pass pass,
                                       const hu_op_call *call, void *workspace);

/* Points a product's call at rounded copies of its operands, which lie in its scratch; what is left
 * of that is the product's. workspace: what round_weights has filled. */
void hu_operands_lend(const hu_operand_set *set, hu_product_role role, const hu_op_call *call,
                      void *workspace, hu_product_call *product);

/* The record functions of products (op/op.h): scales of whole tensors need their largest numbers
 * before the first call. */
size_t hu_operands_stats_count(const hu_node_info *info);
size_t hu_operands_partial_count(const hu_node_info *info, hu_pass pass);
void hu_operands_reduce(const hu_operand_set *set, const hu_op_call *call, hu_pass pass);
void hu_operands_merge(const hu_node_info *info, hu_pass pass, double *left, const double *right);
void hu_operands_finish(const hu_op_call *call, hu_pass pass);

#endif
