/* kernel/pack/bits_avx2.c - codes of 1 byte and fewer than 8 used bits, 32 and 16 at a time. */
#include <immintrin.h>

#include "kernel/lane.h"
#include "kernel/pack/bits.h"

enum { WIDE = 16 }; /* bytes of a load or store, of which 2 width are meant */

/* The first `width` bytes of either half of 128 bits, one after the other. */
HU_INLINE __m256i closing_order(uint32_t width) {
    int8_t order[WIDE];
    for (uint32_t i = 0; i < WIDE; i++)
        order[i] = (int8_t)(i < width ? i : i < 2 * width ? 8 + i - width : 0x80);
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)order));
}

/* Neighbours close up by two, by fours, by eights, as in bits.c; then halves do. */
size_t hu_join_bytes_avx2(size_t n, const uint8_t *codes, uint32_t width, uint8_t *bytes) {
    const size_t end = n / 8 * width;
    const __m256i even = _mm256_set1_epi16((short)((1 << width) - 1));
    const __m256i odd = _mm256_slli_epi16(even, 8);
    const __m256i pairs = _mm256_set1_epi32(1 | 1 << (16 + 2 * width));
    const __m256i low = _mm256_set1_epi64x(UINT32_MAX), order = closing_order(width);
    const __m128i by_two = _mm_cvtsi32_si128(8 - (int)width);
    const __m128i by_eight = _mm_cvtsi32_si128(32 - 4 * (int)width);
    size_t at = 0;
    for (; at + 32 <= n && (at / 8 + 2) * width + WIDE <= end; at += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(codes + at));
        uint8_t *to = bytes + at / 8 * width;
        x = _mm256_or_si256(_mm256_and_si256(x, even),
                            _mm256_srl_epi16(_mm256_and_si256(x, odd), by_two));
        x = _mm256_madd_epi16(x, pairs);
        x = _mm256_or_si256(_mm256_and_si256(x, low),
                            _mm256_srl_epi64(_mm256_andnot_si256(low, x), by_eight));
        x = _mm256_shuffle_epi8(x, order);
        _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(x));
        _mm_storeu_si128((__m128i *)(void *)(to + 2 * width), _mm256_extracti128_si256(x, 1));
    }
    return at;
}

/* For each of 16 codes the two bytes that hold it, and the power of two that moves its last bit to
 * the top of these. */
HU_INLINE void opening_order(uint32_t width, uint8_t order[2 * WIDE], uint16_t lift[WIDE]) {
    for (uint32_t i = 0; i < WIDE; i++) {
        uint32_t bit = i * width;
        order[2 * i] = (uint8_t)(bit / 8);
        order[2 * i + 1] = (uint8_t)(bit / 8 + 1);
        lift[i] = (uint16_t)(1u << (16 - width - bit % 8));
    }
}

size_t hu_split_bytes_avx2(size_t n, const uint8_t *bytes, uint32_t width, uint8_t *codes) {
    const size_t end = n / 8 * width;
    uint8_t order_bytes[2 * WIDE];
    uint16_t lifts[WIDE];
    opening_order(width, order_bytes, lifts);
    const __m256i order = _mm256_loadu_si256((const __m256i *)(const void *)order_bytes);
    const __m256i lift = _mm256_loadu_si256((const __m256i *)(const void *)lifts);
    const __m128i down = _mm_cvtsi32_si128(16 - (int)width);
    size_t at = 0;
    for (; at + 16 <= n && at / 8 * width + WIDE <= end; at += 16) {
        const void *from = bytes + at / 8 * width;
        __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)from));
        x = _mm256_mullo_epi16(_mm256_shuffle_epi8(x, order), lift);
        x = _mm256_srl_epi16(x, down);
        __m128i packed =
            _mm_packus_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
        _mm_storeu_si128((__m128i *)(void *)(codes + at), packed);
    }
    return at;
}
