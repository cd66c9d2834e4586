#include "precision/tensor_set.h"

bool hu_is_inner_product(const hu_graph *graph, hu_value_id v) {
    const hu_op *op = hu_producer_op(graph, v);
    const hu_value_info *value = &graph->value[v];
    return op && op->is_product && value->use_count == 1 &&
           graph->node[graph->use[value->uses[0]].node].op == &hu_op_bias;
}

bool hu_is_tensor(const hu_graph *graph, const hu_edge_table *edges, hu_value_id v) {
    const hu_op *op = hu_producer_op(graph, v);
    if (!hu_is_rounded_kind(&graph->value[v])) return false;
    if (op && op->is_view) return false;
    return !hu_is_inner_product(graph, v) || hu_quantizer_rounds(&edges->value[v].quantizer);
}

/* Bits of a number, without scales of blocks. */
bool hu_is_low(const hu_edge_table *edges, const hu_quantizer *quantizer, hu_role role) {
    return hu_quantizer_rounds(quantizer) && hu_quantizer_bits(quantizer) <= edges->low_bits[role];
}

/* A value and its gradient: twice the elements. */
int64_t hu_precision_tensor_elements(const hu_graph *graph, const hu_edge_table *edges,
                                     int64_t batch) {
    int64_t all = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (hu_is_tensor(graph, edges, v)) all += 2 * hu_tensor_elements(&graph->value[v], batch);
    return all;
}

const hu_quantizer *hu_precision_gradient(const hu_graph *graph, const hu_edge_table *edges,
                                          hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    bool has_any = hu_contribution_count(graph, v) > 0;
    if (has_any) return &edges->grad[hu_contribution_use(graph, v, 0)].quantizer;
    return value->use_count ? &edges->grad[value->uses[0]].quantizer : &edges->value[v].quantizer;
}

/* A block format has one scale of 8 bits per block; blocks run along the last axis, [.., C]. */
static int64_t block_scale_bits(const hu_value_info *value, const hu_block_format *block,
                                int64_t elements) {
    enum { SCALE_BITS = 8 };
    int64_t line = value->shape.rank ? value->shape.extent[value->shape.rank - 1] : 1;
    int64_t blocks = (line + block->length - 1) / block->length;
    return SCALE_BITS * blocks * (elements / line);
}

/* The zero and the step of every output channel, the first axis of a parameter. */
static int64_t channel_scale_bits(const hu_value_info *value, const hu_quantizer *quantizer) {
    enum { SCALE_BITS = 64 };
    bool has_lines = value->role == HU_VALUE_PARAMETER && value->shape.rank > 0;
    return quantizer->per_channel && has_lines ? SCALE_BITS * value->shape.extent[0] : 0;
}

int64_t hu_tensor_bits(const hu_value_info *value, const hu_quantizer *quantizer, int64_t batch) {
    int64_t elements = hu_tensor_elements(value, batch);
    int64_t bits = (int64_t)hu_quantizer_bits(quantizer) * elements;
    if (quantizer->kind == HU_QUANTIZER_BLOCK)
        bits += block_scale_bits(value, quantizer->block, elements);
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) bits += channel_scale_bits(value, quantizer);
    return bits;
}

int64_t hu_precision_aggregate_bits(const hu_graph *graph, const hu_edge_table *edges,
                                    int64_t batch) {
    int64_t bits = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (!hu_is_tensor(graph, edges, v)) continue;
        bits += hu_tensor_bits(value, &edges->value[v].quantizer, batch) +
                hu_tensor_bits(value, hu_precision_gradient(graph, edges, v), batch);
    }
    return bits;
}

/* Values and gradients are looked at one by one: they may differ. */
double hu_precision_low_ratio(const hu_graph *graph, const hu_edge_table *edges, int64_t batch) {
    int64_t low = 0, all = hu_precision_tensor_elements(graph, edges, batch);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (!hu_is_tensor(graph, edges, v)) continue;
        const hu_value_info *value = &graph->value[v];
        const hu_quantizer *gradient = hu_precision_gradient(graph, edges, v);
        int64_t elements = hu_tensor_elements(value, batch);
        low +=
            hu_is_low(edges, &edges->value[v].quantizer, hu_role_of(value, false)) ? elements : 0;
        low += hu_is_low(edges, gradient, hu_role_of(value, true)) ? elements : 0;
    }
    return all > 0 ? (double)low / (double)all : 0.0;
}
