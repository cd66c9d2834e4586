/* Decimals of the fewest digits. */
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/text.h"

static void assert_decimal(double value, const char *expected) {
    char text[HU_DECIMAL_BYTES];
    assert_string_equal(hu_decimal_text(value, text), expected);
}

static void short_ones_are_short(void **state) {
    (void)state;
    assert_decimal(0.1, "0.1");
    assert_decimal(0.1 + 0.2, "0.30000000000000004");
    assert_decimal(1.0 / 3.0, "0.3333333333333333");
    assert_decimal(65536.0, "65536");
    assert_decimal(-1e22, "-1e22");
    assert_decimal(0.0, "0");
    assert_decimal(-0.0, "-0");
    assert_decimal(DBL_MAX, "1.7976931348623157e308");
    assert_decimal(DBL_MIN, "2.2250738585072014e-308");
    assert_decimal(1e-7, "1e-7");
    assert_decimal(5e-324, "5e-324");
    assert_decimal(1700000000.125, "1700000000.125");
}

static void assert_scale(double value, const char *expected) {
    char text[HU_DECIMAL_BYTES];
    assert_string_equal(hu_scale_text(value, text), expected);
}

/* A power of two is not told as another number. */
static void scales_are_exact_or_short(void **state) {
    (void)state;
    assert_scale(1.0, "1");
    assert_scale(512.0, "512");
    assert_scale(524288.0, "524288");
    assert_scale(1048576.0, "2^20");
    assert_scale(0.5, "0.5");
    assert_scale(ldexp(1.0, -14), "2^-14");
    assert_scale(1e30, "1e+30");
    assert_scale(1000000.0, "1e+06");
    assert_scale(0.0, "0");
    assert_scale(-1048576.0, "-1.04858e+06");
    assert_scale((double)INFINITY, "inf");
}

/* Digits between the first and the last that is not zero. */
static int digits_of(const char *text) {
    char digit[HU_DECIMAL_BYTES];
    int count = 0, last = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (count > 0 || *text != '0')) digit[count++] = *text;
    for (int i = 0; i < count; i++)
        if (digit[i] != '0') last = i + 1;
    return last;
}

/* Every number comes back; one digit less, rounded up or down, is another number. */
static void no_digit_is_too_much(void **state) {
    enum { NUMBERS = 20000 };
    uint64_t word = 88172645463325252u;
    (void)state;
    for (int i = 0; i < NUMBERS; i++) {
        char text[HU_DECIMAL_BYTES], shorter[HU_DECIMAL_BYTES];
        word ^= word << 13; /* xorshift64 (Marsaglia 2003) */
        word ^= word >> 7;
        word ^= word << 17;
        double value = hu_f64_of_bits(i % 4 == 0 ? word >> 12 : word); /* a quarter subnormal */
        if (!isfinite(value)) continue;
        hu_decimal_text(value, text);
        assert_true(hu_f64_bits(strtod(text, NULL)) == hu_f64_bits(value));
        int digits = digits_of(text);
        if (digits < 2) continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
        assert_true(hu_f64_bits(strtod(shorter, NULL)) != hu_f64_bits(value));
    }
}

/* ---- texts as numbers ---- */

static void assert_wide(const char *text, int exponent, uint64_t significand) {
    hu_wide found = {0};
    assert_true(hu_wide_read(text, &found));
    if (found.exponent != exponent || found.significand != significand)
        fail_msg("%s: found %016llx 2^%d, expected %016llx 2^%d", text,
                 (unsigned long long)found.significand, found.exponent - 63,
                 (unsigned long long)significand, exponent - 63);
    assert_int_equal(found.is_negative, text[0] == '-');
}

static void texts_lose_nothing_in_silence(void **state) {
    const uint64_t one = (uint64_t)1 << 63;
    char text[3000];
    (void)state;
    assert_wide("-0", 0, 0);
    assert_wide("0e9999999999999999999999", 0, 0);
    assert_wide("1", 0, one);
    assert_wide("-0.5", -1, one);
    assert_wide("0x1p-4096", -4096, one);
    assert_wide("18446744073709551615", 63, UINT64_MAX);
    assert_wide("18446744073709551616", 64, one);
    assert_wide("18446744073709551617", 64, one | 1);
    assert_wide("0x1.00000000000000000000000000000001", 0, one | 1);
    assert_wide("1e400", 1328, UINT64_C(0xda763fc8cb9ff9e5));
    assert_wide("1e5000", HU_WIDE_EXPONENT, one | 1);
    assert_wide("-1e-5000", -HU_WIDE_EXPONENT, one | 1);
    /* 1 and 2,900 zeros, with an exponent that takes them back; then a digit at their end. */
    memset(text, '0', sizeof text);
    text[0] = '1';
    strcpy(text + 2900, "e-2899");
    assert_wide(text, 0, one);
    strcpy(text + 2899, "1e-2899");
    assert_wide(text, 0, one | 1);
    memset(text, '0', sizeof text);
    text[1] = '.';
    strcpy(text + 2900, "1E+2899");
    assert_wide(text, 0, one);
}

/* 64 bits toward zero, and the last one set where MPFR says that something was cut off. */
static void texts_are_what_mpfr_makes_of_them(void **state) {
    enum { NUMBERS = 20000, PRECISION = 6000 };
    uint64_t word = 88172645463325252u;
    mpfr_t exact, cut;
    (void)state;
    mpfr_init2(exact, PRECISION);
    mpfr_init2(cut, 64);
    for (int i = 0; i < NUMBERS; i++) {
        char text[128];
        hu_wide found;
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        int power = (int)(word % 700) - 350, digits = (int)(word >> 32) % 19;
        if (i % 4 == 0)
            snprintf(text, sizeof text, "0x%llx.%llxp%d", (unsigned long long)word,
                     (unsigned long long)(word * 7), power);
        else
            snprintf(text, sizeof text, "%.*s.%llu%lluE%d", digits, "1234567890123456789",
                     (unsigned long long)word, (unsigned long long)(word * 7), power);
        assert_true(hu_wide_read(text, &found));
        mpfr_set_str(exact, text, 0, MPFR_RNDN);
        int is_cut = mpfr_set(cut, exact, MPFR_RNDZ) != 0;
        assert_int_equal(found.exponent, mpfr_get_exp(cut) - 1);
        mpfr_mul_2si(cut, cut, 64 - mpfr_get_exp(cut), MPFR_RNDN);
        assert_true(found.significand == (mpfr_get_ui(cut, MPFR_RNDZ) | (uint64_t)is_cut));
    }
    mpfr_clears(exact, cut, (mpfr_ptr)NULL);
    mpfr_free_cache();
}

static void commas_are_told_from_lists(void **state) {
    static const char *const numbers[][2] = {
        {"0,2", "0.2"}, {"-1,5e-3", "-1.5e-3"}, {",5", ".5"}, {"16,", "16."}};
    static const char *const others[] = {"",       "0.2",  "1,2,3",
                                         "1,2.3",  "a,b",  ",",
                                         "fp32,1", "1, 5", "123456789012345678901234567890,5"};
    char point[HU_DECIMAL_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_true(hu_decimal_has_comma(numbers[i][0], point));
        assert_string_equal(point, numbers[i][1]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(hu_decimal_has_comma(others[i], point));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_ones_are_short),
                                       cmocka_unit_test(scales_are_exact_or_short),
                                       cmocka_unit_test(no_digit_is_too_much),
                                       cmocka_unit_test(texts_lose_nothing_in_silence),
                                       cmocka_unit_test(commas_are_told_from_lists),
                                       cmocka_unit_test(texts_are_what_mpfr_makes_of_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
