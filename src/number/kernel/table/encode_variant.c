/* kernel/table/encode_variant.c - rounding, counting and packing by table in one pass, in portable
 * C, compiled once per instruction set: the slot of a number gives its code at once. For codes of 8
 * bits of tables that have bytes, to which numbers and codes of a list come in order. */
#include <string.h>

#include "format/table/bytes.h"
#include "kernel/encode/encode.h"
#include "kernel/round/tally.h"
#include "kernel/table/lookup.h"

enum { BLOCK = 1024, TURN = 8 };

/* Extremes of the magnitudes of a block as bits, and zeros. */
HU_INLINE tally look_at(size_t n, const float *x) {
    uint32_t top = 0, under = UINT32_MAX, zero_in = 0;
#pragma omp simd reduction(max : top) reduction(min : under) reduction(+ : zero_in)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        top = top > u ? top : u;
        under = at_most(under, u - 1);
        zero_in += u == 0;
    }
    return (tally){.top = top, .under = under, .zero_in = zero_in};
}

/* Adds zeros and numbers below the normal ones by their slots. */
HU_INLINE void count_slots(const hu_code_steps *s, size_t n, const uint16_t *slots, tally *t) {
    const uint16_t plus = (uint16_t)s->first[0], minus = (uint16_t)s->first[1];
    const uint16_t below_plus = s->bytes->normal[0], below_minus = s->bytes->normal[1];
    uint16_t zero = 0, below = 0;
#pragma omp simd reduction(+ : zero, below)
    for (size_t i = 0; i < n; i++) {
        uint16_t in_plus = (uint16_t)(slots[i] - plus), in_minus = (uint16_t)(slots[i] - minus);
        zero = (uint16_t)(zero + ((in_plus == 0) | (in_minus == 0)));
        below = (uint16_t)(below + ((in_plus < below_plus) | (in_minus < below_minus)));
    }
    t->zero_before = zero, t->below = below;
}

/* A calm block. y: NULL where it is not wanted. What follows n is constant at every call. */
HU_INLINE void encode_block(const constants *c, const float *x, float *y, uint8_t *codes,
                            uint16_t *slots, size_t n, hu_step_route route, bool is_scaled) {
    const uint32_t *code = c->steps->code;
    size_t i = 0;
    for (; i + TURN <= n; i += TURN) {
        HU_UNROLL
        for (size_t k = i; k < i + TURN; k++) {
            uint32_t bits = hu_f32_bits(x[k]), u = bits & ~HU_F32_SIGN;
            uint32_t whole = is_scaled ? (bits & HU_F32_SIGN) | unscaled(c, true, u) : bits;
            uint32_t slot = slot_of(c, route, whole);
            slots[k] = (uint16_t)slot;
            codes[k] = (uint8_t)code[slot];
        }
    }
    for (i = 0; y && i < n; i++) y[i] = hu_f32_of_bits(rescaled(c, is_scaled, c->number[slots[i]]));
}

HU_INLINE void encode_all(const hu_rounder *r, const hu_packer *p, size_t n, const float *x,
                          float *y, uint8_t *codes, hu_step_route route, bool is_scaled,
                          hu_round_counts *counts) {
    const constants c = constants_of(r->steps, &r->format);
    uint16_t slots[BLOCK];
    float room[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        tally t = look_at(count, x + at);
        bool is_low = c.calm_low != 0 && t.under < c.calm_low - 1;
        float *to = y ? y + at : room;
        if (!is_low && t.top < HU_F32_INFINITY && unscaled(&c, is_scaled, t.top) < c.calm_top) {
            encode_block(&c, x + at, y ? to : NULL, codes + at, slots, count, route, is_scaled);
            count_slots(r->steps, count, slots, &t);
            add_tally(false, count, &t, 0, counts);
        } else {
            hu_rounder_run(r, count, x + at, to, NULL, 0, counts);
            hu_packer_pack(p, count, to, codes + at, NULL);
        }
    }
}

hu_encode_fn HU_VARIANT(hu_encode_table);
void HU_VARIANT(hu_encode_table)(const hu_rounder *r, const hu_packer *p, size_t n, const float *x,
                                 float *y, void *codes, hu_round_counts *counts) {
    bool is_scaled = r->format.bias != 0;
    if (r->steps->route == HU_STEPS_DIRECT && !is_scaled)
        encode_all(r, p, n, x, y, codes, HU_STEPS_DIRECT, false, counts);
    else if (r->steps->route == HU_STEPS_DIRECT)
        encode_all(r, p, n, x, y, codes, HU_STEPS_DIRECT, true, counts);
    else
        encode_all(r, p, n, x, y, codes, HU_STEPS_INDEXED, is_scaled, counts);
}
