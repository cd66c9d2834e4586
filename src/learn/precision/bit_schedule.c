#include "precision/bit_schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

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

/* What stands behind the colon must be what the schedule takes. */
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

void hu_bits_fill_forward(const hu_bits_layers *layers, uint32_t b, uint8_t *forward) {
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
