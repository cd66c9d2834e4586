#include "graph/rehearse.h"

#include "base/memory.h"
#include "graph/fuse.h"
#include "graph/visit.h"

void hu_rehearse_buffer(hu_run *run, uint32_t buffer) {
    if (buffer == HU_NONE) return;
    hu_buffer *b = &run->buffers[buffer];
    if (run->time < b->first) b->first = run->time;
    if (run->time > b->last) b->last = run->time;
}

void hu_rehearse_scratch(hu_run *run, size_t bytes) {
    if (bytes > run->scratch_bytes) run->scratch_bytes = bytes;
}

static bool is_member(const hu_members *members, uint32_t n) {
    for (uint32_t i = 0; i < members->count; i++)
        if (members->node[i] == n) return true;
    return false;
}

static hu_status insert(hu_members *members, uint32_t n) {
    void *array = members->node;
    hu_status st = hu_realloc(&array, (members->count + 1) * sizeof *members->node);
    if (st != HU_OK) return st;
    members->node = array;
    uint32_t at = members->count++;
    for (; at > 0 && members->node[at - 1] > n; at--) members->node[at] = members->node[at - 1];
    members->node[at] = n;
    return HU_OK;
}

void hu_rehearse_member(hu_run *run, uint32_t region, uint32_t n, hu_pass pass) {
    const hu_exec *exec = &run->exec[n];
    hu_members *members = &run->exec[region].members[pass];
    hu_rehearse_buffer(run, exec->stats);
    hu_rehearse_buffer(run, exec->params[pass]);
    hu_rehearse_buffer(run, exec->workspace[pass]);
    if (run->rehearsal == HU_OK && !is_member(members, n)) run->rehearsal = insert(members, n);
}

/* One visit of a region, to a chunk of full length. */
static void walk(hu_run *run, uint32_t n, hu_pass pass, void (*step)(hu_visit *)) {
    hu_visit visit = hu_visit_begin(run, &run->thread[0], n, pass, 0);
    step(&visit);
}

static void walk_reduced(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_node *node = &run->graph->node[n];
    hu_rehearse_buffer(run, run->exec[n].partial[pass]);
    hu_rehearse_buffer(run, run->exec[n].stats);
    if (pass == HU_BACKWARD) hu_rehearse_buffer(run, run->exec[n].dpartial);
    for (int j = 0; j < node->n_params && pass == HU_BACKWARD; j++)
        hu_rehearse_buffer(run, run->grad[node->first_use + (uint32_t)(node->n_in + j)].buffer);
}

static void walk_guests(hu_run *run, uint32_t n, hu_pass pass) {
    for (uint32_t m = run->exec[n].first_reduced[pass]; m != HU_NONE;
         m = run->exec[m].next_reduced[pass])
        walk_reduced(run, m, pass);
}

static void walk_forward(hu_run *run) {
    const hu_graph *graph = run->graph;
    run->time = 0;
    hu_rehearse_buffer(run, run->value[graph->image].buffer);
    hu_rehearse_buffer(run, run->value[graph->image].waiting);
    hu_rehearse_buffer(run, run->value[graph->label].buffer);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        run->time = hu_time_forward(n);
        if (hu_reduces_apart(run, n, HU_FORWARD)) {
            walk(run, n, HU_FORWARD, hu_visit_reduce);
            walk_reduced(run, n, HU_FORWARD);
        }
        if (run->exec[n].is_lazy) continue;
        walk(run, n, HU_FORWARD, hu_visit_forward);
        walk_guests(run, n, HU_FORWARD);
    }
}

static void walk_backward(hu_run *run) {
    const hu_graph *graph = run->graph;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        if (!graph->node[n].needs_backward) continue;
        run->time = hu_time_backward(graph, n);
        if (hu_reduces_apart(run, n, HU_BACKWARD)) {
            walk(run, n, HU_BACKWARD, hu_visit_reduce);
            walk_reduced(run, n, HU_BACKWARD);
        }
        if (run->exec[n].backward_in != n) continue;
        walk(run, n, HU_BACKWARD, hu_visit_backward);
        walk_reduced(run, n, HU_BACKWARD);
        walk_guests(run, n, HU_BACKWARD);
    }
}

/* The gradients and rounded copies of the parameters live until the update. */
static void keep_until_update(hu_run *run) {
    const hu_graph *graph = run->graph;
    run->time = hu_time_update(graph);
    for (uint32_t u = 0; u < graph->use_count; u++)
        if (graph->value[graph->use[u].value].role == HU_VALUE_PARAMETER)
            hu_rehearse_buffer(run, run->grad[u].buffer);
}

/* What no step has used needs no memory. */
static void drop_unused(hu_run *run) {
    for (uint32_t b = 0; b < run->buffer_count; b++) {
        hu_buffer *buffer = &run->buffers[b];
        if (buffer->last >= buffer->first) continue;
        buffer->first = buffer->last = 0;
        buffer->bytes = 0;
    }
}

hu_status hu_rehearse(hu_run *run) {
    run->is_rehearsal = true;
    run->rehearsal = HU_OK;
    run->pass = (hu_pass_options){.training = true, .samples = run->options.chunk};
    run->chunks = 1;
    walk_forward(run);
    walk_backward(run);
    keep_until_update(run);
    drop_unused(run);
    run->is_rehearsal = false;
    return run->rehearsal;
}
