/* product/accumulate.h - the three products of a layer with a chosen accumulator, by hu_gemm.
 *
 * Order of the sums: forward (kernel_h, kernel_w, in_c); input gradient (kernel_h, kernel_w,
 * out_c), where taps between the strides and outside the output take part as zeros; weight gradient
 * (sample, out_h, out_w) over the whole batch. Groups have sums of their own. The bias is added in
 * float32 at the end, its gradient summed in float32 in the order of the weight gradient.
 */
#ifndef HU_PRODUCT_ACCUMULATE_H
#define HU_PRODUCT_ACCUMULATE_H
#include <stddef.h>

#include <halfulp/status.h>

#include "product/call.h"

/* Can all products be planned for which the facts choose an accumulator? */
hu_status hu_accumulate_plan(const hu_product_facts *facts);

/* Scratch bytes of a FORWARD or INPUT_GRAD call of any count up to facts->chunk; 0 for WEIGHT_GRAD,
 * whose scratch lies after its carry, and where no accumulator is chosen. */
size_t hu_accumulate_scratch_bytes(const hu_product_facts *facts, hu_product_role role);

/* Bytes that the weight gradient keeps from chunk to chunk, and its scratch. */
size_t hu_accumulate_carry_bytes(const hu_product_facts *facts);

/* False if hu_gemm fails; the outputs are then undefined. WEIGHT_GRAD: chunks in ascending order,
 * outside parallel regions. */
bool hu_accumulate_run(const hu_product_facts *facts, hu_product_role role,
                       const hu_product_call *call);

#endif
