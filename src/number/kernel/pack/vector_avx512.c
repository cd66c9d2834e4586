/* Reading 8-bit codes with AVX-512 intrinsics, for formats of 8 bits. Their numbers have at most 7
 * fraction bits: the upper half of a binary32 holds them, and those of the 128 magnitudes fill four
 * registers. Same bits as variant.c. */
#include <immintrin.h>
#include <stdbool.h>

#include "kernel/lane.h"
#include "kernel/pack/pack.h"
#include "kernel/pack/stream_avx512.h"

/* Upper halves of the magnitudes, 32 in a register, and of code 80. */
typedef struct halves {
    __m512i part[4];
    __m512i minus_zero;
} halves;

hu_unpack_fn hu_unpack_vector_8_avx2, hu_unpack_8_avx512, hu_unpack_vector_8_avx512,
    hu_unpack_unsigned_zero_8_avx512;

HU_INLINE halves halves_of(const hu_packer *p) {
    halves h;
    for (int i = 0; i < 4; i++) h.part[i] = _mm512_loadu_si512(p->upper + (ptrdiff_t)i * 32);
    h.minus_zero = _mm512_set1_epi16((short)(p->minus_zero >> 16));
    return h;
}

/* Values of 32 codes. Words are joined with zeros below them within 128 bits, the lower four apart
 * from the upper four: codes are put in such an order first. */
HU_INLINE void unpack_32(const halves *h, const uint8_t *codes, float *y, bool has_minus_zero,
                         int is_large) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i zero = _mm512_setzero_si512();
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)codes);
    __m512i code = _mm512_cvtepu8_epi16(_mm256_permutevar8x32_epi32(bytes, order));
    /* The look-up takes 6 bits of an index; bit 6 chooses between two, bit 7 is the sign. */
    __m512i below = _mm512_permutex2var_epi16(h->part[0], code, h->part[1]);
    __m512i above = _mm512_permutex2var_epi16(h->part[2], code, h->part[3]);
    __mmask32 is_above = _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40));
    __m512i magnitude = _mm512_mask_blend_epi16(is_above, below, above);
    __m512i sign = _mm512_and_si512(_mm512_slli_epi16(code, 8), _mm512_set1_epi16(-0x8000));
    __m512i half = _mm512_or_si512(magnitude, sign);
    if (!has_minus_zero)
        half = _mm512_mask_mov_epi16(half, _mm512_cmpeq_epi16_mask(code, _mm512_set1_epi16(0x80)),
                                     h->minus_zero);
    put(y, _mm512_unpacklo_epi16(zero, half), is_large);
    put(y + 16, _mm512_unpackhi_epi16(zero, half), is_large);
}

HU_INLINE void unpack_all(const hu_packer *p, size_t n, const uint8_t *codes, float *y,
                          bool has_minus_zero, int is_large) {
    const halves h = halves_of(p);
    for (size_t i = 0; i < n; i += 32) {
        if (is_large) __builtin_prefetch(codes + i + AHEAD_BYTES);
        unpack_32(&h, codes + i, y + i, has_minus_zero, is_large);
    }
}

/* How many of n are whole vectors, which it has read. */
HU_INLINE size_t unpack_whole(const hu_packer *p, size_t n, const void *codes, float *y,
                              bool has_minus_zero) {
    size_t whole = n / 32 * 32;
    if (whole >= LARGE && (uintptr_t)y % 64 == 0) {
        unpack_all(p, whole, codes, y, has_minus_zero, 1);
        _mm_sfence();
    } else if (whole > 0) {
        unpack_all(p, whole, codes, y, has_minus_zero, 0);
    }
    return whole;
}

void hu_unpack_vector_8_avx512(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = unpack_whole(p, n, codes, y, true);
    hu_unpack_vector_8_avx2(p, n - whole, (const uint8_t *)codes + whole, y + whole);
}

/* FNUZ, P3109's signed finite formats: NaN where -0 would be. */
void hu_unpack_unsigned_zero_8_avx512(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = unpack_whole(p, n, codes, y, false);
    hu_unpack_8_avx512(p, n - whole, (const uint8_t *)codes + whole, y + whole);
}
