#include <stdbool.h>
#include <string.h>

#include <halfulp/histogram.h>

#include "base/bits.h"
#include "base/error.h"
#include "kernel/block/block.h"

enum {
    FIELDS = 256,
    PART = 8192,      /* elements that are looked at twice while they are in the first cache */
    SHARE = 8 * PART, /* elements that a thread takes at a time */
    MOST_THREADS = 1024
};

/* Adds to the counts of exponent fields. Four tables take turns, so that equal exponents in a row
 * do not wait for each other's counter; the sign bit stays in the index, which saves an instruction
 * of four. Plain code: taking the indices out of vectors again is slower. */
static void count_fields(size_t n, const float *x, uint32_t field[FIELDS]) {
    enum { TABLES = 4, SIGNS = 2 };
    uint32_t table[TABLES][SIGNS * FIELDS] = {0};
    size_t i = 0;
    for (; i + TABLES <= n; i += TABLES) {
        uint32_t word[TABLES];
        memcpy(word, x + i, sizeof word);
        for (size_t k = 0; k < TABLES; k++) table[k][word[k] >> 23]++;
    }
    for (; i < n; i++) table[0][hu_f32_bits(x[i]) >> 23]++;
    for (size_t k = 0; k < TABLES; k++)
        for (size_t e = 0; e < SIGNS * FIELDS; e++) field[e % FIELDS] += table[k][e];
}

static uint32_t magnitude(float x) {
    return hu_f32_bits(x) & ~HU_F32_SIGN;
}

/* What the exponent field 0 hides: zeros and subnormals. */
static void split_small(size_t n, const float *x, uint32_t small, hu_histogram *histogram) {
    uint32_t zero = 0;
#pragma omp simd reduction(+ : zero)
    for (size_t i = 0; i < n; i++) zero += magnitude(x[i]) == 0;
    histogram->zero += zero;
    for (size_t i = 0; zero < small && i < n; i++) {
        uint32_t u = magnitude(x[i]);
        if (u == 0 || u >= 0x00800000u) continue;
        histogram->bin[31 - __builtin_clz(u)]++;
        zero++;
    }
}

/* And the field 255: infinities and NaNs. */
static void split_special(size_t n, const float *x, uint32_t special, hu_histogram *histogram) {
    uint32_t nan = 0;
#pragma omp simd reduction(+ : nan)
    for (size_t i = 0; i < n; i++) nan += magnitude(x[i]) > HU_F32_INFINITY;
    histogram->nan += nan;
    histogram->infinite += special - nan;
}

/* Exponent fields are counted; only parts in which the fields 0 or 255 occur are read again. */
static void count(size_t n, const float *x, hu_histogram *histogram) {
    enum { LEAST_NORMAL = -126 - HU_HISTOGRAM_LEAST };
    for (size_t at = 0; at < n; at += PART) {
        size_t part = n - at < PART ? n - at : PART;
        uint32_t field[FIELDS] = {0};
        count_fields(part, x + at, field);
        if (field[0]) split_small(part, x + at, field[0], histogram);
        if (field[0xFF]) split_special(part, x + at, field[0xFF], histogram);
        float largest = hu_f32_of_bits(hu_top_f32(part, x + at));
        if (largest > histogram->largest) histogram->largest = largest;
        for (size_t e = 1; e < 0xFF; e++) histogram->bin[LEAST_NORMAL + e - 1] += field[e];
    }
    histogram->elements += n;
}

/* Counts are sums of integers: the order in which threads come does not matter. */
static void add(uint64_t *total, uint64_t more) {
    if (more) __atomic_fetch_add(total, more, __ATOMIC_RELAXED);
}

static void raise_to(float *total, float largest) {
    float now;
    __atomic_load(total, &now, __ATOMIC_RELAXED);
    while (largest > now && !__atomic_compare_exchange(total, &now, &largest, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

void hu_histogram_merge(hu_histogram *total, const hu_histogram *more) {
    if (!total || !more) return;
    add(&total->elements, more->elements);
    add(&total->zero, more->zero);
    add(&total->nan, more->nan);
    add(&total->infinite, more->infinite);
    raise_to(&total->largest, more->largest);
    for (size_t i = 0; i < HU_HISTOGRAM_BINS; i++) add(&total->bin[i], more->bin[i]);
}

/* Each thread has a histogram of its own. */
static void count_in_threads(size_t n, const float *x, int32_t threads, hu_histogram *total) {
    int64_t shares = (int64_t)((n - 1) / SHARE) + 1;
#pragma omp parallel num_threads(threads)
    {
        hu_histogram own = {0};
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < shares; i++) {
            size_t at = (size_t)i * SHARE;
            count(n - at < SHARE ? n - at : SHARE, x + at, &own);
        }
        hu_histogram_merge(total, &own);
    }
}

hu_status hu_histogram_add(size_t n, const float *x, int32_t threads, hu_histogram *histogram) {
    HU_GIVEN_IF(x, n > 0);
    HU_GIVEN(histogram);
    if (threads < 1 || threads > MOST_THREADS)
        return hu_fail(HU_ERR_ARGUMENT, "histogram: found %d threads, expected 1 to %d", threads,
                       MOST_THREADS);
    size_t most = n / SHARE + 1;
    int32_t used = (size_t)threads < most ? threads : (int32_t)most;
    if (used == 1)
        count(n, x, histogram);
    else
        count_in_threads(n, x, used, histogram);
    return HU_OK;
}
