/* The backward half of a visit. */
#include <string.h>

#include "graph/fuse.h"
#include "graph/record.h"
#include "graph/rows.h"
#include "kernel/fused/fused.h"

static void fill_with(size_t n, float *x, float value) {
    for (size_t i = 0; i < n; i++) x[i] = value;
}

static uint32_t count_contributions(const hu_graph *graph, const hu_value_info *value) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        count += hu_use_has_gradient(graph, value->uses[k]);
    return count;
}

/* The use of a value that brings contribution number k. */
static uint32_t contribution_at(const hu_graph *graph, const hu_value_info *value, uint32_t k) {
    uint32_t i = 0;
    while (!hu_use_has_gradient(graph, value->uses[i]) || k-- > 0) i++;
    return value->uses[i];
}

/* Rounding a contribution again to the grid it is on changes nothing. */
bool hu_chunk_rounds_sum(const hu_run *run, hu_value_id id) {
    const hu_value_info *value = &run->graph->value[id];
    const hu_quantizer *sum = &run->grad_sum[id].edge->quantizer;
    uint32_t count = count_contributions(run->graph, value);
    if (!hu_quantizer_rounds(sum)) return false;
    if (count != 1) return count > 1;
    uint32_t only = contribution_at(run->graph, value, 0);
    return !hu_quantizer_same_numbers(&run->grad[only].edge->quantizer, sum);
}

/* The rounded rows of one contribution: made in this visit, asked for, or stored. */
static const float *contribution(hu_visit *visit, uint32_t use) {
    hu_run *run = visit->run;
    use = run->twin[use];
    hu_seen *seen = &visit->thread->contribution[use];
    uint32_t reader = run->graph->use[use].node;
    if (!hu_is_seen(visit, seen) && run->exec[reader].is_pulled && !hu_use_is_stored(run, use))
        hu_visit_run_backward(visit, reader);
    if (!hu_is_seen(visit, seen)) hu_see(visit, seen, hu_visit_read(visit, &run->grad[use]));
    return seen->rows;
}

/* Contributions are added in consumer order. */
const float *hu_visit_gradient_sum(hu_visit *visit, hu_value_id v) {
    hu_run *run = visit->run;
    const hu_value_info *value = &run->graph->value[v];
    uint32_t count = count_contributions(run->graph, value);
    int64_t n = value->elements * visit->count;
    float *sum = hu_visit_take_rows(visit, &run->grad_sum[v]);
    if (count == 0 && !run->is_rehearsal) fill_with((size_t)n, sum, 0.0f);
    const float *left = NULL;
    for (uint32_t k = 0; k < count; k++) {
        const float *right = contribution(visit, contribution_at(run->graph, value, k));
        if (k > 0 && !run->is_rehearsal) hu_fused()->add(n, left, right, sum);
        left = k > 0 ? sum : right;
    }
    if (count == 1 && !run->is_rehearsal) memcpy(sum, left, (size_t)n * sizeof *sum);
    return sum;
}

/* True if the stored rows of a contribution are those of another use too. */
static bool has_twin(const hu_run *run, uint32_t use) {
    const hu_node *node = &run->graph->node[run->graph->use[use].node];
    for (int i = 0; i < node->n_in; i++) {
        uint32_t other = node->first_use + (uint32_t)i;
        if (other != use && run->twin[other] == run->twin[use]) return true;
    }
    return false;
}

const float *hu_visit_gradient(hu_visit *visit, uint32_t n, hu_value_id v, bool counts,
                               bool *is_own) {
    hu_run *run = visit->run;
    const hu_value_info *value = &run->graph->value[v];
    bool rounds = hu_chunk_rounds_sum(run, v);
    *is_own = true;
    if (n == run->graph->loss_node) {
        float *seed = hu_visit_take(visit, (size_t)visit->count * sizeof(float));
        if (!run->is_rehearsal) fill_with((size_t)visit->count, seed, run->pass.seed_gradient);
        return seed;
    }
    if (count_contributions(run->graph, value) == 1 && !rounds) {
        uint32_t only = contribution_at(run->graph, value, 0);
        const hu_slot *slot = &run->grad[only];
        bool is_copy = !hu_use_is_stored(run, only) || !slot->storage.trait->is_float32;
        *is_own = is_copy && !has_twin(run, only);
        return contribution(visit, only);
    }
    const float *sum = hu_visit_gradient_sum(visit, v);
    hu_tally *tally = counts ? &visit->thread->tally[hu_tally_of_sum(run, v)] : NULL;
    int64_t elements = visit->count * value->elements;
    if (tally && run->records) hu_record_rows(run, hu_tally_of_sum(run, v), elements, sum);
    if (!rounds && tally && run->context.scan && !run->is_rehearsal)
        hu_scan_f32((size_t)elements, sum, &tally->counts);
    if (rounds && !run->is_rehearsal)
        hu_slot_round(&run->grad_sum[v], &run->context, visit->first, visit->count, (float *)sum,
                      tally ? &tally->counts : NULL);
    return sum;
}

const float *hu_visit_saved(hu_visit *visit, const hu_node *node, int i) {
    return hu_saves_input(node->op, i) ? hu_visit_value(visit, node->in[i]) : NULL;
}

static void load_saved(hu_visit *visit, uint32_t n, hu_op_call *call) {
    const hu_node *node = &visit->run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_visit_saved(visit, node, i);
    for (int i = 0; i < node->n_out; i++) {
        bool is_saved = i == 0 && (node->op->saves & HU_SAVE_OUTPUT_0);
        call->out[i] = is_saved ? (float *)hu_visit_value(visit, node->out[i]) : NULL;
    }
    if (hu_visit_makes_aux(visit->run, n)) (void)hu_visit_value(visit, node->out[0]);
}

static void forget_contributions(hu_visit *visit, hu_value_id v) {
    const hu_value_info *value = &visit->run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        hu_forget(&visit->thread->contribution[value->uses[k]]);
}

/* The use at the end of a row of nodes that work in place, if its contribution is stored as
 * float32: the first of them may write there at once. HU_NONE: there is none. */
static uint32_t last_place(const hu_visit *visit, uint32_t use) {
    const hu_run *run = visit->run;
    while (!hu_use_is_stored(run, use)) {
        hu_value_id v = run->graph->use[use].value;
        const hu_value_info *value = &run->graph->value[v];
        uint32_t p = value->producer;
        const hu_node *node = &run->graph->node[p];
        if (run->exec[p].is_pulled || p == visit->region || !node->op->in_place ||
            !node->need_din[0] || count_contributions(run->graph, value) != 1 ||
            hu_chunk_rounds_sum(run, v))
            return HU_NONE;
        use = node->first_use;
    }
    const hu_slot *slot = &run->grad[use];
    bool is_place =
        slot->storage.trait->is_float32 && !hu_quantizer_needs_maximum(&slot->edge->quantizer);
    return is_place ? use : HU_NONE;
}

/* Room for the gradient of one input; that of the first may take the place of the output's. */
static float *din_room(hu_visit *visit, uint32_t n, int i, const hu_op_call *call,
                       bool may_overwrite) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + (uint32_t)i;
    const hu_slot *slot = &run->grad[use];
    bool is_stored = hu_use_is_stored(run, use);
    uint32_t place = last_place(visit, use);
    if (place != HU_NONE) return hu_visit_place(visit, &run->grad[place], true);
    if (i > 0 || !may_overwrite || slot->waiting != HU_NONE ||
        (is_stored && slot->storage.trait->is_float32))
        return hu_visit_place(visit, slot, is_stored);
    if (is_stored) hu_visit_touch(visit, slot->buffer);
    forget_contributions(visit, node->out[0]);
    return (float *)call->dout[0];
}

static bool is_made(const hu_run *run, const hu_node *node, int i) {
    uint32_t use = node->first_use + (uint32_t)i;
    return node->need_din[i] && run->twin[use] == use;
}

/* True if the gradient of an input is made of numbers that its own rounding leaves as they are. */
static bool makes_member_gradient(const hu_run *run, const hu_node *node, uint32_t use) {
    hu_value_id out = node->out[0];
    const hu_value_info *value = &run->graph->value[out];
    const hu_quantizer *to = &run->grad[use].edge->quantizer;
    if (!node->op->picks_gradient) return false;
    if (hu_chunk_rounds_sum(run, out))
        return hu_keeps_members(run, &run->grad_sum[out].edge->quantizer, to);
    if (count_contributions(run->graph, value) != 1) return false;
    uint32_t only = contribution_at(run->graph, value, 0);
    return hu_keeps_members(run, &run->grad[only].edge->quantizer, to);
}

void hu_visit_run_backward(hu_visit *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = hu_visit_call(visit, n);
    bool is_own = false;
    load_saved(visit, n, call);
    for (int i = 0; i < node->n_out; i++)
        call->dout[i] = hu_visit_gradient(visit, n, node->out[i], true, &is_own);
    hu_visit_point_aux(visit, n, call);
    for (int i = 0; i < node->n_in; i++)
        call->din[i] = is_made(run, node, i)
                           ? din_room(visit, n, i, call, node->op->in_place && is_own)
                           : NULL;
    hu_point_dparams(run, n, hu_dparam_per_chunk(run, n) ? visit->partial : 0, call->dparam);
    hu_visit_touch(visit, run->exec[n].dpartial);
    call->adds_dparam = visit->adds;
    hu_visit_lend_scratch(visit, n, call);
    hu_visit_run_op(visit, n, node->op->backward, call);
    for (int i = 0; i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        hu_tally *tally = &visit->thread->tally[hu_tally_of_use(run, use)];
        if (is_made(run, node, i) &&
            hu_visit_settle(visit, &run->grad[use], hu_use_is_stored(run, use),
                            makes_member_gradient(run, node, use), tally, call->din[i]))
            hu_see(visit, &visit->thread->contribution[use], call->din[i]);
    }
}
