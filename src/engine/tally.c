#include "engine/tally.h"

#include <math.h>

#include "engine/facts.h"
#include "engine/rescale.h"
#include "kernel/gemm/counts.h"

void hu_tally_clear(hu_run *run) {
    for (int t = 0; t < run->options.threads; t++) {
        for (int k = 0; k < HU_LOSSES_MOST; k++) run->thread[t].units[k] = 0;
        for (uint32_t i = 0; i < hu_tally_count(run); i++) {
            hu_round_counts_clear(&run->thread[t].tally[i].counts);
            run->thread[t].tally[i].top = 0;
            run->thread[t].tally[i].low = INFINITY;
            run->thread[t].tally[i].high = -INFINITY;
        }
    }
}

void hu_tally_add(hu_run *run, hu_edge *edge, const hu_round_counts *counts, hu_value_id value,
                  uint32_t end) {
    bool in_gradient = end == HU_NONE;
    /* How nodes are joined decides which tensor is met first: the earliest node's is told. */
    bool is_earlier = !in_gradient && end > 0 && end <= run->counted_nodes;
    bool counts_pass = run->pass.training || run->pass.counts_all;
    if (counts_pass && !run->repeats) hu_round_counts_add(&edge->counts, counts);
    if (!hu_edge_unencodable(&edge->quantizer, counts)) return;
    if (run->overflowed && !is_earlier) return;
    if (!in_gradient) run->counted_nodes = end;
    run->overflowed = true;
    run->overflow_name = run->graph->value[value].name;
    run->overflow_in_gradient = in_gradient;
}

static hu_round_counts sum_of(const hu_run *run, uint32_t index) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    for (int t = 0; t < run->options.threads; t++)
        hu_round_counts_add(&counts, &run->thread[t].tally[index].counts);
    return counts;
}

void hu_tally_collect(hu_run *run, uint32_t index, hu_slot *slot, hu_value_id value,
                      bool in_gradient) {
    uint32_t producer = run->graph->value[value].producer;
    uint32_t end = in_gradient ? HU_NONE : producer == HU_NONE ? 0 : producer + 1;
    hu_rescale_finish(run, slot, index); /* rounds staged rows, and so counts them */
    hu_round_counts counts = sum_of(run, index);
    hu_tally_add(run, slot->edge, &counts, value, end);
}

void hu_tally_collect_inputs(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->use && i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i, index = hu_tally_of_input(run, use);
        if (!hu_use_slot(run, use)) continue;
        hu_round_counts counts = sum_of(run, index);
        hu_rescale_note(run, &run->use[use], index);
        hu_tally_add(run, run->use[use].edge, &counts, node->in[i], n);
    }
}

void hu_products_begin(hu_run *run, uint32_t n) {
    bool counts = run->pass.count_products && !run->pass.scan && !run->repeats;
    for (int t = 0; t < run->options.threads; t++) {
        hu_thread *thread = &run->thread[t];
        thread->call[n].product_counts = counts ? thread->product_counts : NULL;
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) thread->product_counts[r] = (hu_gemm_counts){0};
    }
}

void hu_products_collect(hu_run *run, uint32_t n) {
    hu_gemm_counts *total = run->edges->products[n].counts;
    for (int t = 0; t < run->options.threads; t++)
        for (int r = 0; r < HU_PRODUCT_ROLES; r++)
            hu_gemm_counts_add(&total[r], &run->thread[t].product_counts[r]);
}
