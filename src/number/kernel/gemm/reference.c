/* kernel/gemm/reference.c - products by integer arithmetic: what every kernel must equal.
 * Source: 1/6/9 study (Popescu et al.), section III and algorithm 1; APS (CPD) for Kahan.
 * Proof: tests/exhaustive/kernel_gemm.c, against MPFR.
 */
#include "kernel/gemm/reference.h"

#include <math.h>

#include "base/error.h"
#include "kernel/gemm/operand.h"
#include "kernel/gemm/rounded.h"
#include "kernel/gemm/tensor_core.h"
#include "kernel/gemm/tensor_core_step.h"

static const hu_format float32 = {.exp_bits = 8,
                                  .man_bits = 23,
                                  .specials = HU_SPECIALS_IEEE,
                                  .subnormals = 1,
                                  .overflow = HU_OVERFLOW_INF,
                                  .bias = 127};

static float round_float(const hu_target *to, float x) {
    return isfinite(x) ? hu_round_exact(to, hu_exact_of(x)) : hu_round_special(to, x);
}

static bool are_finite(float x, float y, float z) {
    return isfinite(x) && isfinite(y) && isfinite(z);
}

/* Numbers that are not finite have no exact value: the hardware's float32 says what becomes of
 * them. */
static float rounded_product(const hu_target *to, float x, float y) {
    if (to->computes_float32 || !are_finite(x, y, 0.0f)) return round_float(to, x * y);
    return hu_round_exact(to, hu_exact_product(hu_exact_of(x), hu_exact_of(y)));
}

static float rounded_sum(const hu_target *to, float x, float y) {
    if (to->computes_float32 || !are_finite(x, y, 0.0f)) return round_float(to, x + y);
    return hu_round_exact(to, hu_exact_sum(hu_exact_of(x), hu_exact_of(y)));
}

/* x y + z */
static float rounded_fma(const hu_target *to, float x, float y, float z) {
    if (to->computes_float32 || !are_finite(x, y, z)) return round_float(to, fmaf(x, y, z));
    return hu_round_exact(
        to, hu_exact_sum(hu_exact_product(hu_exact_of(x), hu_exact_of(y)), hu_exact_of(z)));
}

/* x, y: the factors of a term; is_same: it changed nothing. NaN is not the same as itself. */
static void count_stalled(hu_gemm_counts *counts, float x, float y, bool is_same) {
    if (!(fabsf(x) > 0.0f) || !(fabsf(y) > 0.0f)) return;
    counts->terms++;
    counts->stalled += is_same;
}

/* addend: the rounded argument of "y = R(... - c)". forgets: c becomes +0 at infinity. */
static void kahan_step(const hu_target *inner, const hu_target *accumulated, bool forgets,
                       float addend, hu_gemm_state *state) {
    float total = rounded_sum(accumulated, state->sum, addend);
    float taken = rounded_sum(inner, total, -state->sum);
    state->extra = forgets && isinf(total) ? 0.0f : rounded_sum(inner, taken, -addend);
    state->sum = total;
}

static bool is_same_kahan(const hu_gemm_state *a, const hu_gemm_state *b) {
    return a->sum == b->sum && a->extra == b->extra;
}

/* FMAC-K: s = R(s + x y); after the last term of a block a = fp32(a + s). */
static void block_step(const hu_accumulator *accumulator, const hu_target *accumulated,
                       const hu_target *master, float x, float y, hu_gemm_state *state) {
    float before = state->extra;
    state->extra = rounded_fma(accumulated, x, y, before);
    count_stalled(accumulated->counts, x, y, state->extra == before);
    if (++state->phase < accumulator->block) return;
    state->sum = rounded_sum(master, state->sum, state->extra);
    state->extra = 0.0f;
    state->phase = 0;
}

static const hu_target master = {.format = &float32, .is_float32 = true};

void hu_gemm_step(const hu_accumulator *accumulator, float x, float y, hu_gemm_state *state,
                  hu_gemm_counts *counts) {
    hu_target inner = {.format = &accumulator->format,
                       .computes_float32 = accumulator->semantics != HU_SEMANTICS_EXACT};
    hu_target accumulated = inner;
    const hu_gemm_state before = *state;
    bool forgets = accumulator->semantics != HU_SEMANTICS_CPD;
    accumulated.counts = counts;
    counts->values++;
    switch (accumulator->mac) {
    case HU_MAC_MACS:
        state->sum = rounded_sum(&master, state->sum, rounded_product(&inner, x, y));
        break;
    case HU_MAC_FMAC:
        state->sum = rounded_fma(&accumulated, x, y, state->sum);
        count_stalled(counts, x, y, state->sum == before.sum);
        break;
    case HU_MAC_MAC:
        state->sum = rounded_sum(&accumulated, state->sum, rounded_product(&inner, x, y));
        count_stalled(counts, x, y, state->sum == before.sum);
        break;
    case HU_MAC_FMAC_K:
        block_step(accumulator, &accumulated, &master, x, y, state);
        break;
    case HU_MAC_KAHAN:
        kahan_step(&inner, &accumulated, forgets, rounded_fma(&inner, x, y, -state->extra), state);
        count_stalled(counts, x, y, is_same_kahan(state, &before));
        break;
    case HU_MAC_KAHAN_CPD: {
        float product = rounded_product(&inner, x, y);
        kahan_step(&inner, &accumulated, forgets, rounded_sum(&inner, product, -state->extra),
                   state);
        count_stalled(counts, x, y, is_same_kahan(state, &before));
        break;
    }
    default: /* HU_MAC_FMACS */
        state->sum = rounded_fma(&master, x, y, state->sum);
    }
}

/* A step of TC, and of `promote` the sum outside when a block is complete. */
static void core_step(const hu_accumulator *accumulator, int64_t count, const hu_core_terms *terms,
                      hu_gemm_state *state, hu_gemm_counts *counts) {
    float *sum = accumulator->promote ? &state->extra : &state->sum;
    float result = hu_core_sum(accumulator, count, terms, *sum, counts);
    *sum = accumulator->is_late ? rounded_sum(&master, *sum, result) : result;
    if (!accumulator->promote || (state->phase += count) < accumulator->promote) return;
    state->sum = rounded_sum(&master, state->sum, state->extra);
    state->extra = 0.0f;
    state->phase = 0;
}

void hu_gemm_terms(const hu_accumulator *accumulator, int64_t count, const float *x,
                   int64_t x_stride, const float *y, int64_t y_stride, hu_gemm_state *state,
                   hu_gemm_counts *counts) {
    if (accumulator->mac != HU_MAC_TC) {
        for (int64_t k = 0; k < count; k++)
            hu_gemm_step(accumulator, x[k * x_stride], y[k * y_stride], state, counts);
        return;
    }
    counts->values += (uint64_t)count;
    for (int64_t k = 0; k < count; k += accumulator->block) {
        int64_t step = accumulator->block < count - k ? accumulator->block : count - k;
        const hu_core_terms terms = {x + k * x_stride, y + k * y_stride, x_stride, y_stride};
        core_step(accumulator, step, &terms, state, counts);
    }
}

float hu_gemm_state_value(const hu_accumulator *accumulator, const hu_gemm_state *state,
                          const float *bias) {
    float value = state->sum;
    if (accumulator->mac == HU_MAC_FMAC_K ||
        (accumulator->mac == HU_MAC_TC && accumulator->promote))
        value = rounded_sum(&master, value, state->extra);
    return bias ? rounded_sum(&master, value, *bias) : value;
}

/* One sum from its first term to its last, and its bias. */
static float element(const hu_gemm_task *task, int64_t i, int64_t j, hu_gemm_counts *counts) {
    enum { GATHERED = HU_CORE_TERMS_MOST };
    float x[GATHERED], y[GATHERED];
    hu_gemm_state state = {0};
    bool is_core = task->accumulator.mac == HU_MAC_TC;
    int64_t most = is_core ? task->accumulator.block : GATHERED;
    for (int64_t k = 0; k < task->k; k += most) {
        int64_t count = most < task->k - k ? most : task->k - k;
        for (int64_t t = 0; t < count; t++) {
            x[t] = hu_operand_at(&task->a, i, k + t);
            y[t] = hu_operand_at(&task->b, j, k + t);
        }
        hu_gemm_terms(&task->accumulator, count, x, 1, y, 1, &state, counts);
    }
    return hu_gemm_state_value(&task->accumulator, &state, task->bias ? &task->bias[j] : NULL);
}

hu_status hu_gemm_reference(const hu_gemm_task *task) {
    HU_GIVEN(task);
    hu_status st = HU_OK;
    hu_gemm_counts ignored, *counts = task->counts ? task->counts : &ignored;
    HU_TRY(hu_gemm_check(task));
    if (task->carry)
        return hu_fail(HU_ERR_ARGUMENT, "gemm: the reference adds all terms in one call, without "
                                        "carry");
    hu_operand_count(&task->a, task->m, task->k);
    hu_operand_count(&task->b, task->n, task->k);
    ignored = (hu_gemm_counts){0};
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++)
            task->c[i * task->c_stride + j] = element(task, i, j, counts);
done:
    return st;
}
