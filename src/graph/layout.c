#include "graph/layout.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

void *hu_bump_take(hu_bump *bump, size_t bytes) {
    void *part = bump->base ? bump->base + bump->used : NULL;
    bump->used += hu_round_up(bytes, 64);
    return part;
}

bool hu_use_has_gradient(const hu_graph *graph, uint32_t use) {
    const hu_use *u = &graph->use[use];
    return graph->node[u->node].needs_backward && graph->value[u->value].needs_grad;
}

static hu_status add_buffer(hu_run *run, size_t bytes, int32_t first, int32_t last,
                            hu_buffer_role role, uint32_t *id) {
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
    run->buffers[*id] = (hu_buffer){bytes, first, last, role, 0};
    return HU_OK;
}

/* The last time a forward value is read: by its consumers, or by the backward pass of who saved it.
 */
static int32_t last_read(const hu_graph *graph, hu_value_id id) {
    const hu_value_info *value = &graph->value[id];
    int32_t last = value->producer == HU_NONE ? 0 : hu_time_forward(value->producer);
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &graph->use[value->uses[k]];
        const hu_node *node = &graph->node[use->node];
        int32_t time = hu_time_forward(use->node);
        if (node->needs_backward && use->index < 16 && (node->op->saves >> use->index & 1u))
            time = hu_time_backward(graph, use->node);
        if (time > last) last = time;
    }
    if (value->producer == HU_NONE || value->output > 0) return last;
    const hu_node *producer = &graph->node[value->producer];
    if (producer->needs_backward && (producer->op->saves & HU_SAVE_OUTPUT_0))
        last = hu_time_backward(graph, value->producer);
    return last;
}

/* Float32 room for the rows of a packed slot that wait for their maximum. */
static hu_status waiting_buffer(hu_run *run, hu_slot *slot, int32_t time) {
    bool waits = hu_quantizer_needs_maximum(&slot->edge->quantizer);
    if (!waits || slot->storage.trait->is_float32) return HU_OK;
    return add_buffer(run, (size_t)(slot->elements * run->options.batch) * sizeof(float), time,
                      time, HU_BUFFER_SCRATCH, &slot->waiting);
}

static hu_status value_buffers(hu_run *run) {
    const hu_graph *graph = run->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        hu_slot *slot = &run->value[v];
        hu_status st = HU_OK;
        size_t bytes = hu_storage_bytes(&slot->storage, run->options.batch);
        int32_t first = value->producer == HU_NONE ? 0 : hu_time_forward(value->producer);
        bool has_rows = value->role == HU_VALUE_ACTIVATION || value->role == HU_VALUE_INPUT;
        if (has_rows) st = waiting_buffer(run, slot, first);
        if (st != HU_OK) return st;
        if (has_rows)
            st = add_buffer(run, bytes, first, last_read(graph, v), HU_BUFFER_ACTIVATION,
                            &slot->buffer);
        else if (value->role == HU_VALUE_PARAMETER && hu_quantizer_rounds(&slot->edge->quantizer))
            st = add_buffer(run, hu_storage_bytes(&slot->storage, 1), 0, hu_time_update(graph),
                            HU_BUFFER_WEIGHT, &slot->buffer);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

static hu_status gradient_buffers(hu_run *run) {
    const hu_graph *graph = run->graph;
    for (uint32_t u = 0; u < graph->use_count; u++) {
        if (!hu_use_has_gradient(graph, u)) continue;
        hu_slot *slot = &run->grad[u];
        const hu_value_info *value = &graph->value[graph->use[u].value];
        bool is_param = value->role == HU_VALUE_PARAMETER;
        int32_t first = hu_time_backward(graph, graph->use[u].node);
        int32_t last = is_param ? hu_time_update(graph) : hu_time_backward(graph, value->producer);
        hu_status st = is_param ? HU_OK : waiting_buffer(run, slot, first);
        if (st != HU_OK) return st;
        st = add_buffer(run, hu_storage_bytes(&slot->storage, is_param ? 1 : run->options.batch),
                        first, last, is_param ? HU_BUFFER_WEIGHT_GRADIENT : HU_BUFFER_GRADIENT,
                        &slot->buffer);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

/* Float32 room for the unpacked working copies of a node's rounded parameters. */
static size_t unpacked_param_bytes(const hu_run *run, const hu_node *node) {
    size_t bytes = 0;
    for (int j = 0; j < node->n_params; j++) {
        const hu_slot *slot = &run->value[node->param[j]];
        if (hu_quantizer_rounds(&slot->edge->quantizer) && !slot->storage.trait->is_float32)
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
    int32_t time = pass == HU_FORWARD ? hu_time_forward(n) : hu_time_backward(run->graph, n);
    exec->partial_count[pass] =
        node->op->partial_count ? node->op->partial_count(&exec->info, pass) : 0;
    HU_TRY(add_buffer(run, exec->partial_count[pass] * chunks * sizeof(double), time, time,
                      HU_BUFFER_SCRATCH, &exec->partial[pass]));
    HU_TRY(add_buffer(run, size_of(node->op->workspace_bytes, exec, pass), time, time,
                      HU_BUFFER_SCRATCH, &exec->workspace[pass]));
    HU_TRY(add_buffer(run, unpacked_param_bytes(run, node), time, time, HU_BUFFER_SCRATCH,
                      &exec->params[pass]));
done:
    return st;
}

static hu_status node_buffers(hu_run *run, uint32_t n) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    const hu_node *node = &graph->node[n];
    hu_exec *exec = &run->exec[n];
    size_t chunks = (size_t)((run->options.batch + run->options.chunk - 1) / run->options.chunk);
    int32_t forward = hu_time_forward(n);
    int32_t back = node->needs_backward ? hu_time_backward(graph, n) : forward;
    exec->aux = exec->stats = exec->dpartial = HU_NONE;
    exec->partial[1] = exec->workspace[1] = exec->params[1] = HU_NONE;
    if (node->op->aux_bytes) exec->aux_bytes = node->op->aux_bytes(&exec->info);
    HU_TRY(add_buffer(run, exec->aux_bytes * (size_t)run->options.batch, forward, back,
                      HU_BUFFER_MASK, &exec->aux));
    if (node->op->stats_count)
        HU_TRY(add_buffer(run, node->op->stats_count(&exec->info) * sizeof(double), forward, back,
                          HU_BUFFER_SCRATCH, &exec->stats));
    HU_TRY(pass_buffers(run, n, HU_FORWARD, chunks));
    if (!node->needs_backward) return HU_OK;
    HU_TRY(pass_buffers(run, n, HU_BACKWARD, chunks));
    for (int j = 0; j < node->n_params; j++)
        if (graph->value[node->param[j]].role == HU_VALUE_PARAMETER)
            exec->dparam_elements += graph->value[node->param[j]].elements;
    HU_TRY(add_buffer(run,
                      (size_t)exec->dparam_elements * sizeof(float) *
                          (hu_dparam_per_chunk(run, n) ? chunks : 1),
                      back, back, HU_BUFFER_SCRATCH, &exec->dpartial));
done:
    return st;
}

/* The scratch memory that one thread needs, by running the pointer arithmetic of every node without
 * memory. */
static size_t measure_scratch(hu_run *run) {
    size_t most = 0;
    hu_op_call *call = &run->thread[0].call;
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_op *op = run->graph->node[n].op;
        hu_bump bump = {NULL, 0};
        call->first = 0;
        call->count = run->options.chunk;
        hu_chunk_forward(run, n, call, &bump);
        bump.used += size_of(op->scratch_bytes, &run->exec[n], HU_FORWARD);
        if (bump.used > most) most = bump.used;
        if (!run->graph->node[n].needs_backward) continue;
        bump = (hu_bump){NULL, 0};
        hu_chunk_backward(run, n, call, &bump, NULL, true);
        bump.used += size_of(op->scratch_bytes, &run->exec[n], HU_BACKWARD);
        if (bump.used > most) most = bump.used;
    }
    size_t input = (size_t)(run->graph->value[run->graph->image].elements + 1) *
                   (size_t)run->options.chunk * sizeof(float);
    return hu_round_up(most > input + 128 ? most : input + 128, 4096);
}

static void point_slot(hu_run *run, hu_slot *slot) {
    slot->data = hu_buffer_data(run, slot->buffer);
    slot->rows = hu_buffer_data(run, slot->waiting);
}

static void point_slots(hu_run *run, size_t scratch_offset) {
    const hu_graph *graph = run->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) point_slot(run, &run->value[v]);
    for (uint32_t u = 0; u < graph->use_count; u++) point_slot(run, &run->grad[u]);
    for (int t = 0; t < run->options.threads; t++)
        run->thread[t].scratch = run->arena + scratch_offset + (size_t)t * run->scratch_bytes;
}

hu_status hu_layout_arena(hu_run *run) {
    hu_status st = HU_OK;
    uint32_t scratch;
    void *block;
    HU_TRY(value_buffers(run));
    HU_TRY(gradient_buffers(run));
    for (uint32_t n = 0; n < run->graph->node_count; n++) HU_TRY(node_buffers(run, n));
    run->scratch_bytes = measure_scratch(run);
    HU_TRY(add_buffer(run, run->scratch_bytes * (size_t)run->options.threads, 0,
                      hu_time_update(run->graph), HU_BUFFER_SCRATCH, &scratch));
    HU_TRY(hu_memory_plan_place(run->buffers, run->buffer_count, &run->arena_bytes));
    HU_TRY(hu_alloc_for(HU_MEMORY_ARENA, run->arena_bytes, &block));
    run->arena = block;
    point_slots(run, run->buffers[scratch].offset);
done:
    return st;
}
