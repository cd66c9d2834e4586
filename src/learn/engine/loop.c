#include <string.h>

#include "base/checked.h"
#include "engine/chunk.h"

/* Row k of the visit, of an array with `elements` for each sample of the chunk. */
static float *row_of(const hu_chunk *visit, float *rows, int64_t elements, int64_t k) {
    return rows + visit->parts.sample[k] * elements;
}

/* Stores +0 in the steps that the chunk's samples do not have. visit: of whole samples. length:
 * [count] their steps; NULL in a rehearsal. */
static void clear_rest(hu_chunk *visit, const hu_slot *slot, const int64_t *length) {
    size_t bytes = (size_t)hu_part_elements(slot) * sizeof(float);
    hu_bump before = visit->bump;
    float *zeros = hu_chunk_take(visit, bytes);
    hu_chunk_touch(visit, slot->buffer);
    visit->bump = before;
    if (visit->run->rehearsal.is_on) return;
    memset(zeros, 0, bytes);
    for (int64_t s = 0; s < visit->count; s++)
        hu_parts_clear(slot, visit->first + s, length[s], zeros);
}

/* ---- states ---- */

static bool is_in_loop(const hu_chunk *visit, uint32_t n) {
    return visit->loop && hu_loop_at(visit->run, n) == visit->loop;
}

bool hu_is_state(const hu_chunk *visit, hu_value_id v) {
    uint32_t p = visit->run->graph->value[v].producer;
    return p != HU_NONE && is_in_loop(visit, p) && visit->run->graph->node[p].op->is_previous;
}

/* Rows of the visit, gathered from one for each sample of the chunk. */
static const float *gather(hu_chunk *visit, const hu_slot *slot, float *of_samples) {
    int64_t n = hu_chunk_elements(visit, slot);
    float *rows = hu_chunk_take_rows(visit, slot);
    for (int64_t k = 0; of_samples && k < visit->count; k++)
        memcpy(rows + k * n, row_of(visit, of_samples, n, k), (size_t)n * sizeof *rows);
    return rows;
}

const float *hu_step_state(hu_chunk *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_slot *next = &run->value[run->graph->node[n].in[HU_STATE_NEXT]];
    /* A rehearsal has one step, which does what both need. */
    if (visit->parts.step > 0 || run->rehearsal.is_on) {
        const float *rows = hu_chunk_read_step(visit, next, visit->parts.step - 1);
        if (!run->rehearsal.is_on) return rows;
    }
    return gather(visit, next, (float *)visit->thread->loop[n].initial);
}

bool hu_is_carried(const hu_chunk *visit, uint32_t use) {
    const hu_use *u = &visit->run->graph->use[use];
    return is_in_loop(visit, u->node) && visit->run->graph->node[u->node].op->is_previous &&
           u->index == HU_STATE_NEXT;
}

const float *hu_step_carried(hu_chunk *visit, uint32_t n) {
    const hu_run *run = visit->run;
    return gather(visit, &run->value[run->graph->node[n].in[HU_STATE_NEXT]],
                  visit->thread->loop[n].carried);
}

/* Sets what a state carries: gradients x of what it was in this step. */
static void step_carry(const hu_chunk *visit, uint32_t n, const float *x) {
    const hu_run *run = visit->run;
    int64_t elements = hu_chunk_elements(visit, &run->value[run->graph->node[n].out[0]]);
    float *carried = visit->thread->loop[n].carried;
    for (int64_t k = 0; carried && k < visit->count; k++)
        memcpy(row_of(visit, carried, elements, k), x + k * elements, (size_t)elements * sizeof *x);
}

/* ---- wholes ---- */

static int64_t held_elements(const hu_chunk *visit, uint32_t n, int i) {
    return hu_shape_elements(&visit->run->exec[n].info.in[i]);
}

float *hu_step_held_room(hu_chunk *visit, uint32_t n, int i) {
    return hu_chunk_take(visit,
                         (size_t)(visit->count * held_elements(visit, n, i)) * sizeof(float));
}

const float *hu_step_held(hu_chunk *visit, uint32_t n, int i) {
    const float *held = visit->thread->loop[n].held[i];
    size_t elements = (size_t)held_elements(visit, n, i);
    float *rows = hu_step_held_room(visit, n, i);
    if (visit->run->rehearsal.is_on) return rows;
    if (visit->count == hu_chunk_rows(visit->run, visit->chunk)) return held;
    for (int64_t k = 0; k < visit->count; k++)
        memcpy(rows + (size_t)k * elements, held + (size_t)visit->parts.sample[k] * elements,
               elements * sizeof *rows);
    return rows;
}

void hu_step_gather(const hu_chunk *visit, uint32_t n, int i, const float *x) {
    size_t elements = (size_t)held_elements(visit, n, i);
    float *gathered = visit->thread->loop[n].gathered[i];
    for (int64_t k = 0; !visit->run->rehearsal.is_on && k < visit->count; k++) {
        int64_t place = visit->row[visit->parts.sample[k]] + visit->parts.step;
        memcpy(gathered + (size_t)place * elements, x + (size_t)k * elements, elements * sizeof *x);
    }
}

/* ---- parameters ---- */

/* Copies rows to the place of the present step after the steps before it, sample by sample. */
static void keep_rows(const hu_chunk *visit, const hu_shape *shape, const float *x, float *to) {
    size_t n = (size_t)hu_shape_elements(shape);
    for (int64_t k = 0; x && k < visit->count; k++)
        memcpy(to + (size_t)(visit->row[visit->parts.sample[k]] + visit->parts.step) * n,
               x + (size_t)k * n, n * sizeof *x);
}

void hu_step_keep(const hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_node *node = &visit->run->graph->node[n];
    const hu_loop_rows *rows = &visit->thread->loop[n];
    for (int j = 0; j < node->n_params; j++) call->dparam[j] = NULL;
    call->adds_dparam = false;
    if (visit->run->rehearsal.is_on || node->n_params == 0) return;
    if (rows->in) keep_rows(visit, &call->info->in[0], call->in[0], rows->in);
    if (rows->dout) keep_rows(visit, &call->info->out[0], call->dout[0], rows->dout);
}

/* ---- The steps of a loop ---- */

/* The samples of a chunk on their way through the steps. */
typedef struct walk {
    hu_chunk *whole; /* the visit of whole samples */
    const hu_loop *loop;
    int64_t *length; /* [count] steps of each sample */
    int64_t *row;    /* [count] steps of the samples before it */
    int32_t *sample; /* [count] room for those of a step */
    int64_t rows;    /* steps of all samples */
} walk;

static walk begin(hu_chunk *visit) {
    hu_run *run = visit->run;
    walk w = {.whole = visit, .loop = hu_loop_at(run, visit->region)};
    size_t count = (size_t)visit->count;
    const float *lengths = NULL;
    if (w.loop->lengths != HU_NONE) lengths = hu_chunk_read(visit, &run->value[w.loop->lengths]);
    w.length = hu_chunk_take(visit, count * sizeof *w.length);
    w.row = hu_chunk_take(visit, count * sizeof *w.row);
    w.sample = hu_chunk_take(visit, count * sizeof *w.sample);
    for (size_t s = 0; !run->rehearsal.is_on && s < count; s++) {
        w.length[s] = lengths ? hu_rows_of_length(lengths[s], w.loop->steps) : w.loop->steps;
        w.row[s] = w.rows;
        w.rows += w.length[s];
    }
    return w;
}

/* Begins step t in scratch after what all steps share; false: no sample takes part. A rehearsal
 * has one step, in which all do. */
static bool begin_step(const walk *w, int64_t t, hu_chunk *step) {
    const hu_chunk *whole = w->whole;
    *step = *whole;
    step->loop = w->loop;
    step->parts = (hu_parts){.step = t, .first = whole->first, .sample = w->sample};
    step->row = w->row;
    step->number = ++whole->thread->visits;
    if (whole->run->rehearsal.is_on) return t == 0;
    step->count = 0;
    for (int32_t s = 0; s < whole->count; s++)
        if (t < w->length[s]) w->sample[step->count++] = s;
    step->parts.count = step->count;
    return step->count > 0;
}

static const hu_node *node_at(const walk *w, uint32_t n) {
    return &w->whole->run->graph->node[n];
}

/* What all steps of a node read as wholes. */
static void load_held(const walk *w, uint32_t n, bool is_counted) {
    hu_chunk *visit = w->whole;
    const hu_node *node = node_at(w, n);
    for (int i = 0; i < node->n_in && i < HU_MAX_HELD; i++)
        if (hu_is_held(node, i) && (visit->pass == HU_FORWARD || hu_node_saves(node, i)))
            visit->thread->loop[n].held[i] = hu_chunk_input(visit, n, i, is_counted);
}

/* That, and what the states are in step 0. */
static void load_wholes(const walk *w, bool is_counted) {
    hu_chunk *visit = w->whole;
    for (uint32_t n = w->loop->first; n <= w->loop->last; n++) {
        if (node_at(w, n)->op->is_previous)
            visit->thread->loop[n].initial = hu_chunk_input(visit, n, HU_STATE_INITIAL, is_counted);
        load_held(w, n, is_counted);
    }
}

/* ---- forward ---- */

static bool is_stored(const walk *w, const hu_node *node, int i) {
    return !node->op->is_previous && !w->whole->run->is_virtual[node->out[i]];
}

static void clear_values(const walk *w) {
    hu_run *run = w->whole->run;
    for (uint32_t n = w->loop->first; n <= w->loop->last; n++)
        for (int i = 0; i < node_at(w, n)->n_out; i++)
            if (is_stored(w, node_at(w, n), i))
                clear_rest(w->whole, &run->value[node_at(w, n)->out[i]], w->length);
}

static void forward_node(const walk *w, hu_chunk *step, uint32_t n) {
    hu_run *run = step->run;
    const hu_node *node = node_at(w, n);
    hu_op_call *call = hu_chunk_call(step, n);
    if (node->op->is_previous) return; /* its readers ask for it */
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_chunk_input(step, n, i, true);
    for (int i = 0; i < node->n_out; i++)
        call->out[i] = hu_chunk_place(step, &run->value[node->out[i]], is_stored(w, node, i));
    call->mask = NULL;
    hu_chunk_lend_scratch(step, n, call);
    hu_chunk_run_op(step, n, node->op->forward, call);
    for (int i = 0; i < node->n_out; i++) {
        hu_value_id v = node->out[i];
        hu_tally *tally = &step->thread->tally[hu_tally_of_value(run, v)];
        unsigned flags = is_stored(w, node, i) ? HU_ROWS_STORED : 0;
        hu_chunk_clear_padding(step, v, call->out[i]);
        hu_chunk_round(step, &run->value[v], flags, tally, call->out[i]);
        hu_see(step, &step->thread->value[v], call->out[i]);
    }
}

void hu_loop_forward(hu_chunk *visit) {
    walk w = begin(visit);
    hu_chunk step;
    load_wholes(&w, true);
    clear_values(&w);
    for (int64_t t = 0; t < w.loop->steps && begin_step(&w, t, &step); t++)
        for (uint32_t n = w.loop->first; n <= w.loop->last; n++) forward_node(&w, &step, n);
    for (uint32_t n = w.loop->first; n <= w.loop->last; n++)
        if (node_at(&w, n)->op->is_previous) hu_carried_write(visit, n, w.length);
}

/* ---- backward ---- */

/* True if this region makes the gradient of an input, and of this input's rows. */
static bool makes_gradient(const walk *w, const hu_node *node, int i) {
    const hu_run *run = w->whole->run;
    return node->need_din[i] && hu_use_is_stored(run, node->first_use + (uint32_t)i);
}

static void clear_gradients(const walk *w) {
    hu_run *run = w->whole->run;
    for (uint32_t n = w->loop->first; n <= w->loop->last; n++) {
        const hu_node *node = node_at(w, n);
        for (int i = 0; i < node->n_in && !node->op->is_previous; i++)
            if (makes_gradient(w, node, i) && !hu_is_held(node, i))
                clear_rest(w->whole, &run->grad[node->first_use + (uint32_t)i], w->length);
    }
}

static bool has_gradients(const hu_node *node) {
    bool any = false;
    for (int j = 0; j < node->n_params; j++) any |= node->need_dparam[j];
    return any;
}

static float *take_floats(hu_chunk *visit, int64_t count) {
    return hu_chunk_take(visit, (size_t)count * sizeof(float));
}

/* Room for the gradients of wholes, step by step. */
static void take_held(const walk *w, uint32_t n) {
    hu_chunk *visit = w->whole;
    const hu_node *node = node_at(w, n);
    for (int i = 0; i < node->n_in && i < HU_MAX_HELD; i++)
        if (hu_is_held(node, i) && makes_gradient(w, node, i))
            visit->thread->loop[n].gathered[i] =
                take_floats(visit, visit->count * w->loop->steps * held_elements(visit, n, i));
}

/* Room for what goes from step to step. */
static void take_rows(const walk *w) {
    hu_chunk *visit = w->whole;
    for (uint32_t n = w->loop->first; n <= w->loop->last; n++) {
        const hu_node_info *info = &visit->run->exec[n].info;
        hu_loop_rows *rows = &visit->thread->loop[n];
        int64_t out = hu_shape_elements(&info->out[0]), all = visit->count * w->loop->steps;
        take_held(w, n);
        if (node_at(w, n)->op->is_previous) {
            rows->carried = take_floats(visit, visit->count * out);
            if (rows->carried)
                memset(rows->carried, 0, (size_t)(visit->count * out) * sizeof(float));
        } else if (has_gradients(node_at(w, n))) {
            rows->in = take_floats(visit, all * hu_shape_elements(&info->in[0]));
            rows->dout = take_floats(visit, all * out);
        }
    }
}

/* What the state was in this step gets its gradient; it is a contribution to that of what the step
 * before has made. The gradient of the initial row is rounded after the last step. */
static void state_backward(hu_chunk *step, uint32_t n) {
    hu_run *run = step->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + HU_STATE_NEXT;
    hu_value_id state = node->out[0];
    (void)hu_chunk_call(step, n);
    hu_tally *tally = &step->thread->tally[hu_tally_of_sum(run, state)];
    const float *from = hu_chunk_gradient(step, n, state, tally).rows;
    float *x = hu_chunk_take_rows(step, &run->grad[use]);
    if (!run->rehearsal.is_on)
        memcpy(x, from,
               (size_t)(step->count * hu_chunk_elements(step, &run->grad[use])) * sizeof *x);
    if (step->parts.step > 0 && node->need_din[HU_STATE_NEXT])
        hu_chunk_round(step, &run->grad[use], 0, &step->thread->tally[hu_tally_of_use(run, use)],
                       x);
    step_carry(step, n, x);
}

static void initial_gradient(hu_chunk *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + HU_STATE_INITIAL;
    const hu_slot *slot = &run->grad[use];
    if (!node->op->is_previous || !node->need_din[HU_STATE_INITIAL]) return;
    float *x = hu_chunk_place(visit, slot, true);
    if (!run->rehearsal.is_on)
        memcpy(x, visit->thread->loop[n].carried,
               (size_t)(visit->count * slot->elements) * sizeof *x);
    hu_chunk_round(visit, slot, HU_ROWS_STORED, &visit->thread->tally[hu_tally_of_use(run, use)],
                   x);
}

/* x [count, elements]: of every sample the sum over its steps, t ascending, in double. */
static void sum_steps(const walk *w, int64_t elements, const float *gathered, double *sum,
                      float *x) {
    for (int64_t s = 0; s < w->whole->count; s++, x += elements) {
        for (int64_t k = 0; k < elements; k++) sum[k] = 0.0;
        for (int64_t t = 0; t < w->length[s]; t++, gathered += elements)
            for (int64_t k = 0; k < elements; k++) sum[k] += (double)gathered[k];
        for (int64_t k = 0; k < elements; k++) x[k] = (float)sum[k];
    }
}

/* Gradients of what all steps have read. */
static void held_gradients(const walk *w, uint32_t n) {
    hu_chunk *visit = w->whole;
    hu_run *run = visit->run;
    const hu_node *node = node_at(w, n);
    for (int i = 0; i < node->n_in && i < HU_MAX_HELD; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        const hu_slot *slot = &run->grad[use];
        if (!hu_is_held(node, i) || !makes_gradient(w, node, i)) continue;
        float *x = hu_chunk_place(visit, slot, true);
        double *sum = hu_chunk_take(visit, (size_t)slot->elements * sizeof *sum);
        if (!run->rehearsal.is_on)
            sum_steps(w, slot->elements, visit->thread->loop[n].gathered[i], sum, x);
        hu_chunk_clear_padding(visit, node->in[i], x);
        hu_learn_input(visit, n, i, x);
        hu_chunk_round(visit, slot, HU_ROWS_STORED,
                       &visit->thread->tally[hu_tally_of_use(run, use)], x);
    }
}

/* The call with all rows of the chunk, for the gradients of a node's parameters. A chunk without
 * any has one of zeros: it adds nothing. */
static void parameter_gradients(const walk *w, uint32_t n) {
    hu_chunk *visit = w->whole;
    hu_run *run = visit->run;
    const hu_node *node = node_at(w, n);
    const hu_loop_rows *rows = &visit->thread->loop[n];
    if (node->op->is_previous || !has_gradients(node)) return;
    hu_op_call *call = hu_chunk_call(visit, n);
    call->in[0] = rows->in;
    call->dout[0] = rows->dout;
    call->din[0] = NULL;
    call->count = w->rows;
    if (w->rows == 0 && !run->rehearsal.is_on) {
        memset(rows->in, 0, (size_t)hu_shape_elements(&call->info->in[0]) * sizeof(float));
        memset(rows->dout, 0, (size_t)hu_shape_elements(&call->info->out[0]) * sizeof(float));
        call->count = 1;
    }
    hu_chunk_point_dparams(visit, n, call);
    hu_chunk_lend_scratch(visit, n, call);
    if (!run->exec[n].sums_in_batch_order)
        hu_chunk_run_op(visit, n, node->op->backward, call);
    else
        call->count = w->rows;
}

void hu_loop_backward(hu_chunk *visit) {
    walk w = begin(visit);
    hu_chunk step;
    load_wholes(&w, false);
    take_rows(&w);
    clear_gradients(&w);
    for (uint32_t n = w.loop->first; n <= w.loop->last; n++) hu_learn_begin_loop(visit, n);
    for (int64_t t = w.loop->steps; t-- > 0;) {
        if (!begin_step(&w, t, &step)) continue;
        for (uint32_t n = w.loop->last + 1; n-- > w.loop->first;) {
            if (!node_at(&w, n)->needs_backward) continue;
            if (node_at(&w, n)->op->is_previous)
                state_backward(&step, n);
            else
                hu_chunk_run_backward(&step, n);
        }
    }
    for (uint32_t n = w.loop->first; n <= w.loop->last; n++) {
        initial_gradient(visit, n);
        held_gradients(&w, n);
        parameter_gradients(&w, n);
    }
}
