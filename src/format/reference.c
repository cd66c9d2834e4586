/* format/reference.c - rounding by integer arithmetic alone: what every kernel must equal.
 * Source: docs/numerics.md, "Rounding"; IEEE 754-2019 sections 4.3 and 7.4 for the directed modes.
 */
#include <halfulp/format.h>

#include "format/value.h"

/* |x| = significand 2^(exponent-23) with 2^23 <= significand < 2^24. bits: finite, nonzero. */
static uint32_t normalised(uint32_t bits, int *exponent) {
    uint32_t significand = bits & 0x7FFFFFu;
    if (bits >> 23 != 0) {
        *exponent = (int)(bits >> 23) - 127;
        return significand | 1u << 23;
    }
    int up = __builtin_clz(significand) - 8;
    *exponent = -126 - up;
    return significand << up;
}

/* random_word / 2^32 < rest / 2^shift, without leaving 64 bits; shift >= 1, rest < 2^24.
 * From shift = 57 on the right side is below 2^-33 and counts as 0. */
static int stochastic_up(uint64_t rest, int shift, uint32_t random_word) {
    if (shift > 56) return 0;
    if (shift <= 32) return (uint64_t)random_word << shift < rest << 32;
    return (uint64_t)random_word << (shift - 32) < rest;
}

/* What to add to the integer n = floor(q), where q = n + rest/2^shift, 0 < rest < 2^shift. */
static int increment(hu_rounding rounding, int is_negative, uint64_t n, uint64_t rest, int shift,
                     uint32_t random_word) {
    uint64_t half = (uint64_t)1 << (shift - 1);
    switch (rounding) {
    case HU_ROUND_NEAREST_EVEN:
        return rest > half || (rest == half && (n & 1) != 0);
    case HU_ROUND_NEAREST_AWAY:
        return rest >= half;
    case HU_ROUND_UP:
        return !is_negative;
    case HU_ROUND_DOWN:
        return is_negative;
    case HU_ROUND_TO_ODD:
        return (n & 1) == 0;
    case HU_ROUND_STOCHASTIC:
        return stochastic_up(rest, shift, random_word);
    default: /* HU_ROUND_TOWARD_ZERO */
        return 0;
    }
}

/* Magnitude code, on the scale that goes on beyond the largest finite code. */
static uint64_t rounded_code(const hu_format *format, hu_rounding rounding, uint32_t bits,
                             int is_negative, uint32_t random_word) {
    int exponent, emin = hu_format_emin(format);
    uint64_t significand = normalised(bits, &exponent);
    int place = exponent > emin ? exponent : emin, man_bits = hu_format_grid_bits(format, exponent);
    int shift = 23 - man_bits + (place - exponent);
    if (shift > 60) shift = 60; /* rest < 2^24 is as far below half and 2^-33 there */
    uint64_t n = significand >> shift, rest = significand - (n << shift);
    if (rest != 0 && increment(rounding, is_negative, n, rest, shift, random_word)) n++;
    return ((uint64_t)(uint32_t)(place - emin) << format->man_bits) +
           (n << (format->man_bits - man_bits));
}

/* What overflow gives, without its sign. */
static uint32_t overflow_bits(const hu_format *format) {
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return HU_F32_INFINITY;
    case HU_OVERFLOW_SAT:
        return hu_format_magnitude_bits(format, hu_format_code_max(format));
    default:
        return HU_F32_NAN;
    }
}

/* IEEE 754-2019, 7.4: modes that round toward zero on this side stay at the largest finite number.
 */
static int rounds_inward(hu_rounding rounding, int is_negative) {
    return rounding == HU_ROUND_TOWARD_ZERO || rounding == HU_ROUND_TO_ODD ||
           (rounding == HU_ROUND_UP && is_negative) || (rounding == HU_ROUND_DOWN && !is_negative);
}

/* bits: finite and nonzero magnitude. */
static uint32_t rounded_bits(const hu_format *format, hu_rounding rounding, uint32_t bits,
                             int is_negative, uint32_t random_word) {
    uint64_t code = rounded_code(format, rounding, bits, is_negative, random_word);
    uint32_t code_max = hu_format_code_max(format);
    if (code > code_max) {
        if (!rounds_inward(rounding, is_negative)) return overflow_bits(format);
        code = code_max;
    }
    /* Flushing comes after rounding: what rounds up to the smallest normal number stays. */
    if (!format->subnormals && code < 1u << format->man_bits) return 0;
    return hu_format_magnitude_bits(format, (uint32_t)code);
}

float hu_format_round(const hu_format *format, hu_rounding rounding, float x,
                      uint32_t random_word) {
    uint32_t bits = hu_f32_bits(x) & ~HU_F32_SIGN, sign = hu_f32_bits(x) & HU_F32_SIGN;
    uint32_t result = 0;
    if (bits > HU_F32_INFINITY && format->nan == HU_NAN_STAYS)
        return hu_f32_of_bits(sign | bits | HU_F32_QUIET);
    if (bits >= HU_F32_INFINITY)
        result = overflow_bits(format);
    else if (bits != 0)
        result = rounded_bits(format, rounding, bits, sign != 0, random_word);
    if (format->specials == HU_SPECIALS_FNUZ && result == 0) sign = 0;
    return hu_f32_of_bits(sign | result);
}
