/* diagnose/expected.c - rounding of recorded exponents without storing it: each binade with its
 * share that vanishes or exceeds, and the mean square of its errors. */
#include "diagnose/expected.h"

#include <math.h>

#include "base/bits.h"
#include "format/value.h"

/* Numbers that are evenly spread over 2^e .. 2^(e+1) have the mean square 7/3 4^e; errors that are
 * evenly spread over a step u, u^2/12. */
#define MEAN_SQUARE (7.0 / 3.0)
#define STEP_SQUARE (1.0 / 12.0)

/* The grid that the numbers meet, after their scale. */
typedef struct grid {
    const hu_format *format; /* NULL: integers, whose steps are 2^step */
    int32_t emin, emax, step;
    double max_finite, threshold; /* from which on numbers exceed */
    double least;                 /* below it numbers vanish */
    bool saturates;
    bool is_coarse; /* below emin numbers go to 2^emin or vanish */
} grid;

static grid grid_of(const hu_quantizer *quantizer) {
    const hu_format *f = &quantizer->format;
    const hu_format_limits limits = hu_format_limits_of(f);
    return (grid){.emin = limits.emin,
                  .emax = limits.emax,
                  .format = f,
                  .max_finite = limits.max_finite,
                  .threshold = limits.overflow_threshold,
                  .least = limits.underflow_threshold,
                  .saturates =
                      quantizer->kind == HU_QUANTIZER_BLOCK || f->overflow == HU_OVERFLOW_SAT,
                  .is_coarse = f->underflow == HU_UNDERFLOW_NEAREST};
}

/* A block's own largest number stays within, but for the last part of a binade. */
static grid grid_of_block(const hu_quantizer *quantizer) {
    grid g = grid_of(quantizer);
    g.max_finite = g.threshold = ldexp(1.0, g.emax + 1);
    return g;
}

/* Integers -N..N times a step are the subnormals of a format that has no other numbers. */
static grid integers(uint32_t bits, int32_t top) {
    double most = ldexp(2.0, top), step = most / (double)((1 << (bits - 1)) - 1);
    return (grid){.emin = top + 1,
                  .emax = top + 1,
                  .step = ilogb(step),
                  .max_finite = ldexp(1.0, top + 1),
                  .threshold = ldexp(1.0, top + 1),
                  .least = 0.5 * step,
                  .saturates = true};
}

/* The power of two that brings the largest number to the end of the format, wherever in its binade
 * it lies. */
static int32_t scale_of(const hu_quantizer *quantizer, int32_t top) {
    if (quantizer->kind == HU_QUANTIZER_BLOCK)
        return top - hu_format_limits_of(&quantizer->format).emax;
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale == HU_SCALE_NONE) return 0;
    uint32_t bits = hu_f32_bits((float)ldexp(2.0 - 0x1p-20, top));
    return hu_scale_exponent(&quantizer->format, quantizer->scale, bits);
}

/* Share of a binade that lies below x. */
static double share_below(int32_t exponent, double x) {
    double from = ldexp(1.0, exponent);
    return fmin(fmax((x - from) / from, 0.0), 1.0);
}

/* Mean square of the errors of a binade's numbers that neither vanish nor exceed. */
static double step_square(const grid *g, int32_t exponent) {
    if (g->is_coarse && exponent < g->emin) return ldexp(1.0, 2 * exponent) / 3.0;
    double step = g->format ? hu_format_step(g->format, exponent) : ldexp(1.0, g->step);
    return STEP_SQUARE * step * step;
}

static double square(double x) {
    return x * x;
}

/* Sums over binades. */
typedef struct sums {
    double numbers, vanished, exceeded, squares, errors;
} sums;

/* weight: of squares and errors, of numbers that are met larger than they are. */
static void add_binade(sums *s, const grid *g, int32_t exponent, double count, double weight) {
    double vanished = share_below(exponent, g->least);
    double exceeded = 1.0 - share_below(exponent, g->threshold);
    double kept = 1.0 - vanished - exceeded, whole = MEAN_SQUARE * ldexp(1.0, 2 * exponent);
    s->numbers += count;
    s->vanished += count * vanished;
    s->exceeded += count * exceeded;
    double errors = vanished * whole + kept * fmin(step_square(g, exponent), whole);
    if (exceeded > 0.0) {
        double from = fmax(ldexp(1.0, exponent), g->threshold), to = ldexp(1.0, exponent + 1);
        errors += exceeded * square(0.5 * (from + to) - g->max_finite);
    }
    s->squares += count * weight * whole;
    s->errors += count * weight * errors;
}

/* A block's scale follows its own largest number, which is taken to be near: small numbers meet the
 * grid as if they were larger, and their errors are as much smaller. */
static void add_block_binade(sums *s, const grid *g, int32_t exponent, int32_t top, double count) {
    enum { NEAR = 3 }; /* binades */
    int32_t met = exponent < top - NEAR ? top - NEAR : exponent;
    add_binade(s, g, met, count, ldexp(1.0, 2 * (exponent - met)));
}

hu_rounding_loss hu_rounding_loss_expect(const hu_exponents *x, const hu_quantizer *quantizer,
                                         int32_t shift, int32_t headroom) {
    hu_rounding_loss e = {0};
    sums s = {0};
    int32_t top = hu_exponents_top(x);
    if (top == HU_NO_EXPONENT || !hu_quantizer_rounds(quantizer)) return e;
    top += shift;
    grid g = quantizer->kind == HU_QUANTIZER_UNIFORM ? integers(quantizer->bits, top)
             : quantizer->kind == HU_QUANTIZER_BLOCK ? grid_of_block(quantizer)
                                                     : grid_of(quantizer);
    int32_t k = scale_of(quantizer, top);
    for (uint32_t i = 0; i < x->count; i++) {
        int32_t exponent = x->first + (int32_t)i + shift - k;
        double count = (double)x->bin[i];
        if (count > 0.0 && quantizer->kind == HU_QUANTIZER_BLOCK)
            add_block_binade(&s, &g, exponent, top - k, count);
        else if (count > 0.0)
            add_binade(&s, &g, exponent, count, 1.0);
    }
    e.vanished = s.vanished / s.numbers;
    e.exceeded = s.exceeded / s.numbers;
    e.error = fmin(sqrt(s.errors / s.squares), 1.0);
    bool follows = quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale != HU_SCALE_NONE;
    e.is_fatal = !g.saturates && !follows && top > g.emax - headroom;
    return e;
}
