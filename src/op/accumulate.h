/* op/accumulate.h - the three products of conv2d and linear with a chosen accumulator, by hu_gemm.
 *
 * Order of the sums: forward (kernel_h, kernel_w, in_c); input gradient (kernel_h, kernel_w,
 * out_c), where taps between the strides and outside the output take part as zeros; weight gradient
 * (sample, out_h, out_w) over the whole batch. Groups have sums of their own. The bias is added in
 * float32 at the end, its gradient summed in float32 in the order of the weight gradient.
 */
#ifndef HU_OP_ACCUMULATE_H
#define HU_OP_ACCUMULATE_H
#include "op/product.h"

/* Whether all products that info chooses an accumulator for can be planned; scratch bytes of a call
 * of any count up to info->chunk; bytes that the weight gradient keeps in the backward workspace.
 */
hu_status hu_accumulate_plan(const hu_node_info *info, const hu_product *product);
size_t hu_accumulate_scratch_bytes(const hu_node_info *info, const hu_product *product,
                                   hu_pass pass);
size_t hu_accumulate_workspace_bytes(const hu_node_info *info, const hu_product *product);

/* Each gives false if hu_gemm fails; the output is then undefined. weight_grad: chunks in ascending
 * order, outside parallel regions; workspace 64-byte aligned. */
bool hu_accumulate_forward(const hu_op_call *call, const hu_product *product);
bool hu_accumulate_input_grad(const hu_op_call *call, const hu_product *product);
bool hu_accumulate_weight_grad(const hu_op_call *call, const hu_product *product, void *workspace);

#endif
