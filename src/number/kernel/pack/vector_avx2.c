/* Packing to and from 8 and 16 bits with AVX2 intrinsics, for formats that keep the sign of zero.
 * Written by hand because the compilers' code for variant.c is half as fast here (narrowing, and
 * selects as arithmetic); same bits. */
#include <immintrin.h>

#include "kernel/pack/lanes_avx2.h"

/* Codes of 8 member values, as in variant.c: the sum with 2^(emin+23-m) counts subnormal quanta;
 * infinities exceed every code and are cut to theirs. */
HU_INLINE __m256i encode(const lanes *c, const float *x) {
    __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x));
    __m256i u = _mm256_and_si256(bits, spread(~HU_F32_SIGN));
    __m256i sign = _mm256_srl_epi32(_mm256_xor_si256(bits, u), c->sign_shift);
    __m256i normal = _mm256_srl_epi32(_mm256_sub_epi32(u, c->rebias), c->drop);
    __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(u), _mm256_castsi256_ps(c->grid));
    __m256i subnormal = _mm256_sub_epi32(_mm256_castps_si256(sum), c->grid);
    __m256i code = choose(normal, subnormal, _mm256_cmpgt_epi32(c->min_normal, u));
    code = _mm256_or_si256(_mm256_min_epi32(code, c->infinity_code), sign);
    __m256i nan = _mm256_or_si256(c->nan_code, _mm256_and_si256(sign, c->nan_sign));
    return choose(code, nan, _mm256_cmpgt_epi32(u, spread(HU_F32_INFINITY)));
}

/* 32 codes at a time: 32-bit lanes are narrowed twice, with saturation, which no code reaches. */
HU_INLINE void pack_8(const hu_packer *p, size_t n, const float *x, uint8_t *codes, int is_large) {
    const lanes c = spread_all(p);
    /* Packs work within 128-bit halves: groups of four codes come out as 0 2 4 6, 1 3 5 7. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t i = 0; i + 32 <= n; i += 32) {
        announce(x + i, is_large);
        announce(x + i + 16, is_large);
        __m256i low = _mm256_packus_epi32(encode(&c, x + i), encode(&c, x + i + 8));
        __m256i high = _mm256_packus_epi32(encode(&c, x + i + 16), encode(&c, x + i + 24));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        put(codes + i, bytes, is_large);
    }
}

/* As pack_8, 16 codes at a time. */
HU_INLINE void pack_16(const hu_packer *p, size_t n, const float *x, uint16_t *codes,
                       int is_large) {
    const lanes c = spread_all(p);
    for (size_t i = 0; i + 16 <= n; i += 16) {
        announce(x + i, is_large);
        __m256i both = _mm256_packus_epi32(encode(&c, x + i), encode(&c, x + i + 8));
        put(codes + i, _mm256_permute4x64_epi64(both, 0xd8), is_large);
    }
}

/* Eight codes at a time, widened to 32-bit lanes. */
HU_INLINE void unpack_8(const hu_packer *p, size_t n, const uint8_t *codes, float *y,
                        int has_specials, int is_large) {
    const lanes c = spread_all(p);
    for (size_t i = 0; i + 32 <= n; i += 32) {
        announce(codes + i, is_large);
        for (size_t k = i; k < i + 32; k += 8) {
            __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(codes + k));
            decode(&c, _mm256_cvtepu8_epi32(bytes), y + k, has_specials, is_large);
        }
    }
}

/* As unpack_8, from codes of 16 bits. */
HU_INLINE void unpack_16(const hu_packer *p, size_t n, const uint16_t *codes, float *y,
                         int has_specials, int is_large) {
    const lanes c = spread_all(p);
    for (size_t i = 0; i + 16 <= n; i += 16) {
        announce(codes + i, is_large);
        for (size_t k = i; k < i + 16; k += 8) {
            __m128i words = _mm_loadu_si128((const __m128i *)(const void *)(codes + k));
            decode(&c, _mm256_cvtepu16_epi32(words), y + k, has_specials, is_large);
        }
    }
}

/* The portable kernels do the rest of the array, and count. */
hu_pack_fn hu_pack_8_avx2, hu_pack_16_avx2, hu_pack_vector_8_avx2, hu_pack_vector_16_avx2;
hu_unpack_fn hu_unpack_8_avx2, hu_unpack_16_avx2, hu_unpack_vector_8_avx2, hu_unpack_vector_16_avx2;

void hu_pack_vector_8_avx2(const hu_packer *p, size_t n, const float *x, void *codes,
                           uint64_t unencodable[2]) {
    size_t whole = unencodable ? 0 : n / 32 * 32;
    if (is_large_at(whole, codes)) {
        pack_8(p, whole, x, codes, 1);
        _mm_sfence();
    } else {
        pack_8(p, whole, x, codes, 0);
    }
    hu_pack_8_avx2(p, n - whole, x + whole, (uint8_t *)codes + whole, unencodable);
}

void hu_pack_vector_16_avx2(const hu_packer *p, size_t n, const float *x, void *codes,
                            uint64_t unencodable[2]) {
    size_t whole = unencodable ? 0 : n / 16 * 16;
    if (is_large_at(whole, codes)) {
        pack_16(p, whole, x, codes, 1);
        _mm_sfence();
    } else {
        pack_16(p, whole, x, codes, 0);
    }
    hu_pack_16_avx2(p, n - whole, x + whole, (uint16_t *)codes + whole, unencodable);
}

void hu_unpack_vector_8_avx2(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = n / 32 * 32;
    int has_specials = p->code_max != p->magnitude_mask;
    if (is_large_at(whole, y)) {
        unpack_8(p, whole, codes, y, 1, 1);
        _mm_sfence();
    } else if (has_specials) {
        unpack_8(p, whole, codes, y, 1, 0);
    } else {
        unpack_8(p, whole, codes, y, 0, 0);
    }
    hu_unpack_8_avx2(p, n - whole, (const uint8_t *)codes + whole, y + whole);
}

void hu_unpack_vector_16_avx2(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = n / 16 * 16;
    int has_specials = p->code_max != p->magnitude_mask;
    if (is_large_at(whole, y)) {
        unpack_16(p, whole, codes, y, 1, 1);
        _mm_sfence();
    } else if (has_specials) {
        unpack_16(p, whole, codes, y, 1, 0);
    } else {
        unpack_16(p, whole, codes, y, 0, 0);
    }
    hu_unpack_16_avx2(p, n - whole, (const uint16_t *)codes + whole, y + whole);
}
