/* kernel/resample/variant.c - the loops of resample.h, compiled once per instruction set. */
#include "kernel/resample/resample.h"

#include "kernel/lane.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { HALF = 1 << (HU_RESAMPLE_BITS - 1) };

static inline uint8_t to_byte(int32_t sum) {
    sum >>= HU_RESAMPLE_BITS;
    return (uint8_t)(sum > UINT8_MAX ? UINT8_MAX : sum);
}

static void columns(const int32_t *weight, int64_t count, const uint8_t *from, int64_t stride,
                    int64_t bytes, uint8_t *to) {
    for (int64_t x = 0; x < bytes; x++) {
        int32_t sum = HALF;
        for (int64_t k = 0; k < count; k++) sum += from[k * stride + x] * weight[k];
        to[x] = to_byte(sum);
    }
}

#ifdef __AVX2__
/* What a group of places is made of: where the bytes of each begin in a row, and its weights. */
typedef struct group {
    int64_t start[HU_RESAMPLE_GROUP], pairs, half;
    const int16_t *halves;
} group;

/* Eight bytes of two places: two pixels and what follows. */
HU_INLINE __m128i two_places(const uint8_t *from, const int64_t *start) {
    __m128i low = _mm_loadl_epi64((const void *)(from + start[0]));
    __m128i high = _mm_loadl_epi64((const void *)(from + start[1]));
    return _mm_unpacklo_epi64(low, high);
}

/* The words of two neighbours in turns: red and red, green and green, blue and blue. */
HU_INLINE __m128i in_turns(void) {
    return _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, 12, 13, 14, 15);
}

/* Four places of four bytes -> of three; what stands after is written over by the next. */
HU_INLINE void store_places(__m128i four, uint8_t *to) {
    const __m128i three = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    _mm_storeu_si128((void *)to, _mm_shuffle_epi8(four, three));
}
#endif

#if defined(__AVX512BW__)
enum { BLOCK = 64 };

HU_INLINE void make_group(const group *g, int64_t pairs, const uint8_t *from, uint8_t *to) {
    const __m512i turns = _mm512_broadcast_i32x4(in_turns());
    const int16_t *halves = g->halves;
    __m512i upper = _mm512_setzero_si512(), lower = _mm512_set1_epi32(HALF);
    HU_UNROLL
    for (int64_t p = 0; p < pairs; p++, from += 2 * HU_RESAMPLE_CHANNELS, halves += 2 * g->half) {
        __m256i bytes =
            _mm256_set_m128i(two_places(from, g->start + 2), two_places(from, g->start));
        __m512i words = _mm512_shuffle_epi8(_mm512_cvtepu8_epi16(bytes), turns);
        __m512i a = _mm512_madd_epi16(words, _mm512_loadu_si512(halves));
        __m512i b = _mm512_madd_epi16(words, _mm512_loadu_si512(halves + g->half));
        upper = _mm512_add_epi32(upper, a);
        lower = _mm512_add_epi32(lower, b);
    }
    __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(upper, LOWER_BITS), lower);
    store_places(_mm512_cvtusepi32_epi8(_mm512_srli_epi32(sum, HU_RESAMPLE_BITS)), to);
}

HU_INLINE void block(const int32_t *weight, int64_t count, const uint8_t *from, int64_t stride,
                     uint8_t *to) {
    enum { VECTORS = 4, LANES = BLOCK / VECTORS };
    __m512i sum[VECTORS];
    HU_UNROLL
    for (int v = 0; v < VECTORS; v++) sum[v] = _mm512_set1_epi32(HALF);
    for (int64_t k = 0; k < count; k++, from += stride) {
        __m512i w = _mm512_set1_epi32(weight[k]);
        HU_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            __m128i bytes = _mm_loadu_si128((const void *)(from + v * LANES));
            sum[v] = _mm512_add_epi32(sum[v], _mm512_mullo_epi32(_mm512_cvtepu8_epi32(bytes), w));
        }
    }
    HU_UNROLL
    for (int v = 0; v < VECTORS; v++)
        _mm_storeu_si128((void *)(to + v * LANES),
                         _mm512_cvtusepi32_epi8(_mm512_srli_epi32(sum[v], HU_RESAMPLE_BITS)));
}
#elif defined(__AVX2__)
enum { BLOCK = 32 };

HU_INLINE __m256i make_two(const group *g, int64_t first, int64_t pairs, const uint8_t *from) {
    const __m256i turns = _mm256_broadcastsi128_si256(in_turns());
    const int16_t *halves = g->halves + first * HU_RESAMPLE_WORDS;
    __m256i upper = _mm256_setzero_si256(), lower = _mm256_set1_epi32(HALF);
    HU_UNROLL
    for (int64_t p = 0; p < pairs; p++, from += 2 * HU_RESAMPLE_CHANNELS, halves += 2 * g->half) {
        __m256i words = _mm256_cvtepu8_epi16(two_places(from, g->start + first));
        words = _mm256_shuffle_epi8(words, turns);
        __m256i a = _mm256_madd_epi16(words, _mm256_loadu_si256((const void *)halves));
        __m256i b = _mm256_madd_epi16(words, _mm256_loadu_si256((const void *)(halves + g->half)));
        upper = _mm256_add_epi32(upper, a);
        lower = _mm256_add_epi32(lower, b);
    }
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(upper, LOWER_BITS), lower);
    return _mm256_srli_epi32(sum, HU_RESAMPLE_BITS);
}

HU_INLINE void make_group(const group *g, int64_t pairs, const uint8_t *from, uint8_t *to) {
    /* Places 0, 2 and 1, 3. */
    __m256i bytes = _mm256_packus_epi32(make_two(g, 0, pairs, from), make_two(g, 2, pairs, from));
    bytes = _mm256_packus_epi16(bytes, bytes);
    __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    store_places(_mm_unpacklo_epi32(low, high), to);
}

HU_INLINE void block(const int32_t *weight, int64_t count, const uint8_t *from, int64_t stride,
                     uint8_t *to) {
    enum { VECTORS = 4, LANES = BLOCK / VECTORS };
    __m256i sum[VECTORS];
    HU_UNROLL
    for (int v = 0; v < VECTORS; v++) sum[v] = _mm256_set1_epi32(HALF);
    for (int64_t k = 0; k < count; k++, from += stride) {
        __m256i w = _mm256_set1_epi32(weight[k]);
        HU_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            __m128i bytes = _mm_loadl_epi64((const void *)(from + v * LANES));
            sum[v] = _mm256_add_epi32(sum[v], _mm256_mullo_epi32(_mm256_cvtepu8_epi32(bytes), w));
        }
    }
    HU_UNROLL
    for (int v = 0; v < VECTORS; v++) sum[v] = _mm256_srli_epi32(sum[v], HU_RESAMPLE_BITS);
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i made = _mm256_packus_epi16(_mm256_packus_epi32(sum[0], sum[1]),
                                       _mm256_packus_epi32(sum[2], sum[3]));
    _mm256_storeu_si256((void *)to, _mm256_permutevar8x32_epi32(made, in_order));
}
#endif

#ifdef __AVX2__
/* Always inline, so that the loop over pairs vanishes where their number is given. */
HU_INLINE void group_rows(const group *g, int64_t pairs, const uint8_t *from, int64_t from_stride,
                          int64_t count, uint8_t *to, int64_t to_stride) {
    for (int64_t y = 0; y < count; y++)
        make_group(g, pairs, from + y * from_stride, to + y * to_stride);
}

static void group_rows_any(const group *g, const uint8_t *from, int64_t from_stride, int64_t count,
                           uint8_t *to, int64_t to_stride) {
    switch (g->pairs) {
    case 1:
        group_rows(g, 1, from, from_stride, count, to, to_stride);
        break;
    case 2:
        group_rows(g, 2, from, from_stride, count, to, to_stride);
        break;
    default:
        group_rows(g, g->pairs, from, from_stride, count, to, to_stride);
        break;
    }
}

/* Some rows at a time, so that they stay in cache while one group after the other is made. */
static void rows(const hu_resample_axis *axis, const uint8_t *from, int64_t from_stride,
                 int64_t count, uint8_t *to, int64_t to_stride) {
    enum { TILE = 16 };
    int64_t groups = (axis->places + HU_RESAMPLE_GROUP - 1) / HU_RESAMPLE_GROUP;
    group g = {.pairs = axis->pairs, .half = groups * HU_RESAMPLE_GROUP * HU_RESAMPLE_WORDS};
    for (int64_t y = 0; y < count; y += TILE)
        for (int64_t i = 0; i < axis->places; i += HU_RESAMPLE_GROUP) {
            for (int64_t j = 0; j < HU_RESAMPLE_GROUP; j++)
                g.start[j] = HU_RESAMPLE_CHANNELS * axis->first[i + j];
            g.halves = axis->halves + i * HU_RESAMPLE_WORDS;
            group_rows_any(&g, from + y * from_stride, from_stride,
                           y + TILE < count ? TILE : count - y,
                           to + y * to_stride + i * HU_RESAMPLE_CHANNELS, to_stride);
        }
}

/* The last block begins earlier: what lies in two is made twice. */
static void column(const hu_resample_axis *axis, int64_t i, const uint8_t *from, int64_t stride,
                   int64_t bytes, uint8_t *to) {
    const int32_t *weight = axis->weight + i * axis->most;
    if (bytes < BLOCK) {
        columns(weight, axis->count[i], from, stride, bytes, to);
        return;
    }
    for (int64_t x = 0; x < bytes; x += BLOCK) {
        int64_t begin = x + BLOCK <= bytes ? x : bytes - BLOCK;
        block(weight, axis->count[i], from + begin, stride, to + begin);
    }
}
#else
static void row(const hu_resample_axis *axis, const uint8_t *from, uint8_t *to) {
    for (int64_t i = 0; i < axis->places; i++, to += HU_RESAMPLE_CHANNELS) {
        const int32_t *weight = axis->weight + i * axis->most;
        const uint8_t *pixel = from + axis->first[i] * HU_RESAMPLE_CHANNELS;
        int32_t sum[HU_RESAMPLE_CHANNELS] = {HALF, HALF, HALF};
        for (int64_t k = 0; k < axis->count[i]; k++, pixel += HU_RESAMPLE_CHANNELS)
            for (int c = 0; c < HU_RESAMPLE_CHANNELS; c++) sum[c] += pixel[c] * weight[k];
        for (int c = 0; c < HU_RESAMPLE_CHANNELS; c++) to[c] = to_byte(sum[c]);
    }
}

static void rows(const hu_resample_axis *axis, const uint8_t *from, int64_t from_stride,
                 int64_t count, uint8_t *to, int64_t to_stride) {
    for (int64_t y = 0; y < count; y++) row(axis, from + y * from_stride, to + y * to_stride);
}

static void column(const hu_resample_axis *axis, int64_t i, const uint8_t *from, int64_t stride,
                   int64_t bytes, uint8_t *to) {
    columns(axis->weight + i * axis->most, axis->count[i], from, stride, bytes, to);
}
#endif

const hu_resample HU_VARIANT(hu_resample) = {rows, column};
