#include "comm/expected.h"

#include <halfulp/round.h>
#include <math.h>

#include "base/bits.h"
#include "kernel/block/block.h"

/* The k of numbers whose largest is about top. */
static int32_t scale_of(const hu_comm_options *o, float top) {
    uint32_t bits = hu_f32_bits(top);
    if (o->scaling->takes_constant) return hu_scale_clamp(&o->format, -o->constant);
    if (o->scaling->fresh) return hu_scale_exponent(&o->format, HU_SCALE_CURRENT, bits);
    int32_t exponent = hu_comm_exponent(o->scaling, &o->format, o->workers, bits, false);
    return hu_scale_clamp(&o->format, hu_comm_scale_of(&o->format, exponent));
}

hu_comm_expected hu_comm_expect(const hu_comm_options *o, const hu_exponents *exponents) {
    hu_comm_expected e = {.sums_fit = true};
    int32_t exponent = hu_exponents_top(exponents);
    /* Codes of a scaling's own keep its range, and lose elsewhere than a format does. */
    if (exponent == HU_NO_EXPONENT || o->scaling->code) return e;
    float top = (float)ldexp(1.5, exponent);
    e.k = scale_of(o, top);
    e.lost = hu_exponents_lost(exponents, &o->format, -e.k);
    /* A scale that follows the largest number leaves none beyond the range, wherever in its binade
     * that number lies. */
    bool follows = o->scaling->fresh || o->scaling->exponent;
    if (follows && exponents->nonfinite == 0) e.lost.overflow = (hu_lost_share){0};
    /* Sums in float32 get a scale of their own, or room for all. */
    double sum = ldexp((double)top, -e.k) * (double)o->workers;
    e.sums_fit = o->scaling->fresh || sum <= hu_format_limits_of(&o->format).max_finite;
    return e;
}
