/* Reading codes with AVX2 intrinsics by way of 16 bits: what fits binary16 but for its bias goes
 * through that, by the conversion of the machine and a power of two, which are exact; other formats
 * of 16 bits as halves of binary32, see halves_avx512.c. Vectors with anything else go by lanes of
 * 32 bits. Same bits as variant.c. */
#include "kernel/pack/lanes_avx2.h"

hu_unpack_fn hu_unpack_vector_8_avx2, hu_unpack_vector_16_avx2, hu_unpack_halves_8_avx2,
    hu_unpack_unsigned_zero_8_avx2, hu_unpack_halves_16_avx2;

HU_INLINE __m256i spread_16(uint32_t half) {
    return _mm256_set1_epi16((short)half);
}

/* A format of 8 or 16 bits whose codes, shifted, are those of binary16 but for its bias; the
 * largest exponent of binary16 is not that of numbers. */
static int is_of_binary16(const hu_packer *p) {
    uint32_t exponents = (p->magnitude_mask + 1) / p->hidden;
    int is_narrow = exponents < 32 || p->code_max < 31 * p->hidden;
    return exponents <= 32 && p->hidden <= 1u << 10 && is_narrow && p->subnormal_mask;
}

/* 2 to the difference of the biases: what 2^emin is to binary16's, 2^-14. */
static __m256 scale_of(const hu_packer *p) {
    return _mm256_set1_ps(hu_f32_of_bits(p->min_normal_bits + (14u << 23)));
}

/* Values of 16 codes of binary16, times scale. */
HU_INLINE void put_16(__m256i half, __m256 scale, float *y, int is_large) {
    __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
    __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
    put(y, _mm256_castps_si256(_mm256_mul_ps(low, scale)), is_large);
    put(y + 8, _mm256_castps_si256(_mm256_mul_ps(high, scale)), is_large);
}

HU_INLINE void unpack_8(const hu_packer *p, size_t n, const uint8_t *codes, float *y,
                        int is_large) {
    const lanes c = spread_all(p);
    const __m256 scale = scale_of(p);
    const uint32_t shift = (uint32_t)__builtin_ctz((1 << 10) / p->hidden);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    const __m256i kept = spread_16(0x8000 | p->magnitude_mask << shift);
    const __m256i most = _mm256_set1_epi8((char)p->code_max);
    const __m256i magnitude = _mm256_set1_epi8((char)p->magnitude_mask);
    for (size_t i = 0; i < n; i += 32) {
        announce(codes + i, is_large);
        __m256i code = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
        __m256i other = _mm256_cmpgt_epi8(_mm256_and_si256(code, magnitude), most);
        if (__builtin_expect(!_mm256_testz_si256(other, other), 0)) {
            for (size_t k = i; k < i + 32; k += 8)
                decode(&c,
                       _mm256_cvtepu8_epi32(
                           _mm_loadl_epi64((const __m128i *)(const void *)(codes + k))),
                       y + k, 1, is_large);
            continue;
        }
        for (size_t k = i; k < i + 32; k += 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(codes + k));
            __m256i word = _mm256_sll_epi16(_mm256_cvtepi8_epi16(bytes), by);
            put_16(_mm256_and_si256(word, kept), scale, y + k, is_large);
        }
    }
}

/* Any 16 codes. */
HU_INLINE void decode_16(const lanes *c, const uint16_t *codes, float *y, int has_specials,
                         int is_large) {
    for (int k = 0; k < 16; k += 8) {
        __m128i words = _mm_loadu_si128((const __m128i *)(const void *)(codes + k));
        decode(c, _mm256_cvtepu16_epi32(words), y + k, has_specials, is_large);
    }
}

HU_INLINE void unpack_binary16(const hu_packer *p, size_t n, const uint16_t *codes, float *y,
                               int is_large) {
    const lanes c = spread_all(p);
    const __m256 scale = scale_of(p);
    const __m256i most = spread_16(p->code_max), magnitude = spread_16(p->magnitude_mask);
    for (size_t i = 0; i < n; i += 16) {
        announce(codes + i, is_large);
        __m256i code = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
        __m256i other = _mm256_cmpgt_epi16(_mm256_and_si256(code, magnitude), most);
        if (__builtin_expect(!_mm256_testz_si256(other, other), 0))
            decode_16(&c, codes + i, y + i, 1, is_large);
        else
            put_16(code, scale, y + i, is_large);
    }
}

/* Where 2^emin is binary32's, subnormal codes are made as the others. */
HU_INLINE void unpack_16(const hu_packer *p, size_t n, const uint16_t *codes, float *y,
                         int is_large) {
    const lanes c = spread_all(p);
    const uint32_t first = p->rebias == 0 && p->subnormal_mask ? 1 : p->hidden;
    const __m256i zero = _mm256_setzero_si256(), least = spread_16(first),
                  most = spread_16(p->code_max);
    const __m256i rebias = spread_16(p->rebias >> 16), mask = spread_16(p->magnitude_mask);
    const __m128i drop = _mm_cvtsi32_si128((int)p->drop),
                  cut = _mm_cvtsi32_si128(16 - (int)p->drop);
    for (size_t i = 0; i < n; i += 16) {
        announce(codes + i, is_large);
        __m256i code = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
        code = _mm256_permute4x64_epi64(code, 0xd8); /* halves are joined within 128 bits */
        __m256i magnitude = _mm256_and_si256(code, mask);
        __m256i is_zero = _mm256_cmpeq_epi16(magnitude, zero);
        __m256i small = _mm256_andnot_si256(is_zero, _mm256_cmpgt_epi16(least, magnitude));
        __m256i special = _mm256_cmpgt_epi16(magnitude, most);
        __m256i other = _mm256_or_si256(small, special);
        if (__builtin_expect(!_mm256_testz_si256(other, other), 0)) {
            if (_mm256_testz_si256(special, special))
                decode_16(&c, codes + i, y + i, 0, is_large);
            else
                decode_16(&c, codes + i, y + i, 1, is_large);
            continue;
        }
        __m256i high = _mm256_add_epi16(_mm256_srl_epi16(magnitude, cut), rebias);
        high = _mm256_or_si256(_mm256_andnot_si256(is_zero, high), _mm256_andnot_si256(mask, code));
        __m256i low = _mm256_sll_epi16(magnitude, drop);
        put(y + i, _mm256_unpacklo_epi16(low, high), is_large);
        put(y + i + 8, _mm256_unpackhi_epi16(low, high), is_large);
    }
}

/* For formats of 8 bits; what has more exponents than binary16 takes the usual way. */
void hu_unpack_halves_8_avx2(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = is_of_binary16(p) ? n / 32 * 32 : 0;
    if (is_large_at(whole, y)) {
        unpack_8(p, whole, codes, y, 1);
        _mm_sfence();
    } else {
        unpack_8(p, whole, codes, y, 0);
    }
    hu_unpack_vector_8_avx2(p, n - whole, (const uint8_t *)codes + whole, y + whole);
}

/* What code 80 is where it is not -0. Few numbers are. */
static void put_minus_zero(const hu_packer *p, size_t n, const uint8_t *codes, float *y) {
    const __m256i minus_zero = _mm256_set1_epi8((char)0x80);
    const float value = hu_f32_of_bits(p->minus_zero);
    size_t whole = n / 32 * 32;
    for (size_t i = 0; i < whole; i += 32) {
        __m256i code = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
        uint32_t found = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(code, minus_zero));
        for (; found; found &= found - 1) y[i + (size_t)__builtin_ctz(found)] = value;
    }
    for (size_t i = whole; i < n; i++)
        if (codes[i] == 0x80) y[i] = value;
}

/* FNUZ of 8 bits, P3109's signed finite formats: NaN where -0 would be. */
void hu_unpack_unsigned_zero_8_avx2(const hu_packer *p, size_t n, const void *codes, float *y) {
    enum { CHUNK = 2048 }; /* stays in the first cache */
    const uint8_t *from = codes;
    for (size_t at = 0, count; at < n; at += count) {
        count = n - at < CHUNK ? n - at : CHUNK;
        hu_unpack_halves_8_avx2(p, count, from + at, y + at);
        put_minus_zero(p, count, from + at, y + at);
    }
}

/* For formats of 16 bits. */
void hu_unpack_halves_16_avx2(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = n / 16 * 16;
    int is_large = is_large_at(whole, y);
    if (!is_of_binary16(p) && is_large)
        unpack_16(p, whole, codes, y, 1);
    else if (!is_of_binary16(p))
        unpack_16(p, whole, codes, y, 0);
    else if (is_large)
        unpack_binary16(p, whole, codes, y, 1);
    else
        unpack_binary16(p, whole, codes, y, 0);
    if (is_large) _mm_sfence();
    hu_unpack_vector_16_avx2(p, n - whole, (const uint16_t *)codes + whole, y + whole);
}
