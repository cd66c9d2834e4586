#include "layout/fate.h"

#include "engine/facts.h"
#include "engine/state.h"
#include "layout/buffers.h"

const char *hu_fate_name(hu_output_fate fate) {
    static const char *const names[] = {[HU_OUTPUT_SAVED] = "saved",
                                        [HU_OUTPUT_TRANSIENT] = "transient",
                                        [HU_OUTPUT_RECOMPUTED] = "recomputed",
                                        [HU_OUTPUT_FUSED] = "fused"};
    return names[fate];
}

/* Time of the last forward pass over a node. */
static int32_t forward_end(const hu_run *run) {
    return hu_time_forward(run->graph->node_count - 1);
}

hu_output_fate hu_run_fate(const hu_run *run, hu_value_id value) {
    uint32_t index = run->value[value].buffer;
    uint32_t maker = run->graph->value[value].producer;
    if (maker != HU_NONE && hu_taker(run, maker) != HU_NONE) return HU_OUTPUT_FUSED;
    if (run->is_virtual[value])
        return run->options.recompute ? HU_OUTPUT_RECOMPUTED : HU_OUTPUT_FUSED;
    if (index == HU_NONE || run->buffers[index].bytes == 0) return HU_OUTPUT_FUSED;
    return hu_buffer_outlives(&run->buffers[index], forward_end(run)) ? HU_OUTPUT_SAVED
                                                                      : HU_OUTPUT_TRANSIENT;
}

const char *hu_run_storage_name(const hu_run *run, hu_value_id value) {
    return run->value[value].storage.trait->name;
}

void hu_run_storage_bits(const hu_run *run, hu_value_id value, uint32_t *code, uint32_t *stored) {
    const hu_storage *storage = &run->value[value].storage;
    bool has_codes = storage->trait->code_bits > 0 && !storage->trait->is_float32;
    *code = *stored = (uint32_t)storage->trait->code_bits;
    if (has_codes) *code = hu_format_bits(&storage->format);
}

static bool is_staged(const hu_slot *slot) {
    return hu_slot_waits(slot);
}

bool hu_run_needs_maximum_first(const hu_run *run, hu_value_id value) {
    return is_staged(&run->value[value]);
}

bool hu_run_gradient_needs_maximum_first(const hu_run *run, hu_value_id value) {
    const hu_value_info *info = &run->graph->value[value];
    bool has_gradient = false;
    for (uint32_t k = 0; k < info->use_count; k++) {
        if (!hu_use_has_gradient(run->graph, info->uses[k])) continue;
        if (is_staged(&run->grad[info->uses[k]])) return true;
        has_gradient = true;
    }
    const hu_slot *view = hu_weights_view(run, value);
    if (view && is_staged(view)) return true;
    return has_gradient && hu_rounds_gradient_sum(run, value) && is_staged(&run->grad_sum[value]);
}
