#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/bit_schedule.h"

/* ---- bits progressive ---- */

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
    hu_bits_fill_forward(p->task.layers, p->now.turn[p->now.present], forward);
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

static hu_status check(const void *state, const void *data, size_t bytes) {
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
    .check = check,
    .restore = restore};
