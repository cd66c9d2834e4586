#include "engine/facts.h"

bool hu_stays_on_grid(const hu_run *run, const hu_quantizer *from, const hu_quantizer *to) {
    return run->options.fuse && to->kind == HU_QUANTIZER_FLOAT && to->scale == HU_SCALE_NONE &&
           hu_quantizer_same_numbers(from, to);
}

/* Rounding a contribution again to the grid it is on changes nothing. Where quantizers may change,
 * a rehearsal takes the way of a sum that is rounded: it uses the same buffers, and no less
 * scratch. */
bool hu_rounds_gradient_sum(const hu_run *run, hu_value_id id) {
    const hu_slot *sum = &run->grad_sum[id];
    uint32_t count = hu_contribution_count(run->graph, id);
    bool may_change = run->rehearsal.is_on && sum->capacity_bits > 0;
    if (!hu_quantizer_rounds(&sum->edge->quantizer) && !may_change) return false;
    if (count != 1) return count > 1;
    const hu_slot *only = &run->grad[hu_contribution_use(run->graph, id, 0)];
    may_change = may_change || (run->rehearsal.is_on && only->capacity_bits > 0);
    return may_change || !hu_quantizer_same_numbers(&only->edge->quantizer, &sum->edge->quantizer);
}

bool hu_use_is_stored(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    uint32_t producer = run->graph->value[u->value].producer;
    return producer == HU_NONE || run->exec[u->node].backward_in != run->exec[producer].backward_in;
}

bool hu_remakes_mask(const hu_run *run, uint32_t n) {
    const hu_exec *exec = &run->exec[n];
    hu_value_id out = run->graph->node[n].out[0];
    bool is_made_again = exec->is_lazy ? run->is_virtual[out] : run->is_remade[out];
    return exec->mask_bytes > 0 && run->options.recompute && is_made_again;
}

bool hu_overwrites_input(const hu_run *run, const hu_node *node) {
    hu_value_id in = node->in[0];
    const hu_value_info *value = &run->graph->value[in];
    return node->op->in_place && !hu_use_slot(run, node->first_use) && value->use_count == 1 &&
           value->producer != HU_NONE && run->is_virtual[in] && !(node->op->saves & 1u);
}

bool hu_region_sums_in_batch_order(const hu_run *run, uint32_t n) {
    bool any = false;
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++)
        any |= run->exec[m].sums_in_batch_order;
    return any;
}

bool hu_contribution_completes(hu_run *run, uint32_t use) {
    hu_value_id v = run->graph->use[use].value;
    const hu_value_info *value = &run->graph->value[v];
    run->has_contributed[use] = true;
    if (!hu_is_summed_parameter(run->graph, v)) return false;
    for (uint32_t k = 0; k < value->use_count; k++)
        if (hu_use_has_gradient(run->graph, value->uses[k]) &&
            !run->has_contributed[value->uses[k]])
            return false;
    return true;
}

void hu_point_dparams(const hu_run *run, uint32_t n, int64_t partial, float **dparam) {
    const hu_node *node = &run->graph->node[n];
    float *place = hu_buffer_data(run, run->exec[n].dpartial);
    if (place) place += partial * run->exec[n].dparam_elements;
    for (int j = 0; j < node->n_params; j++) {
        dparam[j] = node->need_dparam[j] ? place : NULL;
        if (dparam[j]) place += run->graph->value[node->param[j]].elements;
    }
}

/* What its producer rounds. */
static hu_tallied_numbers of_value(const hu_run *run, hu_value_id v, const hu_slot *slots) {
    uint32_t p = run->graph->value[v].producer;
    return (hu_tallied_numbers){v, &slots[v], p != HU_NONE && hu_loop_at(run, p)};
}

/* What its reader rounds. */
static hu_tallied_numbers of_use(const hu_run *run, uint32_t u, const hu_slot *slots) {
    const hu_use *use = &run->graph->use[u];
    const hu_node *node = &run->graph->node[use->node];
    bool by_step = node->loop != HU_NONE && !hu_is_held(node, use->index);
    return (hu_tallied_numbers){use->value, &slots[u], by_step};
}

hu_tallied_numbers hu_tallied(const hu_run *run, uint32_t tally) {
    if (tally < hu_tally_of_use(run, 0)) return of_value(run, tally, run->value);
    if (tally < hu_tally_of_sum(run, 0))
        return of_use(run, tally - hu_tally_of_use(run, 0), run->grad);
    if (tally < hu_tally_of_input(run, 0))
        return of_value(run, tally - hu_tally_of_sum(run, 0), run->grad_sum);
    if (tally < hu_tally_of_weights(run, 0))
        return of_use(run, tally - hu_tally_of_input(run, 0), run->use);
    return of_value(run, tally - hu_tally_of_weights(run, 0), run->grad_weights);
}

void hu_point_given(const hu_run *run, uint32_t n, const float **given) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) {
        const hu_value_info *value = &run->graph->value[node->in[i]];
        const void *data = run->value[node->in[i]].data;
        given[i] = hu_is_given(value) ? data : NULL;
    }
}
