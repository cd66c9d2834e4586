#include "graph/fate.h"

#include "graph/layout.h"

const char *hu_fate_name(hu_fate fate) {
    static const char *const names[] = {[HU_FATE_KEPT] = "kept",
                                        [HU_FATE_PASSING] = "passing",
                                        [HU_FATE_AGAIN] = "again",
                                        [HU_FATE_NONE] = "none"};
    return names[fate];
}

/* Time of the last forward pass over a node. */
static int32_t forward_end(const hu_run *run) {
    return hu_time_forward(run->graph->node_count - 1);
}

hu_fate hu_run_fate(const hu_run *run, hu_value_id value) {
    uint32_t index = run->value[value].buffer;
    if (run->is_virtual[value]) return HU_FATE_AGAIN;
    if (index == HU_NONE || run->buffers[index].bytes == 0) return HU_FATE_NONE;
    return run->buffers[index].last > forward_end(run) ? HU_FATE_KEPT : HU_FATE_PASSING;
}

const char *hu_run_storage_name(const hu_run *run, hu_value_id value) {
    return run->value[value].storage.trait->name;
}

static bool slot_waits(const hu_slot *slot) {
    return hu_quantizer_needs_maximum(&slot->edge->quantizer);
}

bool hu_run_waits(const hu_run *run, hu_value_id value) {
    return slot_waits(&run->value[value]);
}

bool hu_run_gradient_waits(const hu_run *run, hu_value_id value) {
    const hu_value_info *info = &run->graph->value[value];
    bool has_gradient = false;
    for (uint32_t k = 0; k < info->use_count; k++) {
        if (!hu_use_has_gradient(run->graph, info->uses[k])) continue;
        if (slot_waits(&run->grad[info->uses[k]])) return true;
        has_gradient = true;
    }
    return has_gradient && hu_chunk_rounds_sum(run, value) && slot_waits(&run->grad_sum[value]);
}
