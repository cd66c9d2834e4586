#include "layout/loops.h"

#include "engine/facts.h"
#include "graph/loop.h"

bool hu_loops_makes(const hu_run *run, hu_value_id v) {
    uint32_t producer = run->graph->value[v].producer;
    return producer != HU_NONE && hu_loop_at(run, producer);
}

bool hu_loops_reads(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    const hu_node *node = &run->graph->node[u->node];
    bool is_whole = node->op->is_previous && u->index != HU_STATE_NEXT;
    return hu_loop_at(run, u->node) && u->index < node->n_in && !is_whole;
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
