#include "runlog/history_walk.h"

/* Whether counts of such tensors are among those of the run. */
static bool has_kind(const hu_history *history, const hu_graph *graph, hu_tensor_kind kind) {
    char name[HU_TENSOR_NAME_BYTES];
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_tensor_name(graph, (hu_tensor){kind, v}, name);
        if (hu_names_find(&history->tensors, name) != HU_NAMES_NONE) return true;
    }
    return false;
}

hu_status hu_history_walk(const hu_history *history, const hu_graph *graph, hu_tensor_order *walk) {
    unsigned more = 0;
    if (has_kind(history, graph, HU_TENSOR_WIRE)) more |= HU_WALK_WIRE;
    if (has_kind(history, graph, HU_TENSOR_WEIGHTS)) more |= HU_WALK_WEIGHTS;
    if (has_kind(history, graph, HU_TENSOR_MOMENTUM)) more |= HU_WALK_MOMENTUM;
    if (has_kind(history, graph, HU_TENSOR_SQUARES)) more |= HU_WALK_SQUARES;
    return hu_tensor_order_create(graph, more, walk);
}

void hu_history_places(const hu_history *history, const hu_tensor_order *walk, uint32_t *place) {
    char name[HU_TENSOR_NAME_BYTES];
    for (uint32_t t = 0; t < history->tensors.count; t++) place[t] = HU_NONE;
    for (uint32_t i = 0; i < walk->count; i++) {
        hu_tensor_name(walk->graph, walk->tensor[i], name);
        uint32_t number = hu_names_find(&history->tensors, name);
        if (number != HU_NAMES_NONE) place[number] = i;
    }
}
