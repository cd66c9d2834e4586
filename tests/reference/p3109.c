#include "reference/p3109.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool p3109_exists(const p3109 *f) {
    return f->k > 2 && f->p >= 1 && f->p <= f->k - f->is_signed;
}

bool p3109_fits(const p3109 *f) {
    return f->k - f->p + !f->is_signed <= 8;
}

void p3109_name(const p3109 *f, char *text) {
    snprintf(text, 32, "binary%dp%d%c%c", f->k, f->p, f->is_signed ? 's' : 'u',
             f->is_extended ? 'e' : 'f');
}

/* Half of the powers of two of the exponent field. */
static int bias_of(const p3109 *f) {
    return 1 << (f->k - f->p - f->is_signed);
}

/* Of a code that is a number without sign: trailing significand t of P - 1 bits below the exponent
 * field X. */
static double magnitude(const p3109 *f, uint32_t code) {
    int t_bits = f->p - 1;
    uint32_t x = code >> t_bits, t = code & ((1u << t_bits) - 1);
    double fraction = ldexp((double)t, -t_bits);
    if (x == 0) return ldexp(fraction, 1 - bias_of(f));
    return ldexp(1 + fraction, (int)x - bias_of(f));
}

double p3109_value(const p3109 *f, uint32_t code) {
    uint32_t sign = 1u << (f->k - 1), last = 2 * sign - 1;
    if (f->is_signed) {
        if (code == sign) return (double)NAN;
        if (f->is_extended && code == sign - 1) return (double)INFINITY;
        if (f->is_extended && code == last) return -(double)INFINITY;
        return code < sign ? magnitude(f, code) : -magnitude(f, code - sign);
    }
    if (code == last) return (double)NAN;
    if (f->is_extended && code == last - 1) return (double)INFINITY;
    return magnitude(f, code);
}

double p3109_most(const p3109 *f) {
    uint32_t first_other = f->is_signed ? 1u << (f->k - 1) : (1u << f->k) - 1;
    return p3109_value(f, first_other - 1 - f->is_extended);
}

double p3109_least(const p3109 *f) {
    return f->is_signed ? -p3109_most(f) : 0;
}

/* rest 2^(places - shift), to the integer below, or to nearest with ties to even. rest < 2^24,
 * places
 * <= 33. */
static uint64_t scaled(uint64_t rest, int places, int shift, bool to_nearest) {
    uint64_t number = rest << places;
    if (shift <= 0) return number << -shift;
    if (shift > 62) return 0;
    uint64_t whole = number >> shift, part = number - (whole << shift), half = 1ull << (shift - 1);
    return whole + (to_nearest && (part > half || (part == half && (whole & 1))));
}

static bool stochastic_up(hu_rounding mode, uint64_t rest, int shift, uint32_t word) {
    int n = (int)hu_rounding_bits(mode);
    if (n == 0) {
        /* U < r, U = word / 2^32, an r below 2^-33 counting as 0. */
        if (scaled(rest, 33, shift, false) == 0) return false;
        uint64_t whole = scaled(rest, 32, shift, false);
        bool is_exact = shift <= 32 || (shift <= 62 && whole << shift == rest << 32);
        return word < whole || (word == whole && !is_exact);
    }
    uint64_t all = 1ull << n, random = all - 1 - (word >> (32 - n));
    switch (hu_rounding_kind(mode)) {
    case HU_RANDOM_A:
        return scaled(rest, n, shift, false) + random >= all;
    case HU_RANDOM_B:
        return scaled(rest, n + 1, shift, false) + 2 * random + 1 >= 2 * all;
    default:
        return scaled(rest, n, shift, true) + random >= all;
    }
}

/* 4.7.4: whether n quanta and rest 2^-shift of one, rest > 0, become n + 1. quantum: 2^quantum. */
static bool goes_up(const p3109 *f, hu_rounding mode, bool is_negative, uint64_t n, int quantum,
                    uint64_t rest, int shift, uint32_t word) {
    uint64_t twice = scaled(rest, 1, shift, false);
    bool is_half = shift <= 62 && rest << 1 == 1ull << shift;
    bool is_even = f->p > 1 ? n % 2 == 0 : n == 0 || (quantum + bias_of(f)) % 2 == 0;
    switch (hu_rounding_mode(mode)) {
    case HU_ROUND_NEAREST_EVEN:
        return is_half ? !is_even : twice >= 1;
    case HU_ROUND_NEAREST_AWAY:
        return twice >= 1;
    case HU_ROUND_UP:
        return !is_negative;
    case HU_ROUND_DOWN:
        return is_negative;
    case HU_ROUND_TO_ODD:
        return is_even;
    case HU_ROUND_STOCHASTIC:
        return stochastic_up(mode, rest, shift, word);
    default:
        return false;
    }
}

/* 4.7.4: on the grid that goes on without end. x is finite. */
static double rounded(const p3109 *f, hu_rounding mode, float x, uint32_t word) {
    int exponent;
    if (x == 0) return 0;
    uint64_t significand = (uint64_t)ldexp(frexp(fabs((double)x), &exponent), 24);
    int place = exponent - 1 > 1 - bias_of(f) ? exponent - 1 : 1 - bias_of(f);
    int quantum = place - f->p + 1, shift = quantum - (exponent - 24);
    uint64_t n = scaled(significand, 0, shift, false);
    uint64_t rest = shift <= 0 ? 0 : shift > 62 ? significand : significand - (n << shift);
    if (rest && goes_up(f, mode, x < 0, n, quantum, rest, shift, word)) n++;
    return copysign(ldexp((double)n, quantum), (double)x);
}

/* 4.7.5, SatNone: the first rule that fits. */
static double unsaturated(const p3109 *f, hu_rounding mode, float x, double r) {
    double most = p3109_most(f), least = p3109_least(f), infinity = (double)INFINITY;
    if (isinf(x) && x > 0) return f->is_extended ? infinity : most;
    if (isinf(x)) {
        if (!f->is_signed) return (double)NAN;
        return f->is_extended ? -infinity : least;
    }
    if (r > most) {
        if (mode == HU_ROUND_TO_ODD && !f->is_signed && f->is_extended) return most;
        if (mode == HU_ROUND_TOWARD_ZERO || mode == HU_ROUND_DOWN) return most;
        return f->is_extended ? infinity : most;
    }
    if (mode == HU_ROUND_TOWARD_ZERO || mode == HU_ROUND_UP) return least;
    if (!f->is_signed) return (double)NAN;
    return f->is_extended ? -infinity : least;
}

float p3109_round(const p3109 *f, hu_rounding mode, p3109_saturation saturation, float x,
                  uint32_t random_word, bool *is_beyond) {
    double r = isinf(x) ? (double)x : rounded(f, mode, x, random_word);
    double most = p3109_most(f), least = p3109_least(f);
    *is_beyond = r > most || r < least;
    if (!*is_beyond) return (float)r + 0.0f; /* there is one zero */
    if (saturation == P3109_NONE) return (float)unsaturated(f, mode, x, r);
    bool stays = f->is_extended && (x > 0 || f->is_signed);
    if (saturation == P3109_PROPAGATE && isinf(x) && stays) return x;
    return (float)(r > most ? most : least);
}
