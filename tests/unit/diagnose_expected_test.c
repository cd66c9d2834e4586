/* What rounding without storing it tells against rounding in fact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <halfulp/histogram.h>
#include <math.h>

#include "diagnose/expected.h"

enum { COUNT = 1 << 14 };

/* Numbers of many sizes: evenly spread exponents from `least` to `most`, both signs. */
static void fill(float *x, int least, int most) {
    uint64_t state = 12345;
    for (int i = 0; i < COUNT; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double part = (double)(state >> 33) * 0x1p-31;
        state = state * 6364136223846793005u + 1442695040888963407u;
        int exponent = least + (int)((state >> 33) % (uint64_t)(most - least + 1));
        x[i] = (float)ldexp(1.0 + part, exponent) * (i % 2 ? 1.0f : -1.0f);
    }
}

static hu_exponents exponents_of(const float *x, hu_histogram *h) {
    *h = (hu_histogram){0};
    assert_int_equal(hu_histogram_add(COUNT, x, 1, h), HU_OK);
    return (hu_exponents){
        .elements = COUNT, .first = HU_HISTOGRAM_LEAST, .count = HU_HISTOGRAM_BINS, .bin = h->bin};
}

static void expect_near(const char *format, const char *what, double told, double found) {
    if (fabs(told - found) > 0.01 + 0.15 * found)
        fail_msg("%s: %s: told %g, found %g", format, what, told, found);
}

/* Shares and the error of formats that keep, flush and saturate, against the definition. */
static void test_told_is_found(void **state) {
    (void)state;
    static float x[COUNT];
    static const char *const formats[] = {
        "e4m3fn:ovf=sat", "e5m2", "e2m3:ovf=sat",         "e3m0:ovf=sat",
        "1/6/9/n",        "fp16", "e4m3:bias=20:ovf=sat", "e2m1:bias=-3:ovf=sat"};
    hu_histogram h;
    fill(x, -16, 9);
    hu_exponents exponents = exponents_of(x, &h);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        hu_quantizer q;
        double vanished = 0, exceeded = 0, errors = 0, squares = 0;
        assert_int_equal(hu_quantizer_parse(formats[f], HU_ROUND_NEAREST_EVEN, &q), HU_OK);
        const hu_format_limits limits = hu_format_limits_of(&q.format);
        for (int i = 0; i < COUNT; i++) {
            float y = hu_format_round(&q.format, HU_ROUND_NEAREST_EVEN, x[i], 0);
            vanished += y == 0.0f;
            exceeded += fabs((double)x[i]) >= limits.overflow_threshold;
            errors += ((double)x[i] - (double)y) * ((double)x[i] - (double)y);
            squares += (double)x[i] * (double)x[i];
        }
        hu_rounding_loss e = hu_rounding_loss_expect(&exponents, &q, 0, 0);
        expect_near(formats[f], "vanished", e.vanished, vanished / COUNT);
        expect_near(formats[f], "exceeded", e.exceeded, exceeded / COUNT);
        expect_near(formats[f], "error", e.error, sqrt(errors / squares));
        assert_false(e.is_fatal);
    }
}

/* A shift is a factor, a scale takes it back, and infinities are told as such. */
static void test_shifts_and_ends(void **state) {
    (void)state;
    static float x[COUNT];
    hu_histogram h;
    hu_quantizer plain, scaled, none;
    fill(x, -30, -20);
    hu_exponents exponents = exponents_of(x, &h);
    assert_int_equal(hu_quantizer_parse("e4m3", HU_ROUND_NEAREST_EVEN, &plain), HU_OK);
    assert_int_equal(hu_quantizer_parse("e4m3:scale=current", HU_ROUND_NEAREST_EVEN, &scaled), 0);
    assert_int_equal(hu_quantizer_parse("fp32", HU_ROUND_NEAREST_EVEN, &none), HU_OK);
    assert_true(hu_rounding_loss_expect(&exponents, &plain, 0, 0).vanished == 1.0);
    assert_true(hu_rounding_loss_expect(&exponents, &plain, 0, 0).error == 1.0);
    assert_true(hu_rounding_loss_expect(&exponents, &plain, 24, 0).error < 0.05);
    assert_true(hu_rounding_loss_expect(&exponents, &scaled, 0, 0).error < 0.05);
    assert_true(hu_rounding_loss_expect(&exponents, &scaled, 0, 0).error ==
                hu_rounding_loss_expect(&exponents, &scaled, 24, 0).error);
    assert_true(hu_rounding_loss_expect(&exponents, &none, 0, 0).error == 0.0);
    /* The largest exponent of e4m3 is 7: -20 + 27 reaches it. */
    assert_false(hu_rounding_loss_expect(&exponents, &plain, 27, 0).is_fatal);
    assert_true(hu_rounding_loss_expect(&exponents, &plain, 27, 1).is_fatal);
    assert_true(hu_rounding_loss_expect(&exponents, &plain, 28, 0).is_fatal);
    assert_false(hu_rounding_loss_expect(&exponents, &scaled, 28, 1).is_fatal);
}

/* Blocks and ranges of their own lose what their digits lose, wherever the tensor lies. */
static void test_blocks_and_integers(void **state) {
    (void)state;
    static float x[COUNT];
    static const struct {
        const char *name;
        double least, most;
    } rows[] = {{"mxfp8", 0.015, 0.06},
                {"mxfp4", 0.07, 0.3},
                {"uniform8", 0.0, 0.03},
                {"uniform4", 0.05, 0.3}};
    hu_histogram h;
    fill(x, -40, -30);
    hu_exponents exponents = exponents_of(x, &h);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer q;
        assert_int_equal(hu_quantizer_parse(rows[r].name, HU_ROUND_NEAREST_EVEN, &q), HU_OK);
        double error = hu_rounding_loss_expect(&exponents, &q, 0, 1).error;
        if (error < rows[r].least || error > rows[r].most) fail_msg("%s: %g", rows[r].name, error);
        assert_true(error == hu_rounding_loss_expect(&exponents, &q, 40, 1).error);
        assert_false(hu_rounding_loss_expect(&exponents, &q, 100, 1).is_fatal);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_told_is_found),
                                       cmocka_unit_test(test_blocks_and_integers),
                                       cmocka_unit_test(test_shifts_and_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
