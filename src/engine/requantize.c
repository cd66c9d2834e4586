#include "engine/requantize.h"

#include "engine/facts.h"

/* True if all slots of an array have room for what has changed. */
static bool have_room(const hu_slot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!hu_slot_is_prepared(&slots[i]) && !hu_slot_has_room(&slots[i])) return false;
    return true;
}

/* The record of a use that was not rounded at all may be new: such slots exist only if one is. */
static bool uses_have_room(const hu_run *run) {
    if (run->use) return have_room(run->use, run->graph->use_count);
    for (uint32_t u = 0; u < run->graph->use_count; u++)
        if (hu_quantizer_rounds(&run->edges->use[u].quantizer)) return false;
    return true;
}

/* Whether a sum is read apart decides what a pass does: that takes another plan. */
static bool views_have_room(const hu_run *run) {
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        const hu_slot *slot = hu_weights_view(run, v);
        if (run->edges->grad_weights[v].is_apart != (slot != NULL)) return false;
        if (slot && !have_room(slot, 1)) return false;
    }
    return true;
}

static void prepare_views(hu_run *run) {
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        hu_slot *slot = hu_weights_view(run, v);
        if (slot && !hu_slot_is_prepared(slot)) (void)hu_slot_prepare(slot, run->options.storage);
    }
}

static void prepare(hu_run *run, hu_slot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!hu_slot_is_prepared(&slots[i])) (void)hu_slot_prepare(&slots[i], run->options.storage);
}

bool hu_run_requantize(hu_run *run) {
    uint32_t values = run->graph->value_count, uses = run->graph->use_count;
    if (!have_room(run->value, values) || !have_room(run->grad_sum, values) ||
        !have_room(run->grad, uses) || !uses_have_room(run) || !views_have_room(run))
        return false;
    prepare(run, run->value, values);
    prepare(run, run->grad_sum, values);
    prepare(run, run->grad, uses);
    if (run->use) prepare(run, run->use, uses);
    prepare_views(run);
    return true;
}
