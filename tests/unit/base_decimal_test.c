/* Decimals of the fewest digits. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/decimal.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_ones_are_short),
                                       cmocka_unit_test(no_digit_is_too_much)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
