#include "train/internal.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/trainer.h"

/* Names of a turn begin alike, so that its parameters stand together in name order. */
static void find_parameters(hu_trainer *trainer, int phase) {
    hu_phase_state *learner = &trainer->phase[phase];
    const hu_graph *graph = trainer->graph;
    int64_t block = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        int64_t blocks = hu_gradient_blocks_of(trainer, p);
        if (graph->value[trainer->name_order[p]].phase == phase) {
            if (learner->count++ == 0) learner->first = p;
            if (learner->count == 1) learner->first_block = block;
            learner->blocks += blocks;
        }
        block += blocks;
    }
}

/* Masters stand in the order in which a model declares them. */
static hu_status find_masters(hu_trainer *trainer, int phase) {
    hu_phase_state *learner = &trainer->phase[phase];
    const hu_graph *graph = trainer->graph;
    int64_t first = INT64_MAX, end = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        int64_t offset = trainer->weights.offset[v];
        if (value->role != HU_VALUE_PARAMETER || value->phase != phase) continue;
        if (offset < first) first = offset;
        if (offset + value->elements > end) end = offset + value->elements;
        learner->elements += value->elements;
    }
    learner->offset = first;
    if (end - first == learner->elements) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "turn '%s': found parameters of others between its own, expected networks that "
                   "are declared one after the other",
                   graph->phase[phase].name);
}

static hu_status create_optimizer(hu_trainer *trainer, int phase) {
    hu_phase_state *learner = &trainer->phase[phase];
    hu_state_plan plan;
    hu_status st = hu_state_formats_plan(trainer, phase, &plan);
    if (st == HU_OK)
        st = hu_optimizer_create(&trainer->options.optimizer, learner->elements, &plan,
                                 &learner->optimizer);
    hu_free((void *)(uintptr_t)plan.tensor);
    return st;
}

double hu_phase_rate(const hu_trainer *trainer, int phase) {
    double rate = trainer->options.phase_2_rate;
    return phase == 0 || rate == 0.0 ? 1.0 : rate;
}

hu_status hu_phases_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    trainer->phases = hu_graph_phases(trainer->graph);
    if (trainer->phases == 1 && hu_phase_rate(trainer, 1) != 1.0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "lr.turn_2: found %g with a model that has no second turn, expected 1",
                       trainer->options.phase_2_rate);
    for (int t = 0; t < trainer->phases; t++) {
        hu_phase_state *learner = &trainer->phase[t];
        find_parameters(trainer, t);
        HU_TRY(find_masters(trainer, t));
        HU_TRY(create_optimizer(trainer, t));
        if (!trainer->options.run.is_plan) hu_optimizer_begin(learner->optimizer);
        HU_TRY(hu_loss_scale_init(&trainer->options.scaler, &learner->scaler));
    }
done:
    return st;
}

void hu_phases_free(hu_trainer *trainer) {
    for (int t = 0; t < trainer->phases; t++) hu_optimizer_free(trainer->phase[t].optimizer);
}

const char *hu_phase_section(const hu_trainer *trainer, int phase, const char *name,
                             char *section) {
    const hu_graph *graph = trainer->graph;
    if (graph->phase_count > 0)
        snprintf(section, HU_SECTION_BYTES, "%s.%s", graph->phase[phase].name, name);
    else
        snprintf(section, HU_SECTION_BYTES, "%s", name);
    return section;
}
