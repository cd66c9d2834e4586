#include "precision/adapt.h"

#include "base/error.h"
#include "base/memory.h"

const hu_adaptation *const hu_adaptation_table[HU_ADAPTATION_COUNT] = {
#define ADAPTATION_ROW(identifier) &hu_adaptation_##identifier,
    HU_ADAPTATION_LIST(ADAPTATION_ROW)
#undef ADAPTATION_ROW
};

/* Room for the events of one step is made here: a step allocates nothing. */
hu_status hu_adaptations_create(const hu_adapt_task *task, hu_adaptations *adaptations) {
    hu_status st = HU_OK;
    size_t events = 0;
    *adaptations = (hu_adaptations){0};
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        HU_TRY(hu_adaptation_table[a]->create(task, &adaptations->state[a]));
        if (adaptations->state[a]) events += hu_adaptation_table[a]->most_events(task->graph);
    }
    HU_TRY(HU_NEW_ARRAY(&adaptations->event, events));
done:
    if (st != HU_OK) hu_adaptations_free(adaptations);
    return st;
}

void hu_adaptations_free(hu_adaptations *adaptations) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a]) hu_adaptation_table[a]->free(adaptations->state[a]);
    hu_free(adaptations->event);
    *adaptations = (hu_adaptations){0};
}

void hu_adaptations_widen(const hu_adaptations *adaptations, const hu_graph *graph,
                          hu_edge_table *edges) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->widen)
            hu_adaptation_table[a]->widen(adaptations->state[a], graph, edges);
}

void hu_adapt_tell(hu_adapt_moment *moment, hu_adapt_event event) {
    if (moment->event) moment->event[moment->event_count++] = event;
}

/* In the order of the list: what rewrites the table goes before what changes single tensors. */
void hu_adapt_before_step(hu_adaptations *adaptations, hu_adapt_moment *moment) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->before_step)
            hu_adaptation_table[a]->before_step(adaptations->state[a], moment);
}

void hu_adapt_after_step(hu_adaptations *adaptations, hu_adapt_moment *moment) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->after_step)
            hu_adaptation_table[a]->after_step(adaptations->state[a], moment);
}

uint32_t hu_adapt_changed(const hu_adaptations *adaptations) {
    uint32_t count = 0;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->changed)
            count += hu_adaptation_table[a]->changed(adaptations->state[a]);
    return count;
}
