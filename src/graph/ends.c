#include "graph/ends.h"

#include "base/error.h"

static hu_status refuse(const hu_graph *graph, hu_value_id value, const char *found) {
    return hu_fail(HU_ERR_ARGUMENT, "the rows of '%s' end by lengths: %s",
                   value < graph->value_count ? graph->value[value].name : "?", found);
}

static bool is_read(const hu_graph *graph, hu_value_id value) {
    for (uint32_t u = 0; u < graph->use_count; u++)
        if (graph->use[u].value == value) return true;
    return false;
}

/* True if a value is there when another is made or loaded. */
static bool is_there_before(const hu_value_info *first, const hu_value_info *value) {
    if (first->producer == HU_NONE) return true;
    return value->producer != HU_NONE && first->producer < value->producer;
}

hu_status hu_graph_end_rows(hu_graph *graph, hu_value_id value, hu_value_id lengths) {
    if (value >= graph->value_count || lengths >= graph->value_count)
        return refuse(graph, value, "found no such value");
    const hu_value_info *of = &graph->value[value], *end = &graph->value[lengths];
    bool is_activation = of->producer != HU_NONE && graph->node[of->producer].loop == HU_NONE;
    if (!hu_is_given(end) || end->elements != 1 || !is_there_before(end, of))
        return refuse(graph, value, "expected a target or a fact of one element, there before it");
    if (!is_activation && !hu_is_loaded(of))
        return refuse(graph, value, "expected what is loaded, or made outside of loops");
    if (of->ends.lengths != HU_NONE && of->ends.lengths != lengths)
        return refuse(graph, value, "they end by others already");
    if (is_read(graph, value)) return refuse(graph, value, "a node has read it already");
    if (of->shape.rank < 1)
        return hu_fail(HU_ERR_SHAPE, "'%s' has no rows, expected a first extent", of->name);
    graph->value[value].ends = (hu_ends){lengths, of->elements / of->shape.extent[0]};
    graph->value[lengths].tells_ends = true;
    return HU_OK;
}

/* What ends the rows of an input as a node reads it: of a step, of a whole. */
static hu_ends ends_of_input(const hu_graph *graph, const hu_node *node, int i) {
    const hu_value_info *in = &graph->value[node->in[i]];
    return node->loop == HU_NONE || hu_is_held(node, i) ? in->ends : in->inner;
}

/* What ends the rows of all inputs that have padding, by the same lengths; rows: how many. */
static hu_ends ends_of_inputs(const hu_graph *graph, const hu_node *node, int64_t *rows) {
    const hu_ends none = {.lengths = HU_NONE};
    hu_ends found = none;
    for (int i = 0; i < node->n_in; i++) {
        const hu_ends of = ends_of_input(graph, node, i);
        if (of.lengths == HU_NONE) continue;
        int64_t has = hu_shape_elements(&node->shapes[i]) / of.row;
        if (found.lengths != HU_NONE && (found.lengths != of.lengths || *rows != has)) return none;
        found = of;
        *rows = has;
    }
    return found;
}

/* Where an input of the node says it. */
static hu_ends ends_told(const hu_graph *graph, const hu_node *node, const hu_shape *out) {
    int by = node->op->ends_by;
    bool has = by > 0 && by < node->n_in && node->loop == HU_NONE && out->rank > 0;
    if (!has || !hu_is_given(&graph->value[node->in[by]])) return (hu_ends){.lengths = HU_NONE};
    return (hu_ends){node->in[by], hu_shape_elements(out) / out->extent[0]};
}

/* Of an output, or of one step of it. A view has the numbers of its input in their order, whatever
 * its extents are called. */
static hu_ends ends_of_output(const hu_graph *graph, const hu_node *node, int i, hu_ends in,
                              int64_t rows) {
    const hu_shape *shape = &node->shapes[node->n_in + i];
    bool has_rows = shape->rank > 1 && shape->extent[0] == rows;
    if (node->op->ends_by > 0) return ends_told(graph, node, shape);
    if (in.lengths == HU_NONE || (!node->op->is_view && !has_rows))
        return (hu_ends){.lengths = HU_NONE};
    return (hu_ends){in.lengths, hu_shape_elements(shape) / rows};
}

void hu_ends_infer(hu_graph *graph, const hu_node *node) {
    const hu_loop *loop = hu_loop_of(graph, node);
    int64_t rows = 0;
    hu_ends in = {.lengths = HU_NONE};
    if (node->op->keeps_rows) in = ends_of_inputs(graph, node, &rows);
    for (int i = 0; i < node->n_out; i++) {
        hu_value_info *value = &graph->value[node->out[i]];
        const hu_ends out = ends_of_output(graph, node, i, in, rows);
        if (loop)
            value->inner = out;
        else
            value->ends = out;
        if (loop && loop->lengths != HU_NONE)
            value->ends = (hu_ends){loop->lengths, value->elements / loop->steps};
        if (value->ends.lengths != HU_NONE) graph->value[value->ends.lengths].tells_ends = true;
    }
}

uint32_t hu_ends_teller(const hu_graph *graph, hu_value_id value) {
    hu_value_id lengths = graph->value[value].ends.lengths;
    return lengths == HU_NONE ? HU_NONE : graph->value[lengths].producer;
}
