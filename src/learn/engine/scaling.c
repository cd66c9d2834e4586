#include "engine/chunk.h"

/* Fixed factors between what ops compute and what edges round (graph/edge.h, hu_factors). One
 * float32 product for each number: neither chunks nor threads change it. Ops do not hear of them.
 * Nodes in loops have none (precision/unit_scaling.c). */

static bool is_scaled(float factor) {
    return factor < 1.0f || factor > 1.0f;
}

bool hu_makes_scaled(const hu_run *run, uint32_t node) {
    const hu_node *of = &run->graph->node[node];
    bool any = false;
    for (int i = 0; run->edges->factors.any && i < of->n_out; i++)
        any = any || is_scaled(run->edges->factors.made[of->out[i]]);
    return any;
}

static bool any_input(const hu_run *run, uint32_t node, const float *factors) {
    const hu_node *of = &run->graph->node[node];
    bool any = false;
    for (int i = 0; run->edges->factors.any && i < of->n_in; i++)
        any = any || is_scaled(factors[of->first_use + (uint32_t)i]);
    return any;
}

bool hu_reads_scaled(const hu_run *run, uint32_t node) {
    return any_input(run, node, run->edges->factors.read);
}

bool hu_gives_scaled(const hu_run *run, uint32_t node) {
    return any_input(run, node, run->edges->factors.given);
}

void hu_scale_numbers(int64_t n, float factor, float *x) {
    for (int64_t i = 0; is_scaled(factor) && i < n; i++) x[i] *= factor;
}

void hu_chunk_scale_inputs(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    if (!hu_reads_scaled(run, n)) return;
    for (int i = 0; i < node->n_in; i++) {
        float factor = run->edges->factors.read[node->first_use + (uint32_t)i];
        const hu_slot *slot = &run->value[node->in[i]];
        const float *x = call->in[i];
        if (!is_scaled(factor)) continue;
        float *copy = hu_chunk_take_rows(visit, slot);
        int64_t numbers = visit->count * hu_chunk_elements(visit, slot);
        for (int64_t k = 0; !run->rehearsal.is_on && k < numbers; k++) copy[k] = x[k] * factor;
        call->in[i] = copy;
    }
}

void hu_chunk_scale_outputs(hu_chunk *visit, uint32_t n, const hu_op_call *call) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    if (!run->edges->factors.any || run->rehearsal.is_on) return;
    for (int i = 0; i < node->n_out; i++) {
        const hu_slot *slot = &run->value[node->out[i]];
        hu_scale_numbers(visit->count * hu_chunk_elements(visit, slot),
                         run->edges->factors.made[node->out[i]], call->out[i]);
    }
}

void hu_chunk_scale_gradients(hu_chunk *visit, uint32_t n, const hu_op_call *call) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    if (!run->edges->factors.any || run->rehearsal.is_on) return;
    for (int i = 0; i < node->n_in; i++) {
        const hu_slot *slot = &run->value[node->in[i]];
        if (!call->din[i]) continue;
        hu_scale_numbers(visit->count * hu_chunk_elements(visit, slot),
                         run->edges->factors.given[node->first_use + (uint32_t)i], call->din[i]);
    }
}
