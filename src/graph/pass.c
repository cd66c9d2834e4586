/* Forward and backward passes over the nodes of a run, chunk by chunk. */
#include <string.h>

#include "base/error.h"
#include "graph/layout.h"
#include "graph/rescale.h"
#include "graph/whole.h"

static void clear_thread_counts(hu_run *run) {
    for (int t = 0; t < run->options.threads; t++)
        for (uint32_t i = 0; i < run->max_edges; i++)
            hu_round_counts_clear(&run->thread[t].counts[i]);
    hu_rescale_begin(run);
}

/* Adds what a pass counted to the edge (evaluation leaves no trace), and marks the step if what was
 * rounded cannot be encoded. */
static void settle(hu_run *run, hu_edge *edge, const hu_round_counts *counts, hu_value_id value,
                   bool in_gradient) {
    if (run->pass.training) hu_round_counts_add(&edge->counts, counts);
    if (run->overflowed || !hu_edge_unencodable(&edge->quantizer, counts)) return;
    run->overflowed = true;
    run->overflow_name = run->graph->value[value].name;
    run->overflow_in_gradient = in_gradient;
}

/* The same with the counts of all threads. */
static void collect(hu_run *run, uint32_t index, hu_edge *edge, hu_value_id value,
                    bool in_gradient) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    for (int t = 0; t < run->options.threads; t++)
        hu_round_counts_add(&counts, &run->thread[t].counts[index]);
    settle(run, edge, &counts, value, in_gradient);
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

/* Sets up all threads' calls for a node. */
static void begin_node(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_node *node = &run->graph->node[n];
    hu_op_call *first = &run->thread[0].call;
    prepare_call(run, n, pass, first);
    load_params(run, n, pass, first);
    for (int t = 1; t < run->options.threads; t++) {
        hu_op_call *call = &run->thread[t].call;
        prepare_call(run, n, pass, call);
        memcpy(call->param, first->param, (size_t)node->n_params * sizeof *first->param);
    }
    if (node->op->begin) node->op->begin(first, pass);
    clear_thread_counts(run);
    hu_products_begin(run);
}

static void set_chunk(hu_run *run, uint32_t n, hu_pass pass, int64_t c, hu_op_call *call) {
    const hu_exec *exec = &run->exec[n];
    unsigned char *aux = hu_buffer_data(run, exec->aux);
    double *partial = hu_buffer_data(run, exec->partial[pass]);
    call->first = c * run->options.chunk;
    call->count = hu_chunk_rows(run, c);
    call->aux = aux ? aux + (size_t)call->first * exec->aux_bytes : NULL;
    call->partial = partial ? partial + (size_t)c * exec->partial_count[pass] : NULL;
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

/* Batch-wide reduction of a node: partial results, tree, finish. */
static void reduce_node(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_op *op = run->graph->node[n].op;
    if (!op->reduce || run->exec[n].partial_count[pass] == 0) return;
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_thread *thread = &run->thread[hu_thread_number()];
        hu_bump bump = {thread->scratch, 0};
        set_chunk(run, n, pass, c, &thread->call);
        if (pass == HU_FORWARD)
            hu_chunk_forward(run, n, &thread->call, &bump);
        else
            hu_chunk_backward(run, n, &thread->call, &bump, NULL, false);
        thread->call.scratch = thread->scratch + bump.used;
        op->reduce(&thread->call, pass);
    }
    merge_partials(run, n, pass);
    hu_op_call *call = &run->thread[0].call;
    call->partial = hu_buffer_data(run, run->exec[n].partial[pass]);
    if (op->finish) op->finish(call, pass);
}

static void forward_chunk(hu_run *run, uint32_t n, int64_t c, hu_thread *thread) {
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = &thread->call;
    hu_bump bump = {thread->scratch, 0};
    set_chunk(run, n, HU_FORWARD, c, call);
    hu_chunk_forward(run, n, call, &bump);
    call->scratch = thread->scratch + bump.used;
    node->op->forward(call);
    for (int i = 0; i < node->n_out; i++)
        hu_rescale_store(run, &run->value[node->out[i]], thread, (uint32_t)i, call->first,
                         call->count, call->out[i]);
}

static void forward_node(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    begin_node(run, n, HU_FORWARD);
    reduce_node(run, n, HU_FORWARD);
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++)
        forward_chunk(run, n, c, &run->thread[hu_thread_number()]);
    for (int i = 0; i < node->n_out; i++) {
        hu_rescale_finish(run, &run->value[node->out[i]], (uint32_t)i);
        collect(run, (uint32_t)i, run->value[node->out[i]].edge, node->out[i], false);
    }
    hu_products_collect(run, n);
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
    const hu_slot *image = &run->value[graph->image], *label = &run->value[graph->label];
    int64_t first = c * run->options.chunk, count = hu_chunk_rows(run, c);
    hu_bump bump = {thread->scratch, 0};
    float *x = hu_rescale_room(image, first);
    if (!x) x = hu_bump_take(&bump, (size_t)(count * image->elements) * sizeof(float));
    float *y = hu_bump_take(&bump, (size_t)count * sizeof(float));
    source->fill(source->context, first, count, x, y);
    hu_rescale_store(run, image, thread, 0, first, count, x);
    hu_storage_write(&label->storage, label->data, first, count, y);
    check_labels(run, count, y, &thread->counts[1]);
}

static void load_batch(hu_run *run, const hu_source *source) {
    clear_thread_counts(run);
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++)
        load_chunk(run, source, c, &run->thread[hu_thread_number()]);
    hu_value_id image = run->graph->image, label = run->graph->label;
    hu_rescale_finish(run, &run->value[image], 0);
    collect(run, 0, run->value[image].edge, image, false);
    if (!run->pass.scan) collect(run, 1, run->value[label].edge, label, false);
}

/* Running statistics, once the forward pass is known to be finite. */
static void commit_nodes(hu_run *run) {
    float *buffers[HU_MAX_PARAMS];
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_node *node = &run->graph->node[n];
        if (!node->op->commit) continue;
        hu_op_call *call = &run->thread[0].call;
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
    return HU_OK;
}

hu_status hu_run_forward(hu_run *run, const hu_pass_options *pass, const hu_source *source,
                         hu_pass_result *result) {
    hu_status st = start_pass(run, pass);
    *result = (hu_pass_result){0};
    if (st != HU_OK) return st;
    run->overflowed = run->unencodable_parameter && !pass->use_masters;
    run->overflow_name = run->overflowed ? run->unencodable_parameter : NULL;
    run->overflow_in_gradient = false;
    load_batch(run, source);
    for (uint32_t n = 0; n < run->graph->node_count && !run->overflowed; n++) forward_node(run, n);
    if (run->overflowed) return HU_OK;
    const double *stats = hu_buffer_data(run, run->exec[run->graph->loss_node].stats);
    result->loss_sum = stats[HU_NLL_LOSS_SUM];
    result->correct = (int64_t)stats[HU_NLL_CORRECT];
    bool is_finite = result->loss_sum - result->loss_sum == 0.0;
    if (pass->training && !pass->scan && is_finite) commit_nodes(run);
    return HU_OK;
}

/* Points dparam of a call at chunk c's partial gradients. */
static void point_dparams(hu_run *run, uint32_t n, int64_t c, float **dparam) {
    const hu_node *node = &run->graph->node[n];
    float *place = hu_buffer_data(run, run->exec[n].dpartial);
    if (place) place += c * run->exec[n].dparam_elements;
    for (int j = 0; j < node->n_params; j++) {
        const hu_value_info *param = &run->graph->value[node->param[j]];
        dparam[j] = param->role == HU_VALUE_PARAMETER ? place : NULL;
        if (dparam[j]) place += param->elements;
    }
}

static void backward_chunk(hu_run *run, uint32_t n, int64_t c, hu_thread *thread) {
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = &thread->call;
    hu_bump bump = {thread->scratch, 0};
    set_chunk(run, n, HU_BACKWARD, c, call);
    hu_chunk_backward(run, n, call, &bump, thread->counts + node->n_in, true);
    point_dparams(run, n, hu_dparam_per_chunk(run, n) ? c : 0, call->dparam);
    call->scratch = thread->scratch + bump.used;
    node->op->backward(call);
    for (int i = 0; i < node->n_in; i++)
        if (node->need_din[i])
            hu_rescale_store(run, &run->grad[node->first_use + (uint32_t)i], thread, (uint32_t)i,
                             call->first, call->count, call->din[i]);
}

/* Sums the chunks' partial parameter gradients in a tree over the chunk index, each element by one
 * thread. */
static void sum_dparams(hu_run *run, uint32_t n) {
    enum { BLOCK = 4096 };
    int64_t elements = run->exec[n].dparam_elements;
    float *all = hu_buffer_data(run, run->exec[n].dpartial);
    int threads = elements >= 8 * BLOCK ? run->options.threads : 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < elements; b += BLOCK) {
        int64_t end = b + BLOCK < elements ? b + BLOCK : elements;
        for (int64_t stride = 1; stride < run->chunks; stride *= 2)
            for (int64_t c = 0; c + stride < run->chunks; c += 2 * stride) {
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
    point_dparams(run, n, 0, dparam);
    for (int j = 0; j < node->n_params; j++) {
        hu_slot *slot = &run->grad[node->first_use + (uint32_t)(node->n_in + j)];
        if (!dparam[j]) continue;
        hu_round_counts_clear(&counts);
        hu_rescale_row(slot, dparam[j], run->pass.training && !run->pass.scan);
        hu_slot_store_row(slot, &run->context, dparam[j], &counts);
        settle(run, slot->edge, &counts, node->param[j], true);
    }
}

static void backward_chunks(hu_run *run, uint32_t n) {
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++)
        backward_chunk(run, n, c, &run->thread[hu_thread_number()]);
}

static void backward_node(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    begin_node(run, n, HU_BACKWARD);
    point_dparams(run, n, 0, run->thread[0].call.dparam);
    hu_rescale_sums(run, n);
    reduce_node(run, n, HU_BACKWARD);
    if (run->exec[n].sums_whole)
        hu_whole_backward(run, n, backward_chunk);
    else
        backward_chunks(run, n);
    for (int i = 0; i < node->n_out; i++)
        collect(run, (uint32_t)(node->n_in + i), run->grad_sum[node->out[i]].edge, node->out[i],
                true);
    for (int i = 0; i < node->n_in; i++) {
        hu_slot *slot = &run->grad[node->first_use + (uint32_t)i];
        if (node->need_din[i]) hu_rescale_finish(run, slot, (uint32_t)i);
        collect(run, (uint32_t)i, slot->edge, node->in[i], true);
    }
    hu_products_collect(run, n);
    store_dparams(run, n);
}

hu_status hu_run_backward(hu_run *run, const hu_pass_options *pass) {
    hu_status st = start_pass(run, pass);
    if (st != HU_OK) return st;
    for (uint32_t n = run->graph->node_count; n-- > 0 && !run->overflowed;)
        if (run->graph->node[n].needs_backward) backward_node(run, n);
    return HU_OK;
}
