/* kernel/table/patterns_vbmi.h - tables of 128 and 256 bytes in registers, and numbers of codes by
 * them. For bodies only: names without prefix. */
#ifndef HU_KERNEL_TABLE_PATTERNS_VBMI_H
#define HU_KERNEL_TABLE_PATTERNS_VBMI_H
#include <immintrin.h>
#include <stdbool.h>

#include "base/bits.h"
#include "format/table/bytes.h"
#include "kernel/lane.h"

enum { GROUP = 64, LANES = 16, VECTORS = GROUP / LANES };

typedef struct lookup {
    __m512i part[HU_BYTE_WORDS / GROUP];
} lookup;

HU_INLINE lookup load_lookup(const uint8_t *bytes) {
    lookup t;
    HU_UNROLL
    for (int i = 0; i < HU_BYTE_WORDS / GROUP; i++)
        t.part[i] = _mm512_loadu_si512(bytes + (ptrdiff_t)GROUP * i);
    return t;
}

HU_INLINE __m512i look_128(const lookup *t, __m512i at) {
    return _mm512_permutex2var_epi8(t->part[0], at, t->part[1]);
}

/* bit7: of `at`. */
HU_INLINE __m512i look_256(const lookup *t, __m512i at, __mmask64 bit7) {
    return _mm512_mask_blend_epi8(bit7, look_128(t, at),
                                  _mm512_permutex2var_epi8(t->part[2], at, t->part[3]));
}

/* Patterns of codes, byte by byte; add: what the scale takes from exponents. */
typedef struct patterns {
    lookup byte[4];
    __m512i add;
    bool has_low, is_scaled;
} patterns;

HU_INLINE patterns load_patterns(const hu_code_steps *s, int32_t bias) {
    patterns p;
    HU_UNROLL
    for (int i = 0; i < 4; i++) p.byte[i] = load_lookup(s->byte + (ptrdiff_t)HU_BYTE_WORDS * i);
    p.add = _mm512_set1_epi32((int)((uint32_t)bias << 23));
    p.has_low = s->has_low;
    p.is_scaled = bias != 0;
    return p;
}

/* A scale moves the exponents of what is neither 0 nor infinite nor NaN. */
HU_INLINE __m512i scaled(__m512i bits, __m512i add) {
    __m512i u = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    __mmask16 is_number = _mm512_test_epi32_mask(u, u) &
                          _mm512_cmplt_epi32_mask(u, _mm512_set1_epi32((int)HU_F32_INFINITY));
    return _mm512_mask_sub_epi32(bits, is_number, bits, add);
}

/* Joins the bytes of 64 patterns; halves within 128 bits: lanes 0-3, 16-19, 32-35, 48-51 come from
 * the first quarters. */
HU_INLINE void join_bytes(const __m512i byte[4], bool has_low, __m512i out[VECTORS]) {
    __m512i zero = _mm512_setzero_si512();
    __m512i high[2] = {_mm512_unpacklo_epi8(byte[2], byte[3]),
                       _mm512_unpackhi_epi8(byte[2], byte[3])};
    __m512i low[2] = {zero, zero};
    if (has_low) low[0] = _mm512_unpacklo_epi8(byte[0], byte[1]);
    if (has_low) low[1] = _mm512_unpackhi_epi8(byte[0], byte[1]);
    HU_UNROLL
    for (int k = 0; k < 2; k++) {
        out[2 * k] = _mm512_unpacklo_epi16(low[k], high[k]);
        out[2 * k + 1] = _mm512_unpackhi_epi16(low[k], high[k]);
    }
}

/* Numbers of 64 codes. has_low and is_scaled are constant at every call. */
HU_INLINE void numbers_of(const patterns *p, __m512i code, bool has_low, bool is_scaled,
                          __m512i out[VECTORS]) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i at = _mm512_permutexvar_epi32(order, code), byte[4];
    __mmask64 bit7 = _mm512_movepi8_mask(at);
    HU_UNROLL
    for (int i = has_low ? 0 : 2; i < 4; i++) byte[i] = look_256(&p->byte[i], at, bit7);
    join_bytes(byte, has_low, out);
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++)
        if (is_scaled) out[k] = scaled(out[k], p->add);
}

#endif
