/* Random bits: every so many steps all layers get one number of a set; from a moment on the
 * largest. Source: LDP, table 2. */
#include <halfulp/random.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "precision/bits_schedule.h"

typedef struct draws {
    hu_bits_task task;
    int64_t end; /* the first step that is not drawn */
} draws;

static hu_status create(const hu_bits_task *task, void **state) {
    const hu_bits *bits = task->bits;
    int64_t end = hu_bits_step(bits, bits->until, task->steps_per_epoch);
    if (end > task->steps && task->steps > 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.until: found %lld, which is step %lld, in a run of %lld steps",
                       (long long)bits->until, (long long)end, (long long)task->steps);
    hu_status st = hu_alloc(sizeof(draws), state);
    if (st == HU_OK) *(draws *)*state = (draws){*task, bits->until ? end : task->steps};
    return st;
}

static void at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const draws *d = state;
    const hu_bits *bits = d->task.bits;
    const hu_random_key key = {d->task.seed, hu_stream_id("bits", ""), 0};
    uint64_t draw = hu_random_below(&key, (uint64_t)(step / bits->every), bits->set_count);
    uint32_t b = step < d->end ? bits->set[draw] : bits->forward.most;
    hu_bits_fill_forward(d->task.layers, b, forward);
    hu_bits_fill_gradient(&d->task, forward, gradient);
}

static int64_t until(const void *state, int64_t step) {
    const draws *d = state;
    int64_t every = d->task.bits->every, next = step - step % every + every;
    if (step >= d->end) return INT64_MAX;
    return next < d->end ? next : d->end;
}

/* Precisions that changed at random say nothing of the one to use: the most. */
static void deploy(const void *state, uint8_t *forward) {
    const draws *d = state;
    hu_bits_fill_forward(d->task.layers, d->task.bits->forward.most, forward);
}

const hu_bits_schedule hu_bits_random = {.name = "random",
                                         .argument = "",
                                         .help = "all layers: bits drawn from a set, now and then",
                                         .keys = "bits.set bits.every bits.until bits.per",
                                         .deploys_at = "the most bits of the set",
                                         .create = create,
                                         .at = at,
                                         .until = until,
                                         .deploy = deploy};
