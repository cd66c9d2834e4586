#include "kernel/gemm/tensor_core_step.h"

#include <math.h>

#include "kernel/gemm/rounded.h"
#include "kernel/gemm/tensor_core.h"

/* A term, or the accumulator: its value, and its exponent, which is not normalised. */
typedef struct aligned {
    hu_exact value;
    int exponent;
} aligned;

enum { NO_EXPONENT = -100000 };

static int exponent_of(hu_exact x, int least) {
    int exponent = x.exponent + 63 - __builtin_clzll(x.significand);
    return exponent > least ? exponent : least;
}

static aligned term_of(const hu_accumulator *a, float x, float y) {
    hu_exact left = hu_exact_of(x), right = hu_exact_of(y);
    aligned term = {hu_exact_product(left, right), NO_EXPONENT};
    if (term.value.significand != 0)
        term.exponent =
            exponent_of(left, a->least_exponent[0]) + exponent_of(right, a->least_exponent[1]);
    return term;
}

static aligned term_of_sum(const hu_accumulator *a, float sum) {
    aligned term = {hu_exact_of(sum), NO_EXPONENT};
    if (term.value.significand != 0)
        term.exponent = exponent_of(term.value, hu_format_emin(&a->format));
    return term;
}

/* In units of 2^(top - F), cut toward zero: below 2^(F + 2). */
static int64_t cut(const aligned *term, int top, int align_bits) {
    int shift = align_bits - top + term->value.exponent;
    uint64_t magnitude = term->value.significand;
    if (magnitude == 0) return 0;
    magnitude = shift >= 0 ? magnitude << shift : shift > -64 ? magnitude >> -shift : 0;
    return term->value.is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
}

/* The exact sum of what alignment leaves. */
static hu_exact aligned_sum(const hu_accumulator *a, int64_t count, const hu_core_terms *t,
                            float sum, hu_gemm_counts *counts) {
    aligned term[HU_CORE_TERMS_MOST], before = term_of_sum(a, a->is_late ? 0.0f : sum);
    int top = before.exponent;
    for (int64_t k = 0; k < count; k++) {
        term[k] = term_of(a, t->x[k * t->x_stride], t->y[k * t->y_stride]);
        if (term[k].exponent > top) top = term[k].exponent;
    }
    int64_t total = cut(&before, top, a->align_bits);
    for (int64_t k = 0; k < count; k++) {
        int64_t part = cut(&term[k], top, a->align_bits);
        counts->terms += term[k].value.significand != 0;
        counts->stalled += term[k].value.significand != 0 && part == 0;
        total += part;
    }
    return (hu_exact){.significand = (uint64_t)(total < 0 ? -total : total),
                      .exponent = top - a->align_bits,
                      .is_negative = total < 0};
}

/* IEEE's outcome where something is not finite: an infinity or NaN. Beside an infinite accumulator
 * nothing is left of any term. */
static float special_sum(const hu_accumulator *a, int64_t count, const hu_core_terms *t, float sum,
                         hu_gemm_counts *counts) {
    bool is_spoilt = !a->is_late && !isfinite(sum);
    float special = is_spoilt ? sum : 0.0f;
    for (int64_t k = 0; k < count; k++) {
        float x = t->x[k * t->x_stride], y = t->y[k * t->y_stride];
        bool is_term = fabsf(x) > 0.0f && fabsf(y) > 0.0f;
        counts->terms += is_term;
        counts->stalled += is_term && is_spoilt;
        if (!isfinite(x) || !isfinite(y)) special += x * y;
    }
    return special;
}

static bool are_finite(int64_t count, const float *x, int64_t stride) {
    bool is_finite = true;
    for (int64_t k = 0; k < count; k++) is_finite &= isfinite(x[k * stride]) != 0;
    return is_finite;
}

float hu_core_sum(const hu_accumulator *a, int64_t count, const hu_core_terms *terms, float sum,
                  hu_gemm_counts *counts) {
    hu_gemm_counts one = {0};
    const hu_target to = {
        .format = &a->format, .is_cut = a->rounding == HU_ROUND_TOWARD_ZERO, .counts = &one};
    float result;
    if ((a->is_late || isfinite(sum)) && are_finite(count, terms->x, terms->x_stride) &&
        are_finite(count, terms->y, terms->y_stride))
        result = hu_round_exact(&to, aligned_sum(a, count, terms, sum, counts));
    else
        result = hu_round_special(&to, special_sum(a, count, terms, sum, counts));
    counts->subnormal += one.subnormal * (uint64_t)count;
    counts->overflow += one.overflow * (uint64_t)count;
    return result;
}
