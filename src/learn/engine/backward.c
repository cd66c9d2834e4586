#include "engine/chunk.h"

#include <string.h>

#include "kernel/fused/fused.h"

enum { BLOCK = 1024 }; /* numbers of all partial results: they stay in the L1 cache */

static int64_t partials_of(const hu_run *run, uint32_t n) {
    int64_t span = run->exec[n].span;
    return (run->chunks + span - 1) / span;
}

/* to[n] = the tree of partial results x, x + step, ...: (0+1)+(2+3)+..., n <= BLOCK. to may be x.
 */
static void sum_block(int64_t partials, int64_t step, int64_t n, const float *x, float *to) {
    float sum[HU_PARTIALS_MOST / 2][BLOCK];
    int64_t pairs = (partials + 1) / 2;
    for (int64_t p = 0; p < partials; p += 2)
        if (p + 1 < partials)
            hu_fused()->add(n, x + p * step, x + (p + 1) * step, p == 0 ? to : sum[p / 2]);
        else if (p > 0 || to != x)
            memcpy(p == 0 ? to : sum[p / 2], x + p * step, (size_t)n * sizeof *to);
    for (int64_t stride = 1; stride < pairs; stride *= 2)
        for (int64_t p = 0; p + stride < pairs; p += 2 * stride) {
            float *left = p == 0 ? to : sum[p];
            hu_fused()->add(n, left, sum[p + stride], left);
        }
}

/* The same of a stack: each is the right one of what lies below it. */
static void fold_block(int64_t kept, int64_t step, int64_t n, const float *x, float *to) {
    float room[BLOCK];
    const float *sum = x + (kept - 1) * step;
    for (int64_t k = kept - 2; k >= 0; k--, sum = room)
        hu_fused()->add(n, x + k * step, sum, k == 0 ? to : room);
    if (kept == 1 && to != x) memcpy(to, x, (size_t)n * sizeof *to);
}

/* Sums the partial results of a parameter's gradient, the first of which is x, in a tree over their
 * index, each element by one thread. */
static void sum_dparam(const hu_run *run, uint32_t n, int64_t elements, const float *x, float *to) {
    enum { FEW = 32768 };
    int64_t step = run->exec[n].dparam_elements, partials = 1;
    bool stacks = hu_stacks_partials(run, n), is_summed = stacks && run->options.threads > 1;
    if (hu_dparam_per_chunk(run, n) && !is_summed) partials = partials_of(run, n);
    int threads = elements >= FEW ? run->options.threads : 1;
    if (partials == 1 && to == x) return;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < elements; b += BLOCK) {
        int64_t left = elements - b, count = left < BLOCK ? left : BLOCK;
        if (stacks)
            fold_block(hu_stacked(partials - 1) + 1, step, count, x + b, to + b);
        else
            sum_block(partials, step, count, x + b, to + b);
    }
}

/* Rounds and stores a complete contribution x to a parameter's gradient, or the sum of them. */
static void store_gradient(hu_run *run, hu_slot *slot, uint32_t tally, hu_value_id param,
                           const float *x) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_exponent_record_whole(run, tally, slot->elements, x);
    hu_tensor_scale_set_from_row(slot, x, hu_is_step(run));
    if (run->watch) hu_watch_whole(run, slot, tally, x);
    hu_slot_store_row(slot, &run->context, x, &counts);
    hu_tally_add(run, slot->edge, &counts, param, HU_NONE);
}

/* Adds the stored contributions to a parameter's gradient in consumer order, each element by one
 * thread. sum: room for the parameter's elements. */
static void sum_contributions(const hu_run *run, hu_value_id param, float *sum) {
    uint32_t count = hu_contribution_count(run->graph, param);
    int64_t elements = run->graph->value[param].elements;
#pragma omp parallel for num_threads(run->options.threads) if (elements > BLOCK) schedule(static)
    for (int64_t first = 0; first < elements; first += BLOCK) {
        int64_t n = elements - first < BLOCK ? elements - first : BLOCK;
        float scratch[2][BLOCK], *to = sum + first;
        const float *left = NULL;
        for (uint32_t k = 0; k < count; k++) {
            const hu_slot *slot = &run->grad[hu_contribution_use(run->graph, param, k)];
            const float *x =
                hu_storage_read_part(&slot->storage, slot->data, first, n, scratch[k > 0]);
            if (k > 0) hu_fused()->add(n, left, x, to);
            left = k > 0 ? to : x;
        }
        if (left != to) memcpy(to, left, (size_t)n * sizeof *to);
    }
}

/* Where the numbers of a gradient are put together: in its slot, if that holds them as they are. */
static float *room_of(const hu_slot *slot, float *otherwise) {
    bool is_plain = slot->storage.trait->is_float32 && !hu_quantizer_rounds(&slot->edge->quantizer);
    return is_plain ? (float *)(void *)slot->data : otherwise;
}

/* The contribution of parameter j of node n is complete: adds the chunks' parts, rounds and stores.
 * The last contribution to a parameter with several uses lets their sum follow. dparam: its first
 * partial result. */
static void store_dparam(hu_run *run, uint32_t n, int j, float *dparam) {
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + (uint32_t)(node->n_in + j);
    hu_value_id param = node->param[j];
    hu_slot *slot = &run->grad[use], *sum = &run->grad_sum[param];
    float *x = room_of(slot, dparam);
    sum_dparam(run, n, slot->elements, dparam, x);
    hu_scale_numbers(slot->elements, run->edges->factors.given[use], x);
    hu_learn_parameter(run, param, x);
    store_gradient(run, slot, hu_tally_of_use(run, use), param, x);
    if (hu_contribution_completes(run, use)) {
        x = room_of(sum, dparam); /* what that held is stored now */
        sum_contributions(run, param, x);
        store_gradient(run, sum, hu_tally_of_sum(run, param), param, x);
    } else if (hu_is_summed_parameter(run->graph, param)) {
        return;
    }
    if (run->pass.gradient_ready) run->pass.gradient_ready(run->pass.ready_context, param);
}

static void store_dparams(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    float *dparam[HU_MAX_PARAMS];
    if (run->exec[n].dpartial == HU_NONE) return;
    hu_point_dparams(run, n, 0, dparam);
    for (int j = 0; j < node->n_params; j++)
        if (dparam[j]) store_dparam(run, n, j, dparam[j]);
}

/* The chunks of one partial parameter gradient, in order, by one thread. place: where the result
 * lies among others. */
static void backward_span(hu_run *run, uint32_t n, int64_t partial, int64_t place,
                          hu_thread *thread) {
    int64_t span = run->exec[n].span, end = (partial + 1) * span;
    if (end > run->chunks) end = run->chunks;
    for (int64_t c = partial * span; c < end; c++) {
        hu_chunk visit = hu_chunk_begin(run, thread, n, HU_BACKWARD, c);
        visit.partial = place;
        visit.adds = c > partial * span;
        hu_chunk_backward(&visit);
    }
}

/* The partial result at one place is added to that at another, each element by one thread. */
static void add_places(const hu_run *run, uint32_t n, int64_t to, int64_t from) {
    enum { PART = 16384 };
    int64_t elements = run->exec[n].dparam_elements;
    float *all = hu_buffer_data(run, run->exec[n].dpartial);
    float *left = all + to * elements, *right = all + from * elements;
#pragma omp parallel for num_threads(run->options.threads) schedule(static) if (elements > PART)
    for (int64_t i = 0; i < elements; i += PART) {
        int64_t count = elements - i < PART ? elements - i : PART;
        hu_fused()->add(count, left + i, right + i, left + i);
    }
}

/* Of all nodes that sum parameter gradients in the visits of region n. */
static void add_all_places(const hu_run *run, uint32_t n, int64_t to, int64_t from) {
    const hu_members *members = &run->exec[n].members[HU_BACKWARD];
    for (uint32_t k = 0; k < members->count; k++) {
        uint32_t m = members->node[k];
        bool is_own = m >= hu_region_first(run, n) && m <= hu_region_last(run, n);
        if (run->exec[m].dpartial == HU_NONE || !hu_dparam_per_chunk(run, m)) continue;
        if (is_own || hu_sums_pulled(run, m, n)) add_places(run, m, to, from);
    }
}

/* Places of partial results that are complete subtrees of their sum, from the first on. */
typedef struct places {
    int64_t at[HU_PARTIALS_MOST];
    int count;
} places;

/* The lowest place that nobody has, which he has who asks. */
static int64_t take_place(bool is_taken[HU_PARTIALS_MOST]) {
    int64_t place = 0;
    while (is_taken[place]) place++;
    is_taken[place] = true;
    return place;
}

/* The two last subtrees become one. */
static void join_last(const hu_run *run, uint32_t n, places *stack,
                      bool is_taken[HU_PARTIALS_MOST]) {
    int64_t from = stack->at[--stack->count];
    add_all_places(run, n, stack->at[stack->count - 1], from);
    is_taken[from] = false;
}

/* Every thread makes a partial result, then all add what that completes of the tree; and at the end
 * what is left, to the first place. One thread leaves that to where it is stored. */
static void backward_stack(hu_run *run, uint32_t n, int64_t partials) {
    int threads = run->options.threads;
    bool is_taken[HU_PARTIALS_MOST] = {false};
    places stack = {.count = 0};
    for (int64_t first = 0, made; first < partials; first += made) {
        int64_t place[HU_PARTIALS_MOST];
        made = partials - first < threads ? partials - first : threads;
        for (int64_t i = 0; i < made; i++) place[i] = take_place(is_taken);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
        for (int64_t i = 0; i < made; i++)
            backward_span(run, n, first + i, place[i], &run->thread[hu_thread_number()]);
        for (int64_t p = first; p < first + made; p++) {
            bool is_left = threads == 1 && p == partials - 1;
            stack.at[stack.count++] = place[p - first];
            for (int64_t q = p; q % 2 == 1 && !is_left; q /= 2) join_last(run, n, &stack, is_taken);
        }
    }
    while (threads > 1 && stack.count > 1) join_last(run, n, &stack, is_taken);
}

static void backward_spans(hu_run *run, uint32_t n) {
    int64_t partials = partials_of(run, n);
    if (run->exec[n].is_stacked) {
        backward_stack(run, n, partials);
        return;
    }
#pragma omp parallel for num_threads(hu_visitors(run, partials)) schedule(dynamic, 1)
    for (int64_t p = 0; p < partials; p++)
        backward_span(run, n, p, p, &run->thread[hu_thread_number()]);
}

/* A chunk's call in a loop, whose terms are the rows of its steps: `before` of them came in earlier
 * chunks. False: it has none, and is no part of the sum; unless there are no others. */
static bool count_terms(hu_op_call *call, int64_t before, bool is_last) {
    if (call->count == 0 && (before > 0 || !is_last)) return false;
    if (call->count == 0) call->count = 1; /* a row of zeros */
    call->first = before;
    return true;
}

/* The last chunk of a thread lies in its calls. *before: rows of a loop, see count_terms. */
static void accumulate(hu_run *run, uint32_t n, const hu_thread *thread, int64_t *before,
                       bool is_last) {
    int64_t rows = 0;
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++) {
        hu_op_call *call = &thread->call[m];
        if (!run->exec[m].sums_in_batch_order) continue;
        rows = call->count;
        if (!hu_loop_at(run, m) || count_terms(call, *before, is_last))
            run->graph->node[m].op->accumulate(call);
    }
    *before += rows;
}

/* Parameter gradients whose order of summation runs through the whole batch: in turn, as many
 * chunks as there are threads run side by side, then the op accumulates them in ascending order. */
static void backward_in_batch_order(hu_run *run, uint32_t n) {
    int threads = run->options.threads;
    int64_t before = 0;
    for (int64_t first = 0; first < run->chunks; first += threads) {
        int64_t left = run->chunks - first, count = left < threads ? left : threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (count > 1)
        for (int64_t i = 0; i < count; i++) {
            hu_chunk visit = hu_chunk_begin(run, &run->thread[i], n, HU_BACKWARD, first + i);
            visit.partial = first + i;
            hu_chunk_backward(&visit);
        }
        for (int64_t i = 0; i < count; i++)
            accumulate(run, n, &run->thread[i], &before, first + i == run->chunks - 1);
    }
}

/* Counts of a gradient sum, by all threads; and the largest number that a loop has met in it. */
static void collect_sum(hu_run *run, hu_slot *slot, uint32_t index, hu_value_id v) {
    hu_round_counts counts = hu_tally_sum(run, index, v);
    if (slot->in_loop) hu_rescale_note(run, slot, index);
    hu_tally_add(run, slot->edge, &counts, v, HU_NONE);
}

/* Counts of the gradients that a node has made. */
static void collect_gradients(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    hu_learn_collect(run, n);
    for (int i = 0; i < node->n_out; i++) {
        hu_value_id v = node->out[i];
        hu_slot *view = hu_weights_view(run, v);
        collect_sum(run, &run->grad_sum[v], hu_tally_of_sum(run, v), v);
        if (view) collect_sum(run, view, hu_tally_of_weights(run, v), v);
    }
    for (int i = 0; i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        if (node->need_din[i])
            hu_tally_collect(run, hu_tally_of_use(run, run->stored_as[use]), &run->grad[use],
                             node->in[i], true);
    }
}

/* In descending order, up to the first that overflowed. */
static void collect_backward(hu_run *run, uint32_t n) {
    const hu_members *members = &run->exec[n].members[HU_BACKWARD];
    for (uint32_t k = members->count; k-- > 0 && !run->overflowed;)
        if (run->exec[members->node[k]].backward_in == n) collect_gradients(run, members->node[k]);
}

/* The parameter gradients of biases that the visits of this region have summed. */
static void store_pulled(hu_run *run, uint32_t n) {
    const hu_members *members = &run->exec[n].members[HU_BACKWARD];
    for (uint32_t k = members->count; k-- > 0;)
        if (hu_sums_pulled(run, members->node[k], n)) store_dparams(run, members->node[k]);
}

/* The batch norms whose partial results this region has left: their parameter gradients. */
static void finish_reduced(hu_run *run, uint32_t n) {
    hu_region_finish_fused(run, n, HU_BACKWARD);
    for (uint32_t m = run->exec[n].first[HU_BACKWARD]; m != HU_NONE && !run->overflowed;
         m = run->exec[m].next[HU_BACKWARD])
        if (!hu_looks_at_operands(run, m, HU_BACKWARD)) store_dparams(run, m);
}

static void backward_region(hu_run *run, uint32_t n) {
    if (hu_region_sums_in_batch_order(run, n))
        backward_in_batch_order(run, n);
    else
        backward_spans(run, n);
    collect_backward(run, n);
    hu_products_collect(run, n);
    store_pulled(run, n);
    for (uint32_t m = hu_region_last(run, n) + 1; m-- > hu_region_first(run, n);)
        if (hu_dparam_per_chunk(run, m) || run->exec[m].sums_in_batch_order) store_dparams(run, m);
    finish_reduced(run, n);
}

static void backward_node(hu_run *run, uint32_t n) {
    bool alone = hu_reduces_alone(run, n, HU_BACKWARD);
    bool is_region = run->exec[n].backward_in == n;
    if (!alone && !is_region) return;
    hu_region_begin(run, n, HU_BACKWARD);
    hu_rescale_sums(run, n);
    if (alone) {
        hu_region_reduce(run, n, HU_BACKWARD);
        if (!hu_looks_at_operands(run, n, HU_BACKWARD)) store_dparams(run, n);
    }
    if (is_region && !run->overflowed) backward_region(run, n);
}

void hu_backward_run(hu_run *run) {
    memset(run->has_contributed, 0, run->graph->use_count * sizeof *run->has_contributed);
    for (uint32_t n = run->graph->node_count; n-- > 0 && !run->overflowed;)
        if (hu_node_learns(&run->graph->node[n], run->pass.phase)) backward_node(run, n);
}
