/* kernel/table/slots_vbmi.h - slots and codes of 64 numbers by tables of bytes in registers
 * (format/table/bytes.h). For bodies only: names without prefix. */
#ifndef HU_KERNEL_TABLE_SLOTS_VBMI_H
#define HU_KERNEL_TABLE_SLOTS_VBMI_H
#include "kernel/table/patterns_vbmi.h"

/* Kinds of table, constant at every call: those of hu_code_bytes. */
typedef struct shape {
    bool is_even, is_narrow, is_deep;
} shape;

/* A byte in all lanes, kept as it is: compilers would make it anew in every turn of a loop. */
HU_INLINE __m512i spread(uint32_t byte) {
    __m512i v = _mm512_set1_epi8((char)byte);
    __asm__("" : "+v"(v));
    return v;
}

/* What all loops compare with and add. */
typedef struct bytes_used {
    __m512i one, one_word, most_narrow, most_field;
} bytes_used;

HU_INLINE bytes_used bytes_for_use(void) {
    bytes_used u = {.one = spread(1),
                    .one_word = _mm512_set1_epi16(1),
                    .most_narrow = spread(HU_BYTE_NARROW - 1),
                    .most_field = spread(UINT8_MAX - 2)};
    __asm__("" : "+v"(u.one_word));
    return u;
}

/* Of the lists of + and -, which are one where they are even. last: less 1. */
typedef struct places {
    lookup place[2], mask, slot, above[HU_BYTE_THRESHOLDS][HU_BYTE_DEPTH], code[2];
    __m512i last[2], subnormal[2]; /* the last slot that is not overflow, of subnormal numbers */
    bytes_used use;
    bool has_subnormal;
} places;

/* ---- 64 numbers as bytes ---- */

/* The exponent field; two times the first 7 bits of the fraction, one more if others follow and it
 * is not deep; 8 of these others; whatever is not 0 in numbers that are not. */
typedef struct pieces {
    __m512i field, key, second, any;
    __mmask64 sign;
} pieces;

/* Words `at` (0: the lower, 1: the upper) of 32 numbers. */
HU_INLINE __m512i words_of(__m512i a, __m512i b, int at) {
    uint16_t order[2 * LANES];
    HU_UNROLL
    for (int i = 0; i < 2 * LANES; i++) order[i] = (uint16_t)(2 * i + at);
    return _mm512_permutex2var_epi16(a, _mm512_loadu_si512(order), b);
}

/* Bytes `at` of 64 words. */
HU_INLINE __m512i bytes_of(__m512i a, __m512i b, int at) {
    uint8_t order[GROUP];
    HU_UNROLL
    for (int i = 0; i < GROUP; i++) order[i] = (uint8_t)(2 * i + at);
    return _mm512_permutex2var_epi8(a, _mm512_loadu_si512(order), b);
}

enum { ANY_OF = 0xfe, DIFFER_AND = 0x78 }; /* ternary logic: a | b | c, a ^ (b & c) */

HU_INLINE pieces split(const places *c, const float *from, shape s, bool is_cut) {
    __m512i x[VECTORS], high[2], low[2], twice[2];
    pieces p;
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) x[k] = _mm512_loadu_si512(from + (ptrdiff_t)LANES * k);
    HU_UNROLL
    for (int k = 0; k < 2; k++) {
        high[k] = words_of(x[2 * k], x[2 * k + 1], 1);
        twice[k] = _mm512_add_epi16(high[k], high[k]);
        low[k] = is_cut ? high[k] : words_of(x[2 * k], x[2 * k + 1], 0);
        if (!is_cut && !s.is_deep)
            twice[k] = _mm512_add_epi16(twice[k], _mm512_min_epu16(low[k], c->use.one_word));
    }
    p.sign = _mm512_movepi8_mask(bytes_of(high[0], high[1], 1));
    p.field = bytes_of(twice[0], twice[1], 1);
    p.key = bytes_of(twice[0], twice[1], 0);
    p.any = _mm512_or_si512(p.field, p.key);
    p.second = p.any;
    if (s.is_deep) {
        p.second = bytes_of(low[0], low[1], 1);
        p.any = _mm512_ternarylogic_epi32(p.any, p.second, bytes_of(low[0], low[1], 0), ANY_OF);
    }
    return p;
}

/* ---- slots and codes ---- */

/* Of the list that the sign says. */
HU_INLINE __m512i by_sign(const __m512i v[2], const pieces *p, shape s) {
    return s.is_even ? v[0] : _mm512_mask_blend_epi8(p->sign, v[0], v[1]);
}

HU_INLINE __m512i look_at(const lookup *t, __m512i at, __mmask64 bit7, bool is_narrow) {
    return is_narrow ? look_128(t, at) : look_256(t, at, bit7);
}

HU_INLINE __m512i look_by_sign(const lookup t[2], __m512i at, __mmask64 bit7, const pieces *p,
                               bool is_even, bool is_narrow) {
    __m512i plus = look_at(&t[0], at, bit7, is_narrow);
    if (is_even) return plus;
    return _mm512_mask_blend_epi8(p->sign, plus, look_at(&t[1], at, bit7, is_narrow));
}

/* Numbers that are at or beyond threshold `which` of their buckets; *unclear: those whose bytes do
 * not tell. */
HU_INLINE __mmask64 are_beyond(const places *c, int which, const pieces *p, __m512i at,
                               __mmask64 bit7, shape s, __mmask64 *unclear) {
    const lookup *t = c->above[which];
    __m512i first = look_at(&t[0], at, bit7, s.is_narrow);
    __mmask64 above = _mm512_cmpgt_epu8_mask(p->key, first);
    if (!s.is_deep) return above;
    __m512i second = look_at(&t[1], at, bit7, s.is_narrow);
    __mmask64 same = _mm512_cmpeq_epi8_mask(p->key, first);
    *unclear |= _mm512_mask_cmpeq_epi8_mask(same, p->second, second);
    return above | _mm512_mask_cmpgt_epu8_mask(same, p->second, second);
}

HU_INLINE __m512i slots_of(const places *c, const pieces *p, shape s, __mmask64 *unclear) {
    __mmask64 high = _mm512_movepi8_mask(p->field);
    __m512i base = look_by_sign(c->place, p->field, high, p, s.is_even, false);
    __mmask64 bit7 = s.is_narrow ? 0 : _mm512_movepi8_mask(base);
    __m512i mask = look_at(&c->mask, base, bit7, s.is_narrow);
    /* Bits that words move from one byte to the next are not in the mask. */
    __m512i fraction = _mm512_srli_epi16(p->key, 1);
    __m512i at = _mm512_ternarylogic_epi32(base, fraction, mask, DIFFER_AND);
    __m512i slot = look_at(&c->slot, at, bit7, s.is_narrow);
    HU_UNROLL
    for (int i = 0; i < HU_BYTE_THRESHOLDS; i++)
        slot =
            _mm512_mask_add_epi8(slot, are_beyond(c, i, p, at, bit7, s, unclear), slot, c->use.one);
    return slot;
}

HU_INLINE __m512i codes_of(const places *c, const pieces *p, __m512i slot, shape s) {
    if (s.is_narrow) slot = _mm512_min_epu8(slot, c->use.most_narrow);
    __mmask64 bit7 = s.is_narrow ? 0 : _mm512_movepi8_mask(slot);
    return look_by_sign(c->code, slot, bit7, p, false, s.is_narrow);
}

#endif
