/* Rounding errors estimated from exponent histograms, beside those of rounded numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/format.h>

#include "base/rng.h"
#include "tensor/exponent_histogram.h"

enum { LEAST = -30, MOST = 8, BINS = MOST - LEAST + 1, PER_BIN = 4000 };

static uint64_t bins[BINS];

/* Binades first .. last, each with PER_BIN numbers spread evenly. */
static hu_exponents histogram(int first, int last) {
    hu_exponents made = {.first = LEAST, .count = BINS, .bin = bins};
    for (int e = LEAST; e <= MOST; e++) {
        bins[e - LEAST] = e >= first && e <= last ? PER_BIN : 0;
        made.elements += bins[e - LEAST];
    }
    return made;
}

static hu_quantizer parse(const char *text) {
    hu_quantizer quantizer;
    assert_int_equal(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &quantizer), HU_OK);
    return quantizer;
}

/* The same of numbers that were drawn and rounded, element by element. */
static double measured(const char *text, int first, int last, int shift) {
    const hu_format format = parse(text).format;
    double all = 0.0, lost = 0.0;
    for (int e = first; e <= last; e++)
        for (uint64_t i = 0; i < PER_BIN; i++) {
            hu_random_key key = {3, hu_stream_id("test", "rounding"), (uint64_t)(e - LEAST)};
            float x = ldexpf(1.0f + hu_random_uniform(&key, i), e + shift);
            double off = (double)hu_format_round(&format, HU_ROUND_NEAREST_EVEN, x, 0) - x;
            all += (double)x * x;
            lost += off * off;
        }
    return lost / all;
}

/* Within 5 %: bins are estimates of numbers that are spread evenly over them. */
static void floats_lose_what_rounding_them_loses(void **state) {
    (void)state;
    const struct {
        const char *format;
        int first, last, shift;
    } row[] = {{"fp(4,3,4)", -6, 3, 0},    {"fp(4,3,4)", -20, -8, 0},  {"fp(4,3,4)", -2, 7, 0},
               {"fp(5,2,0)", -6, 3, 0},    {"fp(5,2,0)", -25, -14, 0}, {"fp(5,2,0)", -30, -20, 12},
               {"fp(4,1,0)", -6, 3, 0},    {"fp(6,9,0)", -6, 3, 0},    {"1/5/10/n", -20, -10, 0},
               {"e2m1:ovf=sat", -3, 2, 0}, {"fp(3,0,0)", -3, 4, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hu_exponents x = histogram(row[i].first, row[i].last);
        hu_quantizer quantizer = parse(row[i].format);
        double found = hu_rounding_error(&x, &quantizer, row[i].shift);
        double expected = measured(row[i].format, row[i].first, row[i].last, row[i].shift);
        assert_true(expected > 0.0);
        if (fabs(found - expected) > 0.05 * expected)
            fail_msg("%s at 2^%d: found %g, expected %g", row[i].format, row[i].first, found,
                     expected);
    }
}

static void scales_and_blocks_follow_the_largest_number(void **state) {
    (void)state;
    const char *const names[] = {"fp(4,3,4):scale=current", "mxfp8", "nvfp4", "uniform8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hu_quantizer quantizer = parse(names[i]);
        hu_exponents high = histogram(0, 6);
        double wide = hu_rounding_error(&high, &quantizer, 0);
        hu_exponents low = histogram(-30, -24);
        double here = hu_rounding_error(&low, &quantizer, 0);
        assert_true(wide > 0.0 && wide < 0.2);
        assert_true(fabs(wide - here) <= 1e-12 * wide);
    }
    hu_quantizer four = parse("mxfp4"), eight = parse("mxfp8");
    hu_exponents x = histogram(-4, 2);
    assert_true(hu_rounding_error(&x, &four, 0) > 5.0 * hu_rounding_error(&x, &eight, 0));
}

static void nothing_is_lost_where_nothing_is_rounded(void **state) {
    (void)state;
    hu_quantizer none = parse("fp32"), low = parse("fp(4,3,4)");
    hu_exponents x = histogram(-4, 2), zeros = {.elements = 5, .zero = 5};
    assert_true(hu_rounding_error(&x, &none, 0) == 0.0);
    assert_true(hu_rounding_error(&zeros, &low, 0) == 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_lose_what_rounding_them_loses),
        cmocka_unit_test(scales_and_blocks_follow_the_largest_number),
        cmocka_unit_test(nothing_is_lost_where_nothing_is_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
