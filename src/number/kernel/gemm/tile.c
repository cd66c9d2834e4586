/* kernel/gemm/tile.c - one tile: proof, kernel, or term by term. */
#include "kernel/gemm/tile.h"

#include <math.h>

#include "base/bits.h"
#include "kernel/gemm/counts.h"
#include "kernel/gemm/reference.h"

hu_panel_facts hu_gemm_measure(const hu_gemm_job *job, const float *x, int64_t rows,
                               int64_t columns, int64_t ld) {
    hu_pack_facts seen = {.low = UINT32_MAX};
    if (ld == columns) {
        job->pack->measure((size_t)(rows * columns), x, &seen);
    } else {
        for (int64_t i = 0; i < rows; i++) job->pack->measure((size_t)columns, x + i * ld, &seen);
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

void hu_gemm_measure_state(hu_gemm_worker *w, int64_t row_panel, int64_t column_panel) {
    const hu_gemm_plan *p = &w->job->plan;
    int64_t at = state_offset(w, row_panel, column_panel);
    hu_panel_facts sum = hu_gemm_measure(w->job, w->sum + at, p->rows, p->columns, w->ld);
    hu_panel_facts extra = hu_panel_facts_of(&(hu_pack_facts){.low = UINT32_MAX});
    if (p->has_extra) extra = hu_gemm_measure(w->job, w->extra + at, p->rows, p->columns, w->ld);
    *reach_at(w, row_panel, column_panel) = hu_gemm_reach_of(&w->job->prover, &sum, &extra);
}

/* ---- term by term ---- */

/* Kernels keep the accumulator of FMAC in extra, and close a block at the start of the next. */
static hu_gemm_state state_of(hu_mac mac, float sum, float extra, int64_t phase) {
    float total = sum + extra;
    if (isnan(total)) total = hu_f32_of_bits(HU_F32_NAN);
    if (mac == HU_MAC_FMAC) return (hu_gemm_state){.sum = total};
    if (mac == HU_MAC_FMAC_K && phase == 0) return (hu_gemm_state){.sum = total};
    return (hu_gemm_state){.sum = sum, .extra = extra, .phase = mac == HU_MAC_FMAC_K ? phase : 0};
}

/* The way back: to where the kernels expect it. */
static void keep_state(hu_mac mac, const hu_gemm_state *state, float *sum, float *extra) {
    *sum = mac == HU_MAC_FMAC ? 0 : state->sum;
    *extra = mac == HU_MAC_FMAC ? state->sum : state->extra;
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
                state_of(accumulator->mac, *sum, p->has_extra ? *extra : 0, tile->phase);
            for (int64_t k = 0; k < tile->k; k++)
                hu_gemm_step(accumulator, a[k * p->rows + i], b[k * p->columns + j], &state,
                             &counts);
            keep_state(accumulator->mac, &state, sum, extra);
        }
    }
    counts.values = 0; /* the job knows how many there are */
    hu_gemm_counts_add(&w->counts, &counts);
    hu_gemm_measure_state(w, row_panel, column_panel);
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

/* A tile of F64 kernels has a part of the columns: the tile is run part by part. */
static void run_wide(hu_gemm_worker *w, hu_gemm_kernel_fn *kernel, hu_gemm_tile tile,
                     int64_t row_panel) {
    const hu_gemm_plan *p = &w->job->plan;
    const double *b = wide_b(w, tile.b, tile.k);
    tile.a = wide_a(w, row_panel, tile.a, tile.k);
    for (int column = 0; column < p->columns; column += p->wide_columns) {
        tile.b = b + column * tile.k;
        kernel(&tile);
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
    hu_gemm_choice choice = {.arithmetic = HU_GEMM_F32, .class = HU_GEMM_LEAN};
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
    if (job->needs_facts)
        choice = hu_gemm_prove(&job->prover, &w->a_facts[a_unit], &w->b_facts[b_unit], run->terms,
                               run->phase, reach_at(w, row_panel, column_panel));
    hu_gemm_kernel_fn *kernel = job->kernels[choice.arithmetic][choice.class];
    if (choice.is_slow)
        run_slowly(w, row_panel, column_panel, &tile);
    else if (choice.arithmetic == HU_GEMM_F32 || choice.arithmetic == HU_GEMM_F32_ODD)
        kernel(&tile);
    else
        run_wide(w, kernel, tile, row_panel);
}
