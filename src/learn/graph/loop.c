#include "graph/internal.h"

#include "base/error.h"
#include "base/memory.h"

const hu_loop *hu_loop_open(const hu_graph *graph) {
    const hu_loop *last = graph->loop_count ? &graph->loop[graph->loop_count - 1] : NULL;
    return last && !last->is_closed ? last : NULL;
}

/* ---- declaration ---- */

static hu_status check_lengths(const hu_graph *graph, hu_value_id lengths) {
    if (lengths == HU_NONE) return HU_OK;
    if (lengths >= graph->value_count || !hu_is_given(&graph->value[lengths]) ||
        graph->value[lengths].elements != 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "a loop's lengths: found '%s', expected a target or a fact of one element",
                       lengths < graph->value_count ? graph->value[lengths].name : "?");
    return HU_OK;
}

hu_status hu_graph_loop(hu_graph *graph, int64_t steps, hu_value_id lengths) {
    hu_status st = HU_OK;
    if (hu_loop_open(graph)) return hu_fail(HU_ERR_ARGUMENT, "a loop begins inside another");
    if (steps < 1)
        return hu_fail(HU_ERR_ARGUMENT, "a loop of %lld steps, expected at least 1",
                       (long long)steps);
    HU_TRY(check_lengths(graph, lengths));
    HU_TRY(hu_grow(&graph->loop, graph->loop_count, &graph->loop_capacity, sizeof *graph->loop));
    graph->loop[graph->loop_count++] =
        (hu_loop){.first = graph->node_count, .steps = steps, .lengths = lengths};
done:
    return st;
}

hu_status hu_graph_add_loop(hu_graph *graph, uint32_t first, uint32_t last, int64_t steps) {
    bool is_sound = first <= last && last < graph->node_count && steps > 0;
    for (uint32_t n = first; is_sound && n <= last; n++) is_sound = graph->node[n].loop == HU_NONE;
    if (!is_sound)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a loop of nodes %u to %u, expected nodes below %u that are in none",
                       first, last, graph->node_count);
    hu_status st =
        hu_grow(&graph->loop, graph->loop_count, &graph->loop_capacity, sizeof *graph->loop);
    if (st != HU_OK) return st;
    for (uint32_t n = first; n <= last; n++) graph->node[n].loop = graph->loop_count;
    graph->loop[graph->loop_count++] = (hu_loop){
        .first = first, .last = last, .steps = steps, .lengths = HU_NONE, .is_closed = true};
    return HU_OK;
}

/* Until hu_graph_next says what follows, the initial row stands in its place. */
hu_status hu_graph_state(hu_graph *graph, const char *name, hu_value_id initial,
                         hu_value_id *state) {
    const hu_loop *loop = hu_loop_open(graph);
    if (!loop) return hu_fail(HU_ERR_ARGUMENT, "the state '%s' is outside of loops", name);
    if (initial < graph->value_count && graph->value[initial].producer != HU_NONE &&
        graph->value[initial].producer >= loop->first)
        return hu_fail(HU_ERR_ARGUMENT, "the state '%s' starts as '%s', which its loop makes", name,
                       graph->value[initial].name);
    const hu_value_id in[] = {initial, initial, loop->lengths};
    int n_in = loop->lengths == HU_NONE ? HU_STATE_LENGTHS : HU_STATE_LENGTHS + 1;
    return hu_graph_apply(graph, &hu_op_previous, name, NULL, NULL, n_in, in, state);
}

static hu_node *node_of_state(const hu_graph *graph, const hu_loop *loop, hu_value_id state) {
    uint32_t n = state < graph->value_count ? graph->value[state].producer : HU_NONE;
    bool is_state = n != HU_NONE && n >= loop->first && graph->node[n].op->is_previous;
    return is_state ? &graph->node[n] : NULL;
}

static hu_status check_next(const hu_graph *graph, const hu_loop *loop, const hu_node *node,
                            hu_value_id next) {
    const hu_value_info *value = next < graph->value_count ? &graph->value[next] : NULL;
    const hu_value_info *state = &graph->value[node->out[0]];
    char found[176], expected[176];
    if (!value || value->producer == HU_NONE || value->producer < loop->first ||
        graph->node[value->producer].op->is_view)
        return hu_fail(HU_ERR_ARGUMENT,
                       "'%s': found '%s' as the next state, expected a value that the loop makes, "
                       "and no view",
                       state->name, value ? value->name : "?");
    if (hu_shape_equal(&value->shape, &state->shape)) return HU_OK;
    hu_shape_print(&value->shape, found, sizeof found);
    hu_shape_print(&state->shape, expected, sizeof expected);
    return hu_fail(HU_ERR_SHAPE, "'%s' becomes '%s': found %s, expected %s", state->name,
                   value->name, found, expected);
}

hu_status hu_graph_next(hu_graph *graph, hu_value_id state, hu_value_id next) {
    const hu_loop *loop = hu_loop_open(graph);
    hu_node *node = loop ? node_of_state(graph, loop, state) : NULL;
    if (!node || node->in[HU_STATE_NEXT] != node->in[HU_STATE_INITIAL])
        return hu_fail(HU_ERR_ARGUMENT, "'%s': expected a state of the open loop, without a next",
                       state < graph->value_count ? graph->value[state].name : "?");
    hu_status st = check_next(graph, loop, node, next);
    if (st != HU_OK) return st;
    node->in[HU_STATE_NEXT] = next;
    graph->use[node->first_use + HU_STATE_NEXT].value = next;
    return HU_OK;
}

hu_status hu_graph_end_loop(hu_graph *graph) {
    bool has_state = false;
    if (!hu_loop_open(graph)) return hu_fail(HU_ERR_ARGUMENT, "no loop is open");
    hu_loop *loop = &graph->loop[graph->loop_count - 1];
    for (uint32_t n = loop->first; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        if (!node->op->is_previous) continue;
        has_state = true;
        if (node->in[HU_STATE_NEXT] == node->in[HU_STATE_INITIAL])
            return hu_fail(HU_ERR_ARGUMENT, "the state '%s' has no next", node->name);
    }
    if (!has_state) return hu_fail(HU_ERR_ARGUMENT, "a loop without a state");
    loop->last = graph->node_count - 1;
    loop->is_closed = true;
    return HU_OK;
}

/* Steps hand an op some samples of a chunk, in several calls: nothing may be added over the batch
 * but gradients of parameters, which come from one more call for all rows. */
hu_status hu_loop_check(const hu_loop *loop, const hu_op *op) {
    bool can = !op->reduce && !op->commit && !op->is_loss && !op->makes_facts && !op->mask_bytes;
    if (op->params) can &= op->dparam_per_chunk && op->max_in == 1;
    if (!loop && op->is_previous)
        return hu_fail(HU_ERR_ARGUMENT, "'%s' is for states of loops", op->name);
    if (!loop || can) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "'%s' cannot run in a loop: it keeps bits for the backward pass or looks at a whole batch",
        op->name);
}

hu_status hu_loop_hold(const hu_loop *loop, const hu_value_info *value) {
    if (value->producer == HU_NONE || value->producer < loop->first) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "'%s' is read as a whole in every step: found a value that the loop makes, "
                   "expected one from outside",
                   value->name);
}

hu_status hu_loop_step(const hu_loop *loop, const hu_value_info *value, hu_shape *step) {
    const hu_shape *whole = &value->shape;
    if (whole->rank < 1 || whole->extent[0] != loop->steps)
        return hu_fail(HU_ERR_SHAPE,
                       "'%s' is read in a loop: found a first extent of %lld, "
                       "expected %lld steps",
                       value->name, (long long)(whole->rank ? whole->extent[0] : 0),
                       (long long)loop->steps);
    step->rank = whole->rank - 1;
    for (int i = 0; i < step->rank; i++) step->extent[i] = whole->extent[i + 1];
    return HU_OK;
}

hu_shape hu_loop_whole(const hu_loop *loop, const hu_shape *step) {
    hu_shape whole = {.rank = step->rank + 1};
    if (!loop) return *step;
    whole.extent[0] = loop->steps;
    for (int i = 0; i < step->rank && i + 1 < HU_MAX_RANK; i++)
        whole.extent[i + 1] = step->extent[i];
    return whole;
}

void hu_loop_mark(const hu_loop *loop, hu_value_info *value) {
    if (loop) value->steps = loop->steps;
}

/* ---- questions ---- */

/* What a state becomes is found by the one use of what it starts as. */
static hu_status check_carried(const hu_graph *graph, hu_value_id start) {
    uint32_t uses = 0, states = 0;
    for (uint32_t u = 0; u < graph->use_count; u++) {
        const hu_use *use = &graph->use[u];
        if (use->value != start) continue;
        uses++;
        states += graph->node[use->node].op->is_previous && use->index == HU_STATE_INITIAL;
    }
    if (uses == 1 && states == 1) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "'%s': found %u readers, expected one, the state that goes on",
                   graph->value[start].name, uses);
}

hu_status hu_loops_check(const hu_graph *graph) {
    hu_status st = HU_OK;
    if (hu_loop_open(graph)) return hu_fail(HU_ERR_ARGUMENT, "a loop has no end");
    for (uint32_t n = 0; n < graph->node_count && st == HU_OK; n++)
        if (graph->node[n].op->is_carried) st = check_carried(graph, graph->node[n].out[0]);
    if (st != HU_OK) return st;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op->is_previous && graph->node[n].loop == HU_NONE)
            return hu_fail(HU_ERR_ARGUMENT, "the state '%s' is outside of loops",
                           graph->node[n].name);
    return HU_OK;
}

bool hu_is_read_by_step(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &graph->use[value->uses[k]];
        const hu_node *node = &graph->node[use->node];
        if (node->loop != HU_NONE && !(node->op->is_previous && use->index != HU_STATE_NEXT))
            return true;
    }
    return false;
}

void hu_loop_share_phases(hu_graph *graph, uint32_t n) {
    const hu_loop *loop = hu_loop_of(graph, &graph->node[n]);
    if (!loop || n != loop->last) return;
    for (uint32_t m = loop->first; m < n; m++) graph->node[n].phases |= graph->node[m].phases;
    for (uint32_t m = loop->first; m < n; m++) graph->node[m].phases = graph->node[n].phases;
}

bool hu_loop_learns(const hu_graph *graph, uint32_t index, unsigned bit) {
    const hu_loop *loop = &graph->loop[index];
    bool learns = false;
    for (uint32_t n = loop->first; n <= loop->last; n++) {
        const hu_node *node = &graph->node[n];
        for (int i = 0; i < node->n_in; i++) learns |= graph->value[node->in[i]].grad_in & bit;
        for (int j = 0; j < node->n_params; j++)
            learns |= graph->value[node->param[j]].grad_in & bit;
    }
    return learns;
}

void hu_loop_close_gradients(hu_graph *graph, uint32_t last, unsigned bit) {
    const hu_loop *loop = hu_loop_of(graph, &graph->node[last]);
    if (!loop || last != loop->last) return;
    for (uint32_t n = loop->first; n <= last; n++) {
        hu_node *node = &graph->node[n];
        if (node->op->is_previous)
            node->need_din[HU_STATE_NEXT] = graph->value[node->in[HU_STATE_NEXT]].grad_in & bit;
    }
}
