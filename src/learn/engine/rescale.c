#include "engine/rescale.h"

#include <math.h>

#include "engine/chunk.h"
#include "engine/dynamic_scale.h"
#include "engine/gradient.h"
#include "engine/run.h"
#include "engine/value.h"

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static hu_tally no_rows(void) {
    return (hu_tally){.low = INFINITY, .high = -INFINITY};
}

/* Extremes of both; no order changes them. */
static void join(const hu_tally *more, hu_tally *all) {
    all->top = larger(all->top, more->top);
    hu_uniform_range_join(more->low, more->high, &all->low, &all->high);
}

/* Of all threads. */
static hu_tally extremes_of_threads(const hu_run *run, uint32_t index) {
    hu_tally all = no_rows();
    for (int t = 0; t < run->options.threads; t++) join(&run->thread[t].tally[index], &all);
    return all;
}

void hu_rescale_note(hu_run *run, hu_slot *slot, uint32_t index) {
    if (hu_is_step(run)) hu_dynamic_scale_note_maximum(slot, extremes_of_threads(run, index).top);
}

/* The scale that the extremes of a whole tensor give it. */
static void set_scale(hu_run *run, hu_slot *slot, const hu_tally *all) {
    if (slot->uniformer)
        hu_dynamic_range_set(run, slot, all->low, all->high);
    else
        hu_slot_set_scale(slot, all->top);
}

void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index) {
    hu_rescale_note(run, slot, index);
    if (!hu_slot_waits(slot)) return;
    hu_tally all = extremes_of_threads(run, index);
    set_scale(run, slot, &all);
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_thread *thread = &run->thread[hu_thread_number()];
        int64_t first = c * run->options.chunk;
        hu_slot_store(slot, &run->context, first, hu_chunk_rows(run, c),
                      hu_dynamic_scale_staged_rows(slot, first), &thread->tally[index].counts);
    }
}

typedef const float *rows_fn(hu_chunk *visit, hu_value_id v);

/* What the slot's scale needs to know of all rows of v: of the value, or of its gradient sum. */
static hu_tally extremes_of(hu_run *run, const hu_slot *slot, uint32_t region, hu_pass pass,
                            rows_fn *rows, hu_value_id v) {
    hu_tally all = no_rows();
#pragma omp parallel num_threads(run->options.threads)
    {
        hu_tally own = no_rows();
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t c = 0; c < run->chunks; c++) {
            hu_chunk visit = hu_chunk_begin(run, &run->thread[hu_thread_number()], region, pass, c);
            const float *x = rows(&visit, v);
            if (hu_has_padding(run, v))
                hu_padding_add_extremes(run, slot, v, visit.first, visit.count, x, &own);
            else
                hu_dynamic_scale_add_maximum(slot, &own, visit.count * slot->elements, x);
        }
#pragma omp critical(hu_extremes)
        join(&own, &all);
    }
    return all;
}

void hu_rescale_inputs(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->use && i < node->n_in; i++) {
        hu_slot *slot = &run->use[node->first_use + (uint32_t)i];
        if (!hu_slot_waits(slot)) continue;
        hu_tally all = extremes_of(run, slot, n, HU_FORWARD, hu_chunk_value, node->in[i]);
        set_scale(run, slot, &all);
    }
}

/* True if the slot's scale comes from the rows of this pass, or enters a history. */
static bool wants_extremes(const hu_slot *slot) {
    return hu_slot_waits(slot) || slot->history != HU_NONE;
}

static void take_extremes(hu_run *run, hu_slot *slot, const hu_tally *all) {
    if (hu_is_step(run)) hu_dynamic_scale_note_maximum(slot, all->top);
    if (hu_slot_waits(slot)) set_scale(run, slot, all);
}

/* The sum as it is read for the input, and apart from that for the parameters: one look at the rows
 * serves both unless one takes a range, the other a maximum. */
static void rescale_sum(hu_run *run, uint32_t node, hu_value_id v) {
    hu_slot *sum = &run->grad_sum[v], *view = hu_weights_view(run, v);
    bool has_sum = wants_extremes(sum) && hu_rounds_gradient_sum(run, v);
    bool has_view = view && wants_extremes(view);
    hu_tally all = no_rows();
    if (has_sum) {
        all = extremes_of(run, sum, node, HU_BACKWARD, hu_chunk_gradient_sum, v);
        take_extremes(run, sum, &all);
    }
    if (!has_view) return;
    if (!has_sum || (sum->uniformer == NULL) != (view->uniformer == NULL))
        all = extremes_of(run, view, node, HU_BACKWARD, hu_chunk_gradient_sum, v);
    take_extremes(run, view, &all);
}

void hu_rescale_sums(hu_run *run, uint32_t node) {
    const hu_node *n = &run->graph->node[node];
    if (hu_loop_at(run, node)) return; /* its steps look at their own */
    for (int i = 0; i < n->n_out && n->loss < 0; i++) rescale_sum(run, node, n->out[i]);
}
