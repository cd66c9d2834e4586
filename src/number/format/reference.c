/* format/reference.c - rounding by integer arithmetic alone: what every kernel must equal.
 * Source: docs/reference/numerics/formats.md, "Rounding"; IEEE 754-2019 sections 4.3 and 7.4 for
 * the directed modes.
 */
#include <halfulp/format.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "format/table/table.h"
#include "format/value.h"

/* bits: finite, nonzero magnitude of a float32. */
static hu_wide wide_of_bits(uint32_t bits, bool is_negative) {
    enum { BEHIND = 63 - 23 }; /* bits of the wide significand that a float32 lacks */
    uint32_t significand = bits & 0x7FFFFFu;
    int exponent = (int)(bits >> 23) - 127, up = 0;
    if (bits >> 23 == 0) {
        up = __builtin_clz(significand) - 8;
        exponent = -126 - up;
    } else {
        significand |= 1u << 23;
    }
    return (hu_wide){is_negative, exponent, (uint64_t)significand << (up + BEHIND)};
}

/* |x| = (whole + fraction 2^-64) quanta. */
typedef struct quanta {
    uint64_t whole, fraction;
} quanta;

/* significand 2^-shift; shift >= 1. What is below the last bit of the fraction makes that 1: it is
 * compared with multiples of 2^-33 alone. */
static quanta cut(uint64_t significand, int shift) {
    if (shift < 64) return (quanta){significand >> shift, significand << (64 - shift)};
    if (shift == 64) return (quanta){0, significand};
    if (shift >= 128) return (quanta){0, 1};
    uint64_t lost = significand << (128 - shift);
    return (quanta){0, significand >> (shift - 64) | (lost != 0)};
}

/* random_word / 2^32 < fraction, one below 2^-33 counting as 0. */
static bool stochastic_up(uint64_t fraction, uint32_t random_word) {
    return fraction >> 31 != 0 && (uint64_t)random_word << 32 < fraction;
}

/* fraction 2^bits to an integer, bits at most 32: cut (a), to nearest with ties up (b) or even (c).
 */
static uint64_t to_bits(uint64_t fraction, uint32_t bits, hu_random_kind kind) {
    const uint64_t whole = fraction >> (64 - bits), rest = fraction << bits;
    const uint64_t half = (uint64_t)1 << 63;
    switch (kind) {
    case HU_RANDOM_B:
        return whole + (rest >= half);
    case HU_RANDOM_C:
        return whole + (rest > half || (rest == half && (whole & 1) != 0));
    default:
        return whole;
    }
}

/* As hu_format_round says it of stated bits. Source: IEEE P3109, Interim Report 4.0, 4.7.4. */
static bool stated_bits_up(uint64_t fraction, hu_rounding rounding, uint32_t random_word) {
    const uint32_t bits = hu_rounding_bits(rounding);
    if (bits == 0) return stochastic_up(fraction, random_word);
    return random_word >> (32 - bits) < to_bits(fraction, bits, hu_rounding_kind(rounding));
}

/* What to add to the whole quanta where the fraction is not 0. */
static int increment(hu_rounding rounding, bool is_negative, quanta q, uint32_t random_word) {
    const uint64_t half = (uint64_t)1 << 63;
    switch (hu_rounding_mode(rounding)) {
    case HU_ROUND_NEAREST_EVEN:
        return q.fraction > half || (q.fraction == half && (q.whole & 1) != 0);
    case HU_ROUND_NEAREST_AWAY:
        return q.fraction >= half;
    case HU_ROUND_UP:
        return !is_negative;
    case HU_ROUND_DOWN:
        return is_negative;
    case HU_ROUND_TO_ODD:
        return (q.whole & 1) == 0;
    case HU_ROUND_STOCHASTIC:
        return stated_bits_up(q.fraction, rounding, random_word);
    default: /* HU_ROUND_TOWARD_ZERO */
        return 0;
    }
}

/* Magnitude code, on the scale that goes on beyond the largest finite code. */
static uint64_t rounded_code(const hu_format *format, hu_rounding rounding, const hu_wide *x,
                             uint32_t random_word) {
    int emin = hu_format_emin(format), place = x->exponent > emin ? x->exponent : emin;
    int man_bits = hu_format_grid_bits(format, x->exponent);
    quanta q = cut(x->significand, 63 - man_bits + (place - x->exponent));
    if (q.fraction != 0) q.whole += (uint64_t)increment(rounding, x->is_negative, q, random_word);
    return ((uint64_t)(uint32_t)(place - emin) << format->man_bits) +
           (q.whole << (format->man_bits - man_bits));
}

/* What overflow of a finite number or an infinity gives, without its sign. */
static uint32_t overflow_bits(const hu_format *format, bool is_infinite) {
    if (format->overflow == HU_OVERFLOW_PROPAGATE && is_infinite) return HU_F32_INFINITY;
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return HU_F32_INFINITY;
    case HU_OVERFLOW_PROPAGATE:
    case HU_OVERFLOW_SAT:
        return hu_format_magnitude_bits(format, hu_format_code_max(format));
    default:
        return HU_F32_NAN;
    }
}

/* IEEE 754-2019, 7.4: modes that round toward zero on this side stay at the largest finite number.
 */
static bool rounds_inward(hu_rounding rounding, bool is_negative) {
    return rounding == HU_ROUND_TOWARD_ZERO || rounding == HU_ROUND_TO_ODD ||
           (rounding == HU_ROUND_UP && is_negative) || (rounding == HU_ROUND_DOWN && !is_negative);
}

/* Without its sign. */
static uint32_t rounded_bits(const hu_format *format, hu_rounding rounding, const hu_wide *x,
                             uint32_t random_word) {
    if (x->significand == 0) return 0;
    uint64_t code = rounded_code(format, rounding, x, random_word);
    uint32_t code_max = hu_format_code_max(format);
    if (code > code_max) {
        if (!rounds_inward(rounding, x->is_negative)) return overflow_bits(format, false);
        code = code_max;
    }
    /* Flushing comes after rounding: what rounds up to the smallest normal number stays. */
    if (!format->subnormals && code < 1u << format->man_bits) return 0;
    return hu_format_magnitude_bits(format, (uint32_t)code);
}

static float with_sign(const hu_format *format, bool is_negative, uint32_t magnitude) {
    if (format->specials == HU_SPECIALS_FNUZ && magnitude == 0) is_negative = false;
    return hu_f32_of_bits((is_negative ? HU_F32_SIGN : 0) | magnitude);
}

/* As hu_format_round, of a number that need not be a float32. format->man_bits + 33 bits at most
 * decide, so that a wide number gives what the number after it gives. */
static float hu_format_round_wide(const hu_format *format, hu_rounding rounding, const hu_wide *x,
                                  uint32_t random_word) {
    if (hu_format_is_table(format))
        return hu_f32_of_bits(hu_code_table_round(format, rounding, x, random_word, NULL));
    return with_sign(format, x->is_negative, rounded_bits(format, rounding, x, random_word));
}

float hu_format_round(const hu_format *format, hu_rounding rounding, float x,
                      uint32_t random_word) {
    if (!format) return hu_f32_of_bits(HU_F32_NAN);
    uint32_t bits = hu_f32_bits(x) & ~HU_F32_SIGN, sign = hu_f32_bits(x) & HU_F32_SIGN;
    bool is_negative = sign != 0;
    if (bits > HU_F32_INFINITY && format->nan == HU_NAN_STAYS)
        return hu_f32_of_bits(sign | bits | HU_F32_QUIET);
    if (bits >= HU_F32_INFINITY && hu_format_is_table(format))
        return hu_f32_of_bits(hu_code_table_overflow(format, rounding, is_negative, true));
    if (bits >= HU_F32_INFINITY) return with_sign(format, is_negative, overflow_bits(format, true));
    const hu_wide wide = bits != 0 ? wide_of_bits(bits, is_negative) : (hu_wide){is_negative, 0, 0};
    return hu_format_round_wide(format, rounding, &wide, random_word);
}

hu_status hu_format_round_text(const hu_format *format, hu_rounding rounding, const char *text,
                               uint32_t random_word, float *y) {
    hu_wide number;
    char *end;
    if (hu_wide_read(text, &number)) {
        *y = hu_format_round_wide(format, rounding, &number, random_word);
        return HU_OK;
    }
    /* What is left are infinities and NaNs, which float32 has. */
    *y = strtof(text, &end);
    if (end == text || *end || isfinite(*y))
        return hu_fail(HU_ERR_PARSE,
                       "found '%.60s', expected a decimal or hexadecimal number, inf or nan", text);
    *y = hu_format_round(format, rounding, *y, random_word);
    return HU_OK;
}
