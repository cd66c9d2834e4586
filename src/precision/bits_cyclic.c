/* Cyclic precision: all layers rise from A to B bits along half a cosine, cycle after cycle.
 *
 *   b_t = rint(A + (B - A) / 2 (1 - cos(pi x / P))), x = t mod P, P = steps / cycles rounded down
 *
 * rint: to nearest, halves to even. Steps behind the last whole cycle begin another one. Source: Fu
 * et al., "CPT: Efficient Deep Neural Network Training via Cyclic Precision". */
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "precision/bits_schedule.h"

typedef struct cycle {
    hu_bits_task task;
    int64_t period;
} cycle;

static hu_status create(const hu_bits_task *task, void **state) {
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

static void at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
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
static int64_t until(const void *state, int64_t step) {
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
static void deploy(const void *state, uint8_t *forward) {
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
                                         .create = create,
                                         .at = at,
                                         .until = until,
                                         .deploy = deploy};
