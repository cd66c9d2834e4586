#include "tensor/rounding_error.h"

#include <math.h>

#include <halfulp/round.h>

#include "format/value.h"

/* What numbers are rounded to: steps of a float format, or one step for all. */
typedef struct grid {
    bool is_uniform;
    int emin, man_bits; /* exponent of the smallest normal number, bits behind the point */
    int least;          /* binades below this exponent become zero */
    bool subnormals;
    double max_finite, step; /* step: uniform */
} grid;

/* Mean over a binade 2^e .. 2^(e+1) of (x - from)^2 for x beyond `from`, else 0. */
static double mean_square_beyond(double from, int e) {
    double low = ldexp(1.0, e), high = 2.0 * low, least = fmax(low, from);
    if (high <= from) return 0.0;
    return (pow(high - from, 3.0) - pow(least - from, 3.0)) / (3.0 * low);
}

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
    int grain = e < g->emin ? g->emin : e;
    double steps = within * step_square(ldexp(1.0, grain - g->man_bits));
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
    return (grid){.emin = limits.emin + moved,
                  .man_bits = quantizer->format.man_bits,
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
