#include "precision/bits.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/internal.h"

/* ---- bits meter ---- */

/* Which bits the layers of a training had, and what they have cost so far.
 *
 * Bit-operations are those of the quantised layers (bit_cost.c): b_w b_a per multiply-accumulate
 * of the forward pass, b_w b_g and b_a b_g of the two products of the backward pass. They are added
 * up step by step with the bits and the samples of that step, skipped steps too: their passes ran.
 * Sums are in double, and exact below 2^53. What the same samples cost with the most bits in all
 * layers is the measure of relative costs.
 */

static size_t state_bytes(uint32_t layers) {
    return sizeof(hu_bits_spent) + 2 * (size_t)layers;
}

/* Bit-operations of the passes of a sample in all quantised layers. is_measure: what costs are
 * relative to, where all products read the same gradient. */
static void add_up(const hu_bits_task *task, const uint8_t *forward, const uint8_t *gradient,
                   bool is_measure, double *forward_sum, double *sum) {
    const hu_cost_task costs = hu_bits_cost_task(task);
    *forward_sum = *sum = 0.0;
    for (uint32_t l = 0; l < task->layers->count; l++) {
        double passes[HU_COST_PASSES];
        const hu_bits_layer *layer = &task->layers->layer[l];
        const double b = forward[l], g = gradient[l];
        const hu_cost_bits bits =
            is_measure ? (hu_cost_bits){b, b, g, g, false} : hu_bits_of_factors(task->bits, b, g);
        if (!layer->is_quantised) continue;
        hu_cost_passes(&hu_cost_bitops, &costs, layer, &bits, passes);
        *forward_sum += passes[HU_COST_FORWARD];
        for (int p = 0; p < HU_COST_PASSES; p++) *sum += passes[p];
    }
}

static uint32_t most_gradient(const hu_bits *bits) {
    return bits->gradient_follows ? bits->forward.most : bits->gradient.most;
}

hu_status hu_bits_meter_create(const hu_bits_task *task, hu_bits_meter *meter) {
    hu_status st = HU_OK;
    uint32_t layers = task->layers->count;
    void *block = NULL;
    *meter = (hu_bits_meter){.task = task};
    HU_TRY(hu_alloc(state_bytes(layers), &block));
    meter->spent = block;
    meter->forward = (uint8_t *)(meter->spent + 1);
    meter->gradient = meter->forward + layers;
    HU_TRY(HU_NEW_ARRAY(&meter->has_changed, layers));
    /* The measure, in the room of bits that are not known yet. */
    hu_bits_fill(task->layers, task->bits->forward.most, meter->forward);
    hu_bits_fill(task->layers, most_gradient(task->bits), meter->gradient);
    add_up(task, meter->forward, meter->gradient, true, &meter->most_forward, &meter->most_total);
    hu_bits_meter_restore(meter, NULL, 0);
done:
    if (st != HU_OK) hu_bits_meter_free(meter);
    return st;
}

void hu_bits_meter_free(hu_bits_meter *meter) {
    hu_free(meter->spent);
    hu_free(meter->has_changed);
    *meter = (hu_bits_meter){0};
}

void hu_bits_meter_note(hu_bits_meter *meter, const uint8_t *forward, const uint8_t *gradient,
                        int64_t samples) {
    size_t layers = meter->task->layers->count;
    meter->any_changed = false;
    for (size_t l = 0; l < layers; l++) {
        meter->has_changed[l] =
            meter->task->layers->layer[l].is_quantised &&
            (meter->forward[l] != forward[l] || meter->gradient[l] != gradient[l]);
        meter->any_changed = meter->any_changed || meter->has_changed[l];
    }
    memcpy(meter->forward, forward, layers);
    memcpy(meter->gradient, gradient, layers);
    add_up(meter->task, forward, gradient, false, &meter->step_forward, &meter->step_total);
    meter->spent->forward += (double)samples * meter->step_forward;
    meter->spent->training += (double)samples * meter->step_total;
    meter->spent->samples += samples;
}

static double share(double spent, int64_t samples, double most) {
    return samples > 0 ? spent / ((double)samples * most) : (double)NAN;
}

double hu_bits_relative_forward(const hu_bits_meter *meter) {
    return share(meter->spent->forward, meter->spent->samples, meter->most_forward);
}

double hu_bits_relative_training(const hu_bits_meter *meter) {
    return share(meter->spent->training, meter->spent->samples, meter->most_total);
}

/* bits: NULL for the most in all layers. is_used: of the trained model, which has every network
 * once. */
static double forward_cost(const hu_bits_meter *meter, const hu_cost *cost, const uint8_t *bits,
                           bool is_used) {
    const hu_bits_task *task = meter->task;
    const hu_cost_task costs = hu_bits_cost_task(task);
    double sum = 0.0;
    for (uint32_t l = 0; l < task->layers->count; l++) {
        const hu_bits_layer *layer = &task->layers->layer[l];
        double b = bits ? bits[l] : task->bits->forward.most;
        if (!layer->is_quantised || (is_used && layer->is_repeated)) continue;
        sum += hu_cost_forward(cost, &costs, layer, b);
    }
    return sum;
}

double hu_bits_meter_inference(const hu_bits_meter *meter, const uint8_t *forward) {
    return forward_cost(meter, &hu_cost_bitops, forward, true);
}

double hu_bits_meter_forward(const hu_bits_meter *meter, const hu_cost *cost,
                             const uint8_t *forward) {
    return forward_cost(meter, cost, forward, false);
}

double hu_bits_meter_most(const hu_bits_meter *meter, const hu_cost *cost) {
    return forward_cost(meter, cost, NULL, false);
}

void hu_bits_meter_state(const hu_bits_meter *meter, const void **data, size_t *bytes) {
    *data = meter->spent;
    *bytes = meter->spent->samples > 0 ? state_bytes(meter->task->layers->count) : 0;
}

static bool is_sum(double x) {
    return isfinite(x) && x >= 0.0;
}

hu_status hu_bits_meter_check(const hu_bits_meter *meter, const void *data, size_t bytes) {
    hu_bits_spent saved;
    size_t expected = state_bytes(meter->task->layers->count);
    if (bytes == 0) return HU_OK;
    if (bytes != expected)
        return hu_fail(HU_ERR_CORRUPT, "found %zu bytes, expected %zu", bytes, expected);
    memcpy(&saved, data, sizeof saved);
    if (saved.layers == meter->task->layers->count && saved.samples > 0 && is_sum(saved.forward) &&
        is_sum(saved.training))
        return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "found sums that no training has");
}

void hu_bits_meter_restore(hu_bits_meter *meter, const void *data, size_t bytes) {
    uint32_t layers = meter->task->layers->count;
    memset(meter->spent, 0, state_bytes(layers));
    meter->spent->layers = layers;
    if (bytes > 0) memcpy(meter->spent, data, bytes);
    memset(meter->has_changed, 0, layers * sizeof *meter->has_changed);
    meter->any_changed = false;
    meter->step_forward = meter->step_total = 0.0;
    if (bytes > 0)
        add_up(meter->task, meter->forward, meter->gradient, false, &meter->step_forward,
               &meter->step_total);
}

/* ---- bits forecast ---- */

/* What a training with a schedule of bits costs, told before it.
 */

/* Room for the bits of all layers, as they are and as they will be. */
typedef struct walk {
    const hu_bits_task *task;
    const hu_bits_course *course;
    double *forward, *gradient; /* [layers] */
    uint8_t *forward_now, *gradient_now;
} walk;

static bool is_told(const hu_bits_task *task, int cost) {
    return !hu_cost_list[cost]->needs_table || task->bits->rates;
}

/* Bits of a step; gives the first later one that may have others. */
static int64_t bits_at(const walk *w, int which, int64_t step) {
    const hu_bits_schedule *schedule = w->course->schedule;
    const void *state = w->course->state;
    if (schedule->suppose) return schedule->suppose(state, which, step, w->forward, w->gradient);
    schedule->at(state, step, w->forward_now, w->gradient_now);
    for (uint32_t l = 0; l < w->task->layers->count; l++) {
        w->forward[l] = w->forward_now[l];
        w->gradient[l] = w->gradient_now[l];
    }
    return schedule->until ? schedule->until(state, step) : INT64_MAX;
}

/* Adds so many steps with these bits to a layer. Sums of whole numbers stay exact: means are taken
 * at the end. */
static void add_share(const hu_bits_task *task, const hu_bits_layer *layer,
                      const hu_cost_bits *bits, double steps, hu_forecast_row *row) {
    const hu_cost_task costs = hu_bits_cost_task(task);
    const double b = bits->weight;
    row->bits += steps * b;
    row->gradient_bits += steps * bits->gradient;
    row->update_bits += steps * bits->update;
    row->least_bits = row->least_bits > 0.0 ? fmin(row->least_bits, b) : b;
    row->most_bits = fmax(row->most_bits, b);
    for (int c = 0; layer->is_quantised && c < HU_COST_COUNT; c++) {
        double passes[HU_COST_PASSES];
        if (!is_told(task, c)) continue;
        hu_cost_passes(hu_cost_list[c], &costs, layer, bits, passes);
        for (int p = 0; p < HU_COST_PASSES; p++) row->cost[c][p] += steps * passes[p];
    }
}

static void divide(hu_forecast_row *row, double steps) {
    row->bits /= steps;
    row->gradient_bits /= steps;
    row->update_bits /= steps;
    for (int c = 0; c < HU_COST_COUNT; c++)
        for (int p = 0; p < HU_COST_PASSES; p++) row->cost[c][p] /= steps;
}

static void finish_layer(const hu_bits_task *task, const hu_bits_layer *layer, double b,
                         double steps, hu_forecast_row *row) {
    const hu_cost_task costs = hu_bits_cost_task(task);
    divide(row, steps);
    row->final_bits = b;
    /* A network that is applied again is present once when the model is used. */
    bool is_used = layer->is_quantised && !layer->is_repeated;
    for (int c = 0; is_used && c < HU_COST_COUNT; c++)
        if (is_told(task, c))
            row->inference[c] =
                hu_cost_list[c]->inference * hu_cost_forward(hu_cost_list[c], &costs, layer, b);
}

/* Bits of the trained model, in place of those of the last step. */
static void deploy(const walk *w) {
    if (!w->course->schedule->deploy) return;
    w->course->schedule->deploy(w->course->state, w->forward_now);
    for (uint32_t l = 0; l < w->task->layers->count; l++) w->forward[l] = w->forward_now[l];
}

static void add_row(const hu_forecast_row *row, double weight, hu_forecast_row *total) {
    total->bits += weight * row->bits;
    total->gradient_bits += weight * row->gradient_bits;
    total->update_bits += weight * row->update_bits;
    total->final_bits += weight * row->final_bits;
    total->least_bits =
        total->least_bits > 0.0 ? fmin(total->least_bits, row->least_bits) : row->least_bits;
    total->most_bits = fmax(total->most_bits, row->most_bits);
    for (int c = 0; c < HU_COST_COUNT; c++) {
        for (int p = 0; p < HU_COST_PASSES; p++) total->cost[c][p] += row->cost[c][p];
        total->inference[c] += row->inference[c];
    }
}

double hu_forecast_training(const hu_forecast_row *row, int cost) {
    return row->cost[cost][HU_COST_FORWARD] + row->cost[cost][HU_COST_ERROR] +
           row->cost[cost][HU_COST_UPDATE];
}

/* The same sums with 8 bits everywhere. */
static void compare(const hu_bits_task *task, hu_forecast_case *one) {
    enum { STATIC_BITS = 8 };
    const hu_cost_bits all = {STATIC_BITS, STATIC_BITS, STATIC_BITS, STATIC_BITS, false};
    hu_forecast_row whole = {0};
    for (uint32_t l = 0; l < task->layers->count; l++) {
        hu_forecast_row row = {0};
        const hu_bits_layer *layer = &task->layers->layer[l];
        add_share(task, layer, &all, 1.0, &row);
        finish_layer(task, layer, STATIC_BITS, 1.0, &row);
        if (layer->is_quantised) add_row(&row, 0.0, &whole);
    }
    for (int c = 0; c < HU_COST_COUNT; c++) {
        one->relative[c] = hu_forecast_training(&one->total, c) / hu_forecast_training(&whole, c);
        one->relative_inference[c] = one->total.inference[c] / whole.inference[c];
    }
}

static void walk_through(const walk *w, int which, hu_forecast_case *one) {
    const hu_bits_layers *layers = w->task->layers;
    double steps = (double)w->task->steps, macs = (double)hu_bits_macs(layers, true);
    for (int64_t step = 0, next; step < w->task->steps; step = next) {
        next = bits_at(w, which, step);
        if (next > w->task->steps) next = w->task->steps;
        double length = (double)(next - step);
        for (uint32_t l = 0; l < layers->count; l++) {
            const hu_cost_bits bits =
                hu_bits_of_factors(w->task->bits, w->forward[l], w->gradient[l]);
            add_share(w->task, &layers->layer[l], &bits, length, &one->layer[l]);
        }
    }
    deploy(w);
    for (uint32_t l = 0; l < layers->count; l++) {
        const hu_bits_layer *layer = &layers->layer[l];
        finish_layer(w->task, layer, w->forward[l], steps, &one->layer[l]);
        if (layer->is_quantised) add_row(&one->layer[l], (double)layer->macs, &one->total);
    }
    one->total.bits /= macs;
    one->total.gradient_bits /= macs;
    one->total.update_bits /= macs;
    one->total.final_bits /= macs;
    compare(w->task, one);
}

static uint32_t count_cases(const hu_bits_schedule *schedule) {
    uint32_t count = 0;
    while (schedule->cases && schedule->cases[count]) count++;
    return count ? count : 1;
}

hu_status hu_forecast_create(const hu_bits_task *task, const hu_bits_course *course,
                             hu_forecast *forecast) {
    hu_status st = HU_OK;
    uint32_t layers = task->layers->count, count = count_cases(course->schedule);
    walk w = {.task = task, .course = course};
    *forecast = (hu_forecast){0};
    if (task->steps < 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "steps: found %lld, expected at least 1: costs are those "
                       "of a training",
                       (long long)task->steps);
    HU_TRY(HU_NEW_ARRAY(&w.forward, layers));
    HU_TRY(HU_NEW_ARRAY(&w.gradient, layers));
    HU_TRY(HU_NEW_ARRAY(&w.forward_now, layers));
    HU_TRY(HU_NEW_ARRAY(&w.gradient_now, layers));
    HU_TRY(HU_NEW_ARRAY(&forecast->cases, count));
    for (; forecast->count < count; forecast->count++) {
        hu_forecast_case *one = &forecast->cases[forecast->count];
        one->name = course->schedule->cases ? course->schedule->cases[forecast->count] : "";
        HU_TRY(HU_NEW_ARRAY(&one->layer, layers));
        walk_through(&w, (int)forecast->count, one);
    }
done:
    hu_free(w.forward);
    hu_free(w.gradient);
    hu_free(w.forward_now);
    hu_free(w.gradient_now);
    if (st != HU_OK) hu_forecast_free(forecast);
    return st;
}

hu_status hu_forecast_is_stuck(const hu_bits_task *task, const hu_bits_course *course,
                               bool *is_stuck) {
    const hu_bits_range *range = &task->bits->forward;
    hu_forecast forecast;
    hu_status st = hu_forecast_create(task, course, &forecast);
    *is_stuck = false;
    if (st != HU_OK) return st;
    const hu_forecast_row *dearest = &forecast.cases[forecast.count - 1].total;
    *is_stuck = range->most > range->least && dearest->most_bits <= range->least;
    hu_forecast_free(&forecast);
    return HU_OK;
}

void hu_forecast_free(hu_forecast *forecast) {
    for (uint32_t i = 0; i < forecast->count; i++) hu_free(forecast->cases[i].layer);
    hu_free(forecast->cases);
    *forecast = (hu_forecast){0};
}
