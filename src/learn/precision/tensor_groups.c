#include "precision/tensor_groups.h"

#include "base/error.h"
#include "base/memory.h"

/* ---- tensor set ---- */

/* The tensors that carry a precision, and their sizes.
 *
 * These are the activations (the images and the loss per sample included), the parameters, and a
 * gradient of the same size for each, whether or not it is ever computed. Activations count for the
 * whole batch. Labels, views and products inside a layer that are not rounded are none. Source: Lee
 * et al., the set TS.
 */

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

/* Every tile has a scale; tiles are cut from the lines, [.., C], of a sample or a parameter. */
static int64_t block_scale_bits(const hu_value_info *value, const hu_block_format *block,
                                int64_t elements) {
    enum { BYTE_BITS = 8 };
    int64_t line = value->shape.rank ? value->shape.extent[value->shape.rank - 1] : 1;
    int64_t tiles = hu_block_tiles(block, value->elements / line, line);
    return BYTE_BITS * hu_block_scale_bytes(block) * tiles * (elements / value->elements);
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
        bits += block_scale_bits(value, &quantizer->block, elements);
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

/* ---- group ---- */

/* Tensors between two matrix products, the unit in which assignments demote.
 *
 * Modules are taken in execution order. The input begins group 0, every convolution and every
 * linear layer begins the next one. The output of a module and its gradient belong to the module's
 * group; its parameters and their gradients to the group of the module that produces its first
 * input, so that a product's weights sit with the activation that it reads. Views produce nothing:
 * who reads one reads what the view shows. Source: Lee et al., section 4 and released code.
 */

/* The value that holds the numbers of v and came into being by a module: views and the bias of a
 * layer's product are looked through. */
static hu_value_id module_input(const hu_graph *graph, hu_value_id v) {
    for (;;) {
        const hu_op *op = hu_producer_op(graph, v);
        if (!op || !(op->is_view || hu_is_inner_product(graph, v))) return v;
        v = graph->node[graph->value[v].producer].in[0];
    }
}

/* The group in which the value came into being; for what is no tensor, too. */
static void place_values(const hu_graph *graph, uint32_t *home, uint32_t *count) {
    uint32_t group = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) home[v] = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        group += node->op->is_product;
        for (int i = 0; i < node->n_out; i++) home[node->out[i]] = group;
    }
    /* Apart: what a state of a loop reads is made after it. */
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        for (int p = 0; p < node->n_params; p++)
            home[node->param[p]] = home[module_input(graph, node->in[0])];
    }
    *count = group + 1;
}

hu_status hu_tensor_groups_create(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                                  hu_tensor_groups *groups) {
    hu_status st = HU_OK;
    *groups = (hu_tensor_groups){0};
    HU_TRY(HU_NEW_ARRAY(&groups->of_value, graph->value_count));
    place_values(graph, groups->of_value, &groups->count);
    HU_TRY(HU_NEW_ARRAY(&groups->elements, groups->count));
    /* Values that are no tensors had a place only so that parameters could find theirs. */
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (!hu_is_tensor(graph, edges, v)) {
            groups->of_value[v] = HU_NONE;
            continue;
        }
        int64_t elements = 2 * hu_tensor_elements(&graph->value[v], batch);
        groups->elements[groups->of_value[v]] += elements;
        groups->all += elements;
    }
done:
    if (st != HU_OK) hu_tensor_groups_free(groups);
    return st;
}

void hu_tensor_groups_free(hu_tensor_groups *groups) {
    hu_free(groups->of_value);
    hu_free(groups->elements);
    *groups = (hu_tensor_groups){0};
}

/* Insertion keeps the earlier of two equal groups in front. */
void hu_groups_by_size(const hu_tensor_groups *groups, bool smallest_first, uint32_t *order) {
    for (uint32_t g = 0; g < groups->count; g++) {
        uint32_t at = g;
        for (; at > 0; at--) {
            int64_t before = groups->elements[order[at - 1]], here = groups->elements[g];
            if (smallest_first ? before <= here : before >= here) break;
            order[at] = order[at - 1];
        }
        order[at] = g;
    }
}
