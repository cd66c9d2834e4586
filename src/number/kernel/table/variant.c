/* kernel/table/variant.c - rounding by table in portable C, compiled once per instruction set. What
 * the loops depend on (route, whether there is a scale, whether numbers overflow) is constant at
 * every call, so each combination becomes a loop of its own. */
#include <math.h>
#include <stdbool.h>

#include "base/bits.h"
#include "format/table/steps.h"
#include "kernel/lane.h"
#include "kernel/round/round.h"
#include "kernel/round/tally.h"
#include "kernel/table/lookup.h"

/* What overflows and infinities become, complete bits; magnitudes above nan_from count as NaN. */
typedef struct outcome {
    uint32_t overflow_plus, overflow_minus, infinite_plus, infinite_minus, nan_from, min_normal;
} outcome;

HU_INLINE outcome outcome_of(const hu_rounder *r) {
    return (outcome){r->overflow_value[0], r->overflow_value[1], r->infinite_value[0],
                     r->infinite_value[1], r->nan_from,          r->min_normal_bits};
}

/* Result of a number, infinity or NaN; is_over: it is beyond the last number. */
HU_INLINE uint32_t settled(const outcome *o, uint32_t bits, uint32_t out, uint32_t is_over) {
    uint32_t sign = bits & HU_F32_SIGN, u = bits & ~HU_F32_SIGN;
    uint32_t plus = u == HU_F32_INFINITY ? o->infinite_plus : o->overflow_plus;
    uint32_t minus = u == HU_F32_INFINITY ? o->infinite_minus : o->overflow_minus;
    out = is_over ? (sign ? minus : plus) : out;
    return is_less(HU_F32_INFINITY, u) ? bits | HU_F32_QUIET : out;
}

/* Elements that the first cache holds between two looks at them. */
enum { CALM_BLOCK = 4096, BLOCK = 1024 };

/* One block. is_calm: no number is NaN or overflows. */
HU_INLINE void round_block(const constants *c, size_t n, const float *x, float *y,
                           hu_step_route route, bool is_scaled, bool is_calm, bool counting,
                           const outcome *o, tally *tallied) {
    uint32_t beyond = 0, nan = 0, below = 0, zero = 0, zero_in = 0, top = 0, under = NO_INPUT;
#pragma omp simd reduction(+ : beyond, nan, below, zero, zero_in) reduction(max : top)             \
    reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hu_f32_bits(x[i]), sign = bits & HU_F32_SIGN, u = bits & ~HU_F32_SIGN;
        uint32_t slot = slot_of(c, route, sign | unscaled(c, is_scaled, u));
        uint32_t out = rescaled(c, is_scaled, c->number[slot]);
        if (!is_calm) {
            uint32_t is_lost = is_less(o->nan_from, u);
            uint32_t is_over = sign ? slot == c->last_minus : slot == c->last_plus;
            out = settled(o, bits, out, is_over);
            beyond += is_over & (is_lost ^ 1);
            nan += is_lost;
        }
        y[i] = hu_f32_of_bits(out);
        if (counting) {
            uint32_t finite = is_calm ? u : is_less(u, HU_F32_INFINITY) ? u : 0;
            below += is_less(out & ~HU_F32_SIGN, o->min_normal);
            zero += (out & ~HU_F32_SIGN) == 0;
            zero_in += u == 0;
            top = top > finite ? top : finite;
            under = at_most(under, u - 1);
        }
    }
    *tallied = (tally){.beyond = beyond,
                       .nan = nan,
                       .below = below,
                       .zero_before = zero,
                       .zero_in = at_most(zero_in, zero),
                       .top = top,
                       .under = under};
}

/* Largest magnitude of x[n] without the scale, as bits, infinities and NaNs included. */
HU_INLINE uint32_t top_of(size_t n, const float *x) {
    uint32_t top = 0;
#pragma omp simd reduction(max : top)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        top = top > u ? top : u;
    }
    return top;
}

/* What a block's numbers ask for. */
typedef struct demand {
    bool is_calm; /* none is NaN or has a part in overflow */
    bool is_low;  /* some are below what the tables of the route hold for */
} demand;

HU_INLINE demand demand_of(const constants *c, bool is_scaled, size_t n, const float *x) {
    uint32_t top = 0, under = UINT32_MAX;
    if (c->calm_low == 0) {
        top = top_of(n, x);
        return (demand){top < HU_F32_INFINITY && unscaled(c, is_scaled, top) < c->calm_top, false};
    }
#pragma omp simd reduction(max : top) reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        top = top > u ? top : u;
        under = at_most(under, u - 1);
    }
    return (demand){top < c->calm_top, under < c->calm_low - 1};
}

#if defined(__AVX512BW__)
#include "kernel/table/calm_avx512.inc"
#else
HU_INLINE size_t round_calm(const constants *c, size_t n, const float *x, float *y,
                            hu_step_route route, bool is_scaled, const outcome *o, tally *t) {
    (void)c, (void)n, (void)x, (void)y, (void)route, (void)is_scaled, (void)o, (void)t;
    return 0;
}
#endif

/* Counters of a block and of what follows it. */
HU_INLINE void join(tally *t, const tally *rest) {
    t->below += rest->below;
    t->zero_before += rest->zero_before;
    t->zero_in = at_most(t->zero_in + rest->zero_in, t->zero_before);
    t->top = t->top > rest->top ? t->top : rest->top;
    t->under = at_most(t->under, rest->under);
}

/* One block, where what it asks for is known. */
HU_INLINE void round_known(const constants *c, size_t n, const float *x, float *y,
                           hu_step_route route, bool is_scaled, bool is_calm, bool counting,
                           const outcome *o, tally *t) {
    tally first = {.under = NO_INPUT};
    size_t done = is_calm ? round_calm(c, n, x, y, route, is_scaled, o, &first) : 0;
    n -= done, x += done, y += done;
    if (is_calm && counting)
        round_block(c, n, x, y, route, is_scaled, true, true, o, t);
    else if (is_calm)
        round_block(c, n, x, y, route, is_scaled, true, false, o, t);
    else
        round_block(c, n, x, y, route, is_scaled, false, true, o, t);
    join(t, &first);
}

/* One block with magnitudes below what the tables of the route hold for: these again, one by one.
 */
HU_INLINE void round_low(const constants *c, size_t n, const float *x, float *y,
                         hu_step_route route, bool is_scaled, const outcome *o, tally *t) {
    float in[CALM_BLOCK];
    memcpy(in, x, n * sizeof *in);
    round_block(c, n, in, y, route, is_scaled, false, true, o, t);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hu_f32_bits(in[i]), before = hu_f32_bits(y[i]), sign = bits & HU_F32_SIGN;
        uint32_t last = sign ? c->last_minus : c->last_plus, u = bits & ~HU_F32_SIGN;
        if (u - 1 >= c->calm_low - 1) continue;
        uint32_t was = slot_of(c, route, sign | unscaled(c, is_scaled, u));
        uint32_t slot = slot_of(c, HU_STEPS_SEARCH, bits), is_over = slot == last;
        uint32_t now = settled(o, bits, rescaled(c, is_scaled, c->number[slot]), is_over);
        t->beyond += is_over - (uint32_t)(was == last);
        t->zero_before += (uint32_t)((now & ~HU_F32_SIGN) == 0) - ((before & ~HU_F32_SIGN) == 0);
        t->below += is_less(now & ~HU_F32_SIGN, o->min_normal) -
                    is_less(before & ~HU_F32_SIGN, o->min_normal);
        y[i] = hu_f32_of_bits(now);
    }
}

/* Any length, block by block. */
HU_INLINE void round_all(const hu_rounder *r, size_t n, const float *x, float *y,
                         hu_round_counts *counts, hu_step_route route, bool is_scaled) {
    const constants c = constants_of(r->steps, &r->format);
    const outcome o = outcome_of(r);
    tally t;
    for (size_t at = 0; at < n; at += CALM_BLOCK) {
        size_t count = n - at < CALM_BLOCK ? n - at : CALM_BLOCK;
        demand d = demand_of(&c, is_scaled, count, x + at);
        if (d.is_low)
            round_low(&c, count, x + at, y + at, route, is_scaled, &o, &t);
        else
            round_known(&c, count, x + at, y + at, route, is_scaled, d.is_calm, counts != NULL, &o,
                        &t);
        if (counts) add_tally(false, count, &t, 0, counts);
    }
}

hu_round_fn HU_VARIANT(hu_round_table);
void HU_VARIANT(hu_round_table)(const hu_rounder *r, size_t n, const float *x, float *y,
                                const hu_random_key *key, uint64_t first, hu_round_counts *counts) {
    bool is_scaled = r->format.bias != 0;
    hu_step_route route = r->steps->route;
    (void)key, (void)first;
    if (route == HU_STEPS_DIRECT && !is_scaled)
        round_all(r, n, x, y, counts, HU_STEPS_DIRECT, false);
    else if (route == HU_STEPS_DIRECT)
        round_all(r, n, x, y, counts, HU_STEPS_DIRECT, true);
    else if (route == HU_STEPS_INDEXED)
        round_all(r, n, x, y, counts, HU_STEPS_INDEXED, is_scaled);
    else
        round_all(r, n, x, y, counts, HU_STEPS_SEARCH, is_scaled);
}

/* ---- stochastic ---- */

/* One element by the reference; *is_beyond: it overflowed. */
static float round_alone(const hu_rounder *r, float x, uint32_t word, uint32_t *is_beyond) {
    uint32_t u = hu_f32_bits(x) & ~HU_F32_SIGN;
    bool goes_beyond = u == HU_F32_INFINITY && u <= r->nan_from;
    *is_beyond = goes_beyond;
    if (u >= HU_F32_INFINITY) return hu_format_round(&r->format, r->rounding, x, word);
    hu_wide wide = hu_wide_of_double((double)x);
    uint32_t bits = hu_code_table_round(&r->format, r->rounding, &wide, word, &goes_beyond);
    *is_beyond = goes_beyond;
    return hu_f32_of_bits(bits);
}

/* hu_draw_of as numbers of the loop; is_stated is constant at every call. */
typedef struct draw {
    bool is_stated;
    uint32_t cut;     /* bits of the word that do not count */
    uint32_t reaches; /* 1: every word does, 0: odd ones */
    double add, power;
} draw;

HU_INLINE draw draw_of(hu_rounding rounding) {
    uint32_t bits = hu_rounding_bits(rounding);
    hu_random_kind kind = hu_rounding_kind(rounding);
    if (bits == 0) return (draw){false, 0, 0, 0, 0x1p32};
    return (draw){true, 32 - bits, kind != HU_RANDOM_C, kind == HU_RANDOM_A ? 2 : 1,
                  ldexp(1, (int)bits + 1)};
}

/* From the neighbour nearer to 0 to the other: the word against part / whole. Both are exact, and
 * the sign of a fused product and sum is. A share below 2^-33 counts as 0. */
HU_INLINE bool moves(draw d, bool is_stated, float x, float from, float to, uint32_t word) {
    double part = fabs((double)x - (double)from), whole = fabs((double)to - (double)from);
    uint32_t t = is_stated ? word >> d.cut : word;
    double factor = is_stated ? 2 * (double)t + d.add : (double)t;
    double above = fma(factor, whole, -(part * (is_stated ? d.power : 0x1p32)));
    bool reaches = is_stated && above == 0 && ((t | d.reaches) & 1);
    return part * 0x1p33 >= whole && (above < 0 || reaches);
}

/* A block. is_calm: every number has both neighbours. Gives how many overflowed. */
HU_INLINE uint32_t move_block(const constants *c, size_t n, const float *x, float *y,
                              const uint32_t *words, hu_step_route route, bool is_scaled,
                              bool is_calm, draw d, bool is_stated, const outcome *o) {
    uint32_t beyond = 0;
#pragma omp simd reduction(+ : beyond)
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hu_f32_bits(x[i]), sign = bits & HU_F32_SIGN, u = bits & ~HU_F32_SIGN;
        uint32_t slot = slot_of(c, route, sign | unscaled(c, is_scaled, u));
        uint32_t last = sign ? c->last_minus : c->last_plus;
        uint32_t near = is_calm ? slot : slot - (uint32_t)(slot == last);
        float from = hu_f32_of_bits(rescaled(c, is_scaled, c->number[near]));
        float to = hu_f32_of_bits(rescaled(c, is_scaled, c->number[near + 1]));
        uint32_t is_moved = moves(d, is_stated, x[i], from, to, words[i]);
        uint32_t out = hu_f32_bits(is_moved ? to : from);
        if (!is_calm) {
            uint32_t is_over = (uint32_t)(slot == last) | ((near + 1 == last) & is_moved);
            out = settled(o, bits, out, is_over);
            beyond += is_over & (is_less(o->nan_from, u) ^ 1);
        }
        y[i] = hu_f32_of_bits(out);
    }
    return beyond;
}

/* A calm block whose neighbours are known. */
HU_INLINE void move_pairs(size_t n, const float *x, const float *from, const float *to, float *y,
                          const uint32_t *words, draw d, bool is_stated) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        uint32_t is_moved = moves(d, is_stated, x[i], from[i], to[i], words[i]);
        y[i] = is_moved ? to[i] : from[i];
    }
}

/* The whole groups of a calm block by the rounder's neighbours; how many numbers they are. */
static size_t move_groups(const hu_rounder *r, size_t n, const float *x, float *y,
                          const uint32_t *words) {
    float from[BLOCK], to[BLOCK];
    size_t whole = r->neighbours ? n / HU_NEIGHBOURS * HU_NEIGHBOURS : 0;
    draw d = draw_of(r->rounding);
    if (whole == 0) return 0;
    r->neighbours(r, whole, x, from, to);
    if (d.is_stated)
        move_pairs(whole, x, from, to, y, words, d, true);
    else
        move_pairs(whole, x, from, to, y, words, d, false);
    return whole;
}

/* A block whose numbers the steps hold for; is_calm as in demand. */
HU_INLINE uint32_t move_known(const constants *c, size_t n, const float *x, float *y,
                              const uint32_t *words, hu_step_route route, bool is_scaled,
                              bool is_calm, draw d, const outcome *o) {
    if (is_calm && d.is_stated)
        return move_block(c, n, x, y, words, route, is_scaled, true, d, true, o);
    if (is_calm) return move_block(c, n, x, y, words, route, is_scaled, true, d, false, o);
    if (d.is_stated) return move_block(c, n, x, y, words, route, is_scaled, false, d, true, o);
    return move_block(c, n, x, y, words, route, is_scaled, false, d, false, o);
}

/* A calm block. */
HU_INLINE uint32_t move_calm(const hu_rounder *r, const constants *c, size_t n, const float *x,
                             float *y, const uint32_t *words, hu_step_route route, bool is_scaled,
                             const outcome *o) {
    size_t done = move_groups(r, n, x, y, words);
    return move_known(c, n - done, x + done, y + done, words + done, route, is_scaled, true,
                      draw_of(r->rounding), o);
}

/* The same one by one, by the reference, of numbers that `wanted` says; NULL: of all. */
static uint32_t move_alone(const hu_rounder *r, size_t n, const float *x, float *y,
                           const uint32_t *words, const bool *wanted) {
    uint32_t beyond = 0, over;
    for (size_t i = 0; i < n; i++) {
        if (wanted && !wanted[i]) continue;
        y[i] = round_alone(r, x[i], words[i], &over);
        beyond += over;
    }
    return beyond;
}

/* A block with numbers that the tables of the route do not hold for, or whose neighbour beyond
 * float32 lacks: these alone, 0 in their place among the others. */
HU_INLINE uint32_t move_some(const hu_rounder *r, const constants *c, size_t n, const float *x,
                             float *y, const uint32_t *words, hu_step_route route, bool is_scaled,
                             const outcome *o) {
    float in[BLOCK];
    bool is_alone[BLOCK];
    uint32_t top = r->steps->is_exact_there ? UINT32_MAX : c->calm_top;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        is_alone[i] = u >= top || (c->calm_low != 0 && u - 1 < c->calm_low - 1);
        in[i] = is_alone[i] ? 0.0f : x[i];
    }
    uint32_t beyond =
        move_known(c, n, in, y, words, route, is_scaled, false, draw_of(r->rounding), o);
    return beyond + move_alone(r, n, x, y, words, is_alone);
}

/* Counters of a block: inputs and their results; `beyond` is known. */
static void count_block(size_t n, const float *x, const float *y, uint32_t beyond, const outcome *o,
                        tally *t) {
    uint32_t nan = 0, below = 0, zero = 0, zero_in = 0, top = 0, under = NO_INPUT;
#pragma omp simd reduction(+ : nan, below, zero, zero_in) reduction(max : top)                     \
    reduction(min : under)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN, v = hu_f32_bits(y[i]) & ~HU_F32_SIGN;
        uint32_t finite = is_less(u, HU_F32_INFINITY) ? u : 0;
        nan += is_less(o->nan_from, u);
        below += is_less(v, o->min_normal);
        zero += v == 0;
        zero_in += u == 0;
        top = top > finite ? top : finite;
        under = at_most(under, u - 1);
    }
    *t = (tally){beyond, nan, below, zero, at_most(zero_in, zero), top, under};
}

/* The inputs are kept: y may be x. */
HU_INLINE void move_all(const hu_rounder *r, size_t n, const float *x, float *y,
                        const hu_random_key *key, uint64_t first, hu_round_counts *counts,
                        hu_step_route route, bool is_scaled) {
    const constants c = constants_of(r->steps, &r->format);
    const outcome o = outcome_of(r);
    uint32_t words[BLOCK], beyond;
    float out[BLOCK];
    tally t;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        demand d = demand_of(&c, is_scaled, count, x + at);
        hu_random_words_fast(key, first + at, count, words);
        if (!r->steps->is_exact)
            beyond = move_alone(r, count, x + at, out, words, NULL);
        else if (d.is_calm && !d.is_low)
            beyond = move_calm(r, &c, count, x + at, out, words, route, is_scaled, &o);
        else
            beyond = move_some(r, &c, count, x + at, out, words, route, is_scaled, &o);
        if (counts) count_block(count, x + at, out, beyond, &o, &t);
        if (counts) add_tally(false, count, &t, 0, counts);
        memcpy(y + at, out, count * sizeof *y);
    }
}

hu_round_fn HU_VARIANT(hu_round_table_sr);
void HU_VARIANT(hu_round_table_sr)(const hu_rounder *r, size_t n, const float *x, float *y,
                                   const hu_random_key *key, uint64_t first,
                                   hu_round_counts *counts) {
    bool is_scaled = r->format.bias != 0;
    if (r->steps->route == HU_STEPS_DIRECT)
        move_all(r, n, x, y, key, first, counts, HU_STEPS_DIRECT, is_scaled);
    else if (r->steps->route == HU_STEPS_INDEXED)
        move_all(r, n, x, y, key, first, counts, HU_STEPS_INDEXED, is_scaled);
    else
        move_all(r, n, x, y, key, first, counts, HU_STEPS_SEARCH, is_scaled);
}
