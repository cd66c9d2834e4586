#include "layout/kept.h"

#include "base/error.h"
#include "engine/facts.h"
#include "engine/residual.h"
#include "layout/buffers.h"
#include "layout/slots.h"

/* True if the backward pass wants what a use has rounded. */
static bool is_wanted(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    const hu_node *node = &run->graph->node[u->node];
    return hu_use_slot(run, use) && u->index < node->n_in && node->needs_backward &&
           node->loop == HU_NONE && hu_node_saves(node, u->index);
}

static size_t code_bytes(const hu_run *run, uint32_t use) {
    return hu_slot_bytes(&run->use[use], run->options.storage, run->options.batch);
}

static size_t residual_bytes(const hu_run *run, uint32_t use) {
    const hu_slot *slot = &run->use[use];
    return hu_residual_bits(slot) > 0 ? hu_residual_bytes(slot, run->options.batch) : 0;
}

/* Bytes of all that could be kept of a value. */
static size_t bytes_of_uses(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    size_t bytes = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        if (is_wanted(run, value->uses[k]))
            bytes += code_bytes(run, value->uses[k]) + residual_bytes(run, value->uses[k]);
    return bytes;
}

static hu_status declare_uses(hu_run *run, hu_value_id v) {
    hu_status st = HU_OK;
    const hu_value_info *value = &run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        uint32_t use = value->uses[k];
        hu_slot *slot = &run->use[use];
        if (!is_wanted(run, use)) continue;
        HU_TRY(hu_buffers_add(run, code_bytes(run, use), HU_BUFFER_ACTIVATION, &slot->buffer));
        HU_TRY(
            hu_buffers_add(run, residual_bytes(run, use), HU_BUFFER_ACTIVATION, &slot->residual));
    }
done:
    return st;
}

hu_status hu_kept_declare(hu_run *run) {
    for (hu_value_id v = 0; run->use && v < run->graph->value_count; v++) {
        uint32_t buffer = run->value[v].buffer;
        bool is_parameter = run->graph->value[v].role == HU_VALUE_PARAMETER;
        if (is_parameter || buffer == HU_NONE || run->is_virtual[v] || run->is_remade[v]) continue;
        if (bytes_of_uses(run, v) >= run->buffers[buffer].bytes) continue;
        hu_status st = declare_uses(run, v);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

bool hu_kept_drop(hu_run *run) {
    int32_t forward_end = hu_time_forward(run->graph->node_count - 1);
    bool any = false;
    for (uint32_t u = 0; run->use && u < run->graph->use_count; u++) {
        uint32_t of_value = run->value[run->graph->use[u].value].buffer;
        if (!hu_use_is_kept(run, u) || !hu_buffer_outlives(&run->buffers[of_value], forward_end))
            continue;
        run->use[u].buffer = run->use[u].residual = HU_NONE;
        any = true;
    }
    return any;
}
