#include "planner/internal.h"

/* Which nodes run in the same visits of the chunks.
 *
 * A region is a node that has a loop over the chunks of its own. While a region visits a chunk,
 * what lies around the node runs too, as long as the chunk is in the caches:
 *
 *   forward   lazy    a cheap node runs when a region reads its output, and not before
 *             taken   a bias runs right after the product that makes its input, and stores its
 *                     own output in that one's stead: the backward pass need not make it again
 *             reduce  partial results of a batch norm are taken right after who made its input,
 *                     those of the loss after the loss
 *   backward  pulled  a batch norm turns the gradient of its output into that of its input when
 *                     the node that made this input asks for it; a bias after a product sums its
 *                     own gradient then, and hands on what it was given
 *             pushed  a cheap node runs as soon as the last contribution to the gradient of its
 *                     output is present
 *             reduce  likewise partial results of a batch norm
 *
 * Every op's own functions run on the same chunks with the same numbers as without all this, every
 * value that has a format is rounded, and counted once: no bit changes. Values that nobody stores
 * are made again by every reader. Of several tensors that cannot be encoded another one may be the
 * first that a pass meets, and stops at.
 */

/* Reads and operations that making a value once more may cost, by options.recompute: relu(bn(x))
 * costs 3; relu(bn(x) + y), the output of a residual block, 4 and what y costs: 1 at hand, 2 as a
 * batch norm. 14 is three blocks of which every reader makes the outputs again: measured, that
 * takes 0 to 3 % of a step of ResNet-18 and 3 to 8 % of ResNet-20. */
static int most_cost(const hu_run *run) {
    static const int most[] = {0, 3, 14};
    return most[run->options.recompute];
}

static const hu_node *producer_of(const hu_run *run, hu_value_id v) {
    uint32_t p = run->graph->value[v].producer;
    return p == HU_NONE ? NULL : &run->graph->node[p];
}

static bool waits(const hu_slot *slot) {
    return hu_slot_waits(slot);
}

/* ---- forward ---- */

static bool is_reduced_by_reader(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        uint32_t n = run->graph->use[value->uses[k]].node;
        const hu_op *reader = run->graph->node[n].op;
        if (hu_looks_at_operands(run, n, HU_FORWARD)) return true;
        if (reader->reduce && !reader->reduce_after_forward && !reader->rounds_operands)
            return true;
    }
    return false;
}

/* True if a use rounds by a scale that needs the whole value: the value must be stored before. */
static bool use_waits(const hu_run *run, uint32_t use) {
    const hu_slot *slot = hu_use_slot(run, use);
    return slot && waits(slot);
}

static bool an_input_waits(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_in; i++)
        if (use_waits(run, node->first_use + (uint32_t)i)) return true;
    return false;
}

static bool a_reader_waits(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        if (use_waits(run, value->uses[k])) return true;
    return false;
}

/* True if all readers of a value run in the turns of the node that makes it, and so can make it. */
static bool is_read_in_phase(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    const hu_value_info *value = &run->graph->value[node->out[0]];
    for (uint32_t k = 0; k < value->use_count; k++)
        if (run->graph->node[run->graph->use[value->uses[k]].node].phases != node->phases)
            return false;
    return true;
}

static bool can_be_lazy(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    hu_value_id out = node->out[0];
    if (!node->op->is_cheap || node->n_out != 1 || run->graph->value[out].use_count == 0)
        return false;
    if (hu_loop_at(run, n) || hu_is_read_by_step(run->graph, out)) return false;
    return !waits(&run->value[out]) && !is_reduced_by_reader(run, out) && !an_input_waits(run, n) &&
           !a_reader_waits(run, out) && is_read_in_phase(run, n);
}

/* What making a value takes; where that is above a limit, something above it: no more than that is
 * looked at of a long chain. */
static int making_cost(const hu_run *run, hu_value_id v, int limit) {
    uint32_t p = run->graph->value[v].producer;
    if (p == HU_NONE || !run->exec[p].is_lazy || !run->is_virtual[v]) return 1;
    int cost = 1;
    for (int i = 0; i < run->graph->node[p].n_in && cost <= limit; i++)
        cost += making_cost(run, run->graph->node[p].in[i], limit - cost);
    return cost;
}

/* True if the backward pass of a reader wants the value. */
static bool is_saved(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &run->graph->use[value->uses[k]];
        const hu_node *reader = &run->graph->node[use->node];
        if (reader->needs_backward && hu_node_saves(reader, use->index)) return true;
    }
    return false;
}

/* The stored value that a chain of lazy nodes with one input and one reader each begins with, whose
 * end is v; HU_NONE: v is made of something else. */
static hu_value_id root_of(const hu_run *run, hu_value_id v) {
    const hu_node *node = producer_of(run, v);
    while (node && node->n_in == 1 && run->graph->value[node->in[0]].use_count == 1) {
        v = node->in[0];
        if (!run->is_virtual[v]) return v;
        node = producer_of(run, v);
    }
    return HU_NONE;
}

/* True if the backward pass wants a value, and of all that it is made of nothing else: then that
 * has to outlive the forward pass in its stead, and takes more bytes. */
static bool is_smaller_than_its_root(const hu_run *run, hu_value_id v) {
    hu_value_id root = is_saved(run, v) ? root_of(run, v) : HU_NONE;
    if (root == HU_NONE || is_saved(run, root) || hu_is_loaded(&run->graph->value[root]) ||
        producer_of(run, root) == NULL)
        return false;
    return hu_storage_bytes(&run->value[v].storage, 1) <
           hu_storage_bytes(&run->value[root].storage, 1);
}

/* True if lazy node n, which works in place, takes over what a product makes right after it, and
 * stores its own output instead of the product's (hu_taker). */
static bool takes_over(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    hu_value_id in = node->in[0];
    uint32_t p = run->graph->value[in].producer;
    if (p == HU_NONE || !run->graph->node[p].op->is_product || hu_loop_at(run, p)) return false;
    return node->n_in == 1 && hu_node_works_in_place(node) && hu_node_copies_gradient(node) &&
           run->graph->value[in].use_count == 1 && !waits(&run->value[in]) &&
           !hu_graph_is_compared(run->graph, in) && is_read_in_phase(run, p) &&
           hu_storage_bytes(&run->value[node->out[0]].storage, 1) <=
               hu_storage_bytes(&run->value[in].storage, 1);
}

static bool stays_virtual(hu_run *run, uint32_t n) {
    hu_value_id out = run->graph->node[n].out[0];
    if (hu_saves_output(run->graph->node[n].op, 0)) return false;
    if (hu_graph_is_compared(run->graph, out)) return false; /* metrics read it after the pass */
    if (!run->options.recompute)
        return run->graph->value[out].use_count == 1 && !is_saved(run, out);
    if (is_smaller_than_its_root(run, out)) return false;
    run->is_virtual[out] = true;
    if (making_cost(run, out, most_cost(run)) <= most_cost(run)) return true;
    return run->graph->value[out].use_count == 1 && !is_saved(run, out);
}

/* True if somebody wants a stored value in the backward pass as it is. */
static bool lives_anyway(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count && !run->is_remade[v]; k++) {
        const hu_use *use = &run->graph->use[value->uses[k]];
        const hu_node *reader = &run->graph->node[use->node];
        if (!hu_use_slot(run, value->uses[k]) && reader->needs_backward &&
            hu_node_saves(reader, use->index))
            return true;
    }
    return false;
}

/* True if all that a node's output is made of is there in the backward pass. */
static bool can_be_made_again(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) {
        hu_value_id in = node->in[i];
        bool is_present = run->is_virtual[in]
                              ? can_be_made_again(run, run->graph->value[in].producer)
                              : lives_anyway(run, in);
        if (!is_present) return false;
    }
    return true;
}

/* What is cheap, but stands stored between two loops because a reader waits for its range: after
 * the forward pass the range is known, and it can be made again like lazy values. */
static bool is_remade(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    hu_value_id out = node->out[0];
    int cost = 1, most = most_cost(run);
    if (!run->options.recompute || !node->op->is_cheap || node->n_out != 1 ||
        run->exec[n].is_lazy || hu_saves_output(node->op, 0))
        return false;
    if (waits(&run->value[out]) || an_input_waits(run, n) || !is_saved(run, out)) return false;
    if (hu_loop_at(run, n) || hu_is_read_by_step(run->graph, out)) return false;
    for (int i = 0; i < node->n_in && cost <= most; i++)
        cost += making_cost(run, node->in[i], most - cost);
    return cost <= most && can_be_made_again(run, n);
}

/* True if only the step of a loop that makes a value reads it. */
static bool stays_in_step(const hu_run *run, uint32_t n, int i) {
    const hu_value_info *value = &run->graph->value[run->graph->node[n].out[i]];
    if (is_saved(run, run->graph->node[n].out[i]) || hu_saves_output(run->graph->node[n].op, i) ||
        hu_graph_is_compared(run->graph, run->graph->node[n].out[i]))
        return false;
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_node *reader = &run->graph->node[run->graph->use[value->uses[k]].node];
        if (reader->loop != run->graph->node[n].loop || reader->op->is_previous) return false;
    }
    return true;
}

/* Lazy nodes run one within the other, each on the stack of its reader: where so many do, one has a
 * loop of its own, and no length of a chain exhausts a stack. */
enum { DEPTH_MOST = 1024 };

static uint32_t lazy_depth(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    uint32_t most = 0;
    for (int i = 0; i < node->n_in; i++) {
        uint32_t p = run->graph->value[node->in[i]].producer;
        if (p != HU_NONE && run->exec[p].lazy_depth > most) most = run->exec[p].lazy_depth;
    }
    return most + 1;
}

static void plan_forward(hu_run *run) {
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_node *node = &run->graph->node[n];
        for (int i = 0; i < node->n_out && node->loop != HU_NONE; i++)
            run->is_virtual[node->out[i]] = stays_in_step(run, n, i);
        if (node->loop != HU_NONE) continue;
        if (node->op->is_carried) {
            run->exec[n].is_lazy = run->is_virtual[node->out[0]] = true;
            continue;
        }
        uint32_t depth = lazy_depth(run, n);
        run->exec[n].is_lazy = run->options.fuse && depth <= DEPTH_MOST && can_be_lazy(run, n);
        run->exec[n].lazy_depth = run->exec[n].is_lazy ? depth : 0;
        hu_value_id out = run->graph->node[n].out[0];
        bool takes = run->exec[n].is_lazy && takes_over(run, n);
        if (takes) run->is_virtual[run->graph->node[n].in[0]] = true;
        run->is_virtual[out] = run->exec[n].is_lazy && !takes && stays_virtual(run, n);
        run->is_remade[out] = run->options.fuse && is_remade(run, n);
    }
}

/* True if the other inputs of a node are present before node p: loaded, or made earlier. */
static bool has_others_before(const hu_run *run, const hu_node *node, uint32_t p) {
    for (int i = 1; i < node->n_in; i++) {
        uint32_t maker = run->graph->value[node->in[i]].producer;
        if (maker != HU_NONE && maker >= p) return false;
    }
    return true;
}

/* The region that makes the input of a batch norm reduces it too; a loss does so itself. */
static uint32_t forward_reducer(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    if (node->op->reduce_after_forward) return n;
    bool reduces = node->op->is_cheap || hu_looks_at_operands(run, n, HU_FORWARD);
    if (!reduces || !node->op->reduce) return HU_NONE;
    uint32_t p = run->graph->value[node->in[0]].producer;
    bool can = p != HU_NONE && !run->exec[p].is_lazy && !hu_loop_at(run, p) &&
               run->graph->node[p].phases == node->phases && has_others_before(run, node, p);
    return can && !waits(&run->value[node->in[0]]) && !an_input_waits(run, n) ? p : HU_NONE;
}

/* ---- backward ---- */

/* True if no scale of a gradient or of its contributions waits for a maximum. */
static bool gradient_waits_not(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    const hu_slot *sum = &run->grad_sum[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        if (hu_use_has_gradient(run->graph, value->uses[k]) && waits(&run->grad[value->uses[k]]))
            return false;
    const hu_slot *view = hu_weights_view(run, v);
    if (view && (waits(view) || view->history != HU_NONE)) return false;
    return !hu_rounds_gradient_sum(run, v) || (!waits(sum) && sum->history == HU_NONE);
}

/* True if the gradient of a value can be put together in any visit: nothing waits, nor does the
 * product that made the value look at all of it first. */
static bool gradient_is_local(const hu_run *run, hu_value_id v) {
    uint32_t p = run->graph->value[v].producer;
    bool is_looked_at = p != HU_NONE && hu_looks_at_operands(run, p, HU_BACKWARD);
    return !is_looked_at && gradient_waits_not(run, v);
}

static bool inputs_are_local(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_in; i++)
        if (node->need_din[i] && waits(&run->grad[node->first_use + (uint32_t)i])) return false;
    return true;
}

/* The region in which the last contribution to the gradient of a value is made. */
static uint32_t last_contribution(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    uint32_t last = HU_NONE;
    for (uint32_t k = 0; k < value->use_count; k++) {
        if (!hu_use_has_gradient(run->graph, value->uses[k])) continue;
        uint32_t region = run->exec[run->graph->use[value->uses[k]].node].backward_in;
        if (last == HU_NONE || region < last) last = region;
    }
    return last;
}

/* True if the parameter gradients of a bias, or of a weight that broadcasts, can be summed in the
 * visits of the product whose output it reads: both sum the same spans of chunks. */
static bool sums_with_product(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    uint32_t p = run->graph->value[node->in[0]].producer;
    bool can = hu_node_copies_gradient(node) || node->op->broadcasts;
    return p != HU_NONE && can && hu_dparam_per_chunk(run, n) &&
           run->graph->node[p].op->is_product && run->graph->node[p].learns_in == node->learns_in &&
           hu_buffers_span(run, n) == hu_buffers_span(run, p);
}

/* A batch norm whose input comes from a node with a region of its own, or a bias. */
static bool can_be_pulled(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    const hu_node *maker = producer_of(run, node->in[0]);
    if (!node->op->is_cheap || node->n_in != 1 || !node->need_din[0]) return false;
    if (!node->op->reduce && !sums_with_product(run, n)) return false;
    return maker && maker->needs_backward && !maker->op->is_cheap && maker->loop == HU_NONE &&
           gradient_is_local(run, node->in[0]) && gradient_is_local(run, node->out[0]);
}

static bool can_be_pushed(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    uint32_t last = last_contribution(run, node->out[0]);
    if (last == HU_NONE || hu_loop_at(run, last)) return false;
    return node->op->is_cheap && !node->op->reduce && node->n_params == 0 && node->n_out == 1 &&
           gradient_is_local(run, node->out[0]) && inputs_are_local(run, n);
}

/* The last node of a loop that has gradients: all run where it does. */
static uint32_t loop_backward(const hu_run *run, const hu_loop *loop) {
    uint32_t n = loop->last;
    while (n > loop->first && !run->graph->node[n].needs_backward) n--;
    return n;
}

static void place_backward(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    const hu_loop *loop = hu_loop_at(run, n);
    hu_exec *exec = &run->exec[n];
    exec->backward_in = node->needs_backward ? n : HU_NONE;
    if (node->needs_backward && loop) exec->backward_in = loop_backward(run, loop);
    if (!node->needs_backward || loop || !run->options.fuse) return;
    if (can_be_pulled(run, n)) {
        exec->is_pulled = true;
        exec->backward_in = run->graph->value[node->in[0]].producer;
    } else if (can_be_pushed(run, n)) {
        exec->backward_in = last_contribution(run, node->out[0]);
    }
    bool looks = hu_looks_at_operands(run, n, HU_BACKWARD);
    bool reduces =
        (node->op->is_cheap || looks) && node->op->reduce && exec->partial_count[HU_BACKWARD] > 0;
    uint32_t last = last_contribution(run, node->out[0]);
    if (reduces && gradient_waits_not(run, node->out[0]) && last != HU_NONE &&
        !hu_loop_at(run, last))
        exec->reduce_in[HU_BACKWARD] = last;
}

/* Puts node n in front of a list of the fused nodes of a region. */
static void prepend(hu_exec *exec, uint32_t region, hu_fused_list list, uint32_t n) {
    exec[n].next[list] = exec[region].first[list];
    exec[region].first[list] = n;
}

/* The lists of every region, in the order in which their nodes run: the last one comes first. */
static void list_guests(hu_run *run) {
    hu_exec *exec = run->exec;
    uint32_t count = run->graph->node_count;
    for (uint32_t n = count; n-- > 0;)
        if (exec[n].reduce_in[HU_FORWARD] != HU_NONE)
            prepend(exec, exec[n].reduce_in[HU_FORWARD], HU_GUESTS_REDUCED_FORWARD, n);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t in = exec[n].backward_in;
        bool is_fused_node = in != HU_NONE && in != n && !exec[n].is_pulled && !hu_loop_at(run, n);
        if (is_fused_node) prepend(exec, in, HU_GUESTS_PUSHED, n);
        if (exec[n].reduce_in[HU_BACKWARD] != HU_NONE)
            prepend(exec, exec[n].reduce_in[HU_BACKWARD], HU_GUESTS_REDUCED_BACKWARD, n);
    }
}

/* True if the contributions of two inputs of a node that copies its gradient are the same bits. */
static bool are_same_rows(const hu_run *run, uint32_t a, uint32_t b) {
    const hu_quantizer *of_a = &run->grad[a].edge->quantizer;
    const hu_quantizer *of_b = &run->grad[b].edge->quantizer;
    bool draws = hu_quantizer_rounds(of_a) && hu_rounding_draws(of_a->rounding);
    bool may_change = run->grad[a].capacity_bits > 0 || run->grad[b].capacity_bits > 0;
    return !may_change && hu_use_is_stored(run, a) && hu_use_is_stored(run, b) && !draws &&
           of_a->rounding == of_b->rounding && hu_quantizer_same_numbers(of_a, of_b) &&
           !waits(&run->grad[a]) && run->grad[a].history == HU_NONE;
}

static void share_contributions(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    bool copies = hu_node_copies_gradient(node) && !hu_gives_scaled(run, n);
    if (!run->options.fuse || !copies || !node->needs_backward) return;
    for (int i = 1; i < node->n_in; i++) {
        uint32_t first = node->first_use, other = first + (uint32_t)i;
        if (node->need_din[0] && node->need_din[i] && are_same_rows(run, first, other))
            run->stored_as[other] = first;
    }
}

void hu_fuse_plan(hu_run *run) {
    for (uint32_t u = 0; u < run->graph->use_count; u++) run->stored_as[u] = u;
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        hu_exec *exec = &run->exec[n];
        for (int pass = 0; pass < 2; pass++) exec->reduce_in[pass] = HU_NONE;
        for (int list = 0; list < HU_FUSED_LISTS; list++)
            exec->first[list] = exec->next[list] = HU_NONE;
    }
    plan_forward(run);
    for (uint32_t n = run->graph->node_count; n-- > 0;) place_backward(run, n);
    for (uint32_t n = 0; n < run->graph->node_count && run->options.fuse; n++)
        run->exec[n].reduce_in[HU_FORWARD] = forward_reducer(run, n);
    for (uint32_t n = 0; n < run->graph->node_count; n++) share_contributions(run, n);
    list_guests(run);
}
