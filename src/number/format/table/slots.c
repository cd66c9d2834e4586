#include "format/table/slots.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"

uint32_t hu_code_slot_in(const hu_code_steps *s, int list, uint32_t magnitude) {
    uint32_t low = s->first[list], high = s->last[list];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->threshold[middle] <= magnitude)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t hu_code_slot(const hu_code_steps *s, uint32_t bits) {
    return hu_code_slot_in(s, bits >> 31 != 0, bits & ~HU_F32_SIGN);
}

/* ---- patterns ---- */

/* Of codes: halves and bytes. */
static hu_status add_codes(const hu_code_table *t, hu_code_steps *s) {
    enum { CODES = 256, CODE_BITS = 8, BYTES = 4 };
    hu_status st = HU_OK;
    if (t->bits > CODE_BITS) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&s->high, CODES));
    HU_TRY(HU_NEW_ARRAY(&s->low, CODES));
    HU_TRY(HU_NEW_ARRAY(&s->byte, BYTES * CODES));
    for (uint32_t i = 0; i < CODES; i++) {
        uint32_t bits = hu_f32_bits(t->decoded[i & ((1u << t->bits) - 1)]);
        s->high[i] = (uint16_t)(bits >> 16);
        s->low[i] = (uint16_t)bits;
        s->has_low = s->has_low || s->low[i] != 0;
        for (uint32_t b = 0; b < BYTES; b++) s->byte[b * CODES + i] = (uint8_t)(bits >> (8 * b));
    }
done:
    return st;
}

/* Of slots. */
static hu_status add_slots(hu_code_steps *s) {
    enum { LIST = 128 };
    hu_status st = HU_OK;
    if (s->last[0] - s->first[0] > LIST || s->last[1] - s->first[1] > LIST) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&s->slot_high, 2 * LIST));
    HU_TRY(HU_NEW_ARRAY(&s->slot_low, 2 * LIST));
    for (uint32_t list = 0; list < 2; list++)
        for (uint32_t i = s->first[list]; i < s->last[list]; i++) {
            uint32_t at = list * LIST + i - s->first[list];
            s->slot_high[at] = (uint16_t)(s->number[i] >> 16);
            s->slot_low[at] = (uint16_t)s->number[i];
            s->has_low = s->has_low || s->slot_low[at] != 0;
        }
done:
    return st;
}

hu_status hu_code_slots_add_patterns(const hu_code_table *table, hu_code_steps *steps) {
    hu_status st = add_codes(table, steps);
    return st == HU_OK ? add_slots(steps) : st;
}
