#include "graph/visit.h"

#include <omp.h>
#include <string.h>

#include "graph/fuse.h"
#include "graph/rehearse.h"
#include "graph/rescale.h"
#include "graph/work.h"
#include "kernel/fused/fused.h"

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

/* ---- time ---- */

static void start_clock(hu_visit *visit) {
    if (visit->run->pass.timed) visit->since = hu_work_clock();
}

static void stop_clock(hu_visit *visit, int work) {
    if (visit->run->pass.timed) visit->thread->seconds[work] += hu_work_clock() - visit->since;
}

/* ---- scratch and buffers ---- */

static void *take(hu_visit *visit, size_t bytes) {
    void *part = hu_bump_take(&visit->bump, bytes);
    if (visit->run->is_rehearsal) hu_rehearse_scratch(visit->run, visit->bump.used);
    return part;
}

static float *take_rows(hu_visit *visit, const hu_slot *slot) {
    return take(visit, (size_t)(slot->elements * visit->count) * sizeof(float));
}

static void touch(hu_visit *visit, uint32_t buffer) {
    if (visit->run->is_rehearsal) hu_rehearse_buffer(visit->run, buffer);
}

static const float *read_rows(hu_visit *visit, const hu_slot *slot) {
    touch(visit, slot->buffer);
    float *scratch = slot->storage.trait->is_float32 ? NULL : take_rows(visit, slot);
    if (visit->run->is_rehearsal) return NULL;
    start_clock(visit);
    const float *x =
        hu_storage_read(&slot->storage, slot->data, visit->first, visit->count, scratch);
    stop_clock(visit, hu_op_count + HU_WORK_UNPACK);
    return x;
}

/* Where an op writes rows of a slot: in place, where rows wait, or scratch. */
static float *room(hu_visit *visit, const hu_slot *slot, bool is_stored) {
    if (!is_stored) return take_rows(visit, slot);
    touch(visit, slot->buffer);
    touch(visit, slot->waiting);
    if (slot->storage.trait->is_float32)
        return slot->data ? hu_storage_in_place(&slot->storage, slot->data, visit->first) : NULL;
    if (slot->waiting != HU_NONE) return hu_rescale_room(slot, visit->first);
    return take_rows(visit, slot);
}

/* Rounds rows that an op wrote to their room, and stores them. True: they can be read there in this
 * visit; false: they must be read from storage, or wait. tally NULL: counted before. */
static bool settle(hu_visit *visit, const hu_slot *slot, bool is_stored, bool is_member,
                   hu_tally *tally, float *x) {
    hu_run *run = visit->run;
    bool waits = hu_quantizer_needs_maximum(&slot->edge->quantizer);
    bool is_readable = !waits && !(is_stored && hu_storage_is_blocks(&slot->storage));
    if (run->is_rehearsal) return is_readable;
    if (tally && (waits || slot->history != HU_NONE)) hu_rescale_top(slot, tally, visit->count, x);
    if (waits) return is_readable;
    start_clock(visit);
    hu_round_counts *counts = tally ? &tally->counts : NULL;
    if (is_member)
        hu_slot_keep(slot, &run->context, visit->first, visit->count, x, is_stored, counts);
    else if (is_stored)
        hu_slot_store(slot, &run->context, visit->first, visit->count, x, counts);
    else
        hu_slot_round(slot, &run->context, visit->first, visit->count, x, counts);
    stop_clock(visit, hu_op_count + HU_WORK_ROUND);
    return is_readable;
}

/* ---- what is there already ---- */

static bool is_seen(const hu_visit *visit, const hu_seen *seen) {
    return seen->visit == visit->number;
}

static void note(const hu_visit *visit, hu_seen *seen, const void *rows) {
    seen->visit = visit->number;
    seen->rows = (void *)rows;
}

static void forget(hu_seen *seen) {
    seen->visit = 0;
}

/* The call of a node of this region. */
static hu_op_call *call_of(hu_visit *visit, uint32_t n) {
    hu_op_call *call = &visit->thread->call[n];
    if (visit->run->is_rehearsal) hu_rehearse_member(visit->run, visit->region, n, visit->pass);
    call->first = visit->first;
    call->count = visit->count;
    return call;
}

typedef void op_fn(const hu_op_call *call);

/* Runs one of a node's functions, outside rehearsals. */
static void run_op(hu_visit *visit, uint32_t n, op_fn *run, const hu_op_call *call) {
    if (visit->run->is_rehearsal) return;
    start_clock(visit);
    run(call);
    stop_clock(visit, visit->run->exec[n].kind);
}

/* Scratch of the op's own, behind all that was taken. */
static void lend_scratch(hu_visit *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_op *op = run->graph->node[n].op;
    call->scratch = run->is_rehearsal ? NULL : visit->thread->scratch + visit->bump.used;
    if (run->is_rehearsal && op->scratch_bytes)
        hu_rehearse_scratch(run,
                            visit->bump.used + op->scratch_bytes(&run->exec[n].info,
                                                                 run->exec[n].state, visit->pass));
}

/* ---- forward values ---- */

/* True if aux bytes are made again with the output of their node, and live no longer than that. */
static bool makes_aux(const hu_run *run, uint32_t n) {
    const hu_exec *exec = &run->exec[n];
    return exec->aux_bytes > 0 && exec->is_lazy && run->options.recompute &&
           run->is_virtual[run->graph->node[n].out[0]];
}

static void point_aux(hu_visit *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_exec *exec = &run->exec[n];
    call->aux = NULL;
    if (exec->aux_bytes == 0) return;
    if (!makes_aux(run, n)) {
        unsigned char *aux = hu_buffer_data(run, exec->aux);
        touch(visit, exec->aux);
        if (aux) call->aux = aux + (size_t)visit->first * exec->aux_bytes;
        return;
    }
    hu_seen *seen = &visit->thread->aux[n];
    if (!is_seen(visit, seen))
        note(visit, seen, take(visit, exec->aux_bytes * (size_t)visit->count));
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
    if (in_place || !overwrites_input(visit->run, node)) return room(visit, slot, is_stored);
    if (is_stored) touch(visit, slot->buffer);
    forget(&visit->thread->value[node->in[0]]);
    return (float *)call->in[0];
}

/* A lazy node's call with its inputs. */
static hu_op_call *load_inputs(hu_visit *visit, uint32_t n) {
    const hu_node *node = &visit->run->graph->node[n];
    hu_op_call *call = call_of(visit, n);
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_visit_value(visit, node->in[i]);
    return call;
}

/* True if a relu and the node before it run as one: nobody rounds, counts or reads what lies
 * between them. Rehearsals go the longer way, which touches no less. */
static bool joins_relu(const hu_run *run, const hu_node *node) {
    hu_value_id in = node->in[0];
    if (!node->op->is_relu || run->is_rehearsal || run->pass.scan || !overwrites_input(run, node))
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
    hu_op_call *relu = call_of(visit, n), *call = load_inputs(visit, before);
    const hu_node *first = &run->graph->node[before];
    const hu_slot *slot = &run->value[node->out[0]];
    bool in_place = is_stored && slot->storage.trait->is_float32;
    point_aux(visit, n, relu);
    call->out[0] = in_place ? room(visit, slot, is_stored) : making_room(visit, first, call, false);
    lend_scratch(visit, before, call);
    start_clock(visit);
    first->op->forward_relu(call, relu->aux);
    stop_clock(visit, run->exec[before].kind);
    return call->out[0];
}

/* True if what one quantizer has rounded, and an op has picked from, the other leaves as it is. */
static bool keeps_members(const hu_run *run, const hu_quantizer *from, const hu_quantizer *to) {
    return !run->options.apart && to->kind == HU_QUANTIZER_FLOAT && to->scale == HU_SCALE_NONE &&
           hu_quantizer_same_numbers(from, to);
}

static bool makes_members(const hu_run *run, const hu_node *node) {
    return node->op->picks && keeps_members(run, &run->value[node->in[0]].edge->quantizer,
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
        hu_op_call *call = load_inputs(visit, n);
        point_aux(visit, n, call);
        y = call->out[0] = making_room(visit, node, call, is_stored);
        lend_scratch(visit, n, call);
        run_op(visit, n, node->op->forward, call);
    }
    *rows = y;
    hu_tally *tally = is_first ? &visit->thread->tally[hu_tally_of_value(run, out)] : NULL;
    return settle(visit, &run->value[out], is_stored, makes_members(run, node), tally, y);
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
    if (is_seen(visit, seen)) return seen->rows;
    if (!is_made_here(visit, v) || !make(visit, run->graph->value[v].producer, &rows))
        rows = read_rows(visit, &run->value[v]);
    note(visit, seen, rows);
    return rows;
}

float *hu_visit_room(hu_visit *visit, hu_value_id v) {
    return room(visit, &visit->run->value[v], true);
}

void hu_visit_store(hu_visit *visit, hu_value_id v, float *x) {
    hu_tally *tally = &visit->thread->tally[hu_tally_of_value(visit->run, v)];
    if (settle(visit, &visit->run->value[v], true, false, tally, x))
        note(visit, &visit->thread->value[v], x);
}

static void point_partial(hu_visit *visit, uint32_t n, hu_op_call *call) {
    const hu_exec *exec = &visit->run->exec[n];
    double *all = hu_buffer_data(visit->run, exec->partial[visit->pass]);
    touch(visit, exec->partial[visit->pass]);
    call->partial = all ? all + (size_t)visit->chunk * exec->partial_count[visit->pass] : NULL;
}

static void reduce_guests(hu_visit *visit);

void hu_visit_forward(hu_visit *visit) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[visit->region];
    hu_op_call *call = call_of(visit, visit->region);
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_visit_value(visit, node->in[i]);
    point_aux(visit, visit->region, call);
    for (int i = 0; i < node->n_out; i++) call->out[i] = hu_visit_room(visit, node->out[i]);
    lend_scratch(visit, visit->region, call);
    run_op(visit, visit->region, node->op->forward, call);
    for (int i = 0; i < node->n_out; i++) hu_visit_store(visit, node->out[i], call->out[i]);
    reduce_guests(visit);
}

/* ---- gradients ---- */

static void fill_with(size_t n, float *x, float value) {
    for (size_t i = 0; i < n; i++) x[i] = value;
}

static uint32_t count_contributions(const hu_graph *graph, const hu_value_info *value) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        count += hu_use_has_gradient(graph, value->uses[k]);
    return count;
}

/* The use of a value that brings contribution number k. */
static uint32_t contribution_at(const hu_graph *graph, const hu_value_info *value, uint32_t k) {
    uint32_t i = 0;
    while (!hu_use_has_gradient(graph, value->uses[i]) || k-- > 0) i++;
    return value->uses[i];
}

/* Rounding a contribution again to the grid it is on changes nothing. */
bool hu_chunk_rounds_sum(const hu_run *run, hu_value_id id) {
    const hu_value_info *value = &run->graph->value[id];
    const hu_quantizer *sum = &run->grad_sum[id].edge->quantizer;
    uint32_t count = count_contributions(run->graph, value);
    if (!hu_quantizer_rounds(sum)) return false;
    if (count != 1) return count > 1;
    uint32_t only = contribution_at(run->graph, value, 0);
    return !hu_quantizer_same_numbers(&run->grad[only].edge->quantizer, sum);
}

static void run_backward(hu_visit *visit, uint32_t n);

/* The rounded rows of one contribution: made in this visit, asked for, or stored. */
static const float *contribution(hu_visit *visit, uint32_t use) {
    hu_run *run = visit->run;
    use = run->twin[use];
    hu_seen *seen = &visit->thread->contribution[use];
    uint32_t reader = run->graph->use[use].node;
    if (!is_seen(visit, seen) && run->exec[reader].is_pulled && !hu_use_is_stored(run, use))
        run_backward(visit, reader);
    if (!is_seen(visit, seen)) note(visit, seen, read_rows(visit, &run->grad[use]));
    return seen->rows;
}

/* Contributions are added in consumer order. */
const float *hu_visit_gradient_sum(hu_visit *visit, hu_value_id v) {
    hu_run *run = visit->run;
    const hu_value_info *value = &run->graph->value[v];
    uint32_t count = count_contributions(run->graph, value);
    int64_t n = value->elements * visit->count;
    float *sum = take_rows(visit, &run->grad_sum[v]);
    if (count == 0 && !run->is_rehearsal) fill_with((size_t)n, sum, 0.0f);
    const float *left = NULL;
    for (uint32_t k = 0; k < count; k++) {
        const float *right = contribution(visit, contribution_at(run->graph, value, k));
        if (k > 0 && !run->is_rehearsal) hu_fused()->add(n, left, right, sum);
        left = k > 0 ? sum : right;
    }
    if (count == 1 && !run->is_rehearsal) memcpy(sum, left, (size_t)n * sizeof *sum);
    return sum;
}

/* The gradient of a node's output, rounded; is_own: in scratch that nobody else reads. */
static const float *gradient(hu_visit *visit, uint32_t n, hu_value_id v, bool counts,
                             bool *is_own) {
    hu_run *run = visit->run;
    const hu_value_info *value = &run->graph->value[v];
    bool rounds = hu_chunk_rounds_sum(run, v);
    *is_own = true;
    if (n == run->graph->loss_node) {
        float *seed = take(visit, (size_t)visit->count * sizeof(float));
        if (!run->is_rehearsal) fill_with((size_t)visit->count, seed, run->pass.seed_gradient);
        return seed;
    }
    if (count_contributions(run->graph, value) == 1 && !rounds) {
        uint32_t only = contribution_at(run->graph, value, 0);
        const hu_slot *slot = &run->grad[only];
        *is_own = !hu_use_is_stored(run, only) || !slot->storage.trait->is_float32;
        return contribution(visit, only);
    }
    const float *sum = hu_visit_gradient_sum(visit, v);
    hu_tally *tally = counts ? &visit->thread->tally[hu_tally_of_sum(run, v)] : NULL;
    if (rounds && !run->is_rehearsal)
        hu_slot_round(&run->grad_sum[v], &run->context, visit->first, visit->count, (float *)sum,
                      tally ? &tally->counts : NULL);
    return sum;
}

static const float *saved_value(hu_visit *visit, const hu_node *node, int i) {
    bool is_saved = i < 16 && (node->op->saves >> i & 1u);
    return is_saved ? hu_visit_value(visit, node->in[i]) : NULL;
}

static void load_saved(hu_visit *visit, uint32_t n, hu_op_call *call) {
    const hu_node *node = &visit->run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) call->in[i] = saved_value(visit, node, i);
    for (int i = 0; i < node->n_out; i++) {
        bool is_saved = i == 0 && (node->op->saves & HU_SAVE_OUTPUT_0);
        call->out[i] = is_saved ? (float *)hu_visit_value(visit, node->out[i]) : NULL;
    }
    if (makes_aux(visit->run, n)) (void)hu_visit_value(visit, node->out[0]);
}

/* Rows of a twin are those of two uses: the other one reads them from storage again. */
static void forget_contributions(hu_visit *visit, hu_value_id v) {
    const hu_value_info *value = &visit->run->graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        forget(&visit->thread->contribution[visit->run->twin[value->uses[k]]]);
}

/* The use at the end of a row of nodes that work in place, if its contribution is stored as
 * float32: the first of them may write there at once. HU_NONE: there is none. */
static uint32_t last_place(const hu_visit *visit, uint32_t use) {
    const hu_run *run = visit->run;
    while (!hu_use_is_stored(run, use)) {
        hu_value_id v = run->graph->use[use].value;
        const hu_value_info *value = &run->graph->value[v];
        uint32_t p = value->producer;
        const hu_node *node = &run->graph->node[p];
        if (run->exec[p].is_pulled || p == visit->region || !node->op->in_place ||
            !node->need_din[0] || count_contributions(run->graph, value) != 1 ||
            hu_chunk_rounds_sum(run, v))
            return HU_NONE;
        use = node->first_use;
    }
    const hu_slot *slot = &run->grad[use];
    bool is_place =
        slot->storage.trait->is_float32 && !hu_quantizer_needs_maximum(&slot->edge->quantizer);
    return is_place ? use : HU_NONE;
}

/* Room for the gradient of one input; that of the first may take the place of the output's. */
static float *din_room(hu_visit *visit, uint32_t n, int i, const hu_op_call *call,
                       bool may_overwrite) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + (uint32_t)i;
    const hu_slot *slot = &run->grad[use];
    bool is_stored = hu_use_is_stored(run, use);
    uint32_t place = last_place(visit, use);
    if (place != HU_NONE) return room(visit, &run->grad[place], true);
    if (i > 0 || !may_overwrite || slot->waiting != HU_NONE ||
        (is_stored && slot->storage.trait->is_float32))
        return room(visit, slot, is_stored);
    if (is_stored) touch(visit, slot->buffer);
    forget_contributions(visit, node->out[0]);
    return (float *)call->dout[0];
}

static bool is_made(const hu_run *run, const hu_node *node, int i) {
    uint32_t use = node->first_use + (uint32_t)i;
    return node->need_din[i] && run->twin[use] == use;
}

/* True if the gradient of an input is made of numbers that its own rounding leaves as they are. */
static bool makes_member_gradient(const hu_run *run, const hu_node *node, uint32_t use) {
    hu_value_id out = node->out[0];
    const hu_value_info *value = &run->graph->value[out];
    const hu_quantizer *to = &run->grad[use].edge->quantizer;
    if (!node->op->picks_gradient) return false;
    if (hu_chunk_rounds_sum(run, out))
        return keeps_members(run, &run->grad_sum[out].edge->quantizer, to);
    if (count_contributions(run->graph, value) != 1) return false;
    uint32_t only = contribution_at(run->graph, value, 0);
    return keeps_members(run, &run->grad[only].edge->quantizer, to);
}

/* Runs a node of this region backward. */
static void run_backward(hu_visit *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = call_of(visit, n);
    bool is_own = false;
    load_saved(visit, n, call);
    for (int i = 0; i < node->n_out; i++)
        call->dout[i] = gradient(visit, n, node->out[i], true, &is_own);
    point_aux(visit, n, call);
    for (int i = 0; i < node->n_in; i++)
        call->din[i] = is_made(run, node, i)
                           ? din_room(visit, n, i, call, node->op->in_place && is_own)
                           : NULL;
    hu_point_dparams(run, n, hu_dparam_per_chunk(run, n) ? visit->partial : 0, call->dparam);
    touch(visit, run->exec[n].dpartial);
    call->adds_dparam = visit->adds;
    lend_scratch(visit, n, call);
    run_op(visit, n, node->op->backward, call);
    for (int i = 0; i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        hu_tally *tally = &visit->thread->tally[hu_tally_of_use(run, use)];
        if (is_made(run, node, i) &&
            settle(visit, &run->grad[use], hu_use_is_stored(run, use),
                   makes_member_gradient(run, node, use), tally, call->din[i]))
            note(visit, &visit->thread->contribution[use], call->din[i]);
    }
}

/* The partial result of a node. */
static void reduce(hu_visit *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = call_of(visit, n);
    bool is_own;
    for (int i = 0; i < node->n_in; i++)
        call->in[i] = visit->pass == HU_FORWARD ? hu_visit_value(visit, node->in[i])
                                                : saved_value(visit, node, i);
    for (int i = 0; i < node->n_out && visit->pass == HU_BACKWARD; i++)
        call->dout[i] = gradient(visit, n, node->out[i], false, &is_own);
    point_partial(visit, n, call);
    lend_scratch(visit, n, call);
    if (run->is_rehearsal) return;
    start_clock(visit);
    node->op->reduce(call, visit->pass);
    stop_clock(visit, run->exec[n].kind);
}

static void reduce_guests(hu_visit *visit) {
    const hu_exec *exec = visit->run->exec;
    for (uint32_t n = exec[visit->region].first_reduced[visit->pass]; n != HU_NONE;
         n = exec[n].next_reduced[visit->pass])
        reduce(visit, n);
}

void hu_visit_backward(hu_visit *visit) {
    const hu_exec *exec = visit->run->exec;
    run_backward(visit, visit->region);
    for (uint32_t n = exec[visit->region].first_pushed; n != HU_NONE; n = exec[n].next_pushed)
        run_backward(visit, n);
    reduce_guests(visit);
}

void hu_visit_reduce(hu_visit *visit) {
    reduce(visit, visit->region);
}
