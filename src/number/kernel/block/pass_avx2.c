/* kernel/block/pass_avx2.c - whole tiles in two passes, with AVX2 intrinsics. */
#include "kernel/simd/x86.h"

#include "kernel/block/pass.h"
#include "kernel/lane.h"

enum { LANES = 8, VECTORS = 4 };

typedef __m256i words;
typedef __m256 floats;

HU_INLINE words spread(uint32_t word) {
    return _mm256_set1_epi32((int)word);
}

HU_INLINE words load_words(const float *x) {
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}

HU_INLINE void store_words(void *y, words v) {
    _mm256_storeu_si256((__m256i *)(void *)y, v);
}

HU_INLINE words and_words(words a, words b) {
    return _mm256_and_si256(a, b);
}

/* v with the bit `sign` of x. */
HU_INLINE words with_sign(words v, words x, words sign) {
    return _mm256_or_si256(v, _mm256_and_si256(x, sign));
}

/* a where mask is set, else b. */
HU_INLINE words merge(words mask, words a, words b) {
    return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}

HU_INLINE words count_if_less(words count, words a, words b) {
    return _mm256_sub_epi32(count, _mm256_cmpgt_epi32(b, a));
}

HU_INLINE bool any_less(words a, words b) {
    words less = _mm256_cmpgt_epi32(b, a);
    return !_mm256_testz_si256(less, less);
}

HU_INLINE uint32_t sum_of(words v) {
    uint32_t lane[LANES], sum = 0;
    _mm256_storeu_si256((__m256i *)(void *)lane, v);
    for (int i = 0; i < LANES; i++) sum += lane[i];
    return sum;
}

/* Bytes of 32 codes, which packing leaves as the dwords 0 4 1 5 2 6 3 7; and in their order. */
HU_INLINE words packed_bytes(const words *code) {
    return _mm256_packus_epi16(_mm256_packus_epi32(code[0], code[1]),
                               _mm256_packus_epi32(code[2], code[3]));
}

HU_INLINE words in_order(words packed) {
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Codes of 4 bits in pairs. */
HU_INLINE __m128i pairs_of(words bytes) {
    words pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x1001));
    words all = _mm256_permute4x64_epi64(_mm256_packus_epi16(pairs, pairs), 0x08);
    return _mm256_castsi256_si128(all);
}

/* Codes of 4 or 8 bits of one vector or of a group. */
HU_INLINE void store_codes(uint8_t *to, int width, int vectors, const words *code) {
    const words none = _mm256_setzero_si256();
    const words one[VECTORS] = {code[0], none, none, none};
    words bytes = in_order(packed_bytes(vectors == VECTORS ? code : one));
    __m128i pairs = pairs_of(bytes);
    if (width == 4 && vectors == VECTORS)
        _mm_storeu_si128((__m128i *)(void *)to, pairs);
    else if (width == 4)
        _mm_storeu_si32(to, pairs);
    else if (vectors == VECTORS)
        _mm256_storeu_si256((__m256i *)(void *)to, bytes);
    else
        _mm_storel_epi64((__m128i *)(void *)to, _mm256_castsi256_si128(bytes));
}

/* Codes of 8 bits of a group's magnitudes, with the signs of `in`: packing saturates, which keeps a
 * sign. */
HU_INLINE void store_signed_bytes(uint8_t *to, const words *code, const words *in) {
    const words sign = _mm256_set1_epi8((char)0x80);
    words signs =
        _mm256_packs_epi16(_mm256_packs_epi32(in[0], in[1]), _mm256_packs_epi32(in[2], in[3]));
    store_words(to, in_order(with_sign(packed_bytes(code), signs, sign)));
}

/* Values of the codes of 4 bits: those of magnitudes. */
typedef struct nibble_values {
    words of_magnitudes;
} nibble_values;

HU_INLINE nibble_values nibble_values_of(const hu_packer *packer) {
    uint8_t codes[LANES];
    float value[LANES];
    for (int i = 0; i < LANES; i++) codes[i] = (uint8_t)i;
    hu_packer_unpack(packer, LANES, codes, value);
    return (nibble_values){load_words(value)};
}

/* Numbers of the codes in 4 bytes; the look-up reads the last 3 bits of a lane. */
HU_INLINE floats values_of_nibbles(const nibble_values *values, const uint8_t *codes) {
    const words shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    int32_t bytes;
    memcpy(&bytes, codes, sizeof bytes);
    words code = _mm256_srlv_epi32(_mm256_set1_epi32(bytes), shift);
    words magnitude = _mm256_permutevar8x32_epi32(values->of_magnitudes, code);
    words sign = _mm256_and_si256(_mm256_slli_epi32(code, 28), spread(HU_F32_SIGN));
    return _mm256_castsi256_ps(_mm256_or_si256(magnitude, sign));
}

HU_INLINE uint32_t largest_of(words v) {
    uint32_t lane[LANES], top = 0;
    _mm256_storeu_si256((__m256i *)(void *)lane, v);
    for (int i = 0; i < LANES; i++) top = top > lane[i] ? top : lane[i];
    return top;
}

/* Both vectors' larger halves side by side. */
HU_INLINE words fold_halves(words a, words b) {
    return _mm256_max_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                            _mm256_permute2x128_si256(a, b, 0x31));
}

/* Lane i: the largest of v[i]. Half j of two[i] has 4 lanes of v[4 j + i]. */
HU_INLINE words fold(const words v[LANES]) {
    words two[4];
    HU_UNROLL
    for (int i = 0; i < 4; i++) two[i] = fold_halves(v[i], v[4 + i]);
    words a = _mm256_max_epi32(_mm256_unpacklo_epi32(two[0], two[1]),
                               _mm256_unpackhi_epi32(two[0], two[1]));
    words b = _mm256_max_epi32(_mm256_unpacklo_epi32(two[2], two[3]),
                               _mm256_unpackhi_epi32(two[2], two[3]));
    return _mm256_max_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

#define HU_PASS_NAME hu_block_pass_avx2
#include "kernel/block/pass.inc"
