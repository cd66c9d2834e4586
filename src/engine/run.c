#include "engine/run.h"

#include "engine/facts.h"
#include "engine/state.h"

const hu_graph *hu_run_graph(const hu_run *run) {
    return run->graph;
}

const hu_edge_table *hu_run_edges(const hu_run *run) {
    return run->edges;
}

const hu_weights *hu_run_weights(const hu_run *run) {
    return run->weights;
}

const hu_pass_options *hu_run_pass(const hu_run *run) {
    return &run->pass;
}

bool hu_run_has_overflowed(const hu_run *run) {
    return run->overflowed;
}

void hu_run_set_overflowed(hu_run *run, bool overflowed) {
    run->overflowed = overflowed;
}

uint32_t hu_run_counted_nodes(const hu_run *run) {
    return run->counted_nodes;
}

const char *hu_run_unencodable_parameter(const hu_run *run) {
    return run->unencodable_parameter;
}

const float *hu_run_rounded_parameter(const hu_run *run, hu_value_id v, float *scratch) {
    const hu_slot *slot = &run->value[v];
    if (!hu_is_rounded_copy(slot) || run->graph->value[v].role != HU_VALUE_PARAMETER)
        return hu_weights_of(run->weights, v);
    return hu_storage_read(&slot->storage, slot->data, 0, 1, scratch);
}

void hu_run_parameter_rounding(const hu_run *run, hu_value_id v, hu_quantizer *quantizer,
                               int32_t *exponent) {
    const hu_slot *slot = &run->value[v];
    bool is_rounded = hu_is_rounded_copy(slot) && run->graph->value[v].role == HU_VALUE_PARAMETER;
    *quantizer = is_rounded ? slot->edge->quantizer : (hu_quantizer){.kind = HU_QUANTIZER_NONE};
    *exponent = is_rounded ? slot->exponent : 0;
}

const float *hu_run_value(const hu_run *run, hu_value_id v, int64_t rows, float *scratch) {
    const hu_slot *slot = &run->value[v];
    return hu_storage_read(&slot->storage, slot->data, 0, rows, scratch);
}
