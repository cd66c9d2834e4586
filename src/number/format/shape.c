/* format/shape.c - how dense the numbers of a format lie, for what is told of formats and of the
 * errors of rounding to them. */
#include <math.h>

#include "format/table/table.h"
#include "format/value.h"

/* ---- floats ---- */

static double float_step(const hu_format *format, int exponent) {
    int emin = hu_format_emin(format);
    return ldexp(1.0, (exponent > emin ? exponent : emin) - format->man_bits);
}

static uint64_t float_numbers(const hu_format *format) {
    uint64_t most = hu_format_code_max(format);
    uint64_t nonzero = format->subnormals ? most : most - (1u << format->man_bits) + 1;
    return 2 * nonzero + 1;
}

/* Binades below this exponent become 0 when rounded to nearest even. */
static int float_least_exponent(const hu_format *format) {
    if (format->subnormals) return hu_format_emin(format) - format->man_bits - 1;
    return hu_format_emin(format) - (format->underflow == HU_UNDERFLOW_NEAREST ? 1 : 0);
}

/* ---- tables ---- */

/* Numbers at most x. */
static uint32_t count_at_most(const hu_code_table *t, double x) {
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->number[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double table_step(const hu_code_table *t, int exponent) {
    if (exponent < HU_BINADE_LEAST) exponent = HU_BINADE_LEAST;
    if (exponent > HU_BINADE_MOST) exponent = HU_BINADE_MOST;
    return t->gap[exponent - HU_BINADE_LEAST];
}

/* ---- both ---- */

double hu_format_step(const hu_format *format, int exponent) {
    if (!hu_format_is_table(format)) return float_step(format, exponent);
    return ldexp(table_step(hu_code_table_of(format), exponent + format->bias), -format->bias);
}

int hu_format_precision(const hu_format *format) {
    if (!hu_format_is_table(format)) return format->man_bits;
    const hu_format_limits limits = hu_format_limits_of(format);
    double most = 0;
    for (int e = limits.emin; e <= limits.emax; e++)
        most = fmax(most, e - log2(hu_format_step(format, e)));
    return (int)ceil(most);
}

double hu_format_epsilon(const hu_format *format) {
    if (!hu_format_is_table(format)) return ldexp(1.0, -format->man_bits);
    const hu_code_table *t = hu_code_table_of(format);
    uint32_t place = count_at_most(t, ldexp(1.0, format->bias));
    if (place == 0 || place == t->count) return 0;
    return ldexp((double)t->number[place], -format->bias) - 1;
}

uint64_t hu_format_numbers(const hu_format *format) {
    return hu_format_is_table(format) ? hu_code_table_of(format)->count : float_numbers(format);
}

int hu_format_least_exponent(const hu_format *format) {
    enum { NEVER = -1000 }; /* below every number */
    if (!hu_format_is_table(format)) return float_least_exponent(format);
    double lost = hu_format_limits_of(format).underflow_threshold;
    return lost > 0 ? ilogb(lost) : NEVER;
}

hu_vanishing hu_format_vanishing(const hu_format *format) {
    const hu_format_limits limits = hu_format_limits_of(format);
    if (hu_format_is_table(format)) {
        /* The quantum of subnormals is the smallest of them. */
        bool has_subnormals = limits.min_normal > limits.min_subnormal;
        double most = has_subnormals ? limits.min_normal - limits.min_subnormal / 2 : 0;
        double least = has_subnormals ? limits.underflow_threshold : 0;
        return (hu_vanishing){limits.underflow_threshold, least, most};
    }
    /* Half of the smallest subnormal rounds to zero; what lies below the smallest normal number
     * minus half a step of its grid does not round up to it. */
    double vanishing = ldexp(1.0, limits.emin - format->man_bits - 1);
    double normal = ldexp(1.0, limits.emin) * (1.0 - ldexp(1.0, -format->man_bits - 1));
    /* Without a grid of subnormals there is one midpoint between zero and that number. */
    if (hu_format_grid_bits(format, limits.emin - 1) == 0)
        normal = vanishing = ldexp(1.0, limits.emin - 1);
    return (hu_vanishing){format->subnormals ? vanishing : normal, vanishing, normal};
}

uint64_t hu_format_content(const hu_format *format) {
    return hu_format_is_table(format) ? hu_code_table_of(format)->content : 0;
}

const char *hu_format_summary(const hu_format *format) {
    return hu_format_is_table(format) ? hu_code_table_of(format)->summary : NULL;
}
