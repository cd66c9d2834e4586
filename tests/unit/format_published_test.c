/* Codes and values as published: OCP 8-bit Floating Point Specification (OFP8) 1.0, tables 1 and 2;
 * OCP Microscaling Formats (MX) 1.0, section 5.3; the FNUZ formats of Noune et al., "8-bit
 * Numerical Formats for Deep Neural Networks", 2022. */
#include <halfulp/format.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct fact {
    const char *format;
    uint32_t code;
    double value;
} fact;

static const fact facts[] = {
    /* E4M3: largest, smallest normal, largest and smallest subnormal */
    {"e4m3fn", 0x7E, 448},
    {"e4m3fn", 0xFE, -448},
    {"e4m3fn", 0x08, 0x1p-6},
    {"e4m3fn", 0x07, 0.875 * 0x1p-6},
    {"e4m3fn", 0x01, 0x1p-9},
    {"e4m3fn", 0x38, 1},
    {"e4m3fn", 0x78, 256},
    {"e4m3fn", 0x00, 0.0},
    {"e4m3fn", 0x80, -0.0},
    {"e4m3fn", 0x7F, NAN},
    {"e4m3fn", 0xFF, NAN},
    /* E5M2 */
    {"e5m2", 0x7C, INFINITY},
    {"e5m2", 0xFC, -INFINITY},
    {"e5m2", 0x7D, NAN},
    {"e5m2", 0x7E, NAN},
    {"e5m2", 0x7F, NAN},
    {"e5m2", 0xFD, NAN},
    {"e5m2", 0x7B, 57344},
    {"e5m2", 0x04, 0x1p-14},
    {"e5m2", 0x03, 0.75 * 0x1p-14},
    {"e5m2", 0x01, 0x1p-16},
    {"e5m2", 0x3C, 1},
    {"e5m2", 0x80, -0.0},
    /* E3M2 */
    {"e3m2", 0x1F, 28},
    {"e3m2", 0x3F, -28},
    {"e3m2", 0x04, 0.25},
    {"e3m2", 0x03, 0.1875},
    {"e3m2", 0x01, 0.0625},
    {"e3m2", 0x0C, 1},
    {"e3m2", 0x20, -0.0},
    /* E2M3 */
    {"e2m3", 0x1F, 7.5},
    {"e2m3", 0x3F, -7.5},
    {"e2m3", 0x08, 1},
    {"e2m3", 0x07, 0.875},
    {"e2m3", 0x01, 0.125},
    {"e2m3", 0x20, -0.0},
    /* E2M1: all */
    {"e2m1", 0x0, 0},
    {"e2m1", 0x1, 0.5},
    {"e2m1", 0x2, 1},
    {"e2m1", 0x3, 1.5},
    {"e2m1", 0x4, 2},
    {"e2m1", 0x5, 3},
    {"e2m1", 0x6, 4},
    {"e2m1", 0x7, 6},
    {"e2m1", 0x8, -0.0},
    {"e2m1", 0xF, -6},
    /* FNUZ: one NaN in the place of -0 */
    {"e4m3fnuz", 0x80, NAN},
    {"e4m3fnuz", 0x7F, 240},
    {"e4m3fnuz", 0xFF, -240},
    {"e4m3fnuz", 0x08, 0x1p-7},
    {"e4m3fnuz", 0x01, 0x1p-10},
    {"e4m3fnuz", 0x40, 1},
    {"e5m2fnuz", 0x80, NAN},
    {"e5m2fnuz", 0x7F, 57344},
    {"e5m2fnuz", 0xFF, -57344},
    {"e5m2fnuz", 0x04, 0x1p-15},
    {"e5m2fnuz", 0x01, 0x1p-17},
    {"e5m2fnuz", 0x40, 1},
    {"e4m3b11fnuz", 0x80, NAN},
    {"e4m3b11fnuz", 0x7F, 30},
    {"e4m3b11fnuz", 0x01, 0x1p-13},
    {"e4m3b11fnuz", 0x58, 1},
    /* IEEE 754 binary16 */
    {"fp16", 0x7BFF, 65504},
    {"fp16", 0x0400, 0x1p-14},
    {"fp16", 0x0001, 0x1p-24},
    {"fp16", 0x3C00, 1},
    {"fp16", 0x7C00, INFINITY},
};

/* Fields of a format, and how many of its codes are NaN and infinite. */
static const struct {
    const char *format;
    int exp_bits, man_bits, bias, nans, infinities;
} kinds[] = {
    {"e4m3fn", 4, 3, 7, 2, 0},    {"e5m2", 5, 2, 15, 6, 2},        {"e3m2", 3, 2, 3, 0, 0},
    {"e2m3", 2, 3, 1, 0, 0},      {"e2m1", 2, 1, 1, 0, 0},         {"e4m3fnuz", 4, 3, 8, 1, 0},
    {"e5m2fnuz", 5, 2, 16, 1, 0}, {"e4m3b11fnuz", 4, 3, 11, 1, 0},
};

static hu_format parse(const char *name) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) fail_msg("%s: %s", name, hu_last_error());
    return format;
}

static int is_same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void codes_have_their_published_values(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        hu_format format = parse(facts[i].format);
        float x;
        uint32_t code = 0;
        assert_int_equal(hu_format_decode(&format, facts[i].code, &x), HU_OK);
        if (!is_same((double)x, facts[i].value))
            fail_msg("%s 0x%02x: %a, expected %a", facts[i].format, facts[i].code, (double)x,
                     facts[i].value);
        assert_int_equal(hu_format_encode(&format, x, &code), HU_OK);
        if (!isnan(x)) assert_int_equal(code, facts[i].code);
    }
}

/* (-1)^s 2^(E-bias) (1 + M/2^m), or M/2^m with E = 1 instead of 0: all finite codes. */
static void every_code_follows_the_formula(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        hu_format format = parse(kinds[k].format);
        int m = kinds[k].man_bits, e = kinds[k].exp_bits, nans = 0, infinities = 0;
        for (uint32_t code = 0; code < 2u << (e + m); code++) {
            int field = (int)(code >> m) & ((1 << e) - 1), is_normal = field > 0;
            double fraction = ldexp((double)(code & ((1u << m) - 1)), -m) + is_normal;
            double value = ldexp(fraction, (is_normal ? field : 1) - kinds[k].bias);
            float x;
            assert_int_equal(hu_format_decode(&format, code, &x), HU_OK);
            nans += isnan(x) != 0;
            infinities += isinf(x) != 0;
            if (isfinite(x)) assert_true(is_same((double)x, code >> (e + m) ? -value : value));
        }
        assert_int_equal(nans, kinds[k].nans);
        assert_int_equal(infinities, kinds[k].infinities);
    }
}

/* Conversion from wider formats: OFP8 table 4 (without and with saturation). */
static void conversions_overflow_as_published(void **state) {
    (void)state;
    hu_format e4m3 = parse("e4m3fn"), e4m3_sat = parse("e4m3fn:ovf=sat");
    hu_format e5m2 = parse("e5m2"), e5m2_sat = parse("e5m2:ovf=sat");
    const float large[] = {1e5f, INFINITY};
    for (size_t i = 0; i < 2; i++) {
        hu_rounding rne = HU_ROUND_NEAREST_EVEN;
        assert_true(isnan(hu_format_round(&e4m3, rne, large[i], 0)));
        assert_true(hu_format_round(&e4m3_sat, rne, large[i], 0) == 448.0f);
        assert_true(isinf(hu_format_round(&e5m2, rne, large[i], 0)));
        assert_true(hu_format_round(&e5m2_sat, rne, -large[i], 0) == -57344.0f);
        assert_true(isnan(hu_format_round(&e4m3_sat, rne, NAN, 0)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_their_published_values),
        cmocka_unit_test(every_code_follows_the_formula),
        cmocka_unit_test(conversions_overflow_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
