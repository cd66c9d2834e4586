#include <math.h>

#include <halfulp/random.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "precision/bit_schedule.h"

/* ---- bits static ---- */

/* The same bits from the first step to the last: the 8-bit baseline of all schedules, and what they
 * end with. Source: Banner et al., "Scalable methods for 8-bit training" (SBM). */

/* The state of schedules that know no more than their task. */
static hu_status keep_task(const hu_bits_task *task, void **state) {
    hu_status st = hu_alloc(sizeof *task, state);
    if (st == HU_OK) *(hu_bits_task *)*state = *task;
    return st;
}

static void static_at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
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
                                         .create = keep_task,
                                         .at = static_at};

/* ---- bits staged ---- */

/* Staged bits: from each of several moments on other bits, for all layers or block by block.
 * Source: LDP, table 1. */

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

static hu_status staged_create(const hu_bits_task *task, void **state) {
    hu_status st = HU_OK;
    if (task->bits->stage_count == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.stages: found none with precision=staged, expected some, as in "
                       "[0: 4, 30: 6, 60: 8]");
    for (uint32_t i = 0; i < task->bits->stage_count; i++) HU_TRY(check_stage(task, i));
    st = keep_task(task, state);
done:
    return st;
}

static uint32_t stage_at(const hu_bits_task *task, int64_t step) {
    uint32_t i = task->bits->stage_count - 1;
    while (i > 0 && begin_of(task, i) > step) i--;
    return i;
}

static void staged_at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
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

static int64_t staged_until(const void *state, int64_t step) {
    const hu_bits_task *task = state;
    uint32_t next = stage_at(task, step) + 1;
    return next < task->bits->stage_count ? begin_of(task, next) : INT64_MAX;
}

const hu_bits_schedule hu_bits_staged = {.name = "staged",
                                         .argument = "",
                                         .help = "bits by epoch, for all layers or block by block",
                                         .keys = "bits.stages bits.per",
                                         .deploys_at = "the bits of the last stage",
                                         .create = staged_create,
                                         .at = staged_at,
                                         .until = staged_until};

/* ---- bits cyclic ---- */

/* Cyclic precision: all layers rise from A to B bits along half a cosine, cycle after cycle.
 *
 *   b_t = rint(A + (B - A) / 2 (1 - cos(pi x / P))), x = t mod P, P = steps / cycles rounded down
 *
 * rint: to nearest, halves to even. Steps behind the last whole cycle begin another one. Source: Fu
 * et al., "CPT: Efficient Deep Neural Network Training via Cyclic Precision". */

typedef struct cycle {
    hu_bits_task task;
    int64_t period;
} cycle;

static hu_status cyclic_create(const hu_bits_task *task, void **state) {
    int64_t cycles = task->bits->cycles;
    if (cycles > task->steps && task->steps > 0)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "bits.cycles: found %lld in a run of %lld steps, expected at most one a step",
            (long long)cycles, (long long)task->steps);
    hu_status st = hu_alloc(sizeof(cycle), state);
    if (st == HU_OK) *(cycle *)*state = (cycle){*task, task->steps > 0 ? task->steps / cycles : 1};
    return st;
}

/* cos(pi x / P), 0 <= x < P. Where it is rational it is exact (Niven: at 0, 1/3, 1/2, 2/3 of a half
 * turn alone), so that no half is rounded by chance; elsewhere within a few ulp, from the angle in
 * 2^-32 turns below and the first term of the rest. */
static double cosine(int64_t x, int64_t period) {
    const double half_turn = 2147483648.0, pi = 0x1.921fb54442d18p1;
    enum { QUARTER = 1 << 30 };
    if (2 * x == period) return 0.0;
    if (3 * x == period) return 0.5;
    if (3 * x == 2 * period) return -0.5;
    double turns = half_turn * ((double)x / (double)period), whole = floor(turns);
    double rest = pi * (turns - whole) / half_turn;
    double sine = hu_cos_turns((uint32_t)whole - QUARTER);
    return hu_cos_turns((uint32_t)whole) - rest * sine;
}

static uint32_t bits_at(const cycle *c, const hu_bits_range *range, int64_t step) {
    double height = 0.5 * (double)(range->most - range->least);
    double x = range->least + height * (1.0 - cosine(step % c->period, c->period));
    return (uint32_t)rint(x);
}

static void cyclic_at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const cycle *c = state;
    const hu_bits *bits = c->task.bits;
    hu_bits_fill_forward(c->task.layers, bits_at(c, &bits->forward, step), forward);
    hu_bits_fill(c->task.layers, bits_at(c, &bits->gradient, step), gradient);
    if (bits->gradient_follows) hu_bits_fill_gradient(&c->task, forward, gradient);
}

static bool is_same(const cycle *c, int64_t step, int64_t other) {
    const hu_bits *bits = c->task.bits;
    return bits_at(c, &bits->forward, step) == bits_at(c, &bits->forward, other) &&
           bits_at(c, &bits->gradient, step) == bits_at(c, &bits->gradient, other);
}

/* Within a cycle bits only rise: the first step with others is found by halving. */
static int64_t cyclic_until(const void *state, int64_t step) {
    const cycle *c = state;
    int64_t same = step, other = step - step % c->period + c->period;
    while (other - same > 1) {
        int64_t middle = same + (other - same) / 2;
        if (is_same(c, step, middle))
            same = middle;
        else
            other = middle;
    }
    return other;
}

/* A cycle ends with B bits, and so does the training. */
static void cyclic_deploy(const void *state, uint8_t *forward) {
    const cycle *c = state;
    hu_bits_fill_forward(c->task.layers, c->task.bits->forward.most, forward);
}

const hu_bits_schedule hu_bits_cyclic = {.name = "cpt",
                                         .argument = "A-B",
                                         .help = "all layers rise from A to B bits in every cycle",
                                         .keys = "bits.cycles",
                                         .cycles_gradient = true,
                                         .deploys_at = "B bits",
                                         .hastened = "fewer bits.cycles",
                                         .create = cyclic_create,
                                         .at = cyclic_at,
                                         .until = cyclic_until,
                                         .deploy = cyclic_deploy};

/* ---- bits random ---- */

/* Random bits: every so many steps all layers get one number of a set; from a moment on the
 * largest. Source: LDP, table 2. */

typedef struct draws {
    hu_bits_task task;
    int64_t end; /* the first step that is not drawn */
} draws;

static hu_status random_create(const hu_bits_task *task, void **state) {
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

static void random_at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const draws *d = state;
    const hu_bits *bits = d->task.bits;
    const hu_random_key key = {d->task.seed, hu_stream_id("bits", ""), 0};
    uint64_t draw = hu_random_below(&key, (uint64_t)(step / bits->every), bits->set_count);
    uint32_t b = step < d->end ? bits->set[draw] : bits->forward.most;
    hu_bits_fill_forward(d->task.layers, b, forward);
    hu_bits_fill_gradient(&d->task, forward, gradient);
}

static int64_t random_until(const void *state, int64_t step) {
    const draws *d = state;
    int64_t every = d->task.bits->every, next = step - step % every + every;
    if (step >= d->end) return INT64_MAX;
    return next < d->end ? next : d->end;
}

/* Precisions that changed at random say nothing of the one to use: the most. */
static void random_deploy(const void *state, uint8_t *forward) {
    const draws *d = state;
    hu_bits_fill_forward(d->task.layers, d->task.bits->forward.most, forward);
}

const hu_bits_schedule hu_bits_random = {.name = "random",
                                         .argument = "",
                                         .help = "all layers: bits drawn from a set, now and then",
                                         .keys = "bits.set bits.every bits.until bits.per",
                                         .deploys_at = "the most bits of the set",
                                         .create = random_create,
                                         .at = random_at,
                                         .until = random_until,
                                         .deploy = random_deploy};
