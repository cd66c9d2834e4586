/* kernel/gemm/tile.c - one tile: proof, kernel, or term by term. */
#include "kernel/gemm/tile.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/gemm/operand.h"
#include "kernel/gemm/pack.h"
#include "kernel/gemm/reference.h"

hu_panel_facts hu_gemm_measure(const hu_gemm_job *job, const float *x, int64_t rows,
                               int64_t columns, int64_t ld) {
    hu_pack_facts seen = {.low = UINT32_MAX};
    if (ld == columns) {
        job->pack->measure((size_t)(rows * columns), x, &seen);
    } else {
        job->pack->measure_rows(rows, columns, ld, x, &seen);
    }
    return hu_panel_facts_of(&seen);
}

/* Floats of the state before a tile. */
static int64_t state_offset(const hu_gemm_worker *w, int64_t row_panel, int64_t column_panel) {
    const hu_gemm_plan *p = &w->job->plan;
    return row_panel * p->rows * w->ld + column_panel * p->columns;
}

/* Of tile (row_panel, column_panel) of the block and chunk at hand. */
static hu_gemm_reach *reach_at(hu_gemm_worker *w, int64_t row_panel, int64_t column_panel) {
    return &w->reach[row_panel * w->job->plan.chunk_panels + column_panel];
}

/* Reach of the state of tile (row_panel, column_panel) of the worker's block and chunk. */
static void gemm_measure_state(hu_gemm_worker *w, int64_t row_panel, int64_t column_panel) {
    const hu_gemm_plan *p = &w->job->plan;
    int64_t at = state_offset(w, row_panel, column_panel);
    hu_panel_facts sum = hu_panel_facts_of(&(hu_pack_facts){.low = UINT32_MAX}), extra = sum;
    if (p->mac != HU_MAC_FMAC_K) /* whose master has no say */
        sum = hu_gemm_measure(w->job, w->sum + at, p->rows, p->columns, w->ld);
    if (p->has_extra) extra = hu_gemm_measure(w->job, w->extra + at, p->rows, p->columns, w->ld);
    *reach_at(w, row_panel, column_panel) = hu_gemm_reach_of(&w->job->prover, &sum, &extra);
}

/* ---- term by term ---- */

/* Kernels keep such an accumulator in extra: its one block has no end. */
static bool is_endless(const hu_accumulator *accumulator) {
    return accumulator->mac == HU_MAC_FMAC ||
           (accumulator->mac == HU_MAC_TC && accumulator->promote == 0);
}

/* Terms of a block that is added to the float32 master; 0: there is none. */
static int64_t block_of(const hu_accumulator *accumulator) {
    if (accumulator->mac == HU_MAC_FMAC_K) return accumulator->block;
    return accumulator->mac == HU_MAC_TC ? accumulator->promote : 0;
}

/* Kernels close a block at the start of the next. */
static hu_gemm_state state_of(const hu_accumulator *accumulator, float sum, float extra,
                              int64_t phase) {
    bool has_blocks = block_of(accumulator) > 0;
    float total = sum + extra;
    if (isnan(total)) total = hu_f32_of_bits(HU_F32_NAN);
    if (is_endless(accumulator)) return (hu_gemm_state){.sum = total};
    if (has_blocks && phase == 0) return (hu_gemm_state){.sum = total};
    return (hu_gemm_state){.sum = sum, .extra = extra, .phase = has_blocks ? phase : 0};
}

/* The way back: to where the kernels expect it. */
static void keep_state(const hu_accumulator *accumulator, const hu_gemm_state *state, float *sum,
                       float *extra) {
    *sum = is_endless(accumulator) ? 0 : state->sum;
    *extra = is_endless(accumulator) ? state->sum : state->extra;
}

/* Where no kernel is proved: element by element as the reference does. Padding is left alone. */
static void run_slowly(hu_gemm_worker *w, int64_t row_panel, int64_t column_panel,
                       const hu_gemm_tile *tile) {
    const hu_accumulator *accumulator = &w->job->task->accumulator;
    const hu_gemm_plan *p = &w->job->plan;
    const float *a = tile->a, *b = tile->b;
    hu_gemm_counts counts = {0};
    for (int64_t i = 0; i < p->rows && row_panel * p->rows + i < w->rows; i++) {
        for (int64_t j = 0; j < p->columns && column_panel * p->columns + j < w->columns; j++) {
            float *sum = tile->sum + i * w->ld + j, *extra = tile->extra + i * w->ld + j;
            hu_gemm_state state =
                state_of(accumulator, *sum, p->has_extra ? *extra : 0, tile->phase);
            hu_gemm_terms(accumulator, tile->k, a + i, p->rows, b + j, p->columns, &state, &counts);
            keep_state(accumulator, &state, sum, extra);
        }
    }
    counts.values = 0; /* the job knows how many there are */
    hu_gemm_counts_add(&w->counts, &counts);
    gemm_measure_state(w, row_panel, column_panel);
}

/* ---- kernels ---- */

/* Panels as doubles are made when the first F64 kernel asks for them, once per run: A's stay for
 * all column panels, B's for all row panels. */
static const double *wide_a(hu_gemm_worker *w, int64_t row_panel, const float *a, int64_t run) {
    const hu_gemm_plan *p = &w->job->plan;
    double *wide = w->a_wide + row_panel * (int64_t)p->a_unit;
    if (!w->is_wide[row_panel]) w->job->pack->widen(a, run, p->rows, p->rows, wide);
    w->is_wide[row_panel] = true;
    return wide;
}

static const double *wide_b(hu_gemm_worker *w, const float *b, int64_t run) {
    const hu_gemm_plan *p = &w->job->plan;
    if (!w->is_b_wide) w->job->pack->widen(b, run, p->columns, p->wide_columns, w->b_wide);
    w->is_b_wide = true;
    return w->b_wide;
}

/* Kernels of one tile: LEAN for some slices, or one for all terms. */
typedef struct pieces {
    hu_gemm_kernel_fn *all, *lean;
    bool has_lean;
    bool is_lean[HU_PANEL_SLICES];
} pieces;

/* The class that drops the bound of the subnormals' quantum; COUNT_ALL: there is none. */
static hu_gemm_class lean_of(hu_gemm_class class) {
    if (class == HU_GEMM_SHORT_FAST) return HU_GEMM_SHORT_LEAN;
    return class == HU_GEMM_FAST ? HU_GEMM_LEAN : HU_GEMM_COUNT_ALL;
}

static pieces pieces_of(const hu_gemm_worker *w, const hu_gemm_choice *choice,
                        const hu_unit_facts *a, const hu_unit_facts *b, int64_t k) {
    const hu_gemm_job *job = w->job;
    const hu_gemm_class lean = lean_of(choice->class);
    pieces p = {.all = job->kernels[choice->arithmetic][choice->class],
                .lean = job->kernels[choice->arithmetic][lean]};
    if (lean != HU_GEMM_COUNT_ALL && (a->has_slices || b->has_slices))
        p.has_lean = hu_gemm_lean_slices(&job->prover, a, b, k, p.is_lean) > 0;
    return p;
}

/* The terms in order, stretches of slices of one kind in one call. a_term, b_term: bytes of one
 * term of each panel. */
static void run_pieces(const pieces *p, hu_gemm_tile tile, size_t a_term, size_t b_term) {
    const int64_t k = tile.k, block = tile.constants->block;
    if (!p->has_lean) {
        p->all(&tile);
        return;
    }
    for (int64_t first = 0, end; first < k; first = end) {
        const bool is_lean = p->is_lean[first / HU_SLICE_TERMS];
        for (end = first; end < k && p->is_lean[end / HU_SLICE_TERMS] == is_lean;)
            end += HU_SLICE_TERMS;
        tile.k = (end < k ? end : k) - first;
        (is_lean ? p->lean : p->all)(&tile);
        tile.a = (const char *)tile.a + (size_t)tile.k * a_term;
        tile.b = (const char *)tile.b + (size_t)tile.k * b_term;
        tile.phase = (tile.phase + tile.k) % block;
    }
}

/* A tile of F64 kernels has a part of the columns: the tile is run part by part. */
static void run_wide(hu_gemm_worker *w, const pieces *parts, hu_gemm_tile tile, int64_t row_panel) {
    const hu_gemm_plan *p = &w->job->plan;
    const double *b = wide_b(w, tile.b, tile.k);
    tile.a = wide_a(w, row_panel, tile.a, tile.k);
    for (int column = 0; column < p->columns; column += p->wide_columns) {
        tile.b = b + column * tile.k;
        run_pieces(parts, tile, (size_t)p->rows * sizeof *b, (size_t)p->wide_columns * sizeof *b);
        tile.sum += p->wide_columns;
        tile.extra += p->wide_columns;
    }
}

void hu_gemm_run_tile(hu_gemm_worker *w, int64_t row_panel, int64_t column_panel, int64_t b_unit,
                      const hu_gemm_run *run) {
    const hu_gemm_job *job = w->job;
    const hu_gemm_plan *p = &job->plan;
    int64_t a_unit = row_panel * p->runs + run->index;
    int64_t at = state_offset(w, row_panel, column_panel);
    hu_gemm_tile tile = {.k = run->terms,
                         .phase = run->phase,
                         .a = w->a_panels + a_unit * (int64_t)p->a_unit,
                         .b = w->b_panels + b_unit * (int64_t)p->b_unit,
                         .sum = w->sum + at,
                         .extra = w->extra + at,
                         .ld = w->ld,
                         .constants = &job->constants,
                         .counts = &w->counts};
    /* FMACS needs no proof: its one kernel is its definition. */
    if (!job->needs_facts) {
        job->kernels[HU_GEMM_F32][HU_GEMM_LEAN](&tile);
        return;
    }
    const hu_unit_facts *a = &w->a_facts[a_unit], *b = &w->b_facts[b_unit];
    hu_gemm_choice choice = hu_gemm_prove(&job->prover, &a->all, &b->all, run->terms, run->phase,
                                          reach_at(w, row_panel, column_panel));
    if (choice.is_slow) {
        run_slowly(w, row_panel, column_panel, &tile);
        return;
    }
    const pieces parts = pieces_of(w, &choice, a, b, run->terms);
    if (choice.arithmetic == HU_GEMM_F32 || choice.arithmetic == HU_GEMM_F32_ODD)
        run_pieces(&parts, tile, (size_t)p->rows * sizeof(float),
                   (size_t)p->columns * sizeof(float));
    else
        run_wide(w, &parts, tile, row_panel);
}

/* Sums rest in carry, or in c and a part of scratch.
 *
 * At rest, an FMAC's accumulator is in `sum`, and a block of FMAC-K that is complete is added to
 * its master: FMAC-K then needs no second number wherever stretches end with a block.
 */

/* Where the state of an element rests; extra may be NULL. */
typedef struct rest {
    float *sum, *extra;
    int64_t sum_ld, extra_ld;
} rest;

/* In carry if there is one; else `sum` rests in c itself, which is complete only after the last
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

/* What is_endless speaks of. */
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
        if (p->mac != HU_MAC_FMACS && is_endless(&task->accumulator)) gather_states(w);
    }
    if (!w->job->needs_facts) return;
    const bool has_only_master = p->mac == HU_MAC_FMAC_K && !r.extra;
    for (int64_t i = 0; i < row_panels; i++)
        for (int64_t j = 0; j < column_panels; j++) {
            if (is_start || has_only_master)
                w->reach[i * p->chunk_panels + j] = (hu_gemm_reach){.quantum = HU_NO_QUANTUM};
            else
                gemm_measure_state(w, i, j);
        }
}

/* Modes that keep numbers to be added to the sum in extra. */
static bool is_added(hu_mac mac) {
    return mac == HU_MAC_FMAC || mac == HU_MAC_FMAC_K || mac == HU_MAC_TC;
}

/* The state at rest is that of reference.h, with complete blocks added to their master. */
static void put_to_rest(hu_gemm_worker *w, int64_t k) {
    const hu_gemm_task *t = w->job->task;
    const hu_accumulator *accumulator = &t->accumulator;
    int64_t block = block_of(accumulator);
    bool is_complete = is_endless(accumulator) || (block > 0 && (t->before + k) % block == 0);
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
    bool is_open = k > w->job->whole; /* a step that goes on: it begins anew in the next call */
    if ((t->carry || !is_last) && !is_open) put_to_rest(w, k);
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
        memset(t->carry, 0, hu_gemm_carry_floats(&t->accumulator, t->m, t->n) * sizeof *t->carry);
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) {
            const float *sum = t->carry ? &t->carry[i * t->n + j] : &zero;
            const float *extra = t->carry ? &t->carry[t->m * t->n + i * t->n + j] : &zero;
            pack->finish(1, sum, is_added_here ? extra : NULL, t->bias ? t->bias + j : NULL,
                         t->c + i * t->c_stride + j);
        }
}
