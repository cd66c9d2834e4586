#include "engine/forward.h"

#include "engine/call.h"
#include "engine/facts.h"
#include "engine/tally.h"
#include "engine/value.h"
#include "engine/visit.h"

/* Counts of what the region made, in the order of the nodes, up to the first that overflowed. */
static void collect_forward(hu_run *run, uint32_t n) {
    const hu_members *members = &run->exec[n].members[HU_FORWARD];
    for (uint32_t k = 0; k < members->count && members->node[k] < run->counted_nodes; k++) {
        uint32_t m = members->node[k];
        const hu_node *node = &run->graph->node[m];
        bool is_made_here = m == n || (run->exec[m].is_lazy && run->made_in[node->out[0]] == n);
        for (int i = 0; is_made_here && i < node->n_out; i++)
            hu_tally_collect(run, hu_tally_of_value(run, node->out[i]), &run->value[node->out[i]],
                             node->out[i], false);
    }
}

static void forward_region(hu_run *run, uint32_t n) {
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_visit visit = hu_visit_begin(run, &run->thread[hu_thread_number()], n, HU_FORWARD, c);
        hu_visit_forward(&visit);
    }
    hu_region_finish_guests(run, n, HU_FORWARD);
    collect_forward(run, n);
    hu_products_collect(run, n);
}

static void forward_node(hu_run *run, uint32_t n) {
    bool alone = hu_reduces_alone(run, n, HU_FORWARD);
    if (run->exec[n].is_lazy && !alone) return;
    hu_region_begin(run, n, HU_FORWARD);
    if (alone) hu_region_reduce(run, n, HU_FORWARD);
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
    hu_tally_collect(run, hu_tally_of_value(run, image), &run->value[image], image, false);
    if (!run->pass.scan)
        hu_tally_collect(run, hu_tally_of_value(run, label), &run->value[label], label, false);
}

/* Running statistics, once the forward pass is known to be finite. */
static void commit_nodes(hu_run *run) {
    float *buffers[HU_MAX_PARAMS];
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_node *node = &run->graph->node[n];
        if (!node->op->commit) continue;
        hu_op_call *call = &run->thread[0].call[n];
        hu_call_prepare(run, n, HU_FORWARD, call);
        for (int j = 0; j < node->n_params; j++) {
            hu_value_id id = node->param[j];
            bool is_buffer = run->graph->value[id].role == HU_VALUE_BUFFER;
            buffers[j] = is_buffer ? hu_weights_of(run->weights, id) : NULL;
        }
        node->op->commit(call, buffers);
    }
}

/* The first node that need not run any more. A pass that a format has stopped runs on until the
 * nodes before the one that stopped it are counted, though later regions make their outputs: so
 * counts do not depend on how nodes are joined. */
static uint32_t forward_end(const hu_run *run) {
    uint32_t end = 0;
    if (!run->overflowed) return run->graph->node_count;
    for (uint32_t m = 0; m < run->counted_nodes; m++) {
        uint32_t region = run->made_in[run->graph->node[m].out[0]];
        if (run->exec[m].is_lazy && region != HU_NONE && region >= end) end = region + 1;
    }
    return end;
}

void hu_forward_run(hu_run *run, const hu_source *source, hu_pass_result *result) {
    /* A master that its format cannot encode stops the pass before its first node. */
    run->overflowed = run->unencodable_parameter && !run->pass.use_masters;
    run->overflow_name = run->overflowed ? run->unencodable_parameter : NULL;
    run->overflow_in_gradient = false;
    run->counted_nodes = run->overflowed ? 0 : run->graph->node_count;
    load_batch(run, source);
    for (uint32_t n = 0; n < forward_end(run); n++) forward_node(run, n);
    if (run->overflowed) return;
    const double *stats = hu_buffer_data(run, run->exec[run->graph->loss_node].stats);
    result->loss_sum = stats[HU_NLL_LOSS_SUM];
    result->correct = (int64_t)stats[HU_NLL_CORRECT];
    bool is_finite = result->loss_sum - result->loss_sum == 0.0;
    if (hu_is_step(run) && is_finite) commit_nodes(run);
}
