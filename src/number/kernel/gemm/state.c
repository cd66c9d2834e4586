/* kernel/gemm/state.c - sums rest in carry, or in c and a part of scratch.
 *
 * At rest, an FMAC's accumulator is in `sum`, and a block of FMAC-K that is complete is added to
 * its master: FMAC-K then needs no second number wherever stretches end with a block.
 */
#include "kernel/gemm/state.h"

#include <string.h>

#include "kernel/gemm/pack_table.h"

/* Where the state of an element rests; extra may be NULL. */
typedef struct rest {
    float *sum, *extra;
    int64_t sum_ld, extra_ld;
} rest;

/* In carry if there is one; else `sum` rests in c itself, which is complete only behind the last
 * stretch, and `extra` in scratch. */
static rest rest_of(const hu_gemm_worker *w) {
    const hu_gemm_task *t = w->job->task;
    const hu_gemm_plan *p = &w->job->plan;
    int64_t dense = w->first_row * t->n + w->first_column;
    float *second = t->carry && p->has_extra ? t->carry + t->m * t->n + dense : NULL;
    if (t->carry) return (rest){t->carry + dense, second, t->n, t->n};
    rest r = {t->c + w->first_row * t->c_stride + w->first_column, NULL, t->c_stride, t->n};
    if (p->has_two_states) r.extra = (float *)hu_gemm_shared(w->job, p->extra_store) + dense;
    return r;
}

/* Padding too: kernels add to it like to every other accumulator. */
static void clear_state(hu_gemm_worker *w, int64_t rows) {
    memset(w->sum, 0, (size_t)(rows * w->ld) * sizeof *w->sum);
    if (w->job->plan.has_extra) memset(w->extra, 0, (size_t)(rows * w->ld) * sizeof *w->extra);
}

/* The kernels keep the accumulator of FMAC in extra. */
static void gather_states(hu_gemm_worker *w) {
    for (int64_t i = 0; i < w->rows * w->ld; i++) {
        w->extra[i] += w->sum[i];
        w->sum[i] = 0;
    }
}

static void copy_in(const hu_gemm_worker *w, const float *from, int64_t from_ld, float *to) {
    for (int64_t i = 0; i < w->rows; i++)
        memcpy(to + i * w->ld, from + i * from_ld, (size_t)w->columns * sizeof *to);
}

static void copy_out(const hu_gemm_worker *w, const float *from, float *to, int64_t to_ld) {
    for (int64_t i = 0; i < w->rows; i++)
        memcpy(to + i * to_ld, from + i * w->ld, (size_t)w->columns * sizeof *to);
}

void hu_gemm_state_load(hu_gemm_worker *w, int64_t k, int64_t row_panels, int64_t column_panels) {
    const hu_gemm_plan *p = &w->job->plan;
    const hu_gemm_task *task = w->job->task;
    bool is_start = k == 0 && task->before == 0;
    rest r = rest_of(w);
    clear_state(w, row_panels * p->rows);
    if (!is_start) {
        copy_in(w, r.sum, r.sum_ld, w->sum);
        if (r.extra) copy_in(w, r.extra, r.extra_ld, w->extra);
        if (p->mac == HU_MAC_FMAC) gather_states(w);
    }
    if (!w->job->needs_facts) return;
    for (int64_t i = 0; i < row_panels; i++)
        for (int64_t j = 0; j < column_panels; j++) {
            if (is_start)
                w->reach[i * p->chunk_panels + j] = (hu_gemm_reach){.quantum = HU_NO_QUANTUM};
            else
                hu_gemm_measure_state(w, i, j);
        }
}

/* Modes that keep numbers to be added to the sum in extra. */
static bool is_added(hu_mac mac) {
    return mac == HU_MAC_FMAC || mac == HU_MAC_FMAC_K;
}

/* The state at rest is that of reference.h, with complete blocks added to their master. */
static void put_to_rest(hu_gemm_worker *w, int64_t k) {
    const hu_gemm_task *t = w->job->task;
    const hu_accumulator *accumulator = &t->accumulator;
    bool is_complete =
        accumulator->mac == HU_MAC_FMAC ||
        (accumulator->mac == HU_MAC_FMAC_K && (t->before + k) % accumulator->block == 0);
    rest r = rest_of(w);
    for (int64_t i = 0; is_complete && i < w->rows; i++) {
        float *sum = w->sum + i * w->ld, *extra = w->extra + i * w->ld;
        w->job->pack->finish((size_t)w->columns, sum, extra, NULL, sum);
        memset(extra, 0, (size_t)w->columns * sizeof *extra);
    }
    copy_out(w, w->sum, r.sum, r.sum_ld);
    if (r.extra) copy_out(w, w->extra, r.extra, r.extra_ld);
}

void hu_gemm_state_store(hu_gemm_worker *w, int64_t k, bool is_last) {
    const hu_gemm_task *t = w->job->task;
    if (t->carry || !is_last) put_to_rest(w, k);
    for (int64_t i = 0; is_last && i < w->rows; i++) {
        const float *sum = w->sum + i * w->ld, *extra = w->extra + i * w->ld;
        w->job->pack->finish((size_t)w->columns, sum, is_added(t->accumulator.mac) ? extra : NULL,
                             t->bias ? t->bias + w->first_column : NULL,
                             t->c + (w->first_row + i) * t->c_stride + w->first_column);
    }
}

void hu_gemm_state_end(const hu_gemm_task *t) {
    const hu_pack_set *pack = hu_pack_set_of(HU_ISA_SCALAR);
    bool is_added_here = is_added(t->accumulator.mac);
    float zero = 0;
    if (t->carry && t->before == 0)
        memset(t->carry, 0, hu_gemm_carry_floats(t->m, t->n) * sizeof *t->carry);
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) {
            const float *sum = t->carry ? &t->carry[i * t->n + j] : &zero;
            const float *extra = t->carry ? &t->carry[t->m * t->n + i * t->n + j] : &zero;
            pack->finish(1, sum, is_added_here ? extra : NULL, t->bias ? t->bias + j : NULL,
                         t->c + i * t->c_stride + j);
        }
}
