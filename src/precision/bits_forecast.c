#include "precision/bits_forecast.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

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
    /* A network that is applied again is there once when the model is used. */
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
