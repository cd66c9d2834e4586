/* Forward and backward passes over the nodes of a run, chunk by chunk. */
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/record.h"
#include "graph/rescale.h"
#include "graph/visit.h"
#include "graph/whole.h"

static void clear_tallies(hu_run *run) {
    for (int t = 0; t < run->options.threads; t++)
        for (uint32_t i = 0; i < hu_tally_count(run); i++) {
            hu_round_counts_clear(&run->thread[t].tally[i].counts);
            run->thread[t].tally[i].top = 0;
        }
}

/* Adds what a pass counted to the edge (evaluation leaves no trace), and marks the step if what was
 * rounded cannot be encoded. */
static void settle(hu_run *run, hu_edge *edge, const hu_round_counts *counts, hu_value_id value,
                   bool in_gradient) {
    uint32_t producer = run->graph->value[value].producer;
    bool is_inner = !in_gradient && producer != HU_NONE;
    if (run->pass.training) hu_round_counts_add(&edge->counts, counts);
    if (!hu_edge_unencodable(&edge->quantizer, counts)) return;
    if (run->overflowed && !(is_inner && producer < run->counted_nodes)) return;
    if (!in_gradient) run->counted_nodes = is_inner ? producer + 1 : 0;
    run->overflowed = true;
    run->overflow_name = run->graph->value[value].name;
    run->overflow_in_gradient = in_gradient;
}

/* The same with the tallies of all threads. */
static void collect(hu_run *run, uint32_t index, hu_slot *slot, hu_value_id value,
                    bool in_gradient) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_rescale_finish(run, slot, index);
    for (int t = 0; t < run->options.threads; t++)
        hu_round_counts_add(&counts, &run->thread[t].tally[index].counts);
    settle(run, slot->edge, &counts, value, in_gradient);
}

/* Node-wide facts of a call: everything but the sample pointers. */
static void prepare_call(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call) {
    const hu_exec *exec = &run->exec[n];
    call->info = &exec->info;
    call->state = exec->state;
    call->training = run->pass.training;
    call->total = run->pass.samples;
    call->before = run->pass.first_sample;
    call->key =
        (hu_random_key){run->options.seed, hu_stream_id("node", exec->info.name), run->pass.step};
    call->stats = hu_buffer_data(run, exec->stats);
    call->workspace = hu_buffer_data(run, exec->workspace[pass]);
    call->partial = hu_buffer_data(run, exec->partial[pass]);
}

/* Pointers of the working copies: masters, float32 copies, or packed ones unpacked once for the
 * node. */
static void load_params(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call) {
    const hu_node *node = &run->graph->node[n];
    hu_bump bump = {hu_buffer_data(run, run->exec[n].params[pass]), 0};
    for (int j = 0; j < node->n_params; j++) {
        const hu_slot *slot = &run->value[node->param[j]];
        if (slot->buffer == HU_NONE || run->pass.use_masters) {
            call->param[j] = run->parameters + run->offset[node->param[j]];
            continue;
        }
        float *room = slot->storage.trait->is_float32
                          ? NULL
                          : hu_bump_take(&bump, (size_t)slot->elements * sizeof(float));
        call->param[j] = hu_storage_read(&slot->storage, slot->data, 0, 1, room);
    }
}

/* Sets up all threads' calls of a node. */
static void prepare_member(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_node *node = &run->graph->node[n];
    hu_op_call *first = &run->thread[0].call[n];
    prepare_call(run, n, pass, first);
    load_params(run, n, pass, first);
    for (int t = 1; t < run->options.threads; t++) {
        hu_op_call *call = &run->thread[t].call[n];
        prepare_call(run, n, pass, call);
        memcpy(call->param, first->param, (size_t)node->n_params * sizeof *first->param);
    }
}

static void begin_region(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_members *members = &run->exec[n].members[pass];
    const hu_op *op = run->graph->node[n].op;
    for (uint32_t i = 0; i < members->count; i++) prepare_member(run, members->node[i], pass);
    if (op->begin) op->begin(&run->thread[0].call[n], pass);
    hu_products_begin(run, n);
}

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

/* All partial results of a node are there. */
static void finish_node(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_op *op = run->graph->node[n].op;
    hu_op_call *call = &run->thread[0].call[n];
    merge_partials(run, n, pass);
    call->partial = hu_buffer_data(run, run->exec[n].partial[pass]);
    if (pass == HU_BACKWARD) hu_point_dparams(run, n, 0, call->dparam);
    if (op->finish) op->finish(call, pass);
}

/* The partial results of a node in loops of its own. */
static void reduce_apart(hu_run *run, uint32_t n, hu_pass pass) {
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_visit visit = hu_visit_begin(run, &run->thread[hu_thread_number()], n, pass, c);
        hu_visit_reduce(&visit);
    }
    finish_node(run, n, pass);
}

/* Finishes the batch norms whose partial results this region has left. */
static void finish_guests(hu_run *run, uint32_t n, hu_pass pass) {
    for (uint32_t m = run->exec[n].first_reduced[pass]; m != HU_NONE;
         m = run->exec[m].next_reduced[pass])
        finish_node(run, m, pass);
}

/* Counts of what the region made, in the order of the nodes, up to the first that overflowed. */
static void collect_forward(hu_run *run, uint32_t n) {
    const hu_members *members = &run->exec[n].members[HU_FORWARD];
    for (uint32_t k = 0; k < members->count && members->node[k] < run->counted_nodes; k++) {
        uint32_t m = members->node[k];
        const hu_node *node = &run->graph->node[m];
        bool is_made_here = m == n || (run->exec[m].is_lazy && run->made_in[node->out[0]] == n);
        for (int i = 0; is_made_here && i < node->n_out; i++)
            collect(run, hu_tally_of_value(run, node->out[i]), &run->value[node->out[i]],
                    node->out[i], false);
    }
}

static void forward_region(hu_run *run, uint32_t n) {
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_visit visit = hu_visit_begin(run, &run->thread[hu_thread_number()], n, HU_FORWARD, c);
        hu_visit_forward(&visit);
    }
    finish_guests(run, n, HU_FORWARD);
    collect_forward(run, n);
    hu_products_collect(run, n);
}

static void forward_node(hu_run *run, uint32_t n) {
    bool apart = hu_reduces_apart(run, n, HU_FORWARD);
    if (run->exec[n].is_lazy && !apart) return;
    begin_region(run, n, HU_FORWARD);
    if (apart) reduce_apart(run, n, HU_FORWARD);
    if (!run->exec[n].is_lazy) forward_region(run, n);
}

/* Labels that name no class count as NaN: the loss makes NaN of them. */
static void check_labels(const hu_run *run, int64_t count, const float *labels,
                         hu_round_counts *counts) {
    const hu_node *loss = &run->graph->node[run->graph->loss_node];
    int64_t classes = run->graph->value[loss->in[0]].elements;
    counts->elements += (uint64_t)count;
    for (int64_t i = 0; i < count; i++) {
        bool inside = labels[i] >= 0.0f && (double)labels[i] < (double)classes;
        counts->nan += !inside || (float)(int64_t)labels[i] != labels[i];
    }
}

static void load_chunk(hu_run *run, const hu_source *source, int64_t c, hu_thread *thread) {
    const hu_graph *graph = run->graph;
    const hu_slot *label = &run->value[graph->label];
    hu_visit visit = hu_visit_begin(run, thread, HU_NONE, HU_FORWARD, c);
    float *x = hu_visit_room(&visit, graph->image);
    float *y = hu_bump_take(&visit.bump, (size_t)visit.count * sizeof(float));
    source->fill(source->context, visit.first, visit.count, x, y);
    hu_visit_store(&visit, graph->image, x);
    hu_storage_write(&label->storage, label->data, visit.first, visit.count, y);
    check_labels(run, visit.count, y, &thread->tally[hu_tally_of_value(run, graph->label)].counts);
}

static void load_batch(hu_run *run, const hu_source *source) {
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++)
        load_chunk(run, source, c, &run->thread[hu_thread_number()]);
    hu_value_id image = run->graph->image, label = run->graph->label;
    collect(run, hu_tally_of_value(run, image), &run->value[image], image, false);
    if (!run->pass.scan)
        collect(run, hu_tally_of_value(run, label), &run->value[label], label, false);
}

/* Running statistics, once the forward pass is known to be finite. */
static void commit_nodes(hu_run *run) {
    float *buffers[HU_MAX_PARAMS];
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_node *node = &run->graph->node[n];
        if (!node->op->commit) continue;
        hu_op_call *call = &run->thread[0].call[n];
        prepare_call(run, n, HU_FORWARD, call);
        for (int j = 0; j < node->n_params; j++) {
            hu_value_id id = node->param[j];
            bool is_buffer = run->graph->value[id].role == HU_VALUE_BUFFER;
            buffers[j] = is_buffer ? run->parameters + run->offset[id] : NULL;
        }
        node->op->commit(call, buffers);
    }
}

static hu_status start_pass(hu_run *run, const hu_pass_options *pass) {
    if (pass->samples < 1 || pass->samples > run->options.batch)
        return hu_fail(HU_ERR_INTERNAL, "a pass of %lld samples, planned for 1..%lld",
                       (long long)pass->samples, (long long)run->options.batch);
    run->pass = *pass;
    run->context.step = pass->step;
    run->context.scan = pass->scan;
    run->context.first_row = pass->first_sample;
    run->chunks = (pass->samples + run->options.chunk - 1) / run->options.chunk;
    clear_tallies(run);
    return HU_OK;
}

/* Behind the last region that counts what the pass must count. Where a format stopped it, what
 * stands before that node and is made in later regions: so counts do not depend on how nodes are
 * joined. */
static uint32_t forward_end(const hu_run *run) {
    uint32_t end = 0;
    if (!run->overflowed) return run->graph->node_count;
    for (uint32_t m = 0; m < run->counted_nodes; m++) {
        uint32_t region = run->made_in[run->graph->node[m].out[0]];
        if (run->exec[m].is_lazy && region != HU_NONE && region >= end) end = region + 1;
    }
    return end;
}

hu_status hu_run_forward(hu_run *run, const hu_pass_options *pass, const hu_source *source,
                         hu_pass_result *result) {
    hu_status st = start_pass(run, pass);
    *result = (hu_pass_result){0};
    if (st != HU_OK) return st;
    run->overflowed = run->unencodable_parameter && !pass->use_masters;
    run->overflow_name = run->overflowed ? run->unencodable_parameter : NULL;
    run->overflow_in_gradient = false;
    run->counted_nodes = run->overflowed ? 0 : run->graph->node_count;
    load_batch(run, source);
    for (uint32_t n = 0; n < forward_end(run); n++) forward_node(run, n);
    if (run->overflowed) return HU_OK;
    const double *stats = hu_buffer_data(run, run->exec[run->graph->loss_node].stats);
    result->loss_sum = stats[HU_NLL_LOSS_SUM];
    result->correct = (int64_t)stats[HU_NLL_CORRECT];
    bool is_finite = result->loss_sum - result->loss_sum == 0.0;
    if (pass->training && !pass->scan && is_finite) commit_nodes(run);
    return HU_OK;
}

void hu_point_dparams(const hu_run *run, uint32_t n, int64_t partial, float **dparam) {
    const hu_node *node = &run->graph->node[n];
    float *place = hu_buffer_data(run, run->exec[n].dpartial);
    if (place) place += partial * run->exec[n].dparam_elements;
    for (int j = 0; j < node->n_params; j++) {
        const hu_value_info *param = &run->graph->value[node->param[j]];
        dparam[j] = param->role == HU_VALUE_PARAMETER ? place : NULL;
        if (dparam[j]) place += param->elements;
    }
}

/* Sums the partial parameter gradients in a tree over their index, each element by one thread. */
static void sum_dparams(hu_run *run, uint32_t n) {
    enum { BLOCK = 4096 };
    int64_t elements = run->exec[n].dparam_elements, span = run->exec[n].span;
    int64_t partials = (run->chunks + span - 1) / span;
    float *all = hu_buffer_data(run, run->exec[n].dpartial);
    int threads = elements >= 8 * BLOCK ? run->options.threads : 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < elements; b += BLOCK) {
        int64_t end = b + BLOCK < elements ? b + BLOCK : elements;
        for (int64_t stride = 1; stride < partials; stride *= 2)
            for (int64_t c = 0; c + stride < partials; c += 2 * stride) {
                float *restrict left = all + c * elements;
                const float *restrict right = all + (c + stride) * elements;
                for (int64_t i = b; i < end; i++) left[i] += right[i];
            }
    }
}

static void store_dparams(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    float *dparam[HU_MAX_PARAMS];
    hu_round_counts counts;
    if (run->exec[n].dpartial == HU_NONE) return;
    if (hu_dparam_per_chunk(run, n)) sum_dparams(run, n);
    hu_point_dparams(run, n, 0, dparam);
    for (int j = 0; j < node->n_params; j++) {
        hu_slot *slot = &run->grad[node->first_use + (uint32_t)(node->n_in + j)];
        if (!dparam[j]) continue;
        hu_round_counts_clear(&counts);
        hu_record_whole(run, hu_tally_of_use(run, node->first_use + (uint32_t)(node->n_in + j)),
                        slot->elements, dparam[j]);
        hu_rescale_row(slot, dparam[j], run->pass.training && !run->pass.scan);
        hu_slot_store_row(slot, &run->context, dparam[j], &counts);
        settle(run, slot->edge, &counts, node->param[j], true);
    }
}

/* The chunks of one partial parameter gradient, in order, by one thread. */
static void backward_span(hu_run *run, uint32_t n, int64_t partial, hu_thread *thread) {
    int64_t span = run->exec[n].span, end = (partial + 1) * span;
    if (end > run->chunks) end = run->chunks;
    for (int64_t c = partial * span; c < end; c++) {
        hu_visit visit = hu_visit_begin(run, thread, n, HU_BACKWARD, c);
        visit.partial = partial;
        visit.adds = c > partial * span;
        hu_visit_backward(&visit);
    }
}

static void backward_spans(hu_run *run, uint32_t n) {
    int64_t span = run->exec[n].span, partials = (run->chunks + span - 1) / span;
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t p = 0; p < partials; p++)
        backward_span(run, n, p, &run->thread[hu_thread_number()]);
}

/* Counts of the gradients that a node has made. */
static void collect_gradients(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_out; i++) {
        uint32_t index = hu_tally_of_sum(run, node->out[i]);
        hu_slot *slot = &run->grad_sum[node->out[i]];
        hu_round_counts counts;
        hu_round_counts_clear(&counts);
        for (int t = 0; t < run->options.threads; t++)
            hu_round_counts_add(&counts, &run->thread[t].tally[index].counts);
        settle(run, slot->edge, &counts, node->out[i], true);
    }
    for (int i = 0; i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        if (node->need_din[i])
            collect(run, hu_tally_of_use(run, run->twin[use]), &run->grad[use], node->in[i], true);
    }
}

/* In descending order, up to the first that overflowed. */
static void collect_backward(hu_run *run, uint32_t n) {
    const hu_members *members = &run->exec[n].members[HU_BACKWARD];
    for (uint32_t k = members->count; k-- > 0 && !run->overflowed;)
        if (run->exec[members->node[k]].backward_in == n) collect_gradients(run, members->node[k]);
}

/* The batch norms whose partial results this region has left: their parameter gradients. */
static void finish_reduced(hu_run *run, uint32_t n) {
    finish_guests(run, n, HU_BACKWARD);
    for (uint32_t m = run->exec[n].first_reduced[HU_BACKWARD]; m != HU_NONE && !run->overflowed;
         m = run->exec[m].next_reduced[HU_BACKWARD])
        store_dparams(run, m);
}

static void backward_region(hu_run *run, uint32_t n) {
    if (run->exec[n].sums_whole)
        hu_whole_backward(run, n);
    else
        backward_spans(run, n);
    collect_backward(run, n);
    hu_products_collect(run, n);
    if (hu_dparam_per_chunk(run, n) || run->exec[n].sums_whole) store_dparams(run, n);
    finish_reduced(run, n);
}

static void backward_node(hu_run *run, uint32_t n) {
    bool apart = hu_reduces_apart(run, n, HU_BACKWARD);
    bool is_region = run->exec[n].backward_in == n;
    if (!apart && !is_region) return;
    begin_region(run, n, HU_BACKWARD);
    hu_rescale_sums(run, n);
    if (apart) {
        reduce_apart(run, n, HU_BACKWARD);
        store_dparams(run, n);
    }
    if (is_region && !run->overflowed) backward_region(run, n);
}

hu_status hu_run_backward(hu_run *run, const hu_pass_options *pass) {
    hu_status st = start_pass(run, pass);
    if (st != HU_OK) return st;
    for (uint32_t n = run->graph->node_count; n-- > 0 && !run->overflowed;)
        if (run->graph->node[n].needs_backward) backward_node(run, n);
    return HU_OK;
}
