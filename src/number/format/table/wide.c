/* format/table/wide.c - exact comparisons of numbers of any exponent. */
#include <math.h>

#include "format/table/table.h"

hu_wide hu_wide_of_double(double x) {
    int exponent;
    double fraction = frexp(fabs(x), &exponent); /* 0.5..1 */
    if (x == 0) return (hu_wide){0};
    uint64_t significand = (uint64_t)ldexp(fraction, 53) << 11;
    return (hu_wide){x < 0, exponent - 1, significand};
}

/* Of magnitudes. */
static int compare_magnitudes(const hu_wide *a, const hu_wide *b) {
    if (a->significand == 0 || b->significand == 0)
        return (a->significand != 0) - (b->significand != 0);
    if (a->exponent != b->exponent) return a->exponent < b->exponent ? -1 : 1;
    return (a->significand > b->significand) - (a->significand < b->significand);
}

static int sign_of(const hu_wide *a) {
    return a->significand == 0 ? 0 : a->is_negative ? -1 : 1;
}

int hu_wide_compare(const hu_wide *a, const hu_wide *b) {
    int sign = sign_of(a);
    if (sign != sign_of(b)) return sign < sign_of(b) ? -1 : 1;
    int order = compare_magnitudes(a, b);
    return sign < 0 ? -order : order;
}
