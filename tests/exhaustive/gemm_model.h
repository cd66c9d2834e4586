/* Dot products with an accumulator in MPFR, for the proof of the integer reference:
 * mpfr_check_range and mpfr_subnormalize with the ternary value carried, nothing shared with the
 * reference. */
#ifndef HU_TESTS_GEMM_MODEL_H
#define HU_TESTS_GEMM_MODEL_H
#include <halfulp/gemm.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

/* A set of numbers to round to: precision p, |x| in [2^emin, max], subnormals below. */
typedef struct grid {
    int precision, emin, emax;
    bool has_subnormals, has_signed_zero;
    bool is_coarse; /* below 2^emin there is 0 alone, and what is nearer to 2^emin goes there */
    hu_overflow overflow;
} grid;

typedef struct model {
    grid r, float32;
    mpfr_t x, y, z;      /* operands, 24 bits */
    mpfr_t result;       /* of the grid in use */
    mpfr_t intermediate; /* 24 bits */
    mpfr_exp_t wide_emin, wide_emax;
    hu_accumulator accumulator;
    hu_gemm_counts counts;
} model;

static inline void model_open(model *o, const hu_accumulator *accumulator) {
    const hu_format *f = &accumulator->format;
    o->accumulator = *accumulator;
    o->counts = (hu_gemm_counts){0};
    o->float32 = (grid){24, -126, 127, true, true, false, HU_OVERFLOW_INF};
    o->r = (grid){.precision = f->man_bits + 1,
                  .emin = 1 - f->bias,
                  .emax = (1 << f->exp_bits) - (f->specials == HU_SPECIALS_IEEE ? 2 : 1) - f->bias,
                  .has_subnormals = f->subnormals,
                  .is_coarse = f->underflow == HU_UNDERFLOW_NEAREST,
                  .overflow = (hu_overflow)f->overflow};
    mpfr_inits2(24, o->x, o->y, o->z, o->result, o->intermediate, (mpfr_ptr)NULL);
    o->wide_emin = mpfr_get_emin();
    o->wide_emax = mpfr_get_emax();
}

static inline void model_close(model *o) {
    mpfr_clears(o->x, o->y, o->z, o->result, o->intermediate, (mpfr_ptr)NULL);
}

/* MPFR counts exponents of significands in [1/2, 1). */
static inline int model_finish_range(const grid *g, mpfr_t result, int ternary) {
    mpfr_set_emin(g->emin - g->precision + 2);
    mpfr_set_emax(g->emax + 1);
    ternary = mpfr_check_range(result, ternary, MPFR_RNDN);
    return mpfr_subnormalize(result, ternary, MPFR_RNDN);
}

static inline float model_largest(const grid *g) {
    return ldexpf(2.0f - ldexpf(1.0f, 1 - g->precision), g->emax);
}

/* o->result, rounded to g's precision with this ternary value, as a number of g. */
static inline float model_finish(model *o, const grid *g, int ternary, bool is_counted) {
    model_finish_range(g, o->result, ternary);
    mpfr_set_emin(o->wide_emin);
    mpfr_set_emax(o->wide_emax);
    if (mpfr_nan_p(o->result)) return NAN;
    float value = mpfr_get_flt(o->result, MPFR_RNDN);
    if (isinf(value)) {
        if (is_counted) o->counts.overflow++;
        if (g->overflow == HU_OVERFLOW_NAN) return NAN;
        return g->overflow == HU_OVERFLOW_SAT ? copysignf(model_largest(g), value) : value;
    }
    if (value != 0.0f && fabsf(value) < ldexpf(1.0f, g->emin)) {
        if (is_counted) o->counts.subnormal++;
        if (!g->has_subnormals) value = 0.0f;
    }
    return value == 0.0f && !g->has_signed_zero ? 0.0f : value;
}

/* An exact value below 2^emin, given as its truncation, to 0 or 2^emin; false: it is not below. The
 * truncation is a double. */
static inline bool model_coarse(model *o, const grid *g, mpfr_t truncated, int ternary,
                                bool is_counted, float *value) {
    double magnitude = fabs(mpfr_get_d(truncated, MPFR_RNDZ)), half = ldexp(0.5, g->emin);
    if (!g->is_coarse || !(magnitude > 0) || magnitude >= 2 * half) return false;
    bool goes_up = magnitude > half || (magnitude == half && ternary != 0);
    if (is_counted && !goes_up) o->counts.subnormal++;
    *value = goes_up ? copysignf(ldexpf(1.0f, g->emin), mpfr_sgn(truncated) < 0 ? -1.0f : 1.0f) : 0;
    return true;
}

/* x y + z, or without one of y and z, into result. */
static inline int model_operate(model *o, mpfr_t result, const float *y, const float *z,
                                mpfr_rnd_t rounding) {
    if (!z) return mpfr_mul(result, o->x, o->y, rounding);
    return y ? mpfr_fma(result, o->x, o->y, o->z, rounding)
             : mpfr_add(result, o->x, o->z, rounding);
}

/* R(x y + z), or with has_sum / has_product alone x + z or x y. */
static inline float model_round(model *o, const grid *g, float x, const float *y, const float *z,
                                bool is_counted) {
    int ternary;
    float value;
    bool is_twice = o->accumulator.semantics != HU_SEMANTICS_EXACT && g != &o->float32;
    mpfr_set_flt(o->x, x, MPFR_RNDN);
    mpfr_set_flt(o->y, y ? *y : 1.0f, MPFR_RNDN);
    mpfr_set_prec(o->result, is_twice ? 24 : g->precision);
    if (z) mpfr_set_flt(o->z, *z, MPFR_RNDN);
    ternary = model_operate(o, o->intermediate, y, z, MPFR_RNDZ);
    if (!is_twice && model_coarse(o, g, o->intermediate, ternary, is_counted, &value)) return value;
    ternary = model_operate(o, o->result, y, z, MPFR_RNDN);
    if (is_twice) {
        model_finish_range(&o->float32, o->result, ternary);
        mpfr_set_emin(o->wide_emin);
        mpfr_set_emax(o->wide_emax);
        mpfr_set(o->intermediate, o->result, MPFR_RNDN);
        if (model_coarse(o, g, o->intermediate, 0, is_counted, &value)) return value;
        mpfr_set_prec(o->result, g->precision);
        ternary = mpfr_set(o->result, o->intermediate, MPFR_RNDN);
    }
    return model_finish(o, g, ternary, is_counted);
}

static inline void model_kahan(model *o, float addend, float *sum, float *compensation) {
    float total = model_round(o, &o->r, *sum, NULL, &addend, true);
    float minus_sum = -*sum, minus_addend = -addend;
    float taken = model_round(o, &o->r, total, NULL, &minus_sum, false);
    bool forgets = isinf(total) && o->accumulator.semantics != HU_SEMANTICS_CPD;
    *compensation = forgets ? 0.0f : model_round(o, &o->r, taken, NULL, &minus_addend, false);
    *sum = total;
}

/* Terms that changed neither of the two numbers; NaN is not the same as itself. */
static inline void model_stalled(model *o, float x, float y, bool is_same) {
    if (!(fabsf(x) > 0.0f && fabsf(y) > 0.0f)) return;
    o->counts.terms++;
    if (is_same) o->counts.stalled++;
}

/* One term of a mode without blocks. */
static inline void model_step(model *o, float x, float y, float *sum, float *extra) {
    float minus_extra = -*extra, product;
    switch (o->accumulator.mac) {
    case HU_MAC_FMACS:
        *sum = model_round(o, &o->float32, x, &y, sum, false);
        break;
    case HU_MAC_MACS:
        product = model_round(o, &o->r, x, &y, NULL, false);
        *sum = model_round(o, &o->float32, product, NULL, sum, false);
        break;
    case HU_MAC_MAC:
        product = model_round(o, &o->r, x, &y, NULL, false);
        *sum = model_round(o, &o->r, product, NULL, sum, true);
        break;
    case HU_MAC_KAHAN:
        model_kahan(o, model_round(o, &o->r, x, &y, &minus_extra, false), sum, extra);
        break;
    case HU_MAC_KAHAN_CPD:
        product = model_round(o, &o->r, x, &y, NULL, false);
        model_kahan(o, model_round(o, &o->r, product, NULL, &minus_extra, false), sum, extra);
        break;
    default:
        *sum = model_round(o, &o->r, x, &y, sum, true);
    }
}

/* FMAC-8 as its algorithm is printed: the block is added when the next one starts, and at the end.
 */
static inline float model_blocks(model *o, int64_t k, const float *x, const float *y) {
    float master = 0.0f, block = 0.0f;
    for (int64_t i = 0; i < k; i++) {
        if (i % o->accumulator.block == 0) {
            master = model_round(o, &o->float32, master, NULL, &block, false);
            block = 0.0f;
        }
        float before = block;
        block = model_round(o, &o->r, x[i], &y[i], &block, true);
        model_stalled(o, x[i], y[i], block == before);
    }
    return model_round(o, &o->float32, master, NULL, &block, false);
}

/* Counts are added to o->counts. */
static inline float model_dot(model *o, int64_t k, const float *x, const float *y) {
    float sum = 0.0f, extra = 0.0f;
    o->counts.values += (uint64_t)k;
    if (o->accumulator.mac == HU_MAC_FMAC_K) return model_blocks(o, k, x, y);
    for (int64_t i = 0; i < k; i++) {
        float was = sum, kept = extra;
        model_step(o, x[i], y[i], &sum, &extra);
        model_stalled(o, x[i], y[i], sum == was && extra == kept);
    }
    return sum;
}

#endif
