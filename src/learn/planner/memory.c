#include "planner/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/chunk.h"

/* ---- The buffers of a run: who needs how many bytes from when to when ---- */

hu_status hu_buffers_add(hu_run *run, size_t bytes, hu_buffer_role role, uint32_t *id) {
    *id = HU_NONE;
    if (bytes == 0) return HU_OK;
    if (run->buffer_count == run->buffer_capacity) {
        void *array = run->buffers;
        uint32_t wanted = run->buffer_capacity ? 2 * run->buffer_capacity : 256;
        hu_status st = hu_realloc(&array, wanted * sizeof *run->buffers);
        if (st != HU_OK) return st;
        run->buffers = array;
        run->buffer_capacity = wanted;
    }
    *id = run->buffer_count++;
    run->buffers[*id] = (hu_buffer){.bytes = bytes, .role = role};
    hu_buffer_forget(&run->buffers[*id]);
    return HU_OK;
}

/* Float32 room for the rows of a packed slot whose scale is not known yet. */
static hu_status staging_buffer(hu_run *run, hu_slot *slot) {
    bool is_staged = hu_slot_waits(slot);
    if (!is_staged || slot->storage.trait->is_float32) return HU_OK;
    return hu_buffers_add(run, (size_t)(slot->elements * run->options.batch) * sizeof(float),
                          HU_BUFFER_SCRATCH, &slot->staging);
}

/* The rounded copy of a parameter. */
static hu_status parameter_buffer(hu_run *run, hu_slot *slot) {
    if (!hu_quantizer_rounds(&slot->edge->quantizer) && slot->capacity_bits == 0) return HU_OK;
    return hu_buffers_add(run, hu_slot_bytes(slot, run->options.storage, 1), HU_BUFFER_WEIGHT,
                          &slot->buffer);
}

static hu_status value_buffers(hu_run *run) {
    hu_status st = HU_OK;
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        const hu_value_info *value = &run->graph->value[v];
        hu_slot *slot = &run->value[v];
        if (value->role == HU_VALUE_PARAMETER) HU_TRY(parameter_buffer(run, slot));
        bool is_kept = value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
        if (is_kept) continue;
        HU_TRY(staging_buffer(run, slot));
        HU_TRY(hu_buffers_add(run, hu_slot_bytes(slot, run->options.storage, run->options.batch),
                              HU_BUFFER_ACTIVATION, &slot->buffer));
    }
done:
    return st;
}

static hu_status gradient_buffers(hu_run *run) {
    const hu_graph *graph = run->graph;
    hu_status st = HU_OK;
    for (uint32_t u = 0; u < graph->use_count; u++) {
        if (!hu_use_has_gradient(graph, u)) continue;
        hu_slot *slot = &run->grad[u];
        bool is_param = graph->value[graph->use[u].value].role == HU_VALUE_PARAMETER;
        if (!is_param) HU_TRY(staging_buffer(run, slot));
        HU_TRY(hu_buffers_add(
            run, hu_slot_bytes(slot, run->options.storage, is_param ? 1 : run->options.batch),
            is_param ? HU_BUFFER_WEIGHT_GRADIENT : HU_BUFFER_GRADIENT, &slot->buffer));
    }
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_slot *slot = &run->grad_sum[v];
        if (hu_is_summed_parameter(graph, v))
            HU_TRY(hu_buffers_add(run, hu_slot_bytes(slot, run->options.storage, 1),
                                  HU_BUFFER_WEIGHT_GRADIENT, &slot->buffer));
    }
done:
    return st;
}

/* Float32 room for working copies of a node's parameters that are unpacked, or rounded for their
 * use in this node. */
static size_t param_copy_bytes(const hu_run *run, const hu_node *node) {
    size_t bytes = 0;
    for (int j = 0; j < node->n_params; j++) {
        const hu_slot *slot = &run->value[node->param[j]];
        bool is_packed =
            hu_quantizer_rounds(&slot->edge->quantizer) && !slot->storage.trait->is_float32;
        if (is_packed || slot->capacity_bits > 0 ||
            hu_use_slot(run, node->first_use + (uint32_t)(node->n_in + j)))
            bytes += hu_round_up((size_t)slot->elements * sizeof(float), 64);
    }
    return bytes;
}

static size_t size_of(size_t (*size)(const hu_node_info *, void *, hu_pass), const hu_exec *exec,
                      hu_pass pass) {
    return size ? size(&exec->info, exec->state, pass) : 0;
}

static hu_status pass_buffers(hu_run *run, uint32_t n, hu_pass pass, size_t chunks) {
    hu_status st = HU_OK;
    const hu_node *node = &run->graph->node[n];
    hu_exec *exec = &run->exec[n];
    HU_TRY(hu_buffers_add(run, exec->partial_count[pass] * chunks * sizeof(double),
                          HU_BUFFER_SCRATCH, &exec->partial[pass]));
    HU_TRY(hu_buffers_add(run, size_of(node->op->workspace_bytes, exec, pass), HU_BUFFER_SCRATCH,
                          &exec->workspace[pass]));
    HU_TRY(
        hu_buffers_add(run, param_copy_bytes(run, node), HU_BUFFER_SCRATCH, &exec->params[pass]));
done:
    return st;
}

/* Parameter gradients of a node are summed chunk by chunk in at most this many partial results,
 * fewer if they are large; never a function of the threads. */
enum { FEWEST_PARTIALS = 4, USUAL_PARTIAL_BYTES = 64 << 20 };

static int64_t chunks_of(const hu_run *run) {
    return (run->options.batch + run->options.chunk - 1) / run->options.chunk;
}

static int64_t dparam_elements(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    int64_t elements = 0;
    for (int j = 0; j < node->n_params; j++)
        if (node->need_dparam[j]) elements += run->graph->value[node->param[j]].elements;
    return elements;
}

/* Bytes of one partial result of a region. */
static int64_t partial_bytes(const hu_run *run, uint32_t n) {
    int64_t elements = 0;
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++)
        elements += dparam_elements(run, m);
    return elements * (int64_t)sizeof(float);
}

/* The nodes of a loop have one, because their visits are the same. */
int64_t hu_buffers_span(const hu_run *run, uint32_t n) {
    int64_t bytes = partial_bytes(run, n), chunks = chunks_of(run);
    if (!hu_dparam_per_chunk(run, n) && !hu_loop_at(run, n)) return 1;
    if (hu_region_sums_in_batch_order(run, n)) return 1;
    int64_t partials = bytes ? USUAL_PARTIAL_BYTES / bytes : HU_PARTIALS_MOST;
    if (partials > HU_PARTIALS_MOST) partials = HU_PARTIALS_MOST;
    if (partials < FEWEST_PARTIALS) partials = FEWEST_PARTIALS;
    return (chunks + partials - 1) / partials;
}

/* Partial results that a region's chunks leave. */
static int64_t partials_of(const hu_run *run, uint32_t n) {
    int64_t span = hu_buffers_span(run, n);
    return (chunks_of(run) + span - 1) / span;
}

/* Where several threads leave as many bytes as this, they wait for each other after every partial
 * result, lest all be kept. */
static bool is_stacked(const hu_run *run, uint32_t region) {
    enum { MANY_BYTES = 32 << 20 };
    if (hu_region_sums_in_batch_order(run, region)) return false;
    int64_t partials = partials_of(run, region), bytes = partials * partial_bytes(run, region);
    return run->options.threads == 1 || bytes > MANY_BYTES;
}

/* The most of so many partial results that lie on the stack at a time: what is left of those
 * before, and one of each thread. */
static int64_t most_stacked(int64_t partials, int64_t threads) {
    int64_t most = 0;
    for (int64_t p = 0; p < partials; p += threads) {
        int64_t made = partials - p < threads ? partials - p : threads;
        if (hu_stacked(p) + made > most) most = hu_stacked(p) + made;
    }
    return most;
}

static hu_status dparam_buffer(hu_run *run, uint32_t n) {
    hu_exec *exec = &run->exec[n];
    exec->dparam_elements = dparam_elements(run, n);
    exec->span = hu_buffers_span(run, n);
    int64_t partials = hu_dparam_per_chunk(run, n) ? partials_of(run, n) : 1;
    if (hu_stacks_partials(run, n)) partials = most_stacked(partials, run->options.threads);
    return hu_buffers_add(run, (size_t)(exec->dparam_elements * partials) * sizeof(float),
                          HU_BUFFER_SCRATCH, &exec->dpartial);
}

static hu_status node_buffers(hu_run *run, uint32_t n) {
    hu_status st = HU_OK;
    const hu_node *node = &run->graph->node[n];
    hu_exec *exec = &run->exec[n];
    int64_t chunks = chunks_of(run);
    exec->mask = exec->stats = exec->dpartial = HU_NONE;
    exec->partial[1] = exec->workspace[1] = exec->params[1] = HU_NONE;
    if (node->op->mask_bytes) exec->mask_bytes = node->op->mask_bytes(&exec->info);
    HU_TRY(hu_buffers_add(run, exec->mask_bytes * (size_t)run->options.batch, HU_BUFFER_MASK,
                          &exec->mask));
    if (node->op->stats_count)
        HU_TRY(hu_buffers_add(run, node->op->stats_count(&exec->info) * sizeof(double),
                              HU_BUFFER_SCRATCH, &exec->stats));
    HU_TRY(pass_buffers(run, n, HU_FORWARD, (size_t)chunks));
    if (!node->needs_backward) return HU_OK;
    HU_TRY(pass_buffers(run, n, HU_BACKWARD, (size_t)chunks));
    HU_TRY(dparam_buffer(run, n));
done:
    return st;
}

static void point_slot(hu_run *run, hu_slot *slot) {
    slot->data = hu_buffer_data(run, slot->buffer);
    slot->residuals = hu_buffer_data(run, slot->residual);
    slot->staged = hu_buffer_data(run, slot->staging);
}

static void point_slots(hu_run *run) {
    const hu_graph *graph = run->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        point_slot(run, &run->value[v]);
        point_slot(run, &run->grad_sum[v]);
    }
    for (uint32_t u = 0; u < graph->use_count; u++) {
        point_slot(run, &run->grad[u]);
        if (run->use) point_slot(run, &run->use[u]);
    }
}

/* A thread loads inputs and targets through its scratch, too. */
static void reserve_input(hu_run *run) {
    enum { ROUNDING = 64 }; /* at most, of each part of the scratch */
    const hu_graph *graph = run->graph;
    size_t elements = 0;
    for (uint32_t i = 0; i < graph->loaded_count; i++)
        elements += (size_t)graph->value[graph->loaded[i]].elements;
    hu_rehearse_scratch(run, &run->loading,
                        elements * (size_t)run->options.chunk * sizeof(float) +
                            graph->loaded_count * ROUNDING);
}

hu_status hu_buffers_declare(hu_run *run) {
    hu_status st = HU_OK;
    HU_TRY(value_buffers(run));
    HU_TRY(gradient_buffers(run));
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        run->exec[n].is_stacked = run->graph->node[n].needs_backward && is_stacked(run, n);
    for (uint32_t n = 0; n < run->graph->node_count; n++) HU_TRY(node_buffers(run, n));
    reserve_input(run);
done:
    return st;
}

/* One block for all. What is only planned needs none. */
static hu_status allocate_arena(hu_run *run) {
    void *block;
    if (run->options.is_plan) return HU_OK;
    hu_status st = hu_alloc_for(HU_MEMORY_ARENA, run->arena_bytes, &block);
    if (st != HU_OK)
        return hu_fail_within(
            st,
            "the arena of %lld samples in chunks of %lld on %d threads; a smaller "
            "batch=, optimizer.accumulate= or fewer threads= need less: ",
            (long long)run->options.batch, (long long)run->options.chunk, run->options.threads);
    run->arena = block;
    return HU_OK;
}

/* The scratch of all threads that visit chunks at one time. */
static hu_status scratch_buffer(hu_run *run, hu_visit_scratch *scratch) {
    enum { PAGE = 4096 };
    scratch->bytes = hu_round_up(scratch->bytes, PAGE);
    int visitors = hu_visitors(run, chunks_of(run));
    hu_status st =
        hu_buffers_add(run, scratch->bytes * (size_t)visitors, HU_BUFFER_SCRATCH, &scratch->buffer);
    bool is_used = st == HU_OK && scratch->buffer != HU_NONE;
    for (int course = 0; is_used && course < HU_COURSES; course++)
        hu_buffer_use(&run->buffers[scratch->buffer], course, scratch->time);
    return st;
}

static hu_status scratch_buffers(hu_run *run) {
    hu_status st = HU_OK;
    HU_TRY(scratch_buffer(run, &run->loading));
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        HU_TRY(scratch_buffer(run, &run->exec[n].scratch[HU_FORWARD]));
        HU_TRY(scratch_buffer(run, &run->exec[n].scratch[HU_BACKWARD]));
    }
done:
    return st;
}

hu_status hu_buffers_place(hu_run *run) {
    hu_status st = HU_OK;
    HU_TRY(scratch_buffers(run));
    HU_TRY(hu_arena_place(run->buffers, run->buffer_count, &run->arena_bytes));
    HU_TRY(hu_ledger_plan(run));
    HU_TRY(allocate_arena(run));
    point_slots(run);
done:
    return st;
}

/* ---- kept ---- */

/* Which rounded inputs are kept for the backward pass.
 *
 * A use with a record of its own (graph/edge.h) rounds what it reads. If its node wants that input
 * in the backward pass too, the rounded numbers may wait for it packed; then the value itself,
 * which nobody has rounded, need not live longer than the forward pass. Without such a copy the
 * backward pass reads the value and rounds it again, to the same bits.
 * Beside what a rounding that learns has rounded, what it took from the numbers is kept
 * (engine/learn.c).
 */

/* True if the backward pass wants what a use has rounded. */
static bool is_wanted(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    const hu_node *node = &run->graph->node[u->node];
    return hu_use_slot(run, use) && u->index < node->n_in && node->needs_backward &&
           node->loop == HU_NONE && hu_node_saves(node, u->index);
}

static size_t code_bytes(const hu_run *run, uint32_t use) {
    return hu_slot_bytes(&run->use[use], run->options.storage, run->options.batch);
}

static size_t residual_bytes(const hu_run *run, uint32_t use) {
    const hu_slot *slot = &run->use[use];
    return hu_residual_bits(slot) > 0 ? hu_residual_bytes(slot, run->options.batch) : 0;
}

/* Bytes of all that could be kept of a value. */
static size_t bytes_of_uses(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    size_t bytes = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        if (is_wanted(run, value->uses[k]))
            bytes += code_bytes(run, value->uses[k]) + residual_bytes(run, value->uses[k]);
    return bytes;
}

static hu_status declare_uses(hu_run *run, hu_value_id v) {
    hu_status st = HU_OK;
    const hu_value_info *value = &run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        uint32_t use = value->uses[k];
        hu_slot *slot = &run->use[use];
        if (!is_wanted(run, use)) continue;
        HU_TRY(hu_buffers_add(run, code_bytes(run, use), HU_BUFFER_ACTIVATION, &slot->buffer));
        HU_TRY(
            hu_buffers_add(run, residual_bytes(run, use), HU_BUFFER_ACTIVATION, &slot->residual));
    }
done:
    return st;
}

hu_status hu_saved_input_declare(hu_run *run) {
    for (hu_value_id v = 0; run->use && v < run->graph->value_count; v++) {
        uint32_t buffer = run->value[v].buffer;
        bool is_parameter = run->graph->value[v].role == HU_VALUE_PARAMETER;
        if (is_parameter || buffer == HU_NONE || run->is_virtual[v] || run->is_remade[v]) continue;
        if (bytes_of_uses(run, v) >= run->buffers[buffer].bytes) continue;
        hu_status st = declare_uses(run, v);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

bool hu_saved_input_drop(hu_run *run) {
    int32_t forward_end = hu_time_forward(run->graph->node_count - 1);
    bool any = false;
    for (uint32_t u = 0; run->use && u < run->graph->use_count; u++) {
        uint32_t of_value = run->value[run->graph->use[u].value].buffer;
        if (!hu_use_is_kept(run, u) || !hu_buffer_outlives(&run->buffers[of_value], forward_end))
            continue;
        run->use[u].buffer = run->use[u].residual = HU_NONE;
        any = true;
    }
    return any;
}
