#include "layout/loops.h"

#include "base/error.h"
#include "engine/facts.h"

static hu_status check(const hu_edge *edge, const hu_value_info *value, const char *suffix) {
    char found[HU_QUANTIZER_BYTES];
    if (hu_quantizer_is_plain(&edge->quantizer) && !edge->learns) return HU_OK;
    hu_quantizer_print(&edge->quantizer, found, sizeof found);
    return hu_fail(HU_ERR_ARGUMENT,
                   "'%s%s' is rounded in the steps of a loop: found %s, expected a number format "
                   "without a scale, which no step needs the others for",
                   value->name, suffix, found);
}

/* Records of a use by a node in a loop. The initial row of a state is read as a whole. */
static hu_status check_use(const hu_run *run, uint32_t u) {
    const hu_use *use = &run->graph->use[u];
    const hu_node *node = &run->graph->node[use->node];
    const hu_value_info *value = &run->graph->value[use->value];
    bool is_whole = use->index >= node->n_in || value->steps == 1;
    if (node->loop == HU_NONE || is_whole) return HU_OK;
    hu_status st = check(&run->edges->use[u], value, "");
    return st == HU_OK ? check(&run->edges->grad[u], value, ".grad") : st;
}

hu_status hu_loops_check_edges(const hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    for (hu_value_id v = 0; v < graph->value_count && graph->loop_count > 0; v++) {
        const hu_value_info *value = &graph->value[v];
        bool is_inside = value->producer != HU_NONE && hu_loop_at(run, value->producer);
        if (value->steps == 1) continue;
        HU_TRY(check(&run->edges->value[v], value, ""));
        if (is_inside) HU_TRY(check(&run->edges->grad_sum[v], value, ".grad.sum"));
        for (uint32_t k = 0; k < value->use_count && is_inside; k++)
            HU_TRY(check(&run->edges->grad[value->uses[k]], value, ".grad"));
        if (is_inside && run->edges->grad_weights[v].is_apart)
            return hu_fail(HU_ERR_ARGUMENT,
                           "'%s': found a gradient that weights read apart, expected none in loops",
                           value->name);
    }
    for (uint32_t u = 0; u < graph->use_count && graph->loop_count > 0; u++)
        HU_TRY(check_use(run, u));
done:
    return st;
}

int64_t hu_loops_chunk(const hu_run *run, uint32_t n) {
    const hu_loop *loop = hu_loop_at(run, n);
    bool has_params = run->graph->node[n].n_params > 0;
    return loop && has_params ? loop->steps * run->options.chunk : run->options.chunk;
}

hu_product_engine hu_loops_engine(const hu_run *run, uint32_t n) {
    bool is_known = !hu_loop_at(run, n) || run->options.products != HU_ENGINE_ONEDNN;
    return is_known ? run->options.products : HU_ENGINE_OWN;
}
