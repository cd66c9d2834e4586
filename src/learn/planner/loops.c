#include "planner/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/chunk.h"
#include "graph/loop.h"
#include "planner/memory.h"
#include "planner/slots.h"

bool hu_loops_makes(const hu_run *run, hu_value_id v) {
    uint32_t producer = run->graph->value[v].producer;
    return producer != HU_NONE && hu_loop_at(run, producer);
}

bool hu_loops_reads(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    const hu_node *node = &run->graph->node[u->node];
    bool is_initial = node->op->is_previous && u->index != HU_STATE_NEXT;
    bool is_whole = is_initial || hu_is_held(node, u->index);
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

/* The state that a carried start is read by. */
static uint32_t state_of(const hu_graph *graph, const hu_node *start) {
    return graph->use[graph->value[start->out[0]].uses[0]].node;
}

/* Bytes of one row, in the widest format that the slot has room for. */
static size_t row_bytes(const hu_run *run, const hu_slot *slot) {
    size_t now = hu_carried_storage(slot).row_bytes;
    size_t most = hu_slot_bytes(slot, run->options.storage, 1) / (size_t)slot->steps;
    return now > most ? now : most;
}

static hu_status declare_banks(hu_run *run, hu_carried *c) {
    const hu_slot *slot = &run->value[run->graph->node[c->node].in[HU_STATE_NEXT]];
    for (int bank = 0; bank < 2; bank++) {
        hu_status st = hu_buffers_add(run, row_bytes(run, slot) * (size_t)run->streams,
                                      HU_BUFFER_ACTIVATION, &c->buffer[bank]);
        if (st != HU_OK) return st;
        for (int course = 0; course < HU_COURSES; course++) {
            hu_buffer_use(&run->buffers[c->buffer[bank]], course, 0);
            hu_buffer_use(&run->buffers[c->buffer[bank]], course, hu_time_update(run->graph));
        }
    }
    return HU_OK;
}

hu_status hu_loops_declare_carried(hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) count += graph->node[n].op->is_carried;
    run->carried_to = 1;
    run->streams = run->options.streams > 0 ? run->options.streams : run->options.batch;
    if (count == 0) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&run->carried, count));
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!graph->node[n].op->is_carried) continue;
        hu_carried *c = &run->carried[run->carried_count++];
        c->node = state_of(graph, &graph->node[n]);
        HU_TRY(declare_banks(run, c));
    }
done:
    return st;
}

void hu_loops_begin_carried(hu_run *run) {
    if (!run->arena) return;
    hu_carried_clear(run);
    hu_carried_begin_step(run);
}
