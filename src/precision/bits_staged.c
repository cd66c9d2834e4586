/* Staged bits: from each of several moments on other bits, for all layers or block by block.
 * Source: LDP, table 1. */
#include "base/error.h"
#include "base/memory.h"
#include "precision/bits_schedule.h"

static int64_t begin_of(const hu_bits_task *task, uint32_t stage) {
    return hu_bits_step(task->bits, task->bits->stage[stage].from, task->steps_per_epoch);
}

/* A number for each block, or one for all. */
static hu_status check_stage(const hu_bits_task *task, uint32_t index) {
    const hu_bits_stage *stage = &task->bits->stage[index];
    if (stage->count != 1 && stage->count != task->layers->blocks)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.stages, %lld: found %u numbers, expected 1, or %u: one for each block",
                       (long long)stage->from, stage->count, task->layers->blocks);
    if (begin_of(task, index) >= task->steps && task->steps > 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.stages, %lld: begins at step %lld, expected one of the run's %lld",
                       (long long)stage->from, (long long)begin_of(task, index),
                       (long long)task->steps);
    return HU_OK;
}

static hu_status create(const hu_bits_task *task, void **state) {
    hu_status st = HU_OK;
    if (task->bits->stage_count == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.stages: found none with precision=staged, expected some, as in "
                       "[0: 4, 30: 6, 60: 8]");
    for (uint32_t i = 0; i < task->bits->stage_count; i++) HU_TRY(check_stage(task, i));
    HU_TRY(hu_alloc(sizeof *task, state));
    *(hu_bits_task *)*state = *task;
done:
    return st;
}

static uint32_t stage_at(const hu_bits_task *task, int64_t step) {
    uint32_t i = task->bits->stage_count - 1;
    while (i > 0 && begin_of(task, i) > step) i--;
    return i;
}

static void at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const hu_bits_task *task = state;
    const hu_bits_stage *stage = &task->bits->stage[stage_at(task, step)];
    hu_bits_fill_forward(task->layers, stage->bits[0], forward);
    for (uint32_t l = 0; l < task->layers->count; l++) {
        const hu_bits_layer *layer = &task->layers->layer[l];
        if (layer->is_quantised && stage->count > 1)
            forward[l] = (uint8_t)hu_bits_bound(layer, stage->bits[layer->block]);
    }
    hu_bits_fill_gradient(task, forward, gradient);
}

static int64_t until(const void *state, int64_t step) {
    const hu_bits_task *task = state;
    uint32_t next = stage_at(task, step) + 1;
    return next < task->bits->stage_count ? begin_of(task, next) : INT64_MAX;
}

const hu_bits_schedule hu_bits_staged = {.name = "staged",
                                         .argument = "",
                                         .help = "bits by epoch, for all layers or block by block",
                                         .keys = "bits.stages bits.per",
                                         .deploys_at = "the bits of the last stage",
                                         .create = create,
                                         .at = at,
                                         .until = until};
