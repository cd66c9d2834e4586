#include "engine/requantize.h"

#include "engine/state.h"

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

static void prepare(hu_run *run, hu_slot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!hu_slot_is_prepared(&slots[i])) (void)hu_slot_prepare(&slots[i], run->options.storage);
}

bool hu_run_requantize(hu_run *run) {
    uint32_t values = run->graph->value_count, uses = run->graph->use_count;
    if (!have_room(run->value, values) || !have_room(run->grad_sum, values) ||
        !have_room(run->grad, uses) || !uses_have_room(run))
        return false;
    prepare(run, run->value, values);
    prepare(run, run->grad_sum, values);
    prepare(run, run->grad, uses);
    if (run->use) prepare(run, run->use, uses);
    return true;
}
