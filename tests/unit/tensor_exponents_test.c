/* What a format would lose, told from exponents: against the numbers themselves. */
#include "tensor/exponent_histogram.h"

#include <halfulp/histogram.h>
#include <halfulp/round.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

enum { NUMBERS = 20000, LEAST = -149, BINS = 277 };

static uint64_t bins[BINS];

/* Exponents of x[NUMBERS]; finite numbers only. */
static hu_exponents exponents_of(const float *x) {
    hu_exponents e = {.elements = NUMBERS, .first = LEAST, .count = BINS, .bin = bins};
    memset(bins, 0, sizeof bins);
    for (int i = 0; i < NUMBERS; i++) {
        if (x[i] == 0.0f)
            e.zero++;
        else
            bins[ilogbf(x[i]) - LEAST]++;
    }
    return e;
}

static hu_format format_of(const char *name) {
    hu_format format;
    assert_int_equal(hu_format_parse(name, &format), HU_OK);
    return format;
}

/* Numbers whose significands are even in their binades, and whose exponents are spread around 0. */
static void draw(float *x, double spread, uint64_t stream) {
    hu_random_key key = {5, stream, 0};
    for (uint64_t i = 0; i < NUMBERS; i++) {
        double exponent = floor(spread * (double)hu_random_normal(&key, i));
        x[i] = (float)ldexp(1.0 + (double)hu_random_uniform(&key, 100000 + i), (int)exponent);
        if (i % 7 == 0) x[i] = -x[i];
        if (i % 11 == 0) x[i] = 0.0f;
    }
}

static void assert_between(hu_lost_share share, uint64_t exact, const char *what) {
    double found = (double)exact / NUMBERS;
    if (found < share.least || found > share.most)
        fail_msg("%s: %g, expected %g..%g", what, found, share.least, share.most);
    if (fabs(found - share.share) > 0.01)
        fail_msg("%s: %g, expected about %g", what, found, share.share);
}

static void lost_shares_hold_the_counts(void **state) {
    static const char *const names[] = {"fp16", "1/6/9",  "1/6/9/n", "1/5/10/n", "e5m2",
                                        "bf16", "e4m3fn", "e2m1",    "e3m0",     "fp(4,3,4)"};
    static float x[NUMBERS], y[NUMBERS];
    (void)state;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        for (int shift = -12; shift <= 12; shift += 12) {
            hu_format format = format_of(names[f]);
            hu_round_counts counts;
            draw(x, 14.0, f);
            hu_exponents exponents = exponents_of(x);
            for (int i = 0; i < NUMBERS; i++) x[i] = ldexpf(x[i], shift);
            hu_round_counts_clear(&counts);
            assert_int_equal(
                hu_round_f32(NUMBERS, x, y, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, &counts),
                HU_OK);
            hu_lost lost = hu_exponents_lost(&exponents, &format, shift);
            assert_between(lost.overflow, counts.overflow, names[f]);
            assert_between(lost.underflow, counts.underflow, names[f]);
            assert_between(lost.subnormal, counts.subnormal, names[f]);
        }
}

/* The public function, of every named format. Infinities and NaNs are elements, and not lost. */
static void histograms_tell_what_named_formats_lose(void **state) {
    enum { INFINITE = 300, NANS = 200 };
    static float x[NUMBERS], y[NUMBERS];
    (void)state;
    for (uint32_t f = 0; f < hu_format_named_count(); f++) {
        hu_format format;
        hu_histogram seen = {0};
        hu_round_counts counts;
        hu_lost lost;
        const char *name = hu_format_named(f, &format, NULL);
        draw(x, 20.0, 100 + f);
        for (int i = 0; i < INFINITE; i++) x[i] = i % 2 ? INFINITY : -INFINITY;
        for (int i = INFINITE; i < INFINITE + NANS; i++) x[i] = NAN;
        hu_round_counts_clear(&counts);
        assert_int_equal(
            hu_round_f32(NUMBERS, x, y, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, &counts), HU_OK);
        assert_int_equal(hu_histogram_add(NUMBERS, x, 1, &seen), HU_OK);
        assert_int_equal(hu_histogram_lost(&seen, &format, 0, &lost), HU_OK);
        /* Posits and takums count infinities as NaNs. */
        uint64_t infinite = INFINITE - (counts.nan - NANS);
        assert_between(lost.overflow, counts.overflow - infinite, name);
        assert_between(lost.underflow, counts.underflow, name);
        assert_between(lost.subnormal, counts.subnormal, name);
    }
}

/* Numbers on the ends of bins: ties to zero, and the largest finite number. */
static void bounds_hold_for_powers_of_two(void **state) {
    static float x[NUMBERS], y[NUMBERS];
    hu_format format = format_of("fp16");
    hu_round_counts counts;
    (void)state;
    for (int i = 0; i < NUMBERS; i++) x[i] = ldexpf(1.0f, i % 60 - 30);
    hu_exponents exponents = exponents_of(x);
    hu_round_counts_clear(&counts);
    (void)hu_round_f32(NUMBERS, x, y, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, &counts);
    hu_lost lost = hu_exponents_lost(&exponents, &format, 0);
    double underflow = (double)counts.underflow / NUMBERS;
    double overflow = (double)counts.overflow / NUMBERS;
    assert_true(lost.underflow.least <= underflow && underflow <= lost.underflow.most);
    assert_true(lost.overflow.least <= overflow && overflow <= lost.overflow.most);
    assert_true(lost.underflow.least < lost.underflow.most);
}

static void wide_formats_lose_nothing(void **state) {
    static float x[NUMBERS];
    hu_format format = format_of("fp32");
    (void)state;
    draw(x, 20.0, 77);
    hu_exponents exponents = exponents_of(x);
    hu_lost lost = hu_exponents_lost(&exponents, &format, 0);
    assert_true(lost.overflow.most == 0.0 && lost.underflow.most == 0.0);
    exponents.nonfinite = 5;
    exponents.elements += 5;
    lost = hu_exponents_lost(&exponents, &format, 0);
    assert_true(lost.overflow.least == 5.0 / (NUMBERS + 5));
}

/* Against the rounding errors of the numbers themselves: of those that vanish, and of those beyond
 * the largest finite number. */
static void lost_squares_are_those_of_the_numbers(void **state) {
    static const char *const names[] = {"e2m3:ovf=sat", "e5m2:ovf=sat", "e4m3fn:ovf=sat",
                                        "e2m1",         "e3m0",         "e2m3:sub=nearest"};
    static float x[NUMBERS];
    (void)state;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        for (int spread = 1; spread <= 9; spread += 4) {
            hu_format format = format_of(names[f]);
            const hu_format_limits limits = hu_format_limits_of(&format);
            double all = 0.0, over = 0.0, under = 0.0;
            double least = format.subnormals ? limits.min_subnormal : ldexp(1.0, limits.emin);
            draw(x, spread, 40);
            for (int i = 0; i < NUMBERS; i++) {
                double size = fabs((double)x[i]), beyond = size - limits.max_finite;
                all += size * size;
                if (beyond > 0.0) over += beyond * beyond;
                if (size < least / 2) under += size * size;
            }
            hu_exponents exponents = exponents_of(x);
            hu_lost_squares lost = hu_exponents_lost_squares(&exponents, &format);
            /* The largest binade holds few numbers if the spread is large. */
            if (fabs(lost.overflow - over / all) > 0.1 * spread * over / all + 1e-9 ||
                fabs(lost.underflow - under / all) > 0.1 * spread * under / all + 1e-9)
                fail_msg("%s, spread %d: %g and %g, expected %g and %g", names[f], spread,
                         lost.overflow, lost.underflow, over / all, under / all);
        }
}

static void ends_and_scale(void **state) {
    uint64_t some[5] = {0, 3, 0, 4, 0};
    hu_exponents e = {.elements = 7, .first = -10, .count = 5, .bin = some};
    hu_exponents none = {.elements = 7, .zero = 7, .count = 5, .bin = (uint64_t[5]){0}};
    hu_format fp16 = format_of("fp16");
    (void)state;
    assert_int_equal(hu_exponents_top(&e), -7);
    assert_int_equal(hu_exponents_bottom(&e), -9);
    assert_int_equal(hu_exponents_top(&none), HU_NO_EXPONENT);
    assert_int_equal(hu_exponents_bottom(&none), HU_NO_EXPONENT);
    /* The largest is 1.x * 2^-7; 2^22 makes it 1.x * 2^15 < 65504, 2^23 makes it >= 65536. */
    assert_int_equal(hu_exponents_scale(-7, &fp16), 22);
    /* Numbers instead of exponents: 65504 is the first that is too large. */
    assert_int_equal(hu_scale_below(65503.0 / 1024.0, 65504.0), 10);
    assert_int_equal(hu_scale_below(65504.0 / 1024.0, 65504.0), 9);
    assert_int_equal(hu_scale_below(65535.0 / 1024.0, 65504.0), 9);
    assert_int_equal(hu_scale_below(1e30, 65504.0), -84);
    assert_int_equal(hu_scale_below(0x1p-149, 65504.0), 164);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_shares_hold_the_counts),
        cmocka_unit_test(histograms_tell_what_named_formats_lose),
        cmocka_unit_test(bounds_hold_for_powers_of_two),
        cmocka_unit_test(wide_formats_lose_nothing),
        cmocka_unit_test(lost_squares_are_those_of_the_numbers),
        cmocka_unit_test(ends_and_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
