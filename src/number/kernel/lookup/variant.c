/* kernel/lookup/variant.c - the loops of lookup.h, compiled once per instruction set. */
#include "kernel/lookup/lookup.h"

#include "kernel/lane.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { CHANNELS = HU_LOOKUP_CHANNELS };

/* Always inline, so that the loop over channels is unrolled for each number of them. */
HU_INLINE void look_up(const hu_lookup *lookup, const uint8_t *first, int64_t step, int64_t count,
                       int64_t channels, float *values) {
    for (int64_t x = 0; x < count; x++)
        for (int64_t c = 0; c < channels; c++)
            values[channels * x + c] = lookup->value[first[channels * step * x + c]][c];
}

#ifdef __AVX2__
/* Pixels of a block, bytes of a vector of them, pixels that a vector holds whole. */
enum { BLOCK = 16, BYTES = 16, PIXELS = 4 };

/* The pixels x, x + 1, x + 2, x + 3 in descending order in the first twelve bytes. */
HU_INLINE __m128i four_before(const uint8_t *first, int64_t x) {
    const __m128i back = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 0, 0, 0, 0);
    const uint8_t *last = first - CHANNELS * (x + PIXELS - 1);
    return _mm_shuffle_epi8(_mm_loadu_si128((const void *)(last - (BYTES - CHANNELS * PIXELS))),
                            back);
}

/* The same of a block's last four, before which nothing is read. */
HU_INLINE __m128i last_four(const uint8_t *first, int64_t x) {
    const __m128i back = _mm_setr_epi8(9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 0, 0, 0, 0);
    const uint8_t *last = first - CHANNELS * (x + PIXELS - 1);
    return _mm_shuffle_epi8(_mm_loadu_si128((const void *)last), back);
}

HU_INLINE __m128i at_end(__m128i twelve) {
    return _mm_slli_si128(twelve, BYTES - CHANNELS * PIXELS);
}

/* The bytes of a block from its pixel x on. */
HU_INLINE void load_block(const uint8_t *first, bool mirrored, int64_t x, __m128i bytes[CHANNELS]) {
    if (!mirrored) {
        HU_UNROLL
        for (int v = 0; v < CHANNELS; v++)
            bytes[v] = _mm_loadu_si128((const void *)(first + CHANNELS * x + v * BYTES));
        return;
    }
    __m128i a = four_before(first, x), b = four_before(first, x + PIXELS);
    __m128i c = four_before(first, x + 2 * PIXELS), d = last_four(first, x + 3 * PIXELS);
    bytes[0] = _mm_alignr_epi8(b, at_end(a), 4);
    bytes[1] = _mm_alignr_epi8(c, at_end(b), 8);
    bytes[2] = _mm_alignr_epi8(d, at_end(c), 12);
}
#endif

#if defined(__AVX512BW__)
HU_INLINE void products(const hu_lookup *k, int at, __m128i bytes, float *values) {
    __m512 x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
    __m512 u = _mm512_fmadd_ps(x, _mm512_set1_ps(k->unit[0]),
                               _mm512_mul_ps(x, _mm512_set1_ps(k->unit[1])));
    __m512 d = _mm512_sub_ps(u, _mm512_loadu_ps(k->mean + at));
    __m512 low = _mm512_mul_ps(d, _mm512_loadu_ps(k->scale[1] + at));
    _mm512_storeu_ps(values + at, _mm512_fmadd_ps(d, _mm512_loadu_ps(k->scale[0] + at), low));
}
#elif defined(__AVX2__)
HU_INLINE void eight(const hu_lookup *k, int at, __m128i bytes, float *values) {
    __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    __m256 u = _mm256_fmadd_ps(x, _mm256_set1_ps(k->unit[0]),
                               _mm256_mul_ps(x, _mm256_set1_ps(k->unit[1])));
    __m256 d = _mm256_sub_ps(u, _mm256_loadu_ps(k->mean + at));
    __m256 low = _mm256_mul_ps(d, _mm256_loadu_ps(k->scale[1] + at));
    _mm256_storeu_ps(values + at, _mm256_fmadd_ps(d, _mm256_loadu_ps(k->scale[0] + at), low));
}

HU_INLINE void products(const hu_lookup *k, int at, __m128i bytes, float *values) {
    eight(k, at, bytes, values);
    eight(k, at + 8, _mm_srli_si128(bytes, 8), values);
}
#endif

#ifdef __AVX2__
/* At least a block of pixels. The last block begins earlier: what lies in two is made twice. */
HU_INLINE void multiply(const hu_lookup *lookup, const uint8_t *first, bool mirrored, int64_t count,
                        float *values) {
    for (int64_t x = 0; x < count; x += BLOCK) {
        int64_t begin = x + BLOCK <= count ? x : count - BLOCK;
        __m128i bytes[CHANNELS];
        load_block(first, mirrored, begin, bytes);
        HU_UNROLL
        for (int v = 0; v < CHANNELS; v++)
            products(lookup, v * BYTES, bytes[v], values + CHANNELS * begin);
    }
}
#endif

static void row(const hu_lookup *lookup, const uint8_t *first, bool mirrored, int64_t count,
                int64_t channels, float *values) {
    int64_t step = mirrored ? -1 : 1;
    if (channels == 1) {
        look_up(lookup, first, step, count, 1, values);
        return;
    }
    if (channels == 2) {
        look_up(lookup, first, step, count, 2, values);
        return;
    }
#ifdef __AVX2__
    if (lookup->is_product && count >= BLOCK) {
        if (mirrored)
            multiply(lookup, first, true, count, values);
        else
            multiply(lookup, first, false, count, values);
        return;
    }
#endif
    look_up(lookup, first, step, count, CHANNELS, values);
}

const hu_lookup_kernel HU_VARIANT(hu_lookup_kernel) = {row};
