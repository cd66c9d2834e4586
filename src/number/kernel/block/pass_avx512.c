/* kernel/block/pass_avx512.c - whole tiles in two passes, with AVX-512 intrinsics. */
#include "kernel/simd/x86.h"

#include "kernel/block/pass.h"
#include "kernel/lane.h"

/* Ternary logic: a | (b & c); a ? b : c. */
enum { LANES = 16, VECTORS = 4, OR_AND = 0xf8, CHOICE = 0xca };

typedef __m512i words;
typedef __m512 floats;

HU_INLINE words spread(uint32_t word) {
    return _mm512_set1_epi32((int)word);
}

HU_INLINE words load_words(const float *x) {
    return _mm512_loadu_si512(x);
}

HU_INLINE void store_words(void *y, words v) {
    _mm512_storeu_si512(y, v);
}

HU_INLINE words and_words(words a, words b) {
    return _mm512_and_si512(a, b);
}

/* v with the bit `sign` of x. */
HU_INLINE words with_sign(words v, words x, words sign) {
    return _mm512_ternarylogic_epi32(v, x, sign, OR_AND);
}

/* a where mask is set, else b. */
HU_INLINE words merge(words mask, words a, words b) {
    return _mm512_ternarylogic_epi32(mask, a, b, CHOICE);
}

HU_INLINE words count_if_less(words count, words a, words b) {
    return _mm512_mask_sub_epi32(count, _mm512_cmplt_epi32_mask(a, b), count, spread(UINT32_MAX));
}

HU_INLINE bool any_less(words a, words b) {
    return _mm512_cmplt_epi32_mask(a, b) != 0;
}

HU_INLINE uint32_t sum_of(words v) {
    return (uint32_t)_mm512_reduce_add_epi32(v);
}

HU_INLINE void store_bytes(uint8_t *to, words code) {
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(code));
}

/* Two codes of a quadword side by side. */
HU_INLINE void store_nibbles(uint8_t *to, words code) {
    words pair = _mm512_or_si512(code, _mm512_srli_epi64(code, 28));
    _mm_storel_epi64((__m128i *)(void *)to, _mm512_cvtepi64_epi8(pair));
}

HU_INLINE void store_codes(uint8_t *to, int width, int vectors, const words *code) {
    HU_UNROLL
    for (int k = 0; k < vectors; k++) {
        if (width == 4)
            store_nibbles(to + k * LANES / 2, code[k]);
        else
            store_bytes(to + k * LANES, code[k]);
    }
}

/* Codes of 8 bits of a group's magnitudes, with the signs of `in`. */
HU_INLINE void store_signed_bytes(uint8_t *to, const words *code, const words *in) {
    const words sign = spread(0x80);
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++)
        store_bytes(to + k * LANES, with_sign(code[k], _mm512_srli_epi32(in[k], 24), sign));
}

/* Values of the codes of 4 bits. */
typedef struct nibble_values {
    words of_codes;
} nibble_values;

HU_INLINE nibble_values nibble_values_of(const hu_packer *packer) {
    uint8_t codes[LANES];
    float value[LANES];
    for (int i = 0; i < LANES; i++) codes[i] = (uint8_t)i;
    hu_packer_unpack(packer, LANES, codes, value);
    return (nibble_values){load_words(value)};
}

/* Numbers of the codes in 8 bytes; the look-up reads the last 4 bits of a lane. */
HU_INLINE floats values_of_nibbles(const nibble_values *values, const uint8_t *codes) {
    const words half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const words shift = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    words bytes = _mm512_castsi128_si512(_mm_loadl_epi64((const __m128i *)(const void *)codes));
    words code = _mm512_srlv_epi32(_mm512_permutexvar_epi32(half, bytes), shift);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi32(code, values->of_codes));
}

HU_INLINE uint32_t largest_of(words v) {
    return (uint32_t)_mm512_reduce_max_epi32(v);
}

/* Both vectors' larger halves side by side. */
HU_INLINE words fold_halves(words a, words b) {
    return _mm512_max_epi32(_mm512_shuffle_i32x4(a, b, 0x44), _mm512_shuffle_i32x4(a, b, 0xee));
}

/* The same of quarters, which leaves 4 lanes of each. */
HU_INLINE words fold_quarters(words a, words b) {
    return _mm512_max_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

/* Lane i: the largest of v[i]. Quarter j of four[i] has the lanes of v[4 j + i]. */
HU_INLINE words fold(const words v[LANES]) {
    words four[4];
    HU_UNROLL
    for (int i = 0; i < 4; i++)
        four[i] = fold_quarters(fold_halves(v[i], v[4 + i]), fold_halves(v[8 + i], v[12 + i]));
    words a = _mm512_max_epi32(_mm512_unpacklo_epi32(four[0], four[1]),
                               _mm512_unpackhi_epi32(four[0], four[1]));
    words b = _mm512_max_epi32(_mm512_unpacklo_epi32(four[2], four[3]),
                               _mm512_unpackhi_epi32(four[2], four[3]));
    return _mm512_max_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

#define HU_PASS_NAME hu_block_pass_avx512
#include "kernel/block/pass.inc"
