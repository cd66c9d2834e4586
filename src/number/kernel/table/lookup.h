/* kernel/table/lookup.h - the slot of a number, for loops of all instruction sets. For bodies only:
 * names without prefix. */
#ifndef HU_KERNEL_TABLE_LOOKUP_H
#define HU_KERNEL_TABLE_LOOKUP_H
#include <stdbool.h>

#include "base/bits.h"
#include "format/table/steps.h"
#include "kernel/lane.h"

HU_INLINE uint32_t least_of(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The steps as pointers that can live in registers. */
typedef struct constants {
    const uint32_t *word, *row, *slot_at, *threshold_at, *number;
    const hu_code_steps *steps;
    uint32_t shift, mask, calm_top, calm_low;
    uint32_t add, most; /* what takes the scale away; magnitudes that it leaves finite */
    uint32_t last_plus, last_minus;
} constants;

HU_INLINE constants constants_of(const hu_code_steps *s, const hu_format *format) {
    return (constants){
        .word = s->word,
        .row = s->row,
        .slot_at = s->slot_at,
        .threshold_at = s->threshold_at,
        .number = s->number,
        .steps = s,
        .shift = s->shift,
        .mask = (1u << s->shift) - 1,
        .add = (uint32_t)format->bias << 23,
        .most = HU_F32_INFINITY - 1 - (format->bias > 0 ? (uint32_t)format->bias << 23 : 0),
        .calm_top = s->calm_top,
        .calm_low = s->calm_low,
        .last_plus = s->last[0],
        .last_minus = s->last[1],
    };
}

/* The magnitude without the scale. Numbers and boundaries are normal both ways: what is below the
 * normal numbers is below all of them, what is above is above them. */
HU_INLINE uint32_t unscaled(const constants *c, bool is_scaled, uint32_t u) {
    if (!is_scaled) return u;
    int32_t moved = (int32_t)(least_of(u, c->most) + c->add);
    uint32_t normal = moved < 1 ? 1 : (uint32_t)moved;
    uint32_t finite = is_less(u, 0x00800000u) ? least_of(u, 1) : normal;
    return is_less(u, HU_F32_INFINITY) ? finite : u;
}

/* Bits of a number of the table, with the scale. */
HU_INLINE uint32_t rescaled(const constants *c, bool is_scaled, uint32_t bits) {
    if (!is_scaled) return bits;
    return (bits & ~HU_F32_SIGN) == 0 ? bits : bits - c->add;
}

HU_INLINE uint32_t slot_of(const constants *c, hu_step_route route, uint32_t bits) {
    if (route == HU_STEPS_SEARCH) return hu_code_slot(c->steps, bits);
    if (route == HU_STEPS_DIRECT) {
        uint32_t word = c->word[bits >> c->shift];
        return (word >> c->shift) + is_less(word & c->mask, bits & c->mask);
    }
    uint32_t row = c->row[bits >> 23];
    uint32_t at = (row >> 5) + ((bits & 0x007FFFFFu) >> (row & 31));
    return c->slot_at[at] + (uint32_t)((bits & ~HU_F32_SIGN) >= c->threshold_at[at]);
}

#endif
