#include "engine/step.h"

#include <string.h>

#include "engine/run.h"

/* Row k of the visit, of an array with `elements` for each sample of the chunk. */
static float *row_of(const hu_chunk *visit, float *rows, int64_t elements, int64_t k) {
    return rows + visit->parts.sample[k] * elements;
}

void hu_step_clear_rest(hu_chunk *visit, const hu_slot *slot, const int64_t *length) {
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

void hu_step_carry(const hu_chunk *visit, uint32_t n, const float *x) {
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

/* Copies rows to the place of the present step behind the steps before it, sample by sample. */
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
