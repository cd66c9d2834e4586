/* Reading 16-bit codes with AVX-512 intrinsics, for formats of 16 bits that keep the sign of zero.
 * Zeros and normal numbers are made as halves of binary32 in lanes of 16 bits, and joined; binary16
 * has an instruction of its own. Vectors with anything else go lane by lane of 32 bits. Same bits
 * as variant.c. */
#include <immintrin.h>

#include "base/bits.h"
#include "kernel/lane.h"
#include "kernel/pack/pack.h"
#include "kernel/pack/stream_avx512.h"

enum { CODES = 32, OR_AND = 0xf8 };

/* The constants of a packer, spread over lanes of 16 bits. */
typedef struct constants {
    __m512i rebias, magnitude, sign;
    __m512i least, span; /* codes that are normal numbers: least to least + span */
    __m128i drop, cut;   /* of the lower half, to the left; of the upper one, to the right */
} constants;

hu_unpack_fn hu_unpack_halves_16_avx512, hu_unpack_vector_16_avx2;

HU_INLINE __m512i spread(uint32_t half) {
    return _mm512_set1_epi16((short)half);
}

HU_INLINE __m512i spread_32(uint32_t word) {
    return _mm512_set1_epi32((int)word);
}

/* Where 2^emin is binary32's, subnormal codes are made as the others. */
HU_INLINE constants constants_of(const hu_packer *p) {
    uint32_t least = p->rebias == 0 && p->subnormal_mask ? 1 : p->hidden;
    return (constants){.rebias = spread(p->rebias >> 16),
                       .magnitude = spread(p->magnitude_mask),
                       .sign = spread(~p->magnitude_mask),
                       .least = spread(least),
                       .span = spread(p->code_max - least),
                       .drop = _mm_cvtsi32_si128((int)p->drop),
                       .cut = _mm_cvtsi32_si128((int)(16 - p->drop))};
}

/* Values of any 16 codes, as in variant.c. */
HU_INLINE void unpack_any(const hu_packer *p, const uint16_t *codes, float *y, int is_large) {
    __m512i code = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)codes));
    __m512i magnitude = _mm512_and_si512(code, spread_32(p->magnitude_mask));
    __m512i shifted = _mm512_sll_epi32(magnitude, _mm_cvtsi32_si128((int)p->drop));
    /* 2^emin plus the fraction, less 2^emin: exact, and the subnormal number that is meant. */
    __m512 emin = _mm512_castsi512_ps(spread_32(p->min_normal_bits));
    __m512 above = _mm512_castsi512_ps(_mm512_add_epi32(shifted, _mm512_castps_si512(emin)));
    __m512i subnormal = _mm512_and_si512(_mm512_castps_si512(_mm512_sub_ps(above, emin)),
                                         spread_32(p->subnormal_mask));
    __m512i bits = _mm512_add_epi32(shifted, spread_32(p->rebias));
    __mmask16 is_small = _mm512_cmplt_epi32_mask(magnitude, spread_32(p->hidden));
    __mmask16 is_special = _mm512_cmpgt_epi32_mask(magnitude, spread_32(p->code_max));
    __mmask16 is_nan = _mm512_cmpge_epi32_mask(magnitude, spread_32(p->first_nan));
    bits = _mm512_mask_mov_epi32(bits, is_small, subnormal);
    bits = _mm512_mask_mov_epi32(bits, is_special, spread_32(HU_F32_INFINITY));
    bits = _mm512_mask_mov_epi32(bits, is_special & is_nan, spread_32(HU_F32_NAN));
    __m512i sign = _mm512_slli_epi32(code, 16);
    put(y, _mm512_ternarylogic_epi32(bits, sign, spread_32(HU_F32_SIGN), OR_AND), is_large);
}

/* Halves are joined within 128 bits, the lower four apart from the upper four: codes are put in
 * such an order first. */
HU_INLINE void unpack_32(const hu_packer *p, const constants *c, const uint16_t *codes, float *y,
                         int is_large) {
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    __m512i code = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(codes));
    __m512i magnitude = _mm512_and_si512(code, c->magnitude);
    __mmask32 some = _mm512_test_epi16_mask(code, c->magnitude);
    __m512i above = _mm512_sub_epi16(magnitude, c->least);
    if (__builtin_expect(_mm512_mask_cmpgt_epu16_mask(some, above, c->span) != 0, 0)) {
        unpack_any(p, codes, y, is_large);
        unpack_any(p, codes + 16, y + 16, is_large);
        return;
    }
    __m512i cut = _mm512_srl_epi16(magnitude, c->cut);
    __m512i high = _mm512_maskz_add_epi16(some, cut, c->rebias);
    high = _mm512_ternarylogic_epi32(high, code, c->sign, OR_AND);
    __m512i low = _mm512_sll_epi16(magnitude, c->drop);
    put(y, _mm512_unpacklo_epi16(low, high), is_large);
    put(y + 16, _mm512_unpackhi_epi16(low, high), is_large);
}

/* The same of binary16; what is no number has one code there, but more can be read. */
HU_INLINE void unpack_binary16(const hu_packer *p, const uint16_t *codes, float *y, int is_large) {
    __m512i code = _mm512_loadu_si512(codes);
    __m512i magnitude = _mm512_and_si512(code, spread(0x7fff));
    if (__builtin_expect(_mm512_cmpgt_epu16_mask(magnitude, spread(0x7c00)) != 0, 0)) {
        unpack_any(p, codes, y, is_large);
        unpack_any(p, codes + 16, y + 16, is_large);
        return;
    }
    __m512 first = _mm512_cvtph_ps(_mm512_castsi512_si256(code));
    __m512 second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(code, 1));
    put(y, _mm512_castps_si512(first), is_large);
    put(y + 16, _mm512_castps_si512(second), is_large);
}

HU_INLINE void unpack_all(const hu_packer *p, size_t n, const uint16_t *codes, float *y,
                          int is_binary16, int is_large) {
    const constants c = constants_of(p);
    for (size_t i = 0; i < n; i += CODES) {
        if (is_large) __builtin_prefetch((const char *)(codes + i) + AHEAD_BYTES);
        if (is_binary16)
            unpack_binary16(p, codes + i, y + i, is_large);
        else
            unpack_32(p, &c, codes + i, y + i, is_large);
    }
}

HU_INLINE void unpack_sized(const hu_packer *p, size_t n, const uint16_t *codes, float *y,
                            int is_binary16) {
    if (n >= LARGE && (uintptr_t)y % 64 == 0) {
        unpack_all(p, n, codes, y, is_binary16, 1);
        _mm_sfence();
    } else {
        unpack_all(p, n, codes, y, is_binary16, 0);
    }
}

void hu_unpack_halves_16_avx512(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = n / CODES * CODES;
    int is_binary16 = p->rebias == (uint32_t)(126 - 14) << 23 && p->hidden == 1 << 10 &&
                      p->first_nan == 0x7c01 && p->code_max == 0x7bff && p->subnormal_mask;
    if (is_binary16)
        unpack_sized(p, whole, codes, y, 1);
    else
        unpack_sized(p, whole, codes, y, 0);
    hu_unpack_vector_16_avx2(p, n - whole, (const uint16_t *)codes + whole, y + whole);
}
