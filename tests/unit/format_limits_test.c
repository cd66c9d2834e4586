#include <halfulp/format.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static hu_format parsed(const char *text) {
    hu_format format;
    if (hu_format_parse(text, &format) != HU_OK) fail_msg("'%s': %s", text, hu_last_error());
    return format;
}

static hu_format_limits limits_of(const char *text) {
    hu_format format = parsed(text);
    return hu_format_limits_of(&format);
}

typedef struct row {
    const char *name;
    double max_finite, min_normal, min_subnormal, overflow_threshold, underflow_threshold;
} row;

/* Exact rational values, computed by hand from the definitions (CPD: the formats of APS). */
static const row rows[] = {
    {"fp32", 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1p128 - 0x1p103, 0x1p-150},
    {"tf32", 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1.ffep127, 0x1p-137},
    {"bf16", 0x1.fep127, 0x1p-126, 0x1p-133, 0x1.ffp127, 0x1p-134},
    {"fp16", 65504, 0x1p-14, 0x1p-24, 65520, 0x1p-25},
    {"1/6/9/d", 4290772992.0, 0x1p-30, 0x1p-39, 4292870144.0, 0x1p-40},
    {"fp(6,9,0)", 8581545984.0, 0x1p-30, 0x1p-39, 8585740288.0, 0x1p-40},
    {"fp(5,2,0)", 114688, 0x1p-14, 0x1p-16, 122880, 0x1p-17},
    {"fp(4,3,4)", 30, 0x1p-10, 0x1p-13, 31, 0x1p-14},
    {"e5m2", 57344, 0x1p-14, 0x1p-16, 61440, 0x1p-17},
    {"e4m3", 240, 0x1p-6, 0x1p-9, 248, 0x1p-10},
    {"e3m0", 8, 0x1p-2, 0x1p-2, 12, 0x1p-3},
    {"e2m0", 2, 1, 1, 3, 0x1p-1},
    {"e4m3fn", 448, 0x1p-6, 0x1p-9, 464, 0x1p-10},
    {"e4m3fnuz", 240, 0x1p-7, 0x1p-10, 248, 0x1p-11},
    {"e5m2fnuz", 57344, 0x1p-15, 0x1p-17, 61440, 0x1p-18},
    {"e4m3b11fnuz", 30, 0x1p-10, 0x1p-13, 31, 0x1p-14},
    {"e3m4", 15.5, 0x1p-2, 0x1p-6, 15.75, 0x1p-7},
    {"e3m2", 28, 0x1p-2, 0x1p-4, 30, 0x1p-5},
    {"e2m3", 7.5, 1, 0x1p-3, 7.75, 0x1p-4},
    {"e2m1", 6, 1, 0x1p-1, 7, 0x1p-2},
    /* without subnormals: (1 - 2^(-m-1)) 2^emin is the threshold */
    {"1/6/9/n", 4290772992.0, 0x1p-30, 0x1p-30, 4292870144.0, 0x1p-30 - 0x1p-40},
    {"e3m0:sub=n", 8, 0x1p-2, 0x1p-2, 12, 0x1p-3},
    /* to zero or the smallest normal number, whichever is nearer */
    {"1/6/9:sub=nearest", 4290772992.0, 0x1p-30, 0x1p-30, 4292870144.0, 0x1p-31},
    {"e3m0:sub=nearest", 8, 0x1p-2, 0x1p-2, 12, 0x1p-3},
    {"e4m1:specials=fn", 0x1p8, 0x1p-6, 0x1p-7, 0x1p8 + 0x1p6, 0x1p-8},
    {"fp(1,0,0)", 2, 2, 2, 3, 1},
    {"fp(1,2,0)", 3.5, 2, 0.5, 3.75, 0.25},
};

static void limits_are_the_tabled_ones(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        hu_format_limits l = limits_of(r->name);
        if (l.max_finite != r->max_finite || l.min_normal != r->min_normal ||
            l.min_subnormal != r->min_subnormal || l.overflow_threshold != r->overflow_threshold ||
            l.underflow_threshold != r->underflow_threshold)
            fail_msg("%s: %a %a %a %a %a", r->name, l.max_finite, l.min_normal, l.min_subnormal,
                     l.overflow_threshold, l.underflow_threshold);
    }
}

static void exponents_and_codes_are_consistent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hu_format format = parsed(rows[i].name);
        hu_format_limits l = hu_format_limits_of(&format);
        float max_finite;
        assert_int_equal(l.emin, ilogb(l.min_normal));
        assert_int_equal(l.emax, ilogb(l.max_finite));
        assert_true(l.codes == (uint64_t)1 << hu_format_bits(&format));
        assert_int_equal(hu_format_decode(&format, l.code_max, &max_finite), HU_OK);
        assert_true((double)max_finite == l.max_finite);
    }
    assert_int_equal(limits_of("e4m3fn").code_max, 0x7E);
    assert_int_equal(limits_of("fp16").code_max, 0x7BFF);
    assert_int_equal(limits_of("e2m1").code_max, 7);
    assert_int_equal(limits_of("e4m3fnuz").code_max, 0x7F);
    assert_int_equal(limits_of("fp16").codes, 65536);
    assert_true(limits_of("fp32").codes == 4294967296u);
}

/* Just at, below and above each threshold that float32 can hold, under nearest-even. */
static void thresholds_are_where_rounding_changes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hu_format format = parsed(rows[i].name);
        hu_format_limits l = hu_format_limits_of(&format);
        format.overflow = HU_OVERFLOW_INF;
        float over = (float)l.overflow_threshold, under = (float)l.underflow_threshold;
        if ((double)over == l.overflow_threshold) {
            float first = format.specials == HU_SPECIALS_FN ? nextafterf(over, INFINITY) : over;
            float last = nextafterf(first, 0.0f);
            assert_true(isinf(hu_format_round(&format, HU_ROUND_NEAREST_EVEN, first, 0)));
            assert_true((double)hu_format_round(&format, HU_ROUND_NEAREST_EVEN, last, 0) ==
                        l.max_finite);
        }
        if ((double)under == l.underflow_threshold) {
            float below = nextafterf(under, 0.0f), above = nextafterf(under, INFINITY);
            assert_true(hu_format_round(&format, HU_ROUND_NEAREST_EVEN, below, 0) == 0.0f);
            assert_true((double)hu_format_round(&format, HU_ROUND_NEAREST_EVEN, above, 0) ==
                        l.min_subnormal);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_the_tabled_ones),
        cmocka_unit_test(exponents_and_codes_are_consistent),
        cmocka_unit_test(thresholds_are_where_rounding_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
