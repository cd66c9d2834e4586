#include "op/product.h"

#include <string.h>

#include "base/checked.h"
#include "op/geometry.h"
#include "product/product.h"

enum { ALIGNMENT = 64 };

int64_t hu_op_product_macs(const hu_node_info *info) {
    hu_product product = hu_product_of(info);
    return hu_product_macs(&product);
}

hu_status hu_op_product_create(const hu_node_info *info, void **state) {
    hu_product_facts facts = {.geometry = hu_product_of(info),
                              .transposed = hu_product_is_transposed(info),
                              .accumulation = info->accumulation,
                              .needs = {true, info->need_din[0], true},
                              .engine = info->engine,
                              .chunk = info->chunk,
                              .threads = info->threads};
    hu_products *products;
    hu_status st = hu_products_create(&facts, &products);
    *state = products;
    return st;
}

hu_status hu_op_product_prepare(const hu_node_info *info, void *state, int64_t count) {
    (void)info;
    return hu_products_prepare(state, count);
}

void hu_op_product_release(void *state) {
    hu_products_free(state);
}

/* ---- sizes ---- */

/* The product of a pass that reads packed weights. */
static hu_product_role packing_role(hu_pass pass) {
    return pass == HU_FORWARD ? HU_PRODUCT_FORWARD : HU_PRODUCT_INPUT_GRAD;
}

/* The two products of the backward pass take turns in the same scratch. */
size_t hu_op_product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    size_t bytes = hu_products_scratch_bytes(state, packing_role(pass));
    if (pass == HU_FORWARD) return bytes;
    size_t weights = hu_products_scratch_bytes(state, HU_PRODUCT_WEIGHT_GRAD);
    return weights > bytes ? weights : bytes;
}

/* Workspace: the packed weights; behind them, in the backward pass, what the weight gradient keeps
 * from chunk to chunk. */
static size_t carry_offset(const hu_products *products) {
    return hu_round_up(hu_products_packed_bytes(products, HU_PRODUCT_INPUT_GRAD), ALIGNMENT);
}

size_t hu_op_product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    size_t carry = pass == HU_BACKWARD ? hu_products_carry_bytes(state) : 0;
    return carry ? carry_offset(state) + carry
                 : hu_products_packed_bytes(state, packing_role(pass));
}

const char *hu_op_product_impl(const hu_node_info *info, void *state, hu_pass pass) {
    enum { LETTERS = 3 };
    (void)info;
    const char *name = hu_products_impl(state, packing_role(pass));
    if (pass == HU_FORWARD) return name;
    /* Of the two products of the backward pass, the slow one is worth a word. */
    const char *weights = hu_products_impl(state, HU_PRODUCT_WEIGHT_GRAD);
    bool is_slow = strncmp(name, "ref", LETTERS) == 0;
    return is_slow && strncmp(weights, "ref", LETTERS) != 0 ? name : weights;
}

/* ---- run ---- */

static const float *bias_of(const hu_op_call *call) {
    return call->info->n_params > 1 ? call->param[1] : NULL;
}

void hu_op_product_begin(const hu_op_call *call, hu_pass pass) {
    hu_products_pack(call->state, packing_role(pass), call->param[0], bias_of(call),
                     call->workspace);
}

/* x [count, in] -> y [count, out], both of info->in[0] and info->out[0] */
void hu_op_product_forward(const hu_op_call *call) {
    hu_product_call product = {.x = call->in[0],
                               .w = call->param[0],
                               .bias = bias_of(call),
                               .y = call->out[0],
                               .first = call->first,
                               .count = call->count,
                               .lengths = call->lengths,
                               .extent = call->info->in[0].extent[0],
                               .thread = call->thread,
                               .packed = call->workspace,
                               .scratch = call->scratch,
                               .counts = call->product_counts};
    hu_products_run(call->state, HU_PRODUCT_FORWARD, &product);
}

/* What both products of the backward pass read and write. */
static hu_product_call backward_call(const hu_op_call *call) {
    return (hu_product_call){.x = call->in[0],
                             .w = call->param[0],
                             .dy = call->dout[0],
                             .dx = call->din[0],
                             .dw = call->dparam[0],
                             .db = call->info->n_params > 1 ? call->dparam[1] : NULL,
                             .first = call->first,
                             .count = call->count,
                             .lengths = call->lengths,
                             .extent = call->info->in[0].extent[0],
                             .thread = call->thread,
                             .adds = call->adds_dparam,
                             .packed = call->workspace,
                             .scratch = call->scratch,
                             .counts = call->product_counts};
}

/* dy [count, out] -> dx [count, in]; x, dy -> this chunk's part of dw, db */
void hu_op_product_backward(const hu_op_call *call) {
    hu_product_call product = backward_call(call);
    if (product.dx) hu_products_run(call->state, HU_PRODUCT_INPUT_GRAD, &product);
    if (hu_op_product_in_batch_order(call->info) || !product.dw) return;
    hu_products_run(call->state, HU_PRODUCT_WEIGHT_GRAD, &product);
}

bool hu_op_product_in_batch_order(const hu_node_info *info) {
    return hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD);
}

void hu_op_product_accumulate(const hu_op_call *call) {
    hu_product_call product = backward_call(call);
    product.carry = (char *)call->workspace + carry_offset(call->state);
    hu_products_run(call->state, HU_PRODUCT_WEIGHT_GRAD, &product);
}
