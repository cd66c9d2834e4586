#include "graph/visit.h"

#include <omp.h>

#include "graph/fuse.h"
#include "graph/rows.h"

int hu_thread_number(void) {
    return omp_get_thread_num();
}

hu_visit hu_visit_begin(hu_run *run, hu_thread *thread, uint32_t region, hu_pass pass, int64_t c) {
    hu_visit visit = {.run = run,
                      .thread = thread,
                      .region = region,
                      .pass = pass,
                      .chunk = c,
                      .first = c * run->options.chunk,
                      .count = hu_chunk_rows(run, c),
                      .bump = {thread->scratch, 0},
                      .number = ++thread->visits};
    return visit;
}

/* ---- forward values ---- */

/* True if aux bytes are made again with the output of their node, and live no longer than that. */
bool hu_visit_makes_aux(const hu_run *run, uint32_t n) {
    const hu_exec *exec = &run->exec[n];
    return exec->aux_bytes > 0 && exec->is_lazy && run->options.recompute &&
           run->is_virtual[run->graph->node[n].out[0]];
}

void hu_visit_point_aux(hu_visit *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_exec *exec = &run->exec[n];
    call->aux = NULL;
    if (exec->aux_bytes == 0) return;
    if (!hu_visit_makes_aux(run, n)) {
        unsigned char *aux = hu_buffer_data(run, exec->aux);
        hu_visit_touch(visit, exec->aux);
        if (aux) call->aux = aux + (size_t)visit->first * exec->aux_bytes;
        return;
    }
    hu_seen *seen = &visit->thread->aux[n];
    if (!hu_is_seen(visit, seen))
        hu_see(visit, seen, hu_visit_take(visit, exec->aux_bytes * (size_t)visit->count));
    call->aux = seen->rows;
}

/* True if the array of input 0 may be overwritten: nobody else reads it. */
static bool overwrites_input(const hu_run *run, const hu_node *node) {
    hu_value_id in = node->in[0];
    const hu_value_info *value = &run->graph->value[in];
    return node->op->in_place && value->use_count == 1 && value->producer != HU_NONE &&
           run->exec[value->producer].is_lazy && run->is_virtual[in] && !(node->op->saves & 1u);
}

/* Where a lazy node writes: over its input, in place, or scratch. */
static float *making_room(hu_visit *visit, const hu_node *node, const hu_op_call *call,
                          bool is_stored) {
    const hu_slot *slot = &visit->run->value[node->out[0]];
    bool in_place = is_stored && slot->storage.trait->is_float32;
    if (in_place || !overwrites_input(visit->run, node))
        return hu_visit_place(visit, slot, is_stored);
    if (is_stored) hu_visit_touch(visit, slot->buffer);
    hu_forget(&visit->thread->value[node->in[0]]);
    return (float *)call->in[0];
}

/* A lazy node's call with its inputs. */
static hu_op_call *load_inputs(hu_visit *visit, uint32_t n) {
    const hu_node *node = &visit->run->graph->node[n];
    hu_op_call *call = hu_visit_call(visit, n);
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_visit_value(visit, node->in[i]);
    return call;
}

/* True if a relu and the node before it run as one: nobody rounds, counts or reads what lies
 * between them. Rehearsals go the longer way, which touches no less, nor takes less scratch: the
 * relu's bits are taken before the other node lends any. */
static bool joins_relu(const hu_run *run, const hu_node *node) {
    hu_value_id in = node->in[0];
    if (!node->op->is_relu || run->is_rehearsal || run->pass.scan || run->records ||
        !overwrites_input(run, node))
        return false;
    const hu_op *before = run->graph->node[run->graph->value[in].producer].op;
    return before->forward_relu && !hu_quantizer_rounds(&run->value[in].edge->quantizer) &&
           run->graph->value[in].elements % 8 == 0;
}

/* The output of a relu and of the node before it. */
static float *make_with_relu(hu_visit *visit, uint32_t n, bool is_stored) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t before = run->graph->value[node->in[0]].producer;
    hu_op_call *relu = hu_visit_call(visit, n), *call = load_inputs(visit, before);
    const hu_node *first = &run->graph->node[before];
    const hu_slot *slot = &run->value[node->out[0]];
    bool in_place = is_stored && slot->storage.trait->is_float32;
    hu_visit_point_aux(visit, n, relu);
    call->out[0] =
        in_place ? hu_visit_place(visit, slot, is_stored) : making_room(visit, first, call, false);
    hu_visit_lend_scratch(visit, before, call);
    hu_work_start(visit);
    first->op->forward_relu(call, relu->aux);
    hu_work_stop(visit, run->exec[before].kind);
    return call->out[0];
}

bool hu_keeps_members(const hu_run *run, const hu_quantizer *from, const hu_quantizer *to) {
    return !run->options.apart && to->kind == HU_QUANTIZER_FLOAT && to->scale == HU_SCALE_NONE &&
           hu_quantizer_same_numbers(from, to);
}

static bool makes_members(const hu_run *run, const hu_node *node) {
    return node->op->picks && hu_keeps_members(run, &run->value[node->in[0]].edge->quantizer,
                                               &run->value[node->out[0]].edge->quantizer);
}

/* Runs a lazy node; true: *rows are its output, false: they must be read from storage. */
static bool make(hu_visit *visit, uint32_t n, const float **rows) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_value_id out = node->out[0];
    bool is_first = visit->pass == HU_FORWARD && run->made_in[out] == visit->region;
    bool is_stored = is_first && !run->is_virtual[out];
    float *y;
    if (joins_relu(run, node)) {
        y = make_with_relu(visit, n, is_stored);
    } else {
        hu_visit_point_aux(visit, n, hu_visit_call(visit, n));
        hu_op_call *call = load_inputs(visit, n);
        y = call->out[0] = making_room(visit, node, call, is_stored);
        hu_visit_lend_scratch(visit, n, call);
        hu_visit_run_op(visit, n, node->op->forward, call);
    }
    *rows = y;
    hu_tally *tally = is_first ? &visit->thread->tally[hu_tally_of_value(run, out)] : NULL;
    return hu_visit_settle(visit, &run->value[out], is_stored, makes_members(run, node), tally, y);
}

static bool is_made_here(const hu_visit *visit, hu_value_id v) {
    hu_run *run = visit->run;
    uint32_t p = run->graph->value[v].producer;
    if (p == HU_NONE || !run->exec[p].is_lazy) return false;
    if (run->is_rehearsal && run->made_in[v] == HU_NONE) run->made_in[v] = visit->region;
    return run->is_virtual[v] || (visit->pass == HU_FORWARD && run->made_in[v] == visit->region);
}

/* The rounded rows of a forward value. */
const float *hu_visit_value(hu_visit *visit, hu_value_id v) {
    hu_run *run = visit->run;
    hu_seen *seen = &visit->thread->value[v];
    const float *rows = NULL;
    if (hu_is_seen(visit, seen)) return seen->rows;
    if (!is_made_here(visit, v) || !make(visit, run->graph->value[v].producer, &rows))
        rows = hu_visit_read(visit, &run->value[v]);
    hu_see(visit, seen, rows);
    return rows;
}

float *hu_visit_room(hu_visit *visit, hu_value_id v) {
    return hu_visit_place(visit, &visit->run->value[v], true);
}

void hu_visit_store(hu_visit *visit, hu_value_id v, float *x) {
    hu_tally *tally = &visit->thread->tally[hu_tally_of_value(visit->run, v)];
    if (hu_visit_settle(visit, &visit->run->value[v], true, false, tally, x))
        hu_see(visit, &visit->thread->value[v], x);
}

/* ---- visits ---- */

static void point_partial(hu_visit *visit, uint32_t n, hu_op_call *call) {
    const hu_exec *exec = &visit->run->exec[n];
    double *all = hu_buffer_data(visit->run, exec->partial[visit->pass]);
    hu_visit_touch(visit, exec->partial[visit->pass]);
    call->partial = all ? all + (size_t)visit->chunk * exec->partial_count[visit->pass] : NULL;
}

/* The partial result of a node. */
static void reduce(hu_visit *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = hu_visit_call(visit, n);
    bool is_own;
    for (int i = 0; i < node->n_in; i++)
        call->in[i] = visit->pass == HU_FORWARD ? hu_visit_value(visit, node->in[i])
                                                : hu_visit_saved(visit, node, i);
    for (int i = 0; i < node->n_out && visit->pass == HU_BACKWARD; i++)
        call->dout[i] = hu_visit_gradient(visit, n, node->out[i], false, &is_own);
    point_partial(visit, n, call);
    hu_visit_lend_scratch(visit, n, call);
    if (run->is_rehearsal) return;
    hu_work_start(visit);
    node->op->reduce(call, visit->pass);
    hu_work_stop(visit, run->exec[n].kind);
}

static void reduce_guests(hu_visit *visit) {
    const hu_exec *exec = visit->run->exec;
    for (uint32_t n = exec[visit->region].first_reduced[visit->pass]; n != HU_NONE;
         n = exec[n].next_reduced[visit->pass])
        reduce(visit, n);
}

void hu_visit_forward(hu_visit *visit) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[visit->region];
    hu_op_call *call = hu_visit_call(visit, visit->region);
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_visit_value(visit, node->in[i]);
    hu_visit_point_aux(visit, visit->region, call);
    for (int i = 0; i < node->n_out; i++) call->out[i] = hu_visit_room(visit, node->out[i]);
    hu_visit_lend_scratch(visit, visit->region, call);
    hu_visit_run_op(visit, visit->region, node->op->forward, call);
    for (int i = 0; i < node->n_out; i++) hu_visit_store(visit, node->out[i], call->out[i]);
    reduce_guests(visit);
}

void hu_visit_backward(hu_visit *visit) {
    const hu_exec *exec = visit->run->exec;
    hu_visit_run_backward(visit, visit->region);
    for (uint32_t n = exec[visit->region].first_pushed; n != HU_NONE; n = exec[n].next_pushed)
        hu_visit_run_backward(visit, n);
    reduce_guests(visit);
}

void hu_visit_reduce(hu_visit *visit) {
    reduce(visit, visit->region);
}
