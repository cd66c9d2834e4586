#include "precision/bits_meter.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

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
