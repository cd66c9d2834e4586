#include "engine/chunk.h"

#include <string.h>

#include "kernel/fused/fused.h"

static void fill_with(size_t n, float *x, float value) {
    for (size_t i = 0; i < n; i++) x[i] = value;
}

/* The rounded rows of one contribution: made in this visit, asked for, or stored. */
static const float *contribution(hu_chunk *visit, uint32_t use) {
    hu_run *run = visit->run;
    hu_value_id v = run->graph->use[use].value;
    if (hu_is_carried(visit, use)) return hu_step_carried(visit, run->graph->use[use].node);
    use = run->stored_as[use];
    hu_seen *seen = &visit->thread->contribution[use];
    uint32_t reader = run->graph->use[use].node;
    if (!hu_is_seen(visit, seen) && run->exec[reader].is_pulled && !hu_use_is_stored(run, use))
        hu_chunk_run_backward(visit, reader);
    if (!hu_is_seen(visit, seen)) hu_see(visit, seen, hu_chunk_read(visit, &run->grad[use]));
    if (run->rehearsal.is_on && seen->is_made) run->grad[use].is_read_at_once = true;
    hu_chunk_clear_rounded(visit, &run->grad[use], v, seen->rows);
    return seen->rows;
}

/* Contributions are added in consumer order. */
const float *hu_chunk_gradient_sum(hu_chunk *visit, hu_value_id v) {
    hu_run *run = visit->run;
    uint32_t count = hu_contribution_count(run->graph, v);
    int64_t n = hu_chunk_elements(visit, &run->grad_sum[v]) * visit->count;
    float *sum = hu_chunk_take_rows(visit, &run->grad_sum[v]);
    if (count == 0 && !run->rehearsal.is_on) fill_with((size_t)n, sum, 0.0f);
    const float *left = NULL;
    for (uint32_t k = 0; k < count; k++) {
        const float *right = contribution(visit, hu_contribution_use(run->graph, v, k));
        if (k > 0 && !run->rehearsal.is_on) hu_fused()->add(n, left, right, sum);
        left = k > 0 ? sum : right;
    }
    if (count == 1 && !run->rehearsal.is_on) memcpy(sum, left, (size_t)n * sizeof *sum);
    return sum;
}

/* True if the stored rows of a contribution are those of another use too. */
static bool shares_rows(const hu_run *run, uint32_t use) {
    const hu_node *node = &run->graph->node[run->graph->use[use].node];
    for (int i = 0; i < node->n_in; i++) {
        uint32_t other = node->first_use + (uint32_t)i;
        if (other != use && run->stored_as[other] == run->stored_as[use]) return true;
    }
    return false;
}

/* The gradient of a loss: the same number for every sample, the weight of one unit. */
static hu_gradient_rows seed_gradient(hu_chunk *visit, int k) {
    const hu_loss *loss = &visit->run->graph->loss[k];
    const hu_pass_options *pass = &visit->run->pass;
    float unit = loss->normaliser == HU_PER_ROW ? pass->row_gradient[k] : pass->seed_gradient;
    float *seed = hu_chunk_take(visit, (size_t)visit->count * sizeof(float));
    if (!visit->run->rehearsal.is_on) fill_with((size_t)visit->count, seed, unit * loss->weight);
    return (hu_gradient_rows){seed, true};
}

/* The one contribution to a gradient, which needs no rounding as a sum. */
static hu_gradient_rows only_contribution(hu_chunk *visit, uint32_t use) {
    const hu_run *run = visit->run;
    const hu_slot *slot = &run->grad[use];
    bool is_copy = !hu_use_is_stored(run, use) || !slot->storage.trait->is_float32;
    bool is_own = is_copy && !shares_rows(run, use);
    return (hu_gradient_rows){contribution(visit, use), is_own};
}

hu_gradient_rows hu_chunk_gradient(hu_chunk *visit, uint32_t n, hu_value_id v, hu_tally *tally) {
    hu_run *run = visit->run;
    bool rounds = hu_rounds_gradient_sum(run, v);
    if (run->graph->node[n].loss >= 0) return seed_gradient(visit, run->graph->node[n].loss);
    if (hu_contribution_count(run->graph, v) == 1 && !rounds)
        return only_contribution(visit, hu_contribution_use(run->graph, v, 0));
    const float *sum = hu_chunk_gradient_sum(visit, v);
    int64_t elements = visit->count * hu_chunk_elements(visit, &run->grad_sum[v]);
    /* The sum is recorded, or scanned, before it is rounded. */
    if (tally) hu_chunk_record(visit, hu_tally_of_sum(run, v), sum);
    bool scans = run->context.scan || run->context.counts_all;
    if (!rounds && tally && scans && !run->rehearsal.is_on)
        hu_chunk_scan(visit, hu_tally_of_sum(run, v), sum);
    const hu_slot *slot = &run->grad_sum[v];
    hu_round_counts *counts = tally ? &tally->counts : NULL;
    if (rounds && tally && slot->in_loop && slot->history != HU_NONE && !run->rehearsal.is_on)
        hu_tensor_scale_add_maximum(slot, tally, elements, sum);
    if (rounds && !run->rehearsal.is_on) hu_chunk_round_rows(visit, slot, v, (float *)sum, counts);
    if (rounds) hu_chunk_clear_rounded(visit, slot, v, sum);
    return (hu_gradient_rows){sum, true};
}

/* The gradient of an output as the node's parameter gradients read it, apart from the other view.
 */
static const float *gradient_apart(hu_chunk *visit, hu_value_id v) {
    hu_run *run = visit->run;
    const hu_slot *view = hu_weights_view(run, v);
    hu_tally *tally = &visit->thread->tally[hu_tally_of_weights(run, v)];
    const float *sum = hu_chunk_gradient_sum(visit, v);
    if (run->rehearsal.is_on) return sum;
    int64_t elements = visit->count * hu_chunk_elements(visit, view);
    hu_chunk_record(visit, hu_tally_of_weights(run, v), sum);
    if (view->in_loop && view->history != HU_NONE)
        hu_tensor_scale_add_maximum(view, tally, elements, sum);
    if (hu_quantizer_rounds(&view->edge->quantizer))
        hu_chunk_round_rows(visit, view, v, (float *)sum, &tally->counts);
    hu_chunk_clear_rounded(visit, view, v, sum);
    return sum;
}

static void load_saved(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_node *node = &visit->run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_chunk_saved(visit, n, i);
    for (int i = 0; i < node->n_out; i++) {
        bool is_saved = hu_saves_output(node->op, i);
        call->out[i] = is_saved ? (float *)hu_chunk_value(visit, node->out[i]) : NULL;
    }
    if (hu_remakes_mask(visit->run, n)) (void)hu_chunk_value(visit, node->out[0]);
}

static void forget_contributions(hu_chunk *visit, hu_value_id v) {
    const hu_value_info *value = &visit->run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        hu_forget(&visit->thread->contribution[value->uses[k]]);
}

/* The use at the end of a row of nodes that work in place, if its contribution is stored as
 * float32: the first of these nodes may write there at once. HU_NONE: there is none. */
static uint32_t last_place(const hu_chunk *visit, uint32_t use) {
    const hu_run *run = visit->run;
    if (visit->loop) return HU_NONE;
    while (!hu_use_is_stored(run, use)) {
        hu_value_id v = run->graph->use[use].value;
        uint32_t p = run->graph->value[v].producer;
        const hu_node *node = &run->graph->node[p];
        if (run->exec[p].is_pulled || p == visit->region || !hu_node_works_in_place(node) ||
            !node->need_din[0] || hu_contribution_count(run->graph, v) != 1 ||
            hu_rounds_gradient_sum(run, v))
            return HU_NONE;
        use = node->first_use;
    }
    const hu_slot *slot = &run->grad[use];
    bool is_place = slot->storage.trait->is_float32 && !hu_slot_waits(slot);
    return is_place ? use : HU_NONE;
}

/* True if a node hands the gradient of its output on as it is: nobody rounds or stores it. */
static bool hands_on(const hu_run *run, const hu_node *node, uint32_t use) {
    const hu_slot *slot = &run->grad[use];
    if (hu_gives_scaled(run, run->graph->use[use].node)) return false;
    return hu_node_copies_gradient(node) && node->n_in == 1 && !hu_use_is_stored(run, use) &&
           !hu_quantizer_rounds(&slot->edge->quantizer) && slot->capacity_bits == 0;
}

/* Room for the gradient of one input; that of the first may take the place of the output's. */
static float *din_room(hu_chunk *visit, uint32_t n, int i, const hu_op_call *call,
                       bool may_overwrite) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + (uint32_t)i;
    const hu_slot *slot = &run->grad[use];
    bool is_stored = hu_use_is_stored(run, use);
    if (visit->loop && hu_is_held(node, i)) return hu_step_held_room(visit, n, i);
    if (hands_on(run, node, use)) return (float *)call->dout[0];
    uint32_t place = last_place(visit, use);
    if (place != HU_NONE) return hu_chunk_place(visit, &run->grad[place], true);
    if (i > 0 || !may_overwrite || slot->staging != HU_NONE ||
        (is_stored && slot->storage.trait->is_float32))
        return hu_chunk_place(visit, slot, is_stored);
    if (is_stored) hu_chunk_touch(visit, slot->buffer);
    forget_contributions(visit, node->out[0]);
    return (float *)call->dout[0];
}

static bool is_made(const hu_run *run, const hu_node *node, int i) {
    uint32_t use = node->first_use + (uint32_t)i;
    return node->need_din[i] && run->stored_as[use] == use;
}

/* True if the gradient of an input holds values of its format before it is rounded. */
static bool gradient_stays_on_grid(const hu_run *run, const hu_node *node, uint32_t use) {
    hu_value_id out = node->out[0];
    const hu_quantizer *to = &run->grad[use].edge->quantizer;
    if (!hu_node_selects_gradient(node) || hu_gives_scaled(run, run->graph->use[use].node))
        return false;
    if (hu_rounds_gradient_sum(run, out))
        return hu_stays_on_grid(run, &run->grad_sum[out].edge->quantizer, to);
    if (hu_contribution_count(run->graph, out) != 1) return false;
    uint32_t only = hu_contribution_use(run->graph, out, 0);
    return hu_stays_on_grid(run, &run->grad[only].edge->quantizer, to);
}

/* Rounds and stores the gradients that a node has brought. */
static void round_gradients(hu_chunk *visit, uint32_t n, const hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        hu_tally *tally = &visit->thread->tally[hu_tally_of_use(run, use)];
        unsigned flags = hu_use_is_stored(run, use) ? HU_ROWS_STORED : 0;
        if (!is_made(run, node, i)) continue;
        if (visit->loop && hu_is_held(node, i)) {
            hu_step_gather(visit, n, i, call->din[i]);
            continue;
        }
        if (gradient_stays_on_grid(run, node, use)) flags |= HU_ROWS_ON_GRID;
        if (hu_chunk_round(visit, &run->grad[use], flags, tally, call->din[i]))
            hu_see_made(visit, &visit->thread->contribution[use], call->din[i], false);
    }
}

static void run_in_one(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    hu_chunk_lend_scratch(visit, n, call);
    hu_chunk_run_op(visit, n, visit->run->graph->node[n].op->backward, call);
    hu_chunk_scale_gradients(visit, n, call);
}

/* The gradients of the inputs from one view of the output's gradient, those of the parameters from
 * the other: the op runs once for each, and does not know. After it the call has what the
 * parameters read, for gradients that are accumulated later. */
static void run_in_two(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_node *node = &visit->run->graph->node[n];
    float *dparam[HU_MAX_PARAMS], *din = call->din[0]; /* products have one input */
    for (int j = 0; j < node->n_params; j++) {
        dparam[j] = call->dparam[j];
        call->dparam[j] = NULL;
    }
    run_in_one(visit, n, call);
    call->din[0] = NULL;
    for (int j = 0; j < node->n_params; j++) call->dparam[j] = dparam[j];
    call->dout[0] = gradient_apart(visit, node->out[0]);
    run_in_one(visit, n, call);
    call->din[0] = din;
}

/* One step of a loop: what the parameters read is kept for after the last one. */
static void run_step(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    hu_value_id out = visit->run->graph->node[n].out[0];
    hu_step_keep(visit, n, call);
    run_in_one(visit, n, call);
    if (!hu_weights_view(visit->run, out)) return;
    call->dout[0] = gradient_apart(visit, out);
    hu_step_keep(visit, n, call);
}

void hu_chunk_point_dparams(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    hu_point_dparams(run, n, hu_dparam_per_chunk(run, n) ? visit->partial : 0, call->dparam);
    hu_chunk_touch(visit, run->exec[n].dpartial);
    call->adds_dparam = visit->adds;
}

void hu_chunk_run_backward(hu_chunk *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = hu_chunk_call(visit, n);
    bool is_own = false;
    /* What the op reads: saved values, gradients of the outputs, its mask. */
    load_saved(visit, n, call);
    for (int i = 0; i < node->n_out; i++) {
        hu_chunk_clear_padding(visit, node->out[i], NULL); /* its gradient is counted after */
        hu_tally *tally = &visit->thread->tally[hu_tally_of_sum(run, node->out[i])];
        hu_gradient_rows gradient = hu_chunk_gradient(visit, n, node->out[i], tally);
        call->dout[i] = gradient.rows;
        is_own = gradient.is_own;
    }
    hu_chunk_point_mask(visit, n, call);
    /* Where the op writes: gradients of the inputs, one partial gradient of each parameter. */
    for (int i = 0; i < node->n_in; i++) {
        call->din[i] = NULL;
        if (is_made(run, node, i))
            call->din[i] = din_room(visit, n, i, call, hu_node_works_in_place(node) && is_own);
        else if (visit->loop && hu_is_held(node, i) && hu_learns_input(run, n, i))
            call->din[i] = hu_step_held_room(visit, n, i);
        else if (hu_learns_input(run, n, i)) /* nobody but its rounding reads it */
            call->din[i] = hu_chunk_take_rows(visit, &run->use[node->first_use + (uint32_t)i]);
    }
    if (!visit->loop) hu_chunk_point_dparams(visit, n, call);
    if (visit->loop)
        run_step(visit, n, call);
    else if (hu_weights_view(run, node->out[0]))
        run_in_two(visit, n, call);
    else
        run_in_one(visit, n, call);
    for (int i = 0; i < node->n_in; i++)
        if (!visit->loop || !hu_is_held(node, i))
            hu_chunk_clear_padding(visit, node->in[i], call->din[i]);
    for (int i = 0; i < node->n_in; i++)
        if (!visit->loop || !hu_is_held(node, i)) hu_learn_input(visit, n, i, call->din[i]);
    round_gradients(visit, n, call);
}
