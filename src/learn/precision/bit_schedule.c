#include "precision/bits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/random.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "precision/internal.h"

const hu_bits_schedule *const hu_bits_table[HU_BITS_SCHEDULES] = {
#define BITS_ROW(identifier) &hu_bits_##identifier,
    HU_BITS_LIST(BITS_ROW)
#undef BITS_ROW
};

/* As the keys bits.* have them; a test compares. */
static hu_bits usual(const hu_bits_schedule *schedule) {
    return (hu_bits){.schedule = schedule,
                     .exponent_bits = 5,
                     .gradient = {8, 8},
                     .last_float = true,
                     .cycles = 32,
                     .every = 1,
                     .set_count = 3,
                     .set = {4, 6, 8},
                     .forward = {4, 8},
                     .epsilon = 0.15,
                     .decay = 0.4,
                     .target = 0.6,
                     .cost = &hu_cost_bitops,
                     .balance = 1.0,
                     .rate = 0.1,
                     .residual_bits = 8};
}

/* What stands after the colon must be what the schedule takes. */
static hu_status parse_argument(const char *argument, hu_bits *bits) {
    const char *expected = bits->schedule->argument, *name = bits->schedule->name;
    bool is_range = argument && strchr(argument, '-'), wants_range = strcmp(expected, "A-B") == 0;
    if (!expected[0] && !argument) return HU_OK;
    if (!expected[0])
        return hu_fail(HU_ERR_PARSE, "found ':%s', expected '%s' alone", argument, name);
    if (!argument || is_range != wants_range)
        return hu_fail(HU_ERR_PARSE, "found '%s%s%s', expected %s:%s, as in %s:%s", name,
                       argument ? ":" : "", argument ? argument : "", name, expected, name,
                       wants_range ? "4-8" : "8");
    return hu_bits_parse_range(argument, &bits->forward);
}

hu_status hu_bits_parse(const char *text, hu_bits *bits, bool *found) {
    size_t length = strcspn(text, ":");
    *bits = (hu_bits){0};
    *found = false;
    for (int s = 0; s < HU_BITS_SCHEDULES; s++) {
        const hu_bits_schedule *schedule = hu_bits_table[s];
        if (strlen(schedule->name) != length || memcmp(schedule->name, text, length) != 0) continue;
        *found = true;
        *bits = usual(schedule);
        hu_status st = parse_argument(text[length] ? text + length + 1 : NULL, bits);
        if (st != HU_OK) *bits = (hu_bits){0};
        return st;
    }
    return HU_OK;
}

/* The fewest bits that gradients can have. */
static uint32_t least_of_gradients(const hu_bits *bits) {
    uint32_t least = bits->gradient_follows ? hu_bits_covered(bits).least : bits->gradient.least;
    for (uint32_t i = 0; i < bits->gradient_turn_count; i++)
        if (bits->gradient_turn[i] < least) least = bits->gradient_turn[i];
    uint32_t apart = bits->gradient_of_weights;
    return apart > 0 && apart < least ? apart : least;
}

hu_status hu_bits_check_floats(const hu_bits *bits) {
    uint32_t forward = hu_bits_covered(bits).least;
    bool is_gradient = forward > bits->exponent_bits;
    uint32_t least = is_gradient ? least_of_gradients(bits) : forward;
    if (bits->kind != HU_BITS_FLOAT || least > bits->exponent_bits) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "bits.exponent: found %u, with a sign too many for %s of %u bits%s; expected "
                   "floats of at least %u bits, or a smaller bits.exponent",
                   bits->exponent_bits, is_gradient ? "gradients" : "floats", least,
                   is_gradient ? " (bits.grad, bits.grad_turns, bits.grad_weights)" : "",
                   bits->exponent_bits + 1);
}

/* What holds for all schedules. */
static hu_status check(const hu_bits_task *task) {
    const hu_bits *bits = task->bits;
    if (task->steps < 0)
        return hu_fail(HU_ERR_ARGUMENT, "steps: found %lld, expected at least 0",
                       (long long)task->steps);
    if (bits->gradient.least < bits->gradient.most && !bits->schedule->cycles_gradient)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.grad: found %u-%u with %s, which keeps them; expected one number",
                       bits->gradient.least, bits->gradient.most, bits->schedule->name);
    hu_status st = hu_bits_check_floats(bits);
    if (st != HU_OK) return st;
    if (bits->cost->needs_table && !bits->rates)
        return hu_fail(HU_ERR_ARGUMENT, "bits.cost: found table, expected one with it: cost.file");
    return HU_OK;
}

hu_status hu_bits_begin(const hu_bits_task *task, hu_bits_course *course) {
    hu_status st = check(task);
    *course = (hu_bits_course){.schedule = task->bits->schedule};
    if (st == HU_OK) st = course->schedule->create(task, &course->state);
    if (st != HU_OK) *course = (hu_bits_course){0};
    return st;
}

void hu_bits_end(hu_bits_course *course) {
    hu_free(course->state);
    *course = (hu_bits_course){0};
}

void hu_bits_deployed(const hu_bits_course *course, int64_t steps, uint8_t *forward,
                      uint8_t *gradient) {
    const hu_bits_schedule *schedule = course->schedule;
    schedule->at(course->state, steps > 0 ? steps - 1 : 0, forward, gradient);
    if (schedule->deploy) schedule->deploy(course->state, forward);
}

void hu_bits_fill(const hu_bits_layers *layers, uint32_t b, uint8_t *bits) {
    for (uint32_t l = 0; l < layers->count; l++)
        bits[l] = (uint8_t)(layers->layer[l].is_quantised ? b : HU_BITS_FLOAT32);
}

static void fill_forward(const hu_bits_layers *layers, uint32_t b, uint8_t *forward) {
    hu_bits_fill(layers, b, forward);
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised)
            forward[l] = (uint8_t)hu_bits_bound(&layers->layer[l], b);
}

void hu_bits_fill_gradient(const hu_bits_task *task, const uint8_t *forward, uint8_t *gradient) {
    if (task->bits->gradient_follows)
        memcpy(gradient, forward, task->layers->count);
    else
        hu_bits_fill(task->layers, task->bits->gradient.most, gradient);
}

void hu_bits_suppose(const hu_bits_task *task, double b, double *forward, double *gradient) {
    for (uint32_t l = 0; l < task->layers->count; l++) {
        const hu_bits_layer *layer = &task->layers->layer[l];
        bool is_quantised = layer->is_quantised;
        double own = fmin(fmax(b, layer->bounds.least), layer->bounds.most);
        double present = task->bits->gradient_follows ? own : task->bits->gradient.most;
        forward[l] = is_quantised ? own : HU_BITS_FLOAT32;
        gradient[l] = is_quantised ? present : HU_BITS_FLOAT32;
    }
}

/* ---- Schedules that follow the number of the step ---- */

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
    fill_forward(task->layers, task->bits->forward.most, forward);
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
    fill_forward(task->layers, stage->bits[0], forward);
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
 * rint: to nearest, halves to even. Steps after the last whole cycle begin another one. Source: Fu
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
    fill_forward(c->task.layers, bits_at(c, &bits->forward, step), forward);
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
    fill_forward(c->task.layers, c->task.bits->forward.most, forward);
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
    fill_forward(d->task.layers, b, forward);
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
    fill_forward(d->task.layers, d->task.bits->forward.most, forward);
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

/* ---- The progressive schedule ---- */

/* Progressive precision (PFQ): all layers begin with few bits and get more, turn by turn, when the
 * loss of the training stands still. Source: Fu et al., "FracTrain", and its released code.
 *
 * Every `interval` steps the mean loss L since the last look is looked at. The mean of the first
 * ten is the yardstick. Of the last five, where all four earlier ones are within epsilon yardsticks
 * of the last, the next turn comes, with an empty list; the first two turns make epsilon smaller.
 */

enum { WINDOW = 5, YARDSTICK_LOOKS = 10, USUAL_TURNS = 4 };

/* What a checkpoint holds. */
typedef struct progress {
    uint8_t turn[HU_BITS_TURNS_MOST], gradient_turn[HU_BITS_TURNS_MOST]; /* of the settings */
    uint32_t turns, present;
    int64_t looks, samples; /* samples since the last look */
    double loss_sum;        /* of these samples */
    double yardstick_sum;   /* of the first looks */
    double epsilon;
    double window[WINDOW];
    uint64_t in_window;
} progress;

typedef struct pfq {
    hu_bits_task task;
    int64_t interval;
    progress now;
} pfq;

/* A, A + (B - A) / 3, A + 2 (B - A) / 3, B, rounded down: 3 4 6 8 for 3-8, 4 5 6 8 for 4-8. */
static void usual_turns(const hu_bits_range *range, progress *now) {
    uint32_t width = range->most - range->least;
    for (now->turns = 0; now->turns < USUAL_TURNS; now->turns++)
        now->turn[now->turns] = (uint8_t)(range->least + width * now->turns / (USUAL_TURNS - 1));
}

static hu_status read_turns(const hu_bits *bits, progress *now) {
    hu_status st = HU_OK;
    uint32_t most = bits->gradient_follows ? bits->forward.most : bits->gradient.most;
    usual_turns(&bits->forward, now);
    if (bits->turn_count > 0) {
        memcpy(now->turn, bits->turn, sizeof now->turn);
        now->turns = bits->turn_count;
    }
    for (uint32_t i = 0; i < now->turns; i++) {
        uint8_t b = now->turn[i];
        now->gradient_turn[i] = (uint8_t)(bits->gradient_follows ? b : bits->gradient.most);
        if (bits->gradient_turn_count == now->turns) now->gradient_turn[i] = bits->gradient_turn[i];
        if (now->gradient_turn[i] > most)
            HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                           "bits.grad_turns: found %u, expected at most %u: bits.grad",
                           now->gradient_turn[i], most));
        if (b < bits->forward.least || b > bits->forward.most || (i > 0 && b < now->turn[i - 1]))
            HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                           "bits.turns: found %u at place %u, expected ascending bits of %u-%u", b,
                           i + 1, bits->forward.least, bits->forward.most));
    }
    if (bits->gradient_turn_count > 0 && bits->gradient_turn_count != now->turns)
        return hu_fail(HU_ERR_ARGUMENT, "bits.grad_turns: found %u numbers, expected %u",
                       bits->gradient_turn_count, now->turns);
done:
    return st;
}

static hu_status create(const hu_bits_task *task, void **state) {
    hu_status st = HU_OK;
    progress now = {.epsilon = task->bits->epsilon};
    HU_TRY(read_turns(task->bits, &now));
    HU_TRY(hu_alloc(sizeof(pfq), state));
    int64_t interval = task->bits->interval ? task->bits->interval : task->steps_per_epoch;
    *(pfq *)*state = (pfq){*task, interval, now};
done:
    return st;
}

static void at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const pfq *p = state;
    (void)step;
    fill_forward(p->task.layers, p->now.turn[p->now.present], forward);
    hu_bits_fill(p->task.layers, p->now.gradient_turn[p->now.present], gradient);
}

/* Takes a loss in; the oldest falls out. */
static void push(progress *now, double loss) {
    if (now->in_window == WINDOW) {
        memmove(now->window, now->window + 1, (WINDOW - 1) * sizeof *now->window);
        now->in_window--;
    }
    now->window[now->in_window++] = loss;
}

static bool stands_still(const progress *now, double yardstick) {
    if (now->in_window < WINDOW) return false;
    for (int i = 0; i < WINDOW - 1; i++)
        if (!(fabs(now->window[i] - now->window[WINDOW - 1]) / yardstick <= now->epsilon))
            return false;
    return true;
}

static void look(pfq *p, double loss) {
    progress *now = &p->now;
    if (now->looks < YARDSTICK_LOOKS) {
        now->looks++;
        now->yardstick_sum += loss;
    }
    if (now->present + 1 >= now->turns) return;
    push(now, loss);
    if (!stands_still(now, now->yardstick_sum / (double)now->looks)) return;
    now->present++;
    if (now->present <= 2) now->epsilon *= p->task.bits->decay;
    now->in_window = 0;
}

/* Steps that changed nothing tell nothing. */
static void after_step(void *state, const hu_bits_news *news) {
    pfq *p = state;
    if (!news->is_skipped && isfinite(news->loss)) {
        p->now.loss_sum += news->loss * (double)news->samples;
        p->now.samples += news->samples;
    }
    if ((news->step + 1) % p->interval != 0 || p->now.samples == 0) return;
    look(p, p->now.loss_sum / (double)p->now.samples);
    p->now.loss_sum = 0.0;
    p->now.samples = 0;
}

static const char *const cases[] = {"stays at the first turn", "turns as early as it can", NULL};

/* The earliest turns follow on five looks each. */
static int64_t suppose(const void *state, int which, int64_t step, double *forward,
                       double *gradient) {
    const pfq *p = state;
    int64_t between = WINDOW * p->interval;
    int64_t turn = which == 0 ? 0 : step / between, last = p->now.turns - 1;
    if (turn > last) turn = last;
    for (uint32_t l = 0; l < p->task.layers->count; l++) {
        const hu_bits_layer *layer = &p->task.layers->layer[l];
        bool is_quantised = layer->is_quantised;
        forward[l] = is_quantised ? hu_bits_bound(layer, p->now.turn[turn]) : HU_BITS_FLOAT32;
        gradient[l] = is_quantised ? p->now.gradient_turn[turn] : HU_BITS_FLOAT32;
    }
    return which == 0 || turn == last ? INT64_MAX : (turn + 1) * between;
}

static void save(const void *state, const void **data, size_t *bytes) {
    const pfq *p = state;
    *data = &p->now;
    *bytes = sizeof p->now;
}

static uint8_t last_of(const progress *now) {
    bool is_sound = now->turns > 0 && now->turns <= HU_BITS_TURNS_MOST;
    return is_sound ? now->turn[now->turns - 1] : 0;
}

static hu_status check_turns(const void *state, const void *data, size_t bytes) {
    const pfq *p = state;
    progress saved;
    if (bytes != sizeof saved)
        return hu_fail(HU_ERR_CORRUPT, "pfq: found %zu bytes, expected %zu", bytes, sizeof saved);
    memcpy(&saved, data, sizeof saved);
    if (memcmp(saved.turn, p->now.turn, sizeof saved.turn) != 0 ||
        memcmp(saved.gradient_turn, p->now.gradient_turn, sizeof saved.turn) != 0 ||
        saved.turns != p->now.turns)
        return hu_fail(HU_ERR_ARGUMENT,
                       "pfq: found the state of %u turns from %u to %u bits, expected %u from %u "
                       "to %u",
                       saved.turns, saved.turn[0], last_of(&saved), p->now.turns, p->now.turn[0],
                       last_of(&p->now));
    if (saved.present >= saved.turns || saved.in_window > WINDOW || saved.samples < 0 ||
        saved.looks < 0 || saved.looks > YARDSTICK_LOOKS || !(saved.epsilon >= 0.0))
        return hu_fail(HU_ERR_CORRUPT, "pfq: found a state that no training has");
    return HU_OK;
}

static void restore(void *state, const void *data, size_t bytes) {
    pfq *p = state;
    memcpy(&p->now, data, bytes);
}

const hu_bits_schedule hu_bits_progressive = {
    .name = "pfq",
    .argument = "A-B",
    .help = "all layers from A to B bits, turn by turn, when the loss stands still",
    .keys = "bits.turns bits.grad_turns bits.interval bits.epsilon bits.decay",
    .deploys_at = "the bits that it ends with",
    .hastened = "a smaller bits.interval",
    .create = create,
    .at = at,
    .after_step = after_step,
    .cases = cases,
    .suppose = suppose,
    .save = save,
    .check = check_turns,
    .restore = restore};
