/* Exponent histograms against ilogb, by one thread and by several. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <halfulp/histogram.h>

#include "base/bits.h"
#include "base/rng.h"

enum { MOST = 300000 };
static float numbers[MOST];

/* Every kind of number: words of all exponents, zeros of both signs, subnormals, infinities, NaNs.
 */
static void fill(uint64_t stream) {
    hu_random_key key = {9, stream, 0};
    hu_random_words(&key, 0, MOST, (uint32_t *)(void *)numbers);
    for (size_t i = 0; i < MOST; i++) {
        uint32_t u = hu_f32_bits(numbers[i]);
        if (i % 17 == 3) u &= 0x80000000u;
        if (i % 19 == 5) u &= 0x807FFFFFu;
        if (i % 23 == 7) u = (u & 0x80000000u) | 0x7F800000u;
        if (i % 29 == 11) u |= 0x7F800001u;
        numbers[i] = hu_f32_of_bits(u);
    }
}

static void count_plainly(size_t n, const float *x, hu_histogram *h) {
    for (size_t i = 0; i < n; i++) {
        h->elements++;
        if (isfinite(x[i])) h->largest = fmaxf(h->largest, fabsf(x[i]));
        if (isnan(x[i]))
            h->nan++;
        else if (isinf(x[i]))
            h->infinite++;
        else if (x[i] == 0.0f)
            h->zero++;
        else
            h->bin[ilogbf(x[i]) - HU_HISTOGRAM_LEAST]++;
    }
}

static void count(size_t n, const float *x, int32_t threads, hu_histogram *histogram) {
    assert_int_equal(hu_histogram_add(n, x, threads, histogram), HU_OK);
}

static void histograms_equal_plain_counts(void **state) {
    static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 255, 8191, 8192, 8193, 16400, 69990, 299990};
    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (size_t shift = 0; shift < 3; shift++) {
            hu_histogram found = {0}, wanted = {0};
            fill(k);
            count(lengths[k], numbers + shift, 1, &found);
            count_plainly(lengths[k], numbers + shift, &wanted);
            assert_memory_equal(&found, &wanted, sizeof found);
            count(lengths[k], numbers + shift, 3, &found);
            count_plainly(lengths[k], numbers + shift, &wanted);
            assert_memory_equal(&found, &wanted, sizeof found);
        }
}

/* Every exponent with its smallest and largest significand, every subnormal's bit. */
static void all_exponents_have_their_bins(void **state) {
    hu_histogram found = {0};
    size_t n = 0;
    (void)state;
    for (int e = HU_HISTOGRAM_LEAST; e < HU_HISTOGRAM_LEAST + HU_HISTOGRAM_BINS; e++) {
        numbers[n++] = ldexpf(1.0f, e);
        numbers[n++] = -hu_f32_of_bits(hu_f32_bits(e < 127 ? ldexpf(1.0f, e + 1) : INFINITY) - 1);
    }
    count(n, numbers, 1, &found);
    for (int b = 0; b < HU_HISTOGRAM_BINS; b++) assert_int_equal(found.bin[b], 2);
    assert_int_equal(found.zero + found.nan + found.infinite, 0);
    assert_true(found.largest == 3.40282347e38f);
    numbers[0] = INFINITY;
    numbers[1] = NAN;
    numbers[2] = -3.0f;
    found = (hu_histogram){0};
    count(3, numbers, 1, &found);
    assert_true(found.largest == 3.0f);
}

static void merging_adds(void **state) {
    hu_histogram left = {0}, right = {0}, whole = {0};
    (void)state;
    fill(3);
    count(100, numbers, 1, &left);
    count(900, numbers + 100, 1, &right);
    count(1000, numbers, 1, &whole);
    hu_histogram_merge(&left, &right);
    assert_memory_equal(&left, &whole, sizeof left);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_equal_plain_counts),
        cmocka_unit_test(all_exponents_have_their_bins),
        cmocka_unit_test(merging_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
