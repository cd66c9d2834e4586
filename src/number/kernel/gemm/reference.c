/* kernel/gemm/reference.c - products by integer arithmetic: what every kernel must equal.
 * Source: 1/6/9 study (Popescu et al.), section III and algorithm 1; APS (CPD) for Kahan.
 * Proof: tests/exhaustive/kernel_gemm.c, against MPFR.
 */
#include "kernel/gemm/reference.h"

#include <math.h>

#include "base/error.h"
#include "kernel/gemm/exact.h"
#include "kernel/gemm/operand.h"

static const hu_format float32 = {.exp_bits = 8,
                                  .man_bits = 23,
                                  .specials = HU_SPECIALS_IEEE,
                                  .subnormals = 1,
                                  .overflow = HU_OVERFLOW_INF,
                                  .bias = 127};

/* Where a result goes: R's format, or float32 with IEEE's sign of zero. */
typedef struct target {
    const hu_format *format;
    bool is_float32;
    bool computes_float32;  /* all semantics but exact: the argument is a float32 */
    hu_gemm_counts *counts; /* NULL: not an accumulator that is counted */
} target;

/* What the format gives for an overflow, with its sign. */
static float overflowed(const hu_format *format, uint32_t sign) {
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return hu_f32_of_bits(sign | HU_F32_INFINITY);
    case HU_OVERFLOW_SAT:
        return hu_f32_of_bits(sign | hu_format_magnitude_bits(format, hu_format_code_max(format)));
    default:
        return hu_f32_of_bits(HU_F32_NAN);
    }
}

/* The outcome of an operation with an operand that is not finite; finite ones do not come here. */
static float round_special(const target *to, float value) {
    if (isnan(value)) return hu_f32_of_bits(HU_F32_NAN);
    if (to->counts) to->counts->overflow++;
    return overflowed(to->format, hu_f32_bits(value) & HU_F32_SIGN);
}

/* R of an exact value: round, then overflow, then flush. A zero of R is +0, that of float32 keeps
 * its sign. */
static float round_exact(const target *to, hu_exact x) {
    const hu_format *format = to->format;
    uint32_t sign = x.is_negative ? HU_F32_SIGN : 0;
    uint64_t code = hu_exact_code(format, x);
    if (code > hu_format_code_max(format)) {
        if (to->counts) to->counts->overflow++;
        return overflowed(format, sign);
    }
    bool is_gone = format->underflow == HU_UNDERFLOW_NEAREST && code == 0 && x.significand != 0;
    if (is_gone || (code != 0 && code < (uint64_t)1 << format->man_bits)) {
        if (to->counts) to->counts->subnormal++;
        if (!format->subnormals) code = 0;
    }
    if (code == 0 && !to->is_float32) return 0.0f;
    return hu_f32_of_bits(sign | hu_format_magnitude_bits(format, (uint32_t)code));
}

static float round_float(const target *to, float x) {
    return isfinite(x) ? round_exact(to, hu_exact_of(x)) : round_special(to, x);
}

static bool are_finite(float x, float y, float z) {
    return isfinite(x) && isfinite(y) && isfinite(z);
}

/* Numbers that are not finite have no exact value: the hardware's float32 says what becomes of
 * them. */
static float rounded_product(const target *to, float x, float y) {
    if (to->computes_float32 || !are_finite(x, y, 0.0f)) return round_float(to, x * y);
    return round_exact(to, hu_exact_product(hu_exact_of(x), hu_exact_of(y)));
}

static float rounded_sum(const target *to, float x, float y) {
    if (to->computes_float32 || !are_finite(x, y, 0.0f)) return round_float(to, x + y);
    return round_exact(to, hu_exact_sum(hu_exact_of(x), hu_exact_of(y)));
}

/* x y + z */
static float rounded_fma(const target *to, float x, float y, float z) {
    if (to->computes_float32 || !are_finite(x, y, z)) return round_float(to, fmaf(x, y, z));
    return round_exact(
        to, hu_exact_sum(hu_exact_product(hu_exact_of(x), hu_exact_of(y)), hu_exact_of(z)));
}

/* x, y: the factors of a term; is_same: it changed nothing. NaN is not the same as itself. */
static void count_stalled(hu_gemm_counts *counts, float x, float y, bool is_same) {
    if (!(fabsf(x) > 0.0f) || !(fabsf(y) > 0.0f)) return;
    counts->terms++;
    counts->stalled += is_same;
}

/* addend: the rounded argument of "y = R(... - c)". forgets: c becomes +0 at infinity. */
static void kahan_step(const target *inner, const target *accumulated, bool forgets, float addend,
                       hu_gemm_state *state) {
    float total = rounded_sum(accumulated, state->sum, addend);
    float taken = rounded_sum(inner, total, -state->sum);
    state->extra = forgets && isinf(total) ? 0.0f : rounded_sum(inner, taken, -addend);
    state->sum = total;
}

static bool is_same_kahan(const hu_gemm_state *a, const hu_gemm_state *b) {
    return a->sum == b->sum && a->extra == b->extra;
}

/* FMAC-K: s = R(s + x y); after the last term of a block a = fp32(a + s). */
static void block_step(const hu_accumulator *accumulator, const target *accumulated,
                       const target *master, float x, float y, hu_gemm_state *state) {
    float before = state->extra;
    state->extra = rounded_fma(accumulated, x, y, before);
    count_stalled(accumulated->counts, x, y, state->extra == before);
    if (++state->phase < accumulator->block) return;
    state->sum = rounded_sum(master, state->sum, state->extra);
    state->extra = 0.0f;
    state->phase = 0;
}

static const target master = {.format = &float32, .is_float32 = true};

void hu_gemm_step(const hu_accumulator *accumulator, float x, float y, hu_gemm_state *state,
                  hu_gemm_counts *counts) {
    target inner = {.format = &accumulator->format,
                    .computes_float32 = accumulator->semantics != HU_SEMANTICS_EXACT};
    target accumulated = inner;
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

float hu_gemm_state_value(const hu_accumulator *accumulator, const hu_gemm_state *state,
                          const float *bias) {
    float value = state->sum;
    if (accumulator->mac == HU_MAC_FMAC_K) value = rounded_sum(&master, value, state->extra);
    return bias ? rounded_sum(&master, value, *bias) : value;
}

/* One sum from its first term to its last, and its bias. */
static float element(const hu_gemm_task *task, int64_t i, int64_t j, hu_gemm_counts *counts) {
    hu_gemm_state state = {0};
    for (int64_t k = 0; k < task->k; k++)
        hu_gemm_step(&task->accumulator, hu_operand_at(&task->a, i, k),
                     hu_operand_at(&task->b, j, k), &state, counts);
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
