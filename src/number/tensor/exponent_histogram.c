#include "tensor/exponent_histogram.h"

#include <math.h>

#include <halfulp/round.h>

#include "base/error.h"
#include "format/value.h"

/* ---- exponents ---- */

/* An exponent histogram as it stands in a file, and what of it a number
 * format would lose. */

/* Numbers beyond `low`, up to `high`; on which side the two ends themselves are is not asked. */
typedef struct interval {
    double low, high;
} interval;

/* A bin holds the numbers 2^e <= |x| < 2^(e+1). What part of it lies in the range is known only
 * within bounds (least, most); `share` takes the numbers as spread evenly over the bin. */
static void add_bin(hu_lost_share *share, interval range, int32_t exponent, double count) {
    double from = ldexp(1.0, exponent), to = 2.0 * from;
    if (to <= range.low || from > range.high) return;
    share->most += count;
    if (from > range.low && to <= range.high) {
        share->least += count;
        share->share += count;
        return;
    }
    double left = fmax(from, range.low), right = fmin(to, range.high);
    share->share += right > left ? count * ((right - left) / from) : 0.0;
}

/* Shares of all elements whose shifted magnitude lies in the range. */
static hu_lost_share share_in(const hu_exponents *x, interval range, int32_t shift) {
    hu_lost_share share = {0};
    double elements = x->elements ? (double)x->elements : 1.0;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->bin[i]) add_bin(&share, range, x->first + (int32_t)i + shift, (double)x->bin[i]);
    share.share /= elements;
    share.least /= elements;
    share.most /= elements;
    return share;
}

/* Infinities and NaN are lost in any format. */
static void add_nonfinite(const hu_exponents *x, hu_lost_share *share) {
    double more = x->elements ? (double)x->nonfinite / (double)x->elements : 0.0;
    share->share += more;
    share->least += more;
    share->most += more;
}

hu_lost hu_exponents_lost(const hu_exponents *exponents, const hu_format *format, int32_t shift) {
    const hu_format_limits limits = hu_format_limits_of(format);
    const hu_vanishing v = hu_format_vanishing(format);
    hu_lost lost = {0};
    lost.overflow = share_in(exponents, (interval){limits.overflow_threshold, HUGE_VAL}, shift);
    add_nonfinite(exponents, &lost.overflow);
    lost.underflow = share_in(exponents, (interval){0.0, v.zero}, shift);
    if (v.normal > v.subnormal)
        lost.subnormal = share_in(exponents, (interval){v.subnormal, v.normal}, shift);
    return lost;
}

double hu_exponents_overflowed(const hu_exponents *exponents, const hu_lost *lost) {
    hu_lost_share none = {0};
    add_nonfinite(exponents, &none);
    return fmax(lost->overflow.share - none.share, 0.0);
}

hu_status hu_histogram_lost(const hu_histogram *histogram, const hu_format *format, int32_t shift,
                            hu_lost *lost) {
    const int32_t most = 1000;
    HU_GIVEN(lost);
    *lost = (hu_lost){0};
    HU_GIVEN(histogram);
    HU_GIVEN(format);
    hu_status st = hu_format_check(format);
    if (st != HU_OK) return st;
    if (shift < -most || shift > most)
        return hu_fail(HU_ERR_ARGUMENT, "shift: found %d, expected %d to %d", shift, -most, most);
    hu_histogram own = *histogram; /* hu_exponents may write into its bins */
    const hu_exponents finite = {.elements = own.elements,
                                 .zero = own.zero,
                                 .largest = (double)own.largest,
                                 .first = HU_HISTOGRAM_LEAST,
                                 .count = HU_HISTOGRAM_BINS,
                                 .bin = own.bin};
    *lost = hu_exponents_lost(&finite, format, shift);
    return HU_OK;
}

/* Mean over a binade 2^e .. 2^(e+1) of (x - from)^2 for x beyond `from`, else 0. */
static double mean_square_beyond(double from, int32_t exponent) {
    double low = ldexp(1.0, exponent), high = 2.0 * low, least = fmax(low, from);
    if (high <= from) return 0.0;
    return (pow(high - from, 3.0) - pow(least - from, 3.0)) / (3.0 * low);
}

hu_lost_squares hu_exponents_lost_squares(const hu_exponents *exponents, const hu_format *format) {
    const hu_format_limits limits = hu_format_limits_of(format);
    hu_lost_squares lost = {0};
    double all = 0.0;
    /* Both thresholds are powers of two for formats with subnormals; those that flush have one
     * within the last 2^-man_bits of a binade, which is left out here. */
    int32_t least = hu_format_least_exponent(format);
    for (uint32_t i = 0; i < exponents->count; i++) {
        int32_t e = exponents->first + (int32_t)i;
        double count = (double)exponents->bin[i], squares = count * mean_square_beyond(0.0, e);
        all += squares;
        if (e < least) lost.underflow += squares;
        lost.overflow += count * mean_square_beyond(limits.max_finite, e);
    }
    if (all <= 0.0) return (hu_lost_squares){0};
    lost.overflow /= all;
    lost.underflow /= all;
    return lost;
}

/* Bins at both ends may be empty, hence the search. */
int32_t hu_exponents_top(const hu_exponents *exponents) {
    for (uint32_t i = exponents->count; i-- > 0;)
        if (exponents->bin[i]) return exponents->first + (int32_t)i;
    return HU_NO_EXPONENT;
}

int32_t hu_exponents_bottom(const hu_exponents *exponents) {
    for (uint32_t i = 0; i < exponents->count; i++)
        if (exponents->bin[i]) return exponents->first + (int32_t)i;
    return HU_NO_EXPONENT;
}

int32_t hu_exponents_scale(int32_t top, const hu_format *format) {
    return hu_format_limits_of(format).emax - top;
}

int32_t hu_scale_below(double largest, double most) {
    int32_t k = ilogb(most) - ilogb(largest) + 1;
    while (ldexp(largest, k) >= most) k--;
    return k;
}

/* ---- rounding error ---- */

/* How large the rounding errors of numbers are of which only an exponent
 * histogram is known. */

/* What numbers are rounded to: steps of a float format, or one step for all. */
typedef struct grid {
    bool is_uniform;
    const hu_format *format;
    int moved; /* by a scale */
    int emin;  /* exponent of the smallest normal number */
    int least; /* binades below this exponent become zero */
    bool subnormals;
    double max_finite, step; /* step: uniform */
} grid;

/* Mean square of an error that is spread evenly over half a step to both sides. */
static double step_square(double step) {
    const double steps = 12.0;
    return step * step / steps;
}

/* Mean square of the errors of the numbers of a binade. Half of the smallest step becomes zero. */
static double error_in(const grid *g, int e) {
    double all = mean_square_beyond(0.0, e);
    if (g->is_uniform) return fmin(step_square(g->step), all);
    if (e < g->least) return all;
    /* What does not become zero there becomes the smallest normal number, the end of the binade. */
    if (e < g->emin && !g->subnormals) return ldexp(1.0, 2 * e) / 3.0;
    /* Of the binade that holds the largest number, what lies beyond it saturates. */
    double low = ldexp(1.0, e), within = fmin(fmax((g->max_finite - low) / low, 0.0), 1.0);
    double step = ldexp(hu_format_step(g->format, e - g->moved), g->moved);
    double steps = within * step_square(step);
    return fmin(mean_square_beyond(g->max_finite, e) + steps, all);
}

/* Whether a scale brings the largest number of the tensor to the format's largest exponent. */
static bool follows_maximum(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_BLOCK || hu_quantizer_needs_maximum(quantizer) ||
           quantizer->history > 0;
}

static grid grid_of(const hu_quantizer *quantizer, int top) {
    const hu_format_limits limits = hu_format_limits_of(&quantizer->format);
    int moved = follows_maximum(quantizer) ? top - limits.emax : 0;
    return (grid){.format = &quantizer->format,
                  .moved = moved,
                  .emin = limits.emin + moved,
                  .least = hu_format_least_exponent(&quantizer->format) + moved,
                  .subnormals = quantizer->format.subnormals,
                  .max_finite = ldexp(limits.max_finite, moved)};
}

/* 2^bits numbers from the largest one to its negative; the largest lies below 2^(top + 1). */
static grid uniform_grid(const hu_quantizer *quantizer, int top) {
    double range = ldexp(2.0, top + 1);
    return (grid){.is_uniform = true, .step = range / (ldexp(1.0, (int)quantizer->bits) - 1.0)};
}

double hu_rounding_error(const hu_exponents *exponents, const hu_quantizer *quantizer,
                         int32_t shift) {
    double all = 0.0, lost = 0.0;
    int32_t top = hu_exponents_top(exponents);
    if (!hu_quantizer_rounds(quantizer) || top == HU_NO_EXPONENT) return 0.0;
    grid g = quantizer->kind == HU_QUANTIZER_UNIFORM ? uniform_grid(quantizer, top + shift)
                                                     : grid_of(quantizer, top + shift);
    for (uint32_t i = 0; i < exponents->count; i++) {
        int e = exponents->first + (int)i + shift;
        double count = (double)exponents->bin[i];
        all += count * mean_square_beyond(0.0, e);
        lost += count * error_in(&g, e);
    }
    return lost / all;
}
