/* The same bits from the first step to the last: the 8-bit baseline of all schedules, and what they
 * end with. Source: Banner et al., "Scalable methods for 8-bit training" (SBM). */
#include "base/memory.h"
#include "precision/bits_schedule.h"

static hu_status create(const hu_bits_task *task, void **state) {
    hu_status st = hu_alloc(sizeof *task, state);
    if (st == HU_OK) *(hu_bits_task *)*state = *task;
    return st;
}

static void at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const hu_bits_task *task = state;
    (void)step;
    hu_bits_fill_forward(task->layers, task->bits->forward.most, forward);
    hu_bits_fill_gradient(task, forward, gradient);
}

const hu_bits_schedule hu_bits_static = {.name = "static",
                                         .argument = "B",
                                         .help = "B bits in all layers and steps",
                                         .keys = "",
                                         .deploys_at = "B bits",
                                         .create = create,
                                         .at = at};
