/* kernel/wire/variant.c - sums of codes and codes of numbers, rounded to nearest even, compiled
 * once per instruction set in the vocabulary of lanes_portable.inc.
 *
 * Branch-free; `of`, `aligned`, `specials` and `counting` are constants at every call, so that each
 * combination becomes a loop of its own. A word of codes is taken apart where it lies: each code is
 * shifted to the top of its lane, and none crosses to another. Assumes the default floating-point
 * environment: nearest even, subnormals kept. */
#include "base/bits.h"
#include "kernel/round/tally.h"
#include "kernel/wire/wire.h"
#if defined(__AVX2__)
#include "kernel/wire/lanes_x86.inc"
#else
#include "kernel/wire/lanes_portable.inc"
#endif

#define HU_JOIN4(a, b, c) a##b##_##c
#define HU_NAME4(a, b, c) HU_JOIN4(a, b, c)

enum {
    PART = 1 << 20,         /* elements between two visits to the 64-bit counters */
    TOP_OFFSET = 0x00800000 /* carries infinities and NaNs into the sign bit */
};

/* What a loop must think of: nothing; ties without fraction bits; these and flushed subnormals. */
typedef enum shape { USUAL, POWERS, FLUSHED } shape;

HU_INLINE shape shape_of(const hu_wire_places *p) {
    return p->flush_code ? FLUSHED : p->drop == 23 ? POWERS : USUAL;
}

/* The constants of a format, spread over lanes. */
typedef struct place_lanes {
    vec magnitudes, beyond; /* of all codes in a word */
    vec number_mask, max_place, flush_place, parity_cap, less_than_half, code_max, over_code,
        hidden, flush_code, nan_code, sign_bit, nan_sign;
    shift_count drop, down, top;
} place_lanes;

/* unit: 1 at the place of every code in a word. */
HU_INLINE place_lanes spread_places(const hu_wire_places *p, uint32_t unit) {
    return (place_lanes){.magnitudes = v_set((p->sign_bit - 1) * unit),
                         .beyond = v_set(p->code_max * unit),
                         .number_mask = v_set(p->number_mask),
                         .max_place = v_set(p->max_place),
                         .flush_place = v_set(p->flush_place),
                         .parity_cap = v_set(p->parity_cap),
                         .less_than_half = v_set((1u << (p->drop - 1)) - 1),
                         .code_max = v_set(p->code_max),
                         .over_code = v_set(p->over_code),
                         .hidden = v_set(p->hidden),
                         .flush_code = v_set(p->flush_code),
                         .nan_code = v_set(p->nan_code),
                         .sign_bit = v_set(p->sign_bit),
                         .nan_sign = v_set(p->nan_sign),
                         .drop = v_shift_by(p->drop),
                         .down = v_shift_by(p->down_shift),
                         .top = v_shift_by(p->top_shift)};
}

/* Counters by lane, as tally. */
typedef struct lane_tally {
    vec beyond, nan, below, zero_before, zero_in, top, under;
} lane_tally;

HU_INLINE lane_tally no_tally(void) {
    vec zero = v_set(0);
    return (lane_tally){zero, zero, zero, zero, zero, v_set(TOP_OFFSET), v_set(NO_INPUT)};
}

/* u: magnitudes before rounding, bits. code: rounded magnitudes, not yet cut to the largest: those
 * of NaNs lie beyond it. */
HU_INLINE void count_lanes(const place_lanes *p, lane_tally *t, vec u, vec code) {
    t->beyond = v_count(t->beyond, v_greater(code, p->code_max));
    t->below = v_count(t->below, v_greater(p->hidden, code));
    t->zero_before = v_count(t->zero_before, v_equal(code, v_set(0)));
    /* Infinities and NaNs become negative here, and are less than any number. */
    t->top = v_greater_of(t->top, v_add(u, v_set(TOP_OFFSET)));
    t->under = v_less_of_unsigned(t->under, v_sub(u, v_set(1)));
}

HU_INLINE uint32_t sum_of_lanes(vec v) {
    uint32_t lane[LANES], sum = 0;
    v_store(lane, v);
    for (int i = 0; i < LANES; i++) sum += lane[i];
    return sum;
}

/* The counters of `count` elements, from lanes that met no more than PART. */
HU_INLINE void add_lanes(const hu_wire_places *p, const lane_tally *t, size_t count, int32_t down,
                         hu_round_counts *counts) {
    uint32_t top[LANES], under[LANES], nan = sum_of_lanes(t->nan);
    tally all = {.beyond = sum_of_lanes(t->beyond) - nan,
                 .nan = nan,
                 .below = sum_of_lanes(t->below),
                 .zero_before = sum_of_lanes(t->zero_before),
                 .zero_in = sum_of_lanes(t->zero_in),
                 .top = TOP_OFFSET,
                 .under = NO_INPUT};
    v_store(top, t->top);
    v_store(under, t->under);
    for (int i = 0; i < LANES; i++) {
        all.top = is_less(all.top, top[i]) ? top[i] : all.top;
        all.under = at_most(all.under, under[i]);
    }
    all.top -= TOP_OFFSET;
    add_tally(p->flush_code != 0, count, &all, down, counts);
}

/* The number of the code at the top of each lane, at its place; infinities and NaNs are binary32's.
 * What lies below the code is masked away. */
HU_INLINE vec decode(const place_lanes *p, vec lane, shape of, int specials) {
    vec v = v_right_signed(lane, p->down) & p->number_mask;
    vec u = v & v_set(~HU_F32_SIGN);
    if (specials) v = v_or_where(v_greater(u, p->max_place), v, v_set(HU_F32_INFINITY));
    if (of == FLUSHED) v = v_choose(v_greater(p->flush_place, u), v & v_set(HU_F32_SIGN), v);
    return v;
}

/* Magnitude codes of magnitudes u at their places, by the carry of an addition: one less than half
 * is added, and one more where the significand is odd. */
HU_INLINE vec round_place(const place_lanes *p, vec u, shape of) {
    vec capped = of == USUAL ? u : v_less_of(u, p->parity_cap);
    vec odd = v_right(capped, p->drop) & v_set(1);
    return v_right(v_add(v_add(u, p->less_than_half), odd), p->drop);
}

/* The code of a rounded magnitude and the sign of s. */
HU_INLINE vec finish(const place_lanes *p, vec code, vec s, shape of) {
    code = v_less_of(code, p->over_code);
    if (of == FLUSHED) code = v_zero_where(v_greater(p->flush_code, code), code);
    return code | (v_right(s, p->top) & p->sign_bit);
}

/* Sums of the codes at the top of the lanes, as codes. Without specials among them no sum is NaN. A
 * sum that rounds to zero is zero: numbers of the format are whole quanta. */
HU_INLINE vec add_codes(const place_lanes *p, vec a, vec b, lane_tally *t, shape of, int specials,
                        int counting) {
    vec s = v_add_floats(decode(p, b, of, specials), decode(p, a, of, specials));
    vec u = s & v_set(~HU_F32_SIGN);
    vec rounded = round_place(p, u, of), code = finish(p, rounded, s, of);
    if (counting) count_lanes(p, t, u, rounded);
    if (!specials) return code;
    if (counting) t->nan = v_count(t->nan, v_is_nan(s));
    return v_choose(v_is_nan(s), p->nan_code, code);
}

/* The constants of a grid, spread over lanes. */
typedef struct grid_lanes {
    vec emin, cap, lift, power;
} grid_lanes;

HU_INLINE grid_lanes spread_grid(const hu_wire_places *p, const hu_wire_grid *g) {
    return (grid_lanes){v_set(g->emin_bits), v_set(g->cap_bits), v_set(p->drop << 23),
                        v_set(hu_f32_bits(g->power))};
}

/* Magnitude codes of magnitudes u: the sum with C = 2^(k+23-m), k the exponent of u but at least
 * emin, counts quanta in its last places (HU_ROUTE_MAGIC); binades from emin on hold 2^m each. */
HU_INLINE vec round_grid(const place_lanes *p, const grid_lanes *g, vec u) {
    vec capped = v_less_of(u, g->cap);
    vec k = v_greater_of(capped & v_set(HU_F32_INFINITY), g->emin);
    vec c = v_add(k, g->lift);
    vec quanta = v_sub(v_add_floats(capped, c), c);
    return v_add(quanta, v_right(v_sub(k, g->emin), p->drop));
}

/* Codes of the numbers x. */
HU_INLINE vec encode(const place_lanes *p, const grid_lanes *g, vec x, lane_tally *t, int aligned,
                     shape of, int counting) {
    vec u = x & v_set(~HU_F32_SIGN);
    mask is_nan = v_greater(u, v_set(HU_F32_INFINITY));
    vec rounded =
        aligned ? round_place(p, v_multiply_floats(u, g->power), of) : round_grid(p, g, u);
    if (counting) {
        count_lanes(p, t, u, rounded);
        t->nan = v_count(t->nan, is_nan);
        t->zero_in = v_count(t->zero_in, v_equal(u, v_set(0)));
    }
    vec nan_code = p->nan_code | (v_right(x, p->top) & p->nan_sign);
    return v_choose(is_nan, nan_code, finish(p, rounded, x, of));
}

#define HU_WIRE_BITS 8
#include "kernel/wire/width.inc"
#undef HU_WIRE_BITS
#define HU_WIRE_BITS 16
#include "kernel/wire/width.inc"
#undef HU_WIRE_BITS
