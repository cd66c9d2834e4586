/* Rows by products of bytes, four neighbours at once (VBMI and VNNI, which AVX-512 had later). */
#include <immintrin.h>

#include "kernel/resample/resample.h"

#define WITH_BYTES __attribute__((target("avx512vbmi,avx512vnni")))

/* A half where sums are in units of 2^16, as those of the uppermost digits are; bits of a digit. */
enum { HALF = 1 << (HU_RESAMPLE_BITS - 1 - 16), DIGIT = 8 };

/* The sums are those of the weights, modulo 2^32, and below 2^31. */
WITH_BYTES static void make_span(const hu_resample_span *span, const uint8_t *from,
                                 int64_t from_stride, int64_t count, uint8_t *to,
                                 int64_t to_stride) {
    __m512i index = _mm512_loadu_si512(span->index), low = _mm512_loadu_si512(span->digit[0]);
    __m512i middle = _mm512_loadu_si512(span->digit[1]), high = _mm512_loadu_si512(span->digit[2]);
    for (int64_t y = 0; y < count; y++) {
        __m512i row = _mm512_maskz_loadu_epi8(span->needed, from + y * from_stride + span->start);
        __m512i bytes = _mm512_permutexvar_epi8(index, row);
        __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(HALF), bytes, high);
        sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, DIGIT), bytes, middle);
        sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, DIGIT), bytes, low);
        _mm_storeu_si128((void *)(to + y * to_stride),
                         _mm512_cvtusepi32_epi8(_mm512_srli_epi32(sum, HU_RESAMPLE_BITS)));
    }
}

/* Some rows at a time, so that they stay in cache while one span after the other is made. */
static void rows(const hu_resample_axis *axis, const uint8_t *from, int64_t from_stride,
                 int64_t count, uint8_t *to, int64_t to_stride) {
    enum { TILE = 16 };
    if (axis->spans == 0) {
        hu_resample_avx512.rows(axis, from, from_stride, count, to, to_stride);
        return;
    }
    for (int64_t y = 0; y < count; y += TILE)
        for (int64_t s = 0; s < axis->spans; s++)
            make_span(&axis->span[s], from + y * from_stride, from_stride,
                      y + TILE < count ? TILE : count - y,
                      to + y * to_stride + s * HU_RESAMPLE_NUMBERS, to_stride);
}

static void column(const hu_resample_axis *axis, int64_t i, const uint8_t *from, int64_t stride,
                   int64_t bytes, uint8_t *to) {
    hu_resample_avx512.column(axis, i, from, stride, bytes, to);
}

const hu_resample hu_resample_spans_avx512 = {rows, column};
