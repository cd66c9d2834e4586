/* The largest relative error of a format, against numbers that are rounded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/formats.h"

static double rounding_error(const hu_format *format, double x) {
    return fabs((double)hu_format_round(format, HU_ROUND_NEAREST_EVEN, (float)x, 0) - x) / x;
}

/* In the middle between neighbours rounding is off most: there the error is the one that is told.
 */
static void test_error_between_neighbours(void **state) {
    static const char *const names[] = {"e4m3fn",     "e2m1",        "e5m2",
                                        "e3m2:sub=n", "e5m0",        "e3m2:sub=nearest",
                                        "fp(4,3,4)",  "e4m3:bias=20"};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        hu_named_format named;
        assert_int_equal(hu_named_format_parse(names[n], &named), HU_OK);
        const hu_format *format = &named.format;
        const hu_format_limits limits = hu_format_limits_of(format);
        double below = 0.0;
        for (uint32_t code = 1; code <= limits.code_max; code++) {
            float number;
            assert_int_equal(hu_format_decode(format, code, &number), HU_OK);
            double middle = 0.5 * (below + (double)number);
            if ((double)number <= below) continue; /* flushed */
            assert_true(hu_format_error_at(format, middle) == rounding_error(format, middle));
            below = (double)number;
        }
        assert_true(below == limits.max_finite);
    }
}

/* Beyond the largest number all is lost, or what saturation cuts off; below the smallest all. */
static void test_error_outside(void **state) {
    hu_named_format named;
    (void)state;
    assert_int_equal(hu_named_format_parse("e5m2", &named), HU_OK);
    assert_true(hu_format_error_at(&named.format, 1e6) == 1.0);
    assert_true(hu_format_error_at(&named.format, 1e-6) == 1.0);
    assert_int_equal(hu_named_format_parse("e5m2:ovf=sat", &named), HU_OK);
    assert_true(hu_format_error_at(&named.format, 2.0 * 57344.0) == 0.5);
}

static void test_words(void **state) {
    hu_named_format named;
    char text[512];
    (void)state;
    assert_int_equal(hu_named_format_parse("nvfp4", &named), HU_OK);
    assert_true(named.is_element);
    hu_named_format_words(&named, text, sizeof text);
    assert_string_equal(text, "elements of nvfp4: e2m1");
    assert_int_equal(hu_named_format_parse("uniform8", &named), HU_ERR_PARSE);
    assert_int_equal(hu_named_format_parse("e4m3f", &named), HU_ERR_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_between_neighbours),
        cmocka_unit_test(test_error_outside),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
