#include "engine/chunk.h"

#include <string.h>

#include "base/checked.h"

/* Counts of what the region made, in the order of the nodes, up to the first that overflowed. */
static void collect_forward(hu_run *run, uint32_t n) {
    const hu_members *members = &run->exec[n].members[HU_FORWARD];
    for (uint32_t k = 0; k < members->count && members->node[k] < run->counted_nodes; k++) {
        uint32_t m = members->node[k];
        const hu_node *node = &run->graph->node[m];
        bool is_made_here = hu_forward_region(run, m) == n;
        if (is_made_here) hu_tally_collect_inputs(run, m);
        if (is_made_here) hu_tally_note_absent(run, m);
        for (int i = 0; is_made_here && m < run->counted_nodes && i < node->n_out; i++)
            hu_tally_collect(run, hu_tally_of_value(run, node->out[i]), &run->value[node->out[i]],
                             node->out[i], false);
    }
}

static void forward_region(hu_run *run, uint32_t n) {
#pragma omp parallel for num_threads(hu_visitors(run, run->chunks)) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_chunk visit = hu_chunk_begin(run, &run->thread[hu_thread_number()], n, HU_FORWARD, c);
        hu_chunk_forward(&visit);
    }
    hu_region_finish_fused(run, n, HU_FORWARD);
    collect_forward(run, n);
    hu_products_collect(run, n);
}

static void forward_node(hu_run *run, uint32_t n) {
    bool alone = hu_reduces_alone(run, n, HU_FORWARD);
    if (!hu_is_region(run, n) && !alone) return;
    run->repeats = !run->pass.scan && hu_node_repeats(&run->graph->node[n], run->pass.phase);
    hu_region_begin(run, n, HU_FORWARD);
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++)
        hu_rescale_inputs(run, m);
    if (alone) hu_region_reduce(run, n, HU_FORWARD);
    if (hu_is_region(run, n)) forward_region(run, n);
}

/* Looks at the targets of a chunk: what a loss cannot use counts as NaN, which the loss makes of it
 * too. A target of several losses is counted by the first of them. */
static void check_target(const hu_run *run, hu_value_id v, int64_t count, const float *target,
                         hu_thread *thread) {
    hu_round_counts *counts = &thread->tally[hu_tally_of_value(run, v)].counts, others;
    hu_round_counts_clear(&others);
    for (int k = 0; k < run->graph->loss_count; k++) {
        if (hu_graph_loss_target(run->graph, k) != v) continue;
        thread->units[k] += hu_graph_count_units(run->graph, k, count, target, counts);
        counts = &others;
    }
}

/* The first number of the batch, in the order of its values, that is no id; errors are rare. */
static void check_ids(hu_run *run, hu_value_id v, int64_t first, int64_t count, const float *id) {
    const hu_value_info *value = &run->graph->value[v];
    for (int64_t i = 0; i < count * value->elements; i++) {
        if (hu_whole_below(id[i], value->ids) >= 0) continue;
        hu_bad_id bad = {v, first * value->elements + i, id[i]};
#pragma omp critical(hu_ids)
        if (run->bad_id.value == HU_NONE || v < run->bad_id.value ||
            (v == run->bad_id.value && bad.place < run->bad_id.place))
            run->bad_id = bad;
        return;
    }
}

/* Targets and ids are stored as they come; inputs are rounded. */
static void load_field(hu_chunk *visit, const hu_source *source, uint32_t field) {
    hu_run *run = visit->run;
    hu_value_id v = run->graph->loaded[field];
    const hu_slot *slot = &run->value[v];
    if (run->graph->value[v].role == HU_VALUE_INPUT) {
        float *x = hu_chunk_room(visit, v);
        source->fill(source->context, field, visit->first, visit->count, x);
        hu_chunk_store(visit, v, x);
        return;
    }
    float *y = hu_bump_take(&visit->bump, (size_t)(visit->count * slot->elements) * sizeof(float));
    source->fill(source->context, field, visit->first, visit->count, y);
    hu_storage_write(&slot->storage, slot->data, visit->first, visit->count, y);
    if (run->graph->value[v].role == HU_VALUE_IDS)
        check_ids(run, v, visit->first, visit->count, y);
    else
        check_target(run, v, visit->count, y, visit->thread);
}

/* Inputs may end by lengths, which are present before them. */
static void load_fields(hu_chunk *visit, const hu_source *source, bool are_inputs) {
    const hu_run *run = visit->run;
    for (uint32_t field = 0; field < run->graph->loaded_count; field++) {
        hu_value_id v = run->graph->loaded[field];
        bool is_input = run->graph->value[v].role == HU_VALUE_INPUT;
        if (is_input == are_inputs && hu_value_is_read(run->graph, v, run->pass.phase))
            load_field(visit, source, field);
    }
}

static void load_batch(hu_run *run, const hu_source *source) {
    const hu_graph *graph = run->graph;
#pragma omp parallel for num_threads(hu_visitors(run, run->chunks)) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_thread *thread = &run->thread[hu_thread_number()];
        hu_chunk visit = hu_chunk_begin(run, thread, HU_NONE, HU_FORWARD, c);
        load_fields(&visit, source, false);
        load_fields(&visit, source, true);
    }
    for (uint32_t field = 0; field < graph->loaded_count; field++) {
        hu_value_id v = graph->loaded[field];
        if (!hu_value_is_read(graph, v, run->pass.phase)) continue;
        run->repeats = !run->pass.scan && hu_value_repeats(graph, v, run->pass.phase);
        bool is_input = graph->value[v].role == HU_VALUE_INPUT;
        if (is_input || !run->pass.scan)
            hu_tally_collect(run, hu_tally_of_value(run, v), &run->value[v], v, false);
    }
}

/* Running statistics, once the forward pass is known to be finite. */
static void commit_nodes(hu_run *run) {
    float *buffers[HU_MAX_PARAMS];
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_node *node = &run->graph->node[n];
        bool is_first =
            hu_node_runs(node, run->pass.phase) && !hu_node_repeats(node, run->pass.phase);
        if (!node->op->commit || !is_first) continue;
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
        uint32_t region = hu_forward_region(run, m);
        if (region != HU_NONE && region >= end) end = region + 1;
    }
    return end;
}

/* Sums of the losses, and the units that they counted. */
static void read_losses(const hu_run *run, hu_pass_result *result) {
    const hu_graph *graph = run->graph;
    bool is_first = true;
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_loss *loss = &graph->loss[k];
        if (!hu_node_runs(&graph->node[loss->node], run->pass.phase)) continue;
        /* A mean over samples has them all, also those whose target is ignored. */
        bool has_rows = loss->normaliser == HU_PER_ROW && hu_graph_loss_target(graph, k) != HU_NONE;
        memcpy(result->stats[k], hu_buffer_data(run, run->exec[loss->node].stats),
               sizeof result->stats[k]);
        if (!has_rows) result->units[k] = run->pass.samples;
        for (int t = 0; t < run->options.threads && has_rows; t++)
            result->units[k] += run->thread[t].units[k];
        double sum = (double)loss->weight * result->stats[k][HU_LOSS_SUM];
        /* Without a counted row the sum is 0, and no mean would be (0/0). */
        if (loss->normaliser == HU_PER_ROW && result->units[k] > 0)
            sum *= (double)run->pass.samples / (double)result->units[k];
        result->loss_sum = is_first ? sum : result->loss_sum + sum;
        is_first = false;
    }
}

void hu_forward_run(hu_run *run, const hu_source *source, hu_pass_result *result) {
    /* A master that its format cannot encode stops the pass before its first node. */
    run->overflowed = run->unencodable_parameter && !run->pass.use_masters;
    run->overflow_name = run->overflowed ? run->unencodable_parameter : NULL;
    run->overflow_in_gradient = false;
    run->counted_nodes = run->overflowed ? 0 : run->graph->node_count;
    run->bad_id.value = HU_NONE;
    load_batch(run, source);
    if (run->bad_id.value != HU_NONE) return; /* there is no row for it */
    for (uint32_t n = 0; n < forward_end(run); n++)
        if (hu_node_runs(&run->graph->node[n], run->pass.phase)) forward_node(run, n);
    run->repeats = false;
    if (run->overflowed) return;
    read_losses(run, result);
    bool is_finite = result->loss_sum - result->loss_sum == 0.0;
    if (hu_is_step(run) && is_finite && !run->pass.keeps_statistics) commit_nodes(run);
}
