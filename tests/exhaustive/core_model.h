/* Steps of tensor cores in MPFR: real numbers that are scaled, cut and added, nothing shared with
 * the reference, which shifts integers, nor with the kernels. Finite factors. */
#ifndef HU_TESTS_CORE_MODEL_H
#define HU_TESTS_CORE_MODEL_H
#include <halfulp/gemm.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

enum { CORE_BITS = 256, CORE_MODEL_TERMS = 256 };

typedef struct core_model {
    mpfr_t x, y, total, part;
    hu_accumulator core;
    hu_gemm_counts counts;
} core_model;

static inline void core_model_open(core_model *o, const hu_accumulator *core) {
    o->core = *core;
    o->counts = (hu_gemm_counts){0};
    mpfr_inits2(CORE_BITS, o->x, o->y, o->total, o->part, (mpfr_ptr)NULL);
}

static inline void core_model_close(core_model *o) {
    mpfr_clears(o->x, o->y, o->total, o->part, (mpfr_ptr)NULL);
}

/* floor(log2|x|), at least `least`; MPFR's significands begin at 1/2. */
static inline long core_model_exponent(mpfr_t x, long least) {
    long exponent = (long)mpfr_get_exp(x) - 1;
    return exponent > least ? exponent : least;
}

/* The exponent of a term, and the term in o->part. */
static inline bool core_model_term(core_model *o, float x, float y, long *exponent) {
    mpfr_set_flt(o->x, x, MPFR_RNDN);
    mpfr_set_flt(o->y, y, MPFR_RNDN);
    mpfr_mul(o->part, o->x, o->y, MPFR_RNDN);
    if (mpfr_zero_p(o->part)) return false;
    *exponent = core_model_exponent(o->x, o->core.least_exponent[0]) +
                core_model_exponent(o->y, o->core.least_exponent[1]);
    return true;
}

/* o->part in units of 2^(top - F), cut, is added; true if nothing is left of it. */
static inline bool core_model_add(core_model *o, long top) {
    mpfr_mul_2si(o->part, o->part, o->core.align_bits - top, MPFR_RNDN);
    mpfr_trunc(o->part, o->part);
    mpfr_add(o->total, o->total, o->part, MPFR_RNDN);
    return mpfr_zero_p(o->part);
}

/* R(o->total), counted for so many terms. */
static inline float core_model_round(core_model *o, int64_t terms) {
    const hu_format_limits limits = hu_format_limits_of(&o->core.format);
    if (mpfr_zero_p(o->total)) return 0.0f;
    long quantum = core_model_exponent(o->total, limits.emin) - o->core.format.man_bits;
    mpfr_mul_2si(o->part, o->total, -quantum, MPFR_RNDN);
    if (o->core.rounding == HU_ROUND_TOWARD_ZERO)
        mpfr_trunc(o->part, o->part);
    else
        mpfr_roundeven(o->part, o->part);
    double value = ldexp(mpfr_get_d(o->part, MPFR_RNDN), (int)quantum);
    if (fabs(value) > limits.max_finite) {
        o->counts.overflow += (uint64_t)terms;
        if (o->core.format.overflow == HU_OVERFLOW_NAN) return NAN;
        bool is_infinite = o->core.format.overflow == HU_OVERFLOW_INF;
        return (float)copysign(is_infinite ? (double)INFINITY : limits.max_finite, value);
    }
    if (value != 0.0 && fabs(value) < limits.min_normal) o->counts.subnormal += (uint64_t)terms;
    return value == 0.0 ? 0.0f : (float)value;
}

/* An infinity or NaN takes no term. */
static inline float core_model_stuck(core_model *o, int64_t count, const float *x, const float *y,
                                     float sum) {
    for (int64_t k = 0; k < count; k++) o->counts.stalled += x[k] != 0.0f && y[k] != 0.0f;
    for (int64_t k = 0; k < count; k++) o->counts.terms += x[k] != 0.0f && y[k] != 0.0f;
    o->counts.overflow += isinf(sum) ? (uint64_t)count : 0;
    return sum;
}

/* One step that begins with sum; of a late one the result of the products alone. */
static inline float core_model_step(core_model *o, int64_t count, const float *x, const float *y,
                                    float sum) {
    const hu_format_limits limits = hu_format_limits_of(&o->core.format);
    long exponent, top = -100000;
    bool has_sum = !o->core.is_late && sum != 0.0f;
    if (!o->core.is_late && !isfinite(sum)) return core_model_stuck(o, count, x, y, sum);
    if (has_sum) {
        mpfr_set_flt(o->x, sum, MPFR_RNDN);
        top = core_model_exponent(o->x, limits.emin);
    }
    for (int64_t k = 0; k < count; k++)
        if (core_model_term(o, x[k], y[k], &exponent) && exponent > top) top = exponent;
    mpfr_set_zero(o->total, 1);
    mpfr_set_flt(o->part, has_sum ? sum : 0.0f, MPFR_RNDN);
    core_model_add(o, top);
    for (int64_t k = 0; k < count; k++)
        if (core_model_term(o, x[k], y[k], &exponent)) {
            o->counts.terms++;
            o->counts.stalled += core_model_add(o, top);
        }
    mpfr_mul_2si(o->total, o->total, top - o->core.align_bits, MPFR_RNDN);
    return core_model_round(o, count);
}

/* Counts are added to o->counts. */
static inline float core_model_dot(core_model *o, int64_t k, const float *x, const float *y) {
    float outside = 0.0f, sum = 0.0f;
    int64_t block = o->core.block, count;
    o->counts.values += (uint64_t)k;
    for (int64_t i = 0; i < k; i += count) {
        count = k - i < block ? k - i : block;
        float made = core_model_step(o, count, x + i, y + i, sum);
        sum = o->core.is_late ? sum + made : made;
        if (o->core.promote && (i + count) % o->core.promote == 0) {
            outside += sum;
            sum = 0.0f;
        }
    }
    return o->core.promote ? outside + sum : sum;
}

#endif
