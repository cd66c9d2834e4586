/* kernel/round/variant.c - the rounding kernels in portable C, compiled once per instruction set.
 * Loops are branch-free and data-independent; `route`, `mode`, `finish` and `counting` are
 * constants at every call, so each combination becomes a loop of its own. Magnitudes stay below
 * 2^31 and are compared as signed numbers, which vector units do in one step. Assumes the default
 * floating-point environment: nearest even, subnormals kept. */
#include <string.h>

#include "base/bits.h"
#include "kernel/lane.h"
#include "kernel/round/round.h"
#include "kernel/round/tally.h"
#include "kernel/round/words.inc"

#define JUST_BELOW_HALF 0x3effffffu /* bits of a float */

/* Elements between two visits to the 64-bit counters; multiples of 4. The larger one still finds in
 * the first cache what its first look has read. */
enum { BLOCK = 1024, CALM_BLOCK = 4096 };

/* Elements of an array that no cache holds: 32 MiB. */
enum { LARGE = 1 << 23 };

/* The constants of hu_rounder as scalars that can live in registers. */
typedef struct constants {
    uint32_t drop, tiny_drop, nan_cap, emin_bits, max_bits, min_normal_bits, min_nonzero_bits,
        flush_below_bits;
    uint32_t zero_sign, overflow_plus, overflow_minus, infinite_plus, infinite_minus;
    uint32_t parity_cap, exponent_cap;
    int32_t emin_field;
    float threshold, max;
} constants;

/* The constants are copied once per block: the compiler cannot know that stores to y leave *r
 * alone. */
HU_INLINE constants constants_of(const hu_rounder *r) {
    return (constants){
        .drop = r->drop,
        .tiny_drop = r->tiny_drop,
        .nan_cap = r->nan_cap,
        .emin_bits = r->emin_bits,
        .max_bits = r->max_bits,
        .min_normal_bits = r->min_normal_bits,
        .min_nonzero_bits = r->min_nonzero_bits,
        .flush_below_bits = r->flush_below_bits,
        .zero_sign = r->zero_sign,
        .overflow_plus = r->overflow_value[0],
        .overflow_minus = r->overflow_value[1],
        .infinite_plus = r->infinite_value[0],
        .infinite_minus = r->infinite_value[1],
        .parity_cap = r->parity_cap,
        .emin_field = r->emin_field,
        .exponent_cap = r->exponent_cap,
        .threshold = r->threshold,
        .max = hu_f32_of_bits(r->max_bits),
    };
}

/* hu_rounding_draws of a constant. */
HU_INLINE bool draws(hu_rounding mode) {
    return mode == HU_ROUND_STOCHASTIC || mode == HU_ROUND_STATED_BITS;
}

/* Fraction bits that the magnitude u loses in its own binade. */
HU_INLINE uint32_t drop_of(const constants *c, hu_round_finish finish, uint32_t u) {
    if (finish < HU_FINISH_RARE) return c->drop;
    return is_less(u, c->min_normal_bits) ? c->tiny_drop : c->drop;
}

/* 1 if mode rounds the magnitude of a number with this sign away from zero. */
HU_INLINE uint32_t is_outward(hu_rounding mode, uint32_t sign) {
    return (sign >> 31) ^ (mode == HU_ROUND_UP ? 1 : 0);
}

/* What mode adds to the multiple `floor` of the quantum q, floor <= a < floor + q; all exact. cut:
 * a word as cut_words or stated_words gives it; the word 0 goes up from 2^-33 q on, the least rest
 * that counts. */
HU_INLINE float magic_rise(hu_rounding mode, float a, float floor, float c, uint32_t q_bits,
                           uint32_t sign, uint32_t cut) {
    float q = hu_f32_of_bits(q_bits), rest = a - floor;
    switch ((unsigned)mode) { /* also HU_ROUND_STATED_BITS, which is none of the enumerators */
    case HU_ROUND_NEAREST_AWAY:
        return rest >= hu_f32_of_bits(q_bits - 0x00800000u) ? q : 0.0f;
    case HU_ROUND_UP:
    case HU_ROUND_DOWN:
        return rest > 0.0f ? hu_f32_of_bits(q_bits & (0 - is_outward(mode, sign))) : 0.0f;
    case HU_ROUND_TO_ODD:
        return rest > 0.0f ? hu_f32_of_bits(q_bits & ((hu_f32_bits(floor + c) & 1) - 1)) : 0.0f;
    case HU_ROUND_STOCHASTIC:
    case HU_ROUND_STATED_BITS:
        cut = cut > JUST_BELOW_HALF ? cut : JUST_BELOW_HALF;
        return hu_f32_of_bits(cut) * hu_f32_of_bits(q_bits - (32u << 23)) < rest ? q : 0.0f;
    default:
        return 0.0f;
    }
}

/* Formulations MAGIC and SUBNORMAL of round.h; NaN passes with its payload, made quiet by the
 * addition. Nearest-even has no meaning beyond its overflow threshold; in other modes the exponent
 * is capped there, and the result lies beyond the largest finite number. */
HU_INLINE uint32_t round_magic(const constants *r, hu_rounding mode, hu_round_route route,
                               uint32_t drop, uint32_t u, uint32_t sign, uint32_t word) {
    /* The bits of 2^k: the exponent of x, from emin on upward. Below emin the quantum stays. */
    uint32_t k = u & HU_F32_INFINITY;
    k = k > r->emin_bits ? k : r->emin_bits;
    if (mode != HU_ROUND_NEAREST_EVEN) k = at_most(k, r->exponent_cap);
    uint32_t c_bits = k + (drop << 23);
    /* m = 23: normal numbers are on the grid already, and 2^emin has the quantum of subnormals. */
    if (route == HU_ROUTE_SUBNORMAL)
        c_bits = is_less(u, r->emin_bits) ? r->emin_bits + (drop << 23) : 0;
    float a = hu_f32_of_bits(u), c = hu_f32_of_bits(c_bits);
    float sum = a + c;
    float t = sum - c;
    if (mode == HU_ROUND_NEAREST_EVEN) return hu_f32_bits(t);
    /* The other modes start from the multiple of q at or below a. Nearest-even found this one or
     * the next. */
    uint32_t q_bits = k - ((23 - drop) << 23);
    float floor = t - (t > a ? hu_f32_of_bits(q_bits) : 0.0f);
    return hu_f32_bits(floor + magic_rise(mode, a, floor, c, q_bits, sign, word));
}

/* 1 if rest / 2^shift, rest below 2^24, is above a word of stated_words. Below 2^-36 it never is.
 */
HU_INLINE uint32_t is_above(uint32_t rest, uint32_t shift, uint32_t word) {
    uint32_t power_bits = (127 + 32 - at_most(shift, 60)) << 23;
    return hu_f32_of_bits(word) < (float)(int32_t)rest * hu_f32_of_bits(power_bits);
}

/* Formulation ALIGNED: the low `drop` bits of u are the fraction. The significand is odd if its
 * last bit is, and always if it is the hidden bit alone (m = 0). */
HU_INLINE uint32_t round_aligned(const constants *r, hu_rounding mode, uint32_t drop, uint32_t u,
                                 uint32_t sign, uint32_t word) {
    uint32_t mask = (1u << drop) - 1, half = (mask >> 1) + (drop > 0 ? 1 : 0);
    uint32_t odd = (at_most(u, r->parity_cap) >> drop) & 1, add;
    switch ((unsigned)mode) { /* also HU_ROUND_STATED_BITS, which is none of the enumerators */
    case HU_ROUND_NEAREST_EVEN:
        /* A carry from more than half on, and from half on where the significand is odd. */
        add = (mask >> 1) + (odd & at_most(mask, 1));
        break;
    case HU_ROUND_NEAREST_AWAY:
        add = half;
        break;
    case HU_ROUND_UP:
    case HU_ROUND_DOWN:
        add = mask & (0 - is_outward(mode, sign));
        break;
    case HU_ROUND_TO_ODD:
        /* A carry from the first nonzero bit on where the significand is even. */
        add = mask & (odd - 1);
        break;
    case HU_ROUND_STOCHASTIC:
        /* A carry iff the first `drop` bits of the word are less than the fraction: word / 2^32 <
         * rest. Two shifts, because drop may be 0. */
        add = mask - ((word >> 1) >> (31 - drop));
        break;
    case HU_ROUND_STATED_BITS:
        add = (mask + 1) & (0 - is_above(u & mask, drop, word));
        break;
    default:
        add = 0;
    }
    return (u + add) & ~mask;
}

/* Up iff word / 2^32 < rest / 2^shift, compared exactly: the least integer not below
 * rest * 2^(32-shift); a fraction below 2^-33 counts as none. */
HU_INLINE uint32_t stochastic_bound(uint32_t rest, uint32_t shift) {
    uint32_t left = at_most(32 - at_most(shift, 32), 31);
    uint32_t right = at_most(shift, 58) - at_most(shift, 32);
    uint32_t unit = 1u << right;
    uint32_t scaled = rest << left;
    return ((scaled + (unit - 1)) >> right) & (0 - (uint32_t)(scaled >= unit / 2));
}

/* 1 if the magnitude significand = n quanta + rest / 2^shift goes up. */
HU_INLINE uint32_t goes_up(hu_rounding mode, uint32_t n, uint32_t rest, uint32_t shift,
                           uint32_t unit, uint32_t sign, uint32_t word) {
    switch ((unsigned)mode) { /* also HU_ROUND_STATED_BITS, which is none of the enumerators */
    case HU_ROUND_NEAREST_EVEN:
        return is_less(unit - (n & 1), 2 * rest);
    case HU_ROUND_NEAREST_AWAY:
        return !is_less(2 * rest, unit);
    case HU_ROUND_UP:
        return at_most(rest, 1) & ~(sign >> 31);
    case HU_ROUND_DOWN:
        return at_most(rest, 1) & (sign >> 31);
    case HU_ROUND_TO_ODD:
        return at_most(rest, 1) & ~n & 1;
    case HU_ROUND_STOCHASTIC:
        return word < stochastic_bound(rest, shift);
    case HU_ROUND_STATED_BITS:
        return is_above(rest, shift, word);
    default:
        return 0;
    }
}

/* Rounds the magnitude u (not NaN) by its integer significand. The quantum is 2^shift units in the
 * last place of u; up to shift 23 the rounded number lies on u's own bit grid, above it the result
 * is 0 or the smallest nonzero number. */
HU_INLINE uint32_t round_integer(const constants *r, hu_rounding mode, hu_round_finish finish,
                                 uint32_t drop, uint32_t u, uint32_t sign, uint32_t word) {
    int32_t field = (int32_t)(u >> 23);
    uint32_t significand = (u & 0x007fffff) | (field ? 0x00800000u : 0);
    /* Below emin the quantum is that of 2^emin: one more bit of the significand goes for each
     * binade. */
    int32_t lack = r->emin_field - (field ? field : 1);
    uint32_t shift = drop + (uint32_t)(lack > 0 ? lack : 0);
    if (finish == HU_FINISH_DEEP) {
        /* A binary32 subnormal counts units of 2^-149. The quantum 2^(e-m), e at least emin, is
         * 2^(e + 126 + drop) of them. */
        int32_t e = exponent_of(u);
        e = (e > r->emin_field - 127 ? e : r->emin_field - 127) + 126;
        shift = field ? shift : (uint32_t)(e + (int32_t)drop);
    }
    /* The significand is below 2^24: with 26 places the rest is below a quarter of a quantum, as
     * with more. Stochastic rounding takes the true shift. */
    uint32_t cut = at_most(shift, 26);
    uint32_t unit = 1u << cut;
    uint32_t n = significand >> cut;
    uint32_t rest = significand & (unit - 1);
    uint32_t up = goes_up(mode, n, rest, shift, unit, sign, word);
    uint32_t is_tiny = is_less(23, cut);
    uint32_t floor_bits = (u - rest) & (is_tiny - 1);
    return floor_bits + (pick(is_tiny, r->min_nonzero_bits, unit) & (0 - up));
}

/* NaN passes through the hardware's addition, but not through integer arithmetic. */
HU_INLINE int is_float_route(hu_round_route route) {
    return route == HU_ROUTE_MAGIC || route == HU_ROUTE_SUBNORMAL;
}

/* Rounded magnitude without regard to the largest finite number. *is_over: whether it lies beyond
 * that number. Both have no meaning for NaN on integer routes. */
HU_INLINE uint32_t round_lane(const constants *c, hu_rounding mode, hu_round_route route,
                              hu_round_finish finish, uint32_t u, uint32_t sign, uint32_t word,
                              uint32_t *is_over) {
    uint32_t v, drop = drop_of(c, finish, u);
    if (is_float_route(route)) {
        v = round_magic(c, mode, route, drop, u, sign, word);
        if (mode == HU_ROUND_NEAREST_EVEN)
            *is_over = hu_f32_of_bits(u) >= c->threshold;
        else
            *is_over = hu_f32_of_bits(v) > c->max;
        return v;
    }
    if (route == HU_ROUTE_ALIGNED)
        v = round_aligned(c, mode, drop, u, sign, word);
    else
        v = round_integer(c, mode, finish, drop, at_most(u, HU_F32_INFINITY), sign, word);
    *is_over = is_less(c->max_bits, v);
    return v;
}

/* Result of an overflow: complete bits. */
HU_INLINE uint32_t replacement(const constants *c, hu_round_finish finish, uint32_t u,
                               uint32_t sign) {
    uint32_t finite = c->overflow_plus, infinite = c->infinite_plus;
    /* Up to SMALL both signs share one magnitude; the caller puts the sign back. */
    if (finish < HU_FINISH_EVEN) return finite;
    if (finish >= HU_FINISH_FULL) {
        finite = sign ? c->overflow_minus : finite;
        infinite = sign ? c->infinite_minus : infinite;
    }
    return u == HU_F32_INFINITY ? infinite : finite;
}

/* One block, n <= CALM_BLOCK; words [n], n <= BLOCK, in the form of form_of, is read in modes that
 * draw only. */
HU_INLINE void round_block(const hu_rounder *r, size_t n, const float *x, float *y,
                           const uint32_t *words, hu_rounding mode, hu_round_route route,
                           hu_round_finish finish, int counting, tally *tallied) {
    const constants c = constants_of(r);
    uint32_t beyond = 0, nan = 0, below = 0, zero_before = 0, zero_in = 0;
    uint32_t top = 0, under = NO_INPUT;
#pragma omp simd reduction(+ : beyond, nan, below, zero_before, zero_in) reduction(max : top)      \
    reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t sign = hu_f32_bits(x[i]) & HU_F32_SIGN, u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        uint32_t word = draws(mode) ? words[i] : 0, is_over;
        uint32_t is_nan = hu_f32_of_bits(u) != hu_f32_of_bits(u);
        /* What is rounded: the number, or infinity for a NaN that overflows. */
        uint32_t w = finish >= HU_FINISH_RARE ? at_most(u, c.nan_cap) : u;
        uint32_t stays = finish >= HU_FINISH_RARE ? is_less(HU_F32_INFINITY, w) : is_nan;
        uint32_t v = round_lane(&c, mode, route, finish, w, sign, word, &is_over);
        uint32_t replaced = replacement(&c, finish, w, sign);
        v = is_over ? replaced & ~HU_F32_SIGN : v;
        /* Integer routes make another number of NaN: its payload is put back, made quiet. */
        if (!is_float_route(route)) {
            v = stays ? u | HU_F32_QUIET : v;
            is_over &= stays ^ 1;
        }
        uint32_t kept = finish == HU_FINISH_PLAIN ? v : is_less(v, c.flush_below_bits) ? 0 : v;
        uint32_t out = sign | kept;
        /* Formats without -0 have +0 alone; a replacement brings a sign of its own. */
        if (finish >= HU_FINISH_SMALL) out = kept == 0 ? sign & c.zero_sign : out;
        if (finish >= HU_FINISH_FULL) out = is_over ? replaced : out;
        y[i] = hu_f32_of_bits(out);
        if (counting) {
            uint32_t finite = hu_f32_of_bits(u) < hu_f32_of_bits(HU_F32_INFINITY) ? u : 0;
            beyond += finish >= HU_FINISH_RARE ? is_over & (is_nan ^ 1) : is_over;
            nan += is_nan;
            below += is_less(v, c.min_normal_bits);
            zero_before += v == 0;
            zero_in += u == 0;
            top = top > finite ? top : finite;
            under = at_most(under, u - 1);
        }
    }
    if (counting) *tallied = (tally){beyond, nan, below, zero_before, zero_in, top, under};
}

/* Largest magnitude of x[n], infinities and NaNs included. Four searches at once: each alone would
 * wait for its own last step. */
HU_INLINE uint32_t top_of(size_t n, const float *x) {
    const size_t quarter = n / 4;
    uint32_t a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(max : a, b, c, d)
    for (size_t i = 0; i < quarter; i++) {
        uint32_t u0 = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        uint32_t u1 = hu_f32_bits(x[quarter + i]) & ~HU_F32_SIGN;
        uint32_t u2 = hu_f32_bits(x[2 * quarter + i]) & ~HU_F32_SIGN;
        uint32_t u3 = hu_f32_bits(x[3 * quarter + i]) & ~HU_F32_SIGN;
        a = a > u0 ? a : u0;
        b = b > u1 ? b : u1;
        c = c > u2 ? c : u2;
        d = d > u3 ? d : u3;
    }
    for (size_t i = 4 * quarter; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        a = a > u ? a : u;
    }
    a = a > b ? a : b;
    c = c > d ? c : d;
    return a > c ? a : c;
}

/* round_block, counting, of numbers none of which is beyond the largest finite one (top: the
 * largest magnitude), where no mode leaves the format: a third of the work is about those. */
HU_INLINE void round_in_range(const hu_rounder *r, size_t n, const float *x, float *y,
                              const uint32_t *words, hu_rounding mode, hu_round_route route,
                              hu_round_finish finish, uint32_t top, tally *tallied) {
    const constants c = constants_of(r);
    uint32_t below = 0, nonzero_before = 0, nonzero_in = 0, under = NO_INPUT, is_over;
#pragma omp simd reduction(+ : below, nonzero_before, nonzero_in) reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t sign = hu_f32_bits(x[i]) & HU_F32_SIGN, u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        uint32_t word = draws(mode) ? words[i] : 0;
        uint32_t v = round_lane(&c, mode, route, finish, u, sign, word, &is_over);
        uint32_t kept = finish == HU_FINISH_PLAIN ? v : is_less(v, c.flush_below_bits) ? 0 : v;
        uint32_t out = sign | kept;
        if (finish >= HU_FINISH_SMALL) out = kept == 0 ? sign & c.zero_sign : out;
        y[i] = hu_f32_of_bits(out);
        below += (v - c.min_normal_bits) >> 31;
        nonzero_before += at_most(v, 1);
        nonzero_in += at_most(u, 1);
        under = at_most(under, u - 1);
    }
    *tallied = (tally){.below = below,
                       .zero_before = (uint32_t)n - nonzero_before,
                       .zero_in = (uint32_t)n - nonzero_in,
                       .top = top,
                       .under = under};
}

/* Overflows apart, a format without subnormals or without -0 is all that leaves work after the
 * rounding. */
HU_INLINE void round_in_range_as_needed(const hu_rounder *r, size_t n, const float *x, float *y,
                                        const uint32_t *words, hu_rounding mode,
                                        hu_round_route route, hu_round_finish finish, uint32_t top,
                                        tally *tallied) {
    if (finish == HU_FINISH_PLAIN || (!r->flush_below_bits && r->zero_sign))
        round_in_range(r, n, x, y, words, mode, route, HU_FINISH_PLAIN, top, tallied);
    else
        round_in_range(r, n, x, y, words, mode, route, HU_FINISH_SMALL, top, tallied);
}

#if defined(__AVX2__)
#include "kernel/round/groups_avx2.inc"
#endif
#if defined(__AVX512F__)
#include "kernel/round/groups_avx512.inc"
#elif defined(__AVX2__)
/* Elements that were rounded and counted. */
HU_INLINE size_t round_counted(const hu_rounder *r, size_t n, const float *x, float *y,
                               hu_round_route route, hu_round_counts *counts) {
    return stream_all(r, n, x, y, route, false, counts);
}
#else
HU_INLINE size_t round_counted(const hu_rounder *r, size_t n, const float *x, float *y,
                               hu_round_route route, hu_round_counts *counts) {
    (void)r, (void)n, (void)x, (void)y, (void)route, (void)counts;
    return 0;
}
#endif

/* What the loops of a mode and route want of the random words. */
HU_INLINE words_form form_of(const hu_rounder *r, hu_rounding mode, hu_round_route route) {
    if (mode == HU_ROUND_STATED_BITS)
        return (words_form){WORDS_STATED, hu_rounding_bits(r->rounding),
                            hu_rounding_kind(r->rounding)};
    return (words_form){is_float_route(route) ? WORDS_CUT : WORDS_WHOLE, 0, HU_RANDOM_A};
}

/* Any length, block by block. */
HU_INLINE void round_all(const hu_rounder *r, size_t n, const float *x, float *y,
                         const hu_random_key *key, uint64_t first, hu_round_counts *counts,
                         hu_rounding mode, hu_round_route route, hu_round_finish finish,
                         int counting) {
    uint32_t words[WORDS_ROOM];
    tally tallied;
    words_key spread_key;
    const words_form form = form_of(r, mode, route);
    if (draws(mode)) spread_key = words_key_of(key);
    /* Numbers that come from memory are read once: a second look costs more than it saves, and
     * large arrays to nearest-even have loops of their own. */
    bool may_be_in_range = counting && route != HU_ROUTE_INTEGER && finish < HU_FINISH_RARE &&
                           (mode == HU_ROUND_NEAREST_EVEN || n < LARGE);
    size_t block = may_be_in_range && !draws(mode) ? CALM_BLOCK : BLOCK;
    for (size_t at = 0; at < n; at += block) {
        size_t count = n - at < block ? n - at : block;
        const uint32_t *used = words;
        uint32_t top = may_be_in_range ? top_of(count, x + at) : HU_F32_INFINITY;
        if (draws(mode)) used = words_from(&spread_key, first + at, count, form, words);
        if (may_be_in_range && top <= r->max_bits)
            round_in_range_as_needed(r, count, x + at, y + at, used, mode, route, finish, top,
                                     &tallied);
        else
            round_block(r, count, x + at, y + at, used, mode, route, finish, counting, &tallied);
        if (counting) add_tally(r->flush_below_bits != 0, count, &tallied, 0, counts);
    }
}

/* Counting takes work in every turn of the loop, so there is a loop without it. */
HU_INLINE void round_finish(const hu_rounder *r, size_t n, const float *x, float *y,
                            const hu_random_key *key, uint64_t first, hu_round_counts *counts,
                            hu_rounding mode, hu_round_route route, hu_round_finish finish) {
    if (counts)
        round_all(r, n, x, y, key, first, counts, mode, route, finish, 1);
    else
        round_all(r, n, x, y, key, first, NULL, mode, route, finish, 0);
}

#if defined(__AVX2__)
/* Elements of a large array that were rounded past the caches, from the first on. */
HU_INLINE size_t round_large(const hu_rounder *r, size_t n, const float *x, float *y,
                             const hu_random_key *key, hu_round_counts *counts,
                             hu_round_route route) {
    /* Up to 7 elements before y is 32-byte aligned, as stores past the caches need. */
    size_t head = (size_t)(-(uintptr_t)y / sizeof *y) % 8;
    if (n < LARGE || x == y) return 0;
    r->run(r, head, x, y, key, 0, counts);
    return head + stream_all(r, n - head, x + head, y + head, route, true, counts);
}
#else
HU_INLINE size_t round_large(const hu_rounder *r, size_t n, const float *x, float *y,
                             const hu_random_key *key, hu_round_counts *counts,
                             hu_round_route route) {
    (void)r, (void)n, (void)x, (void)y, (void)key, (void)counts, (void)route;
    return 0;
}
#endif

/* The levels that finish_of gives for the mode and route. */
HU_INLINE void round_variant(const hu_rounder *r, size_t n, const float *x, float *y,
                             const hu_random_key *key, uint64_t first, hu_round_counts *counts,
                             hu_rounding mode, hu_round_route route) {
    hu_round_finish least = hu_round_least_finish(mode);
    int is_rare = r->finish == HU_FINISH_RARE;
    if (mode == HU_ROUND_NEAREST_EVEN && route != HU_ROUTE_INTEGER && !is_rare) {
        size_t done = round_large(r, n, x, y, key, counts, route);
        if (counts) done += round_counted(r, n - done, x + done, y + done, route, counts);
        x += done, y += done, n -= done;
    }
    if (route == HU_ROUTE_INTEGER && r->finish == HU_FINISH_DEEP)
        round_finish(r, n, x, y, key, first, counts, mode, route, HU_FINISH_DEEP);
    else if (is_rare)
        round_finish(r, n, x, y, key, first, counts, mode, route, HU_FINISH_RARE);
    else if (least == HU_FINISH_PLAIN && r->finish == HU_FINISH_SMALL)
        round_finish(r, n, x, y, key, first, counts, mode, route, HU_FINISH_SMALL);
    else
        round_finish(r, n, x, y, key, first, counts, mode, route, least);
}

/* One external function per row of the list: a name for round_variant with constants. */
#define HU_ROUND_VARIANT(name, mode, route)                                                        \
    hu_round_fn HU_VARIANT(hu_round_##name);                                                       \
    void HU_VARIANT(hu_round_##name)(const hu_rounder *r, size_t n, const float *x, float *y,      \
                                     const hu_random_key *key, uint64_t first,                     \
                                     hu_round_counts *counts) {                                    \
        round_variant(r, n, x, y, key, first, counts, mode, route);                                \
    }
#include "kernel/round/round.list"
#undef HU_ROUND_VARIANT

/* hu_random_words_fast for this instruction set. */
hu_words_fn HU_VARIANT(hu_random_words);
void HU_VARIANT(hu_random_words)(const hu_random_key *key, uint64_t first, size_t count,
                                 uint32_t *words) {
    uint32_t buffer[WORDS_ROOM];
    const words_key spread_key = words_key_of(key);
    const words_form whole = {WORDS_WHOLE, 0, HU_RANDOM_A};
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t part = count - at < BLOCK ? count - at : BLOCK;
        memcpy(words + at, words_from(&spread_key, first + at, part, whole, buffer),
               part * sizeof *words);
    }
}

/* ---- counting without rounding ---- */

/* Counts of x[n] that rounding leaves as it is. The first look takes all numbers for finite; where
 * one is not (*top), it has been in vain. */
HU_INLINE void scan_finite(size_t n, const float *x, uint32_t min_normal_bits, tally *t) {
    uint32_t below = 0, nonzero = 0, top = 0, under = NO_INPUT;
#pragma omp simd reduction(+ : below, nonzero) reduction(max : top) reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        below += (u - min_normal_bits) >> 31;
        nonzero += at_most(u, 1);
        top = top > u ? top : u;
        under = at_most(under, u - 1);
    }
    *t = (tally){.below = below, .zero_before = (uint32_t)n - nonzero, .top = top, .under = under};
}

/* The same of any numbers. */
HU_INLINE void scan_any(size_t n, const float *x, uint32_t min_normal_bits, tally *t) {
    uint32_t special = 0, nan = 0, below = 0, zero = 0, top = 0, under = NO_INPUT;
#pragma omp simd reduction(+ : special, nan, below, zero) reduction(max : top)                     \
    reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        uint32_t finite = is_less(u, HU_F32_INFINITY) ? u : 0;
        special += !is_less(u, HU_F32_INFINITY);
        nan += is_less(HU_F32_INFINITY, u);
        below += is_less(u, min_normal_bits);
        zero += u == 0;
        top = top > finite ? top : finite;
        under = at_most(under, u - 1);
    }
    *t = (tally){.beyond = special - nan,
                 .nan = nan,
                 .below = below,
                 .zero_before = zero,
                 .top = top,
                 .under = under};
}

/* hu_scan_f32 and hu_count_on_grid: only counts, no rounding. Infinities are `overflow` here, and
 * nothing has become zero. */
hu_scan_fn HU_VARIANT(hu_scan_f32);
void HU_VARIANT(hu_scan_f32)(size_t n, const float *x, uint32_t min_normal_bits,
                             hu_round_counts *counts) {
    tally t;
    for (size_t at = 0; at < n; at += CALM_BLOCK) {
        size_t count = n - at < CALM_BLOCK ? n - at : CALM_BLOCK;
        scan_finite(count, x + at, min_normal_bits, &t);
        if (t.top >= HU_F32_INFINITY) scan_any(count, x + at, min_normal_bits, &t);
        t.zero_in = t.zero_before;
        add_tally(false, count, &t, 0, counts);
    }
}
