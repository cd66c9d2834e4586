#include "engine/call.h"

#include <string.h>

#include "engine/facts.h"
#include "engine/tally.h"
#include "engine/visit.h"

void hu_call_prepare(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call) {
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
            call->param[j] = hu_weights_of(run->weights, node->param[j]);
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
    hu_call_prepare(run, n, pass, first);
    load_params(run, n, pass, first);
    for (int t = 1; t < run->options.threads; t++) {
        hu_op_call *call = &run->thread[t].call[n];
        hu_call_prepare(run, n, pass, call);
        memcpy(call->param, first->param, (size_t)node->n_params * sizeof *first->param);
    }
}

void hu_region_begin(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_members *members = &run->exec[n].members[pass];
    const hu_op *op = run->graph->node[n].op;
    for (uint32_t i = 0; i < members->count; i++) prepare_member(run, members->node[i], pass);
    if (op->begin) op->begin(&run->thread[0].call[n], pass);
    hu_products_begin(run, n);
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

/* All partial results of a node are there. */
static void finish_node(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_op *op = run->graph->node[n].op;
    hu_op_call *call = &run->thread[0].call[n];
    merge_partials(run, n, pass);
    call->partial = hu_buffer_data(run, run->exec[n].partial[pass]);
    if (pass == HU_BACKWARD) hu_point_dparams(run, n, 0, call->dparam);
    if (op->finish) op->finish(call, pass);
}

void hu_region_reduce(hu_run *run, uint32_t n, hu_pass pass) {
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_visit visit = hu_visit_begin(run, &run->thread[hu_thread_number()], n, pass, c);
        hu_visit_reduce(&visit);
    }
    finish_node(run, n, pass);
}

void hu_region_finish_guests(hu_run *run, uint32_t n, hu_pass pass) {
    for (uint32_t m = run->exec[n].first[pass]; m != HU_NONE; m = run->exec[m].next[pass])
        finish_node(run, m, pass);
}
