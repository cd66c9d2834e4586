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

static void set(hu_graph *graph, hu_value_id value, hu_value_id lengths, int64_t row) {
    graph->value[value].ends = (hu_ends){lengths, row};
    graph->value[lengths].tells_ends = true;
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
    set(graph, value, lengths, of->elements / of->shape.extent[0]);
    return HU_OK;
}

/* What ends the rows of a node's inputs: all that have padding by the same lengths. */
static hu_ends ends_of_inputs(const hu_graph *graph, const hu_node *node, int64_t *rows) {
    const hu_ends none = {.lengths = HU_NONE};
    hu_ends found = none;
    for (int i = 0; i < node->n_in; i++) {
        const hu_value_info *in = &graph->value[node->in[i]];
        if (in->ends.lengths == HU_NONE) continue;
        if (found.lengths != HU_NONE &&
            (found.lengths != in->ends.lengths || *rows != in->elements / in->ends.row))
            return none;
        found = in->ends;
        *rows = in->elements / found.row;
    }
    return found;
}

/* A view has the numbers of its input in their order, whatever its extents are called. */
static void infer_one(hu_graph *graph, const hu_node *node, hu_value_id out, hu_ends ends,
                      int64_t rows) {
    const hu_value_info *value = &graph->value[out];
    bool has_rows = value->shape.rank > 1 && value->shape.extent[0] == rows;
    if (node->op->is_view || has_rows) set(graph, out, ends.lengths, value->elements / rows);
}

void hu_ends_infer(hu_graph *graph, const hu_node *node) {
    const hu_loop *loop = hu_loop_of(graph, node);
    int64_t rows = loop ? loop->steps : 0;
    hu_ends ends = {.lengths = loop ? loop->lengths : HU_NONE};
    if (!loop && node->op->keeps_rows) ends = ends_of_inputs(graph, node, &rows);
    for (int i = 0; i < node->n_out && ends.lengths != HU_NONE; i++) {
        hu_value_id out = node->out[i];
        if (loop)
            set(graph, out, ends.lengths, graph->value[out].elements / rows);
        else
            infer_one(graph, node, out, ends, rows);
    }
}

uint32_t hu_ends_teller(const hu_graph *graph, hu_value_id value) {
    hu_value_id lengths = graph->value[value].ends.lengths;
    return lengths == HU_NONE ? HU_NONE : graph->value[lengths].producer;
}
