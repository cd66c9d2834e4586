#include "kernel/resample/resample.h"

#include <stdbool.h>

/* Of a place of a span. */
enum { NEIGHBOURS = HU_RESAMPLE_SPAN / HU_RESAMPLE_NUMBERS };

const hu_resample *hu_resample_here(void) {
    static const hu_resample *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_resample)};
#if defined(__x86_64__)
    if (hu_cpu_has_vbmi() && __builtin_cpu_supports("avx512vnni"))
        return &hu_resample_spans_avx512;
#endif
    return of_isa[hu_cpu_isa()];
}

static int64_t grouped(int64_t places) {
    return (places + HU_RESAMPLE_GROUP - 1) / HU_RESAMPLE_GROUP * HU_RESAMPLE_GROUP;
}

static size_t half_words(int64_t places, int64_t most) {
    return (size_t)((most + 1) / 2 * 2 * grouped(places) * HU_RESAMPLE_WORDS);
}

static int64_t spans_of(int64_t places) {
    return (places * HU_RESAMPLE_CHANNELS + HU_RESAMPLE_NUMBERS - 1) / HU_RESAMPLE_NUMBERS;
}

/* Halves are whole blocks of eight words, so that spans after them are aligned. */
size_t hu_resample_words(int64_t places, int64_t most) {
    return half_words(places, most) +
           (size_t)spans_of(places) * (sizeof(hu_resample_span) / sizeof(int16_t));
}

static int32_t weight_of(const hu_resample_axis *axis, int64_t i, int64_t k) {
    return i < axis->places && k < axis->count[i] ? axis->weight[i * axis->most + k] : 0;
}

/* The digits of a weight, each from -128 to 127; their last is at most 65. */
static void put_digits(hu_resample_span *span, int64_t at, int32_t weight) {
    for (int d = 0; d < HU_RESAMPLE_DIGITS; d++) {
        int32_t digit = (weight & 0xff) - (weight & 0x80) * 2;
        span->digit[d][at] = (int8_t)digit;
        weight = (weight - digit) / 256;
    }
}

/* Numbers 16 s, 16 s + 1 ... of a row. False: their bytes lie too far apart. */
static bool fill_span(const hu_resample_axis *axis, int64_t s, hu_resample_span *span) {
    int64_t numbers = axis->places * HU_RESAMPLE_CHANNELS, from = s * HU_RESAMPLE_NUMBERS;
    int64_t end = from + HU_RESAMPLE_NUMBERS < numbers ? from + HU_RESAMPLE_NUMBERS : numbers;
    *span = (hu_resample_span){.start = INT64_MAX};
    for (int64_t n = from; n < end; n++) {
        int64_t byte = axis->first[n / HU_RESAMPLE_CHANNELS] * HU_RESAMPLE_CHANNELS;
        if (byte < span->start) span->start = byte;
    }
    for (int64_t n = from; n < end; n++) {
        int64_t i = n / HU_RESAMPLE_CHANNELS, c = n % HU_RESAMPLE_CHANNELS;
        for (int64_t k = 0; k < axis->count[i]; k++) {
            int64_t byte = (axis->first[i] + k) * HU_RESAMPLE_CHANNELS + c - span->start;
            int64_t at = (n - from) * NEIGHBOURS + k;
            if (byte >= HU_RESAMPLE_SPAN) return false;
            span->index[at] = (uint8_t)byte;
            span->needed |= (uint64_t)1 << byte;
            put_digits(span, at, weight_of(axis, i, k));
        }
    }
    return true;
}

/* most: neighbours of the place with the most of them. */
static void fill_spans(hu_resample_axis *axis, int64_t most) {
    axis->span = (hu_resample_span *)(void *)(axis->halves + half_words(axis->places, axis->most));
    axis->spans = most <= NEIGHBOURS ? spans_of(axis->places) : 0;
    for (int64_t s = 0; s < axis->spans; s++)
        if (!fill_span(axis, s, &axis->span[s])) axis->spans = 0;
}

/* Every place of a group reads all pairs, whatever it has of them. */
void hu_resample_pair(hu_resample_axis *axis) {
    int64_t padded = grouped(axis->places), most = 0, last = 0;
    for (int64_t i = 0; i < axis->places; i++) {
        if (axis->count[i] > most) most = axis->count[i];
        if (axis->first[i] > last) last = axis->first[i];
    }
    axis->pairs = (most + 1) / 2;
    axis->reads = HU_RESAMPLE_CHANNELS * (last + 2 * (axis->pairs - 1)) + HU_RESAMPLE_WORDS;
    fill_spans(axis, most);
    for (int64_t p = 0; p < axis->pairs; p++)
        for (int64_t i = 0; i < padded; i++)
            for (int64_t w = 0; w < HU_RESAMPLE_WORDS; w++) {
                int32_t weight = weight_of(axis, i, 2 * p + w % 2);
                int16_t *to = axis->halves + (2 * p * padded + i) * HU_RESAMPLE_WORDS + w;
                to[0] = (int16_t)(weight >> LOWER_BITS);
                to[padded * HU_RESAMPLE_WORDS] = (int16_t)(weight & ((1 << LOWER_BITS) - 1));
            }
}
