#include "engine/rescale.h"

#include <math.h>

#include "engine/facts.h"
#include "engine/gradient.h"
#include "engine/range.h"
#include "engine/scale.h"
#include "engine/value.h"

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

uint32_t hu_rescale_note(hu_run *run, hu_slot *slot, uint32_t index) {
    uint32_t top = 0;
    for (int t = 0; t < run->options.threads; t++)
        top = larger(top, run->thread[t].tally[index].top);
    if (hu_is_step(run)) hu_scale_note_maximum(slot, top);
    return top;
}

/* The range of all threads' rows; no order changes it. */
static void range_of_threads(const hu_run *run, uint32_t index, float *low, float *high) {
    for (int t = 0; t < run->options.threads; t++) {
        const hu_tally *tally = &run->thread[t].tally[index];
        hu_uniform_range_join(tally->low, tally->high, low, high);
    }
}

void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index) {
    uint32_t top = hu_rescale_note(run, slot, index);
    float low = INFINITY, high = -INFINITY;
    if (!hu_slot_waits(slot)) return;
    if (slot->uniformer) {
        range_of_threads(run, index, &low, &high);
        hu_range_set(run, slot, low, high);
    } else {
        hu_slot_set_scale(slot, top);
    }
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_thread *thread = &run->thread[hu_thread_number()];
        int64_t first = c * run->options.chunk;
        hu_slot_store(slot, &run->context, first, hu_chunk_rows(run, c),
                      hu_scale_staged_rows(slot, first), &thread->tally[index].counts);
    }
}

/* Largest magnitude of a stored value. */
static uint32_t value_top(hu_run *run, uint32_t region, hu_value_id v) {
    uint32_t top = 0;
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1) reduction(max : top)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_visit visit =
            hu_visit_begin(run, &run->thread[hu_thread_number()], region, HU_FORWARD, c);
        const float *rows = hu_visit_value(&visit, v);
        top = larger(top, hu_top_f32((size_t)(visit.count * run->value[v].elements), rows));
    }
    return top;
}

/* Range of a stored value. */
static void value_range(hu_run *run, uint32_t region, hu_value_id v, float *low, float *high) {
#pragma omp parallel num_threads(run->options.threads)
    {
        float own_low = INFINITY, own_high = -INFINITY;
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t c = 0; c < run->chunks; c++) {
            hu_visit visit =
                hu_visit_begin(run, &run->thread[hu_thread_number()], region, HU_FORWARD, c);
            const float *rows = hu_visit_value(&visit, v);
            hu_uniform_range((size_t)(visit.count * run->value[v].elements), rows, &own_low,
                             &own_high);
        }
#pragma omp critical(hu_value_range)
        hu_uniform_range_join(own_low, own_high, low, high);
    }
}

void hu_rescale_inputs(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->use && i < node->n_in; i++) {
        hu_slot *slot = &run->use[node->first_use + (uint32_t)i];
        if (hu_quantizer_needs_range(&slot->edge->quantizer)) {
            float low = INFINITY, high = -INFINITY;
            value_range(run, n, node->in[i], &low, &high);
            hu_range_set(run, slot, low, high);
        }
        if (hu_quantizer_needs_maximum(&slot->edge->quantizer))
            hu_slot_set_scale(slot, value_top(run, n, node->in[i]));
    }
}

/* Largest magnitude of a gradient sum. */
static uint32_t sum_top(hu_run *run, hu_value_id v) {
    uint32_t top = 0;
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1) reduction(max : top)
    for (int64_t c = 0; c < run->chunks; c++) {
        uint32_t region = run->graph->value[v].producer;
        hu_visit visit =
            hu_visit_begin(run, &run->thread[hu_thread_number()], region, HU_BACKWARD, c);
        const float *sum = hu_visit_gradient_sum(&visit, v);
        top = larger(top, hu_top_f32((size_t)(visit.count * run->grad_sum[v].elements), sum));
    }
    return top;
}

/* Range of a gradient sum. */
static void sum_range(hu_run *run, hu_value_id v, float *low, float *high) {
#pragma omp parallel num_threads(run->options.threads)
    {
        float own_low = INFINITY, own_high = -INFINITY;
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t c = 0; c < run->chunks; c++) {
            uint32_t region = run->graph->value[v].producer;
            hu_visit visit =
                hu_visit_begin(run, &run->thread[hu_thread_number()], region, HU_BACKWARD, c);
            const float *sum = hu_visit_gradient_sum(&visit, v);
            hu_uniform_range((size_t)(visit.count * run->grad_sum[v].elements), sum, &own_low,
                             &own_high);
        }
#pragma omp critical(hu_sum_range)
        hu_uniform_range_join(own_low, own_high, low, high);
    }
}

void hu_rescale_sums(hu_run *run, uint32_t node) {
    const hu_node *n = &run->graph->node[node];
    for (int i = 0; i < n->n_out; i++) {
        hu_slot *slot = &run->grad_sum[n->out[i]];
        bool needs = hu_quantizer_needs_maximum(&slot->edge->quantizer);
        if (!hu_slot_waits(slot) && slot->history == HU_NONE) continue;
        if (n->loss >= 0 || !hu_rounds_gradient_sum(run, n->out[i])) continue;
        if (slot->uniformer) {
            float low = INFINITY, high = -INFINITY;
            sum_range(run, n->out[i], &low, &high);
            hu_range_set(run, slot, low, high);
            continue;
        }
        uint32_t top = sum_top(run, n->out[i]);
        if (hu_is_step(run)) hu_scale_note_maximum(slot, top);
        if (needs) hu_slot_set_scale(slot, top);
    }
}
