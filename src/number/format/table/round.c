/* format/table/round.c - rounding to the numbers of a table by exact arithmetic: what the kernels
 * must equal. Source: docs/reference/numerics/tables.md, "Formats by table".
 */
#include <math.h>

#include "base/bits.h"
#include "format/table/draw.h"
#include "format/table/table.h"

/* ---- numbers of any exponent ---- */

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

/* ---- between two neighbours ---- */

/* -1, 0, 1: x is below, on or above the boundary. */
static int side_of(const hu_wide *x, const hu_code_boundary *boundary) {
    hu_wide at = hu_wide_of_double(boundary->at);
    int order = hu_wide_compare(x, &at);
    if (order != 0 || boundary->rest == 0) return order;
    return boundary->rest > 0 ? -1 : 1;
}

/* What lies between the neighbours goes toward 0: up below it. Between a negative and a positive
 * neighbour it goes to the nearest, `up`. */
static bool inward_up(const hu_code_table *t, uint32_t gap, bool is_negative, bool up) {
    bool crosses = gap > 0 && gap < t->count && t->number[gap - 1] < 0 && t->number[gap] > 0;
    return crosses ? up : is_negative;
}

/* Whether the code at a place is odd; beyond the ends as if codes went on. */
static bool is_odd(const hu_code_table *t, int64_t place) {
    if (place < 0) return (t->code[0] & 1) == 0;
    if (place >= t->count) return (t->code[t->count - 1] & 1) == 0;
    return (t->code[place] & 1) != 0;
}

/* Up, of two neighbours one of which has an odd code: to it, or (even) to the other. */
static bool parity_up(const hu_code_table *t, uint32_t gap, bool wants_odd, bool otherwise) {
    bool low = is_odd(t, (int64_t)gap - 1), high = is_odd(t, gap);
    return low == high ? otherwise : high == wants_odd;
}

static bool tie_up(const hu_code_table *t, hu_code_ties ties, uint32_t gap, bool is_negative) {
    switch (ties) {
    case HU_TIES_EVEN:
        return parity_up(t, gap, false, is_negative);
    case HU_TIES_AWAY:
        return !is_negative;
    default:
        return false;
    }
}

static bool nearest_up(const hu_code_table *t, hu_code_ties ties, uint32_t gap, const hu_wide *x) {
    int side = side_of(x, &t->boundary[gap]);
    return side == 0 ? tie_up(t, ties, gap, x->is_negative) : side > 0;
}

/* Beyond an end, modes that round inward overflow from the number on that would come next. */
static bool inward_end_up(const hu_code_table *t, uint32_t gap, const hu_wide *x) {
    hu_wide next = hu_wide_of_double(t->next[gap != 0]);
    int order = hu_wide_compare(x, &next);
    return gap == 0 ? order > 0 : order >= 0;
}

bool hu_code_table_goes_up(const hu_code_table *t, hu_rounding rounding, uint32_t gap,
                           const hu_wide *x) {
    bool is_end = gap == 0 || gap == t->count;
    switch (rounding) {
    case HU_ROUND_NEAREST_EVEN:
        return nearest_up(t, t->ties, gap, x);
    case HU_ROUND_NEAREST_AWAY:
        return nearest_up(t, HU_TIES_AWAY, gap, x);
    case HU_ROUND_UP:
        return gap == 0 ? inward_end_up(t, gap, x) : true;
    case HU_ROUND_DOWN:
        return gap == t->count && gap > 0 ? inward_end_up(t, gap, x) : false;
    case HU_ROUND_TO_ODD:
        if (is_end && (!t->is_p3109 || inward_end_up(t, gap, x) == (gap != 0)))
            return inward_end_up(t, gap, x);
        return parity_up(t, gap, true,
                         inward_up(t, gap, x->is_negative, nearest_up(t, t->ties, gap, x)));
    default: /* HU_ROUND_TOWARD_ZERO */
        if (is_end) return inward_end_up(t, gap, x);
        return inward_up(t, gap, x->is_negative, nearest_up(t, t->ties, gap, x));
    }
}

/* ---- stochastic ---- */

/* A number as an integer of so many limbs, the least first, in units of 2^-256; enough for the
 * numbers of float32, their differences, and 33 bits more. */
enum { LIMBS = 8, UNIT = -256 };
typedef struct fixed {
    uint64_t limb[LIMBS];
} fixed;

/* The magnitude of x, below 2^200; what lies below the unit is cut. */
static fixed fixed_of(const hu_wide *x) {
    fixed f = {{0}};
    int shift = x->exponent - 63 - UNIT; /* of the significand's last bit */
    if (shift <= -64) return f;
    uint64_t significand = shift < 0 ? x->significand >> -shift : x->significand;
    if (shift < 0) shift = 0;
    int at = shift / 64, bits = shift % 64;
    f.limb[at] = significand << bits;
    if (bits > 0 && at + 1 < LIMBS) f.limb[at + 1] = significand >> (64 - bits);
    return f;
}

static int compare_fixed(const fixed *a, const fixed *b) {
    for (int i = LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static fixed add_fixed(const fixed *a, const fixed *b) {
    fixed sum;
    unsigned __int128 carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (unsigned __int128)a->limb[i] + b->limb[i];
        sum.limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return sum;
}

/* a - b, a >= b. */
static fixed subtract_fixed(const fixed *a, const fixed *b) {
    fixed rest;
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        unsigned __int128 take = (unsigned __int128)b->limb[i] + borrow;
        rest.limb[i] = (uint64_t)((unsigned __int128)a->limb[i] - take);
        borrow = (unsigned __int128)a->limb[i] < take;
    }
    return rest;
}

static fixed times(const fixed *a, uint64_t factor) {
    fixed product;
    unsigned __int128 carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (unsigned __int128)a->limb[i] * factor;
        product.limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return product;
}

/* |a - b|. */
static fixed distance(const hu_wide *a, const hu_wide *b) {
    fixed x = fixed_of(a), y = fixed_of(b);
    if (a->is_negative != b->is_negative) return add_fixed(&x, &y);
    return compare_fixed(&x, &y) < 0 ? subtract_fixed(&y, &x) : subtract_fixed(&x, &y);
}

/* Whether x moves from one neighbour to the other: the word against |x - from| / |to - from|, of
 * which a share below 2^-33 counts as 0. */
static bool moves(const hu_wide *x, const hu_wide *from, const hu_wide *to, hu_draw draw) {
    fixed part = distance(x, from), whole = distance(to, from);
    fixed left = times(&whole, draw.factor), right = times(&part, (uint64_t)1 << draw.power);
    fixed twice = times(&part, (uint64_t)1 << 33);
    int order = compare_fixed(&left, &right);
    return compare_fixed(&twice, &whole) >= 0 && (order < 0 || (order == 0 && draw.reaches));
}

/* Ends are taken below 2^200, where no float32 is. */
static hu_wide end_of(double next) {
    const double most = 0x1p200;
    return hu_wide_of_double(next > most ? most : next < -most ? -most : next);
}

/* From the neighbour nearer to 0 toward the other. */
static bool stochastic_up(const hu_code_table *t, uint32_t gap, const hu_wide *x, hu_draw draw) {
    hu_wide low = gap == 0 ? end_of(t->next[0]) : hu_wide_of_double(t->number[gap - 1]);
    hu_wide high = gap == t->count ? end_of(t->next[1]) : hu_wide_of_double(t->number[gap]);
    if (gap == 0 && hu_wide_compare(x, &low) <= 0) return false;
    if (gap == t->count && hu_wide_compare(x, &high) >= 0) return true;
    return x->is_negative ? !moves(x, &high, &low, draw) : moves(x, &low, &high, draw);
}

/* ---- rounding ---- */

/* Numbers of the table that are at most x. */
static uint32_t count_at_most(const hu_code_table *t, const hu_wide *x) {
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        hu_wide number = hu_wide_of_double(t->number[middle]);
        if (hu_wide_compare(&number, x) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool rounds_inward(hu_rounding rounding, bool is_negative) {
    return rounding == HU_ROUND_TOWARD_ZERO || rounding == HU_ROUND_TO_ODD ||
           (rounding == HU_ROUND_UP && is_negative) || (rounding == HU_ROUND_DOWN && !is_negative);
}

static uint32_t scaled_bits(const hu_format *format, float number) {
    return hu_f32_bits(ldexpf(number, -format->bias));
}

bool hu_code_table_has_infinities(const hu_format *format) {
    const hu_code_table *t = hu_code_table_of(format);
    bool never_negative = t->number[0] >= 0 && format->overflow >= HU_OVERFLOW_PROPAGATE;
    return t->infinity_code[0] >= 0 && (t->infinity_code[1] >= 0 || never_negative);
}

/* SatNone. The last number where the mode rounds inward, or where nothing is beyond it but NaN.
 * Source: IEEE P3109, Interim Report 4.0, 4.7.5. */
static uint32_t unsaturated(const hu_format *format, hu_rounding rounding, bool is_negative,
                            bool is_infinite) {
    const hu_code_table *t = hu_code_table_of(format);
    bool is_signed = t->number[0] < 0, has_infinity = t->infinity_code[0] >= 0;
    bool stays = rounds_inward(rounding, is_negative);
    if (rounding == HU_ROUND_TO_ODD) stays = !is_negative && !is_signed;
    if (is_negative && !is_signed && (is_infinite || !stays)) return HU_F32_NAN;
    if (has_infinity && (is_infinite || !stays))
        return HU_F32_INFINITY | (is_negative ? HU_F32_SIGN : 0);
    return scaled_bits(format, t->number[is_negative ? 0 : t->count - 1]);
}

uint32_t hu_code_table_overflow(const hu_format *format, hu_rounding rounding, bool is_negative,
                                bool is_infinite) {
    const hu_code_table *t = hu_code_table_of(format);
    uint32_t sign = is_negative ? HU_F32_SIGN : 0;
    float last = t->number[is_negative ? 0 : t->count - 1];
    if (is_infinite && t->infinity_is_nan) return sign | HU_F32_NAN;
    if (format->overflow == HU_OVERFLOW_NONE)
        return unsaturated(format, rounding, is_negative, is_infinite);
    if (!is_infinite && rounds_inward(rounding, is_negative)) return scaled_bits(format, last);
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return sign | HU_F32_INFINITY;
    case HU_OVERFLOW_PROPAGATE:
        if (is_infinite && t->infinity_code[is_negative] >= 0) return sign | HU_F32_INFINITY;
        return scaled_bits(format, last);
    case HU_OVERFLOW_SAT:
        return scaled_bits(format, last);
    default:
        return sign | HU_F32_NAN;
    }
}

uint32_t hu_code_table_round(const hu_format *format, hu_rounding rounding, const hu_wide *x,
                             uint32_t random_word, bool *is_beyond) {
    const hu_code_table *t = hu_code_table_of(format);
    hu_wide scaled = *x;
    if (is_beyond) *is_beyond = false;
    /* -0 is 0. */
    if (x->significand == 0) scaled.is_negative = false;
    scaled.exponent += format->bias;
    uint32_t gap = count_at_most(t, &scaled);
    hu_wide exact = gap > 0 ? hu_wide_of_double(t->number[gap - 1]) : (hu_wide){0};
    if (gap > 0 && hu_wide_compare(&exact, &scaled) == 0)
        return scaled_bits(format, t->number[gap - 1]);
    bool is_drawn = hu_rounding_mode(rounding) == HU_ROUND_STOCHASTIC;
    bool up = is_drawn ? stochastic_up(t, gap, &scaled, hu_draw_of(rounding, random_word))
                       : hu_code_table_goes_up(t, rounding, gap, &scaled);
    int64_t place = (int64_t)gap - 1 + up;
    bool goes_beyond = place < 0 || place >= t->count;
    if (is_beyond) *is_beyond = goes_beyond;
    if (goes_beyond) return hu_code_table_overflow(format, rounding, place < 0, false);
    return scaled_bits(format, t->number[place]);
}
