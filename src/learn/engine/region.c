#include "engine/chunk.h"

#include <string.h>

/* ---- visit ---- */

/* What a region does in one visit: the node's own call, and those of the nodes
 * that run with it (planner/fusion.c). */

static void point_partial(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_exec *exec = &visit->run->exec[n];
    double *all = hu_buffer_data(visit->run, exec->partial[visit->pass]);
    hu_chunk_touch(visit, exec->partial[visit->pass]);
    call->partial = all ? all + (size_t)visit->chunk * exec->partial_count[visit->pass] : NULL;
}

/* The partial result of a node. */
static void reduce(hu_chunk *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = hu_chunk_call(visit, n);
    /* Forward, reduce sees all inputs; backward, the saved ones and the outputs' gradients. */
    for (int i = 0; i < node->n_in; i++)
        call->in[i] = visit->pass == HU_FORWARD ? hu_chunk_input(visit, n, i, false)
                                                : hu_chunk_saved(visit, n, i);
    for (int i = 0; i < node->n_out && visit->pass == HU_BACKWARD; i++)
        call->dout[i] = hu_chunk_gradient(visit, n, node->out[i], NULL).rows;
    point_partial(visit, n, call);
    hu_chunk_point_mask(visit, n, call);
    hu_chunk_lend_scratch(visit, n, call);
    if (run->rehearsal.is_on) return;
    hu_work_start(visit);
    node->op->reduce(call, visit->pass);
    hu_work_stop(visit, run->exec[n].kind);
}

static void reduce_guests(hu_chunk *visit) {
    const hu_exec *exec = visit->run->exec;
    for (uint32_t n = exec[visit->region].first[visit->pass]; n != HU_NONE;
         n = exec[n].next[visit->pass])
        reduce(visit, n);
}

/* A region that is one node. */
static void forward_alone(hu_chunk *visit) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[visit->region];
    hu_op_call *call = hu_chunk_call(visit, visit->region);
    for (int i = 0; i < node->n_in; i++)
        call->in[i] = hu_chunk_input(visit, visit->region, i, true);
    hu_chunk_point_mask(visit, visit->region, call);
    for (int i = 0; i < node->n_out; i++) call->out[i] = hu_chunk_room(visit, node->out[i]);
    hu_chunk_scale_inputs(visit, visit->region, call);
    hu_chunk_lend_scratch(visit, visit->region, call);
    hu_chunk_run_op(visit, visit->region, node->op->forward, call);
    hu_chunk_scale_outputs(visit, visit->region, call);
    for (int i = 0; i < node->n_out; i++) hu_chunk_store(visit, node->out[i], call->out[i]);
    uint32_t taker = hu_taker(run, visit->region);
    if (taker != HU_NONE) hu_chunk_make(visit, run->graph->node[taker].out[0]);
}

void hu_chunk_forward(hu_chunk *visit) {
    if (hu_loop_at(visit->run, visit->region))
        hu_loop_forward(visit);
    else
        forward_alone(visit);
    reduce_guests(visit);
}

void hu_chunk_backward(hu_chunk *visit) {
    const hu_exec *exec = visit->run->exec;
    if (hu_loop_at(visit->run, visit->region))
        hu_loop_backward(visit);
    else
        hu_chunk_run_backward(visit, visit->region);
    for (uint32_t n = exec[visit->region].first[HU_GUESTS_PUSHED]; n != HU_NONE;
         n = exec[n].next[HU_GUESTS_PUSHED])
        hu_chunk_run_backward(visit, n);
    reduce_guests(visit);
}

void hu_chunk_reduce(hu_chunk *visit) {
    reduce(visit, visit->region);
}

/* ---- call ---- */

/* Calls of a region's nodes before its loop over the chunks, and the partial
 * results of the chunks after it. */

void hu_call_prepare(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call) {
    const hu_exec *exec = &run->exec[n];
    call->info = &exec->info;
    call->state = exec->state;
    call->training = run->pass.training;
    call->total = run->pass.samples;
    call->before = run->pass.first_sample;
    /* What a network draws for a sample outside of training does not change while it learns. */
    const char *purpose = call->training ? "node" : "test";
    call->key = (hu_random_key){run->options.seed, hu_stream_id(purpose, exec->info.name),
                                call->training ? run->pass.step : 0};
    call->by_formula = run->options.check_noise;
    call->drawn = run->pass.drawn;
    call->stats = hu_buffer_data(run, exec->stats);
    call->workspace = hu_buffer_data(run, exec->workspace[pass]);
    call->partial = hu_buffer_data(run, exec->partial[pass]);
}

/* Rounds a parameter for one use, to a copy of it. is_counted: by this node's first region. */
static void round_param(hu_run *run, uint32_t n, uint32_t use, const float *x, float *copy,
                        bool is_counted) {
    hu_slot *slot = &run->use[use];
    hu_slot_context context = run->context;
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    context.first_row = 0; /* all parts of a batch read the same copy */
    if (copy != x) memcpy(copy, x, (size_t)slot->elements * sizeof *copy);
    if (is_counted) hu_exponent_record_whole(run, hu_tally_of_input(run, use), slot->elements, x);
    hu_tensor_scale_set_from_row(slot, x, is_counted && hu_is_step(run));
    hu_slot_round(slot, &context, 0, 1, copy, &counts);
    if (is_counted) hu_tally_add(run, slot->edge, &counts, run->graph->use[use].value, n);
}

/* Pointers of the working copies: masters, float32 copies, or packed ones unpacked once for the
 * node; and copies that are rounded for this use alone. */
static void load_params(hu_run *run, uint32_t n, hu_pass pass, bool is_counted, hu_op_call *call) {
    const hu_node *node = &run->graph->node[n];
    hu_bump bump = {hu_buffer_data(run, run->exec[n].params[pass]), 0};
    for (int j = 0; j < node->n_params; j++) {
        const hu_slot *slot = &run->value[node->param[j]];
        uint32_t use = node->first_use + (uint32_t)(node->n_in + j);
        bool is_packed = hu_is_rounded_copy(slot) && !slot->storage.trait->is_float32;
        bool rounds = hu_use_slot(run, use) != NULL;
        float *room = is_packed || rounds
                          ? hu_bump_take(&bump, (size_t)slot->elements * sizeof(float))
                          : NULL;
        call->param[j] = !hu_is_rounded_copy(slot) || run->pass.use_masters
                             ? hu_weights_of(run->weights, node->param[j])
                             : hu_storage_read(&slot->storage, slot->data, 0, 1, room);
        if (!rounds || run->pass.use_masters) continue;
        round_param(run, n, use, call->param[j], room, is_counted);
        call->param[j] = room;
    }
}

/* Sets up all threads' calls of a node. */
static void prepare_member(hu_run *run, uint32_t n, hu_pass pass, bool is_counted) {
    const hu_node *node = &run->graph->node[n];
    hu_op_call *first = &run->thread[0].call[n];
    hu_call_prepare(run, n, pass, first);
    load_params(run, n, pass, is_counted, first);
    for (int t = 1; t < run->options.threads; t++) {
        hu_op_call *call = &run->thread[t].call[n];
        hu_call_prepare(run, n, pass, call);
        memcpy(call->param, first->param, (size_t)node->n_params * sizeof *first->param);
    }
}

void hu_region_begin(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_members *members = &run->exec[n].members[pass];
    for (uint32_t i = 0; i < members->count; i++) {
        uint32_t m = members->node[i];
        prepare_member(run, m, pass, pass == HU_FORWARD && hu_forward_region(run, m) == n);
    }
    hu_products_begin(run, n);
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++) {
        const hu_node *node = &run->graph->node[m];
        bool runs = pass == HU_FORWARD || node->needs_backward;
        if (!runs || !node->op->begin) continue;
        hu_point_given(run, m, run->thread[0].call[m].in);
        node->op->begin(&run->thread[0].call[m], pass);
    }
}

/* Adds the chunks' partial results in a tree over their index: (0+1)+(2+3)+... */
static void merge_partials(const hu_run *run, uint32_t n, hu_pass pass) {
    const hu_op *op = run->graph->node[n].op;
    const hu_exec *exec = &run->exec[n];
    size_t count = exec->partial_count[pass];
    double *all = hu_buffer_data(run, exec->partial[pass]);
    for (int64_t stride = 1; stride < run->chunks; stride *= 2)
        for (int64_t c = 0; c + stride < run->chunks; c += 2 * stride) {
            double *left = all + (size_t)c * count;
            const double *right = all + (size_t)(c + stride) * count;
            if (op->merge)
                op->merge(&exec->info, pass, left, right);
            else
                for (size_t i = 0; i < count; i++) left[i] += right[i];
        }
}

/* All partial results of a node are present. */
static void finish_node(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_op *op = run->graph->node[n].op;
    hu_op_call *call = &run->thread[0].call[n];
    merge_partials(run, n, pass);
    call->partial = hu_buffer_data(run, run->exec[n].partial[pass]);
    if (pass == HU_BACKWARD) hu_point_dparams(run, n, 0, call->dparam);
    if (op->finish) op->finish(call, pass);
}

void hu_region_reduce(hu_run *run, uint32_t n, hu_pass pass) {
#pragma omp parallel for num_threads(hu_visitors(run, run->chunks)) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_chunk visit = hu_chunk_begin(run, &run->thread[hu_thread_number()], n, pass, c);
        hu_chunk_reduce(&visit);
    }
    finish_node(run, n, pass);
}

void hu_region_finish_fused(hu_run *run, uint32_t n, hu_pass pass) {
    for (uint32_t m = run->exec[n].first[pass]; m != HU_NONE; m = run->exec[m].next[pass])
        finish_node(run, m, pass);
}
