/* exp, expm1, log, log1p, pow, tanh, erf, sin and cos against MPFR: below 2 to 4 ulp of double, and
 * correct at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

#include "base/elementary.h"
#include "base/rng.h"

/* |found - exact f(x)| in units of the last place of found. */
static double ulps(double found, double x, int (*f)(mpfr_t, const mpfr_t, mpfr_rnd_t)) {
    mpfr_t exact;
    mpfr_init2(exact, 120);
    mpfr_set_d(exact, x, MPFR_RNDN);
    f(exact, exact, MPFR_RNDN);
    mpfr_sub_d(exact, exact, found, MPFR_RNDN);
    double error = fabs(mpfr_get_d(exact, MPFR_RNDN));
    mpfr_clear(exact);
    double size = fabs(found);
    return error / (nextafter(size, (double)INFINITY) - size);
}

static void exp_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 3};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double reach = i % 3 == 0 ? 745 : i % 3 == 1 ? 20 : 1;
        double x = ((double)hu_random_word(&key, i) * 0x1p-31 - 1) * reach;
        if (x > 709.7) continue;
        worst = fmax(worst, ulps(hu_exp(x), x, mpfr_exp));
    }
    assert_true(worst < 2);
}

static void expm1_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 7};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double reach = i % 4 == 0   ? 745
                       : i % 4 == 1 ? 40
                       : i % 4 == 2 ? 1
                                    : ldexp(1, -(int)(i % 60));
        double x = ((double)hu_random_word(&key, i) * 0x1p-31 - 1) * reach;
        if (x > 709.7) continue;
        worst = fmax(worst, ulps(hu_expm1(x), x, mpfr_expm1));
    }
    assert_true(worst < 3);
    assert_true(hu_expm1(0.0) == 0.0 && signbit(hu_expm1(-0.0)));
    assert_true(hu_expm1(-800) == -1 && isinf(hu_expm1(710)) && isnan(hu_expm1((double)NAN)));
}

static void tanh_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 8};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double reach = i % 3 == 0 ? 25 : i % 3 == 1 ? 1 : ldexp(1, -(int)(i % 60));
        double x = ((double)hu_random_word(&key, i) * 0x1p-31 - 1) * reach;
        worst = fmax(worst, ulps(hu_tanh(x), x, mpfr_tanh));
        assert_true(hu_tanh(-x) == -hu_tanh(x));
    }
    assert_true(worst < 4);
    assert_true(hu_tanh(1e300) == 1 && hu_tanh(-(double)INFINITY) == -1);
    assert_true(hu_tanh(0.0) == 0.0 && signbit(hu_tanh(-0.0)) && isnan(hu_tanh((double)NAN)));
}

/* All sizes, and the places where another formula begins. */
static void erf_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 9};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double reach = i % 3 == 0 ? 6 : i % 3 == 1 ? 1.001 : ldexp(1, -(int)(i % 60));
        double x = ((double)hu_random_word(&key, i) * 0x1p-31 - 1) * reach;
        worst = fmax(worst, ulps(hu_erf(x), x, mpfr_erf));
        assert_true(hu_erf(-x) == -hu_erf(x));
    }
    assert_true(worst < 2);
    assert_true(hu_erf(1e300) == 1 && hu_erf(-(double)INFINITY) == -1);
    assert_true(hu_erf(0.0) == 0.0 && signbit(hu_erf(-0.0)) && isnan(hu_erf((double)NAN)));
}

static void erfc_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 10};
    double worst = 0;
    for (uint64_t i = 0; i < 80000; i++) {
        static const double from[] = {-6, 0.49, -0.51, 0.5}, to[] = {6, 27.2, 0.51, 2};
        double u = (double)hu_random_word(&key, i) * 0x1p-32;
        double x = from[i % 4] + u * (to[i % 4] - from[i % 4]);
        worst = fmax(worst, ulps(hu_erfc(x), x, mpfr_erfc));
    }
    assert_true(worst < 3);
    assert_true(hu_erfc(0.0) == 1 && hu_erfc(-0.0) == 1 && hu_erfc(-30) == 2);
    assert_true(hu_erfc(27.3) == 0 && hu_erfc(1e300) == 0 && hu_erfc((double)INFINITY) == 0);
    assert_true(hu_erfc(-(double)INFINITY) == 2 && isnan(hu_erfc((double)NAN)));
}

static void log_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 4};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double u = (double)hu_random_word(&key, 2 * i) * 0x1p-32 + 0x1p-40;
        int e = (int)hu_random_below(&key, 60000 + i, 2100) - 1070;
        double x = i % 3 == 0 ? ldexp(0.5 + u, e) : i % 3 == 1 ? 1 + (u - 0.5) * 0x1p-5 : u * 1000;
        if (x <= 0 || isinf(x) || x == 1) continue;
        worst = fmax(worst, ulps(hu_log(x), x, mpfr_log));
    }
    assert_true(worst < 2);
}

/* |found - x^p| / |x^p|, in units of 2^-51 (2 + |p log x|), and of the steps in those of 2^-53. */
static double pow_error(double x, double p, bool in_steps) {
    mpfr_t exact, other;
    mpfr_inits2(160, exact, other, (mpfr_ptr)0);
    mpfr_set_d(exact, x, MPFR_RNDN);
    mpfr_set_d(other, p, MPFR_RNDN);
    mpfr_pow(exact, exact, other, MPFR_RNDN);
    mpfr_d_sub(other, hu_pow(x, p), exact, MPFR_RNDN);
    mpfr_div(other, other, exact, MPFR_RNDN);
    double error = fabs(mpfr_get_d(other, MPFR_RNDN));
    mpfr_clears(exact, other, (mpfr_ptr)0);
    return error / (in_steps ? 0x1p-53 : 0x1p-51 * (2 + fabs(p * log(fabs(x)))));
}

static void pow_is_accurate(void **unused) {
    (void)unused;
    static const double steps[] = {-3, -2, -1, -0.5, 0.5, 1, 2, 3},
                        most[] = {3, 2, 1, 2, 1, 0, 1, 2};
    hu_random_key key = {.seed = 1, .stream = 2, .step = 21};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double u = (double)hu_random_word(&key, 2 * i) * 0x1p-32 + 0x1p-40;
        double x = ldexp(0.5 + u, (int)(i % 200) - 100);
        double p = ((double)hu_random_word(&key, 2 * i + 1) * 0x1p-31 - 1) * (i % 3 ? 6 : 0.1);
        worst = fmax(worst, pow_error(x, p, false));
        worst = fmax(worst, pow_error(-x, (double)(4 + i % 4), false));
        if (pow_error(x, steps[i % 8], true) > most[i % 8] * 1.001) fail_msg("%a", x);
    }
    assert_true(worst < 1);
}

/* As C's pow, but for NaN to the power of 0. */
static void pow_knows_zero_and_infinity(void **unused) {
    (void)unused;
    static const double x[] = {0.0, -0.0, INFINITY, -INFINITY, 1.0, -1.0, -2.5, 2.5};
    static const double p[] = {0,  1,   2,   3,      4,    5,     -1,
                               -2, -3,  -4,  -5,     0.5,  -0.5,  0.7,
                               -7, 7.5, 1e9, 0x1p53, 1e17, -1e17, 0x1.fffffffffffffp52};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        for (size_t j = 0; j < sizeof p / sizeof *p; j++) {
            double found = hu_pow(x[i], p[j]), wanted = pow(x[i], p[j]);
            /* A root in steps is that of C's sqrt, where pow has another sign or no NaN. */
            if (fabs(p[j]) == 0.5 && !(x[i] > 0)) continue;
            bool is_close = fabs(found - wanted) <= 1e-12 * fabs(wanted) || found == wanted;
            if (!(isnan(wanted) ? isnan(found) : is_close) ||
                (!isnan(wanted) && signbit(found) != signbit(wanted)))
                fail_msg("%a^%a: found %a, expected %a", x[i], p[j], found, wanted);
        }
    assert_true(isnan(hu_pow((double)NAN, 2.0)) && isnan(hu_pow((double)NAN, 0.7)));
    assert_true(isnan(hu_pow(-2.0, 0.5)) && hu_pow(0.0, 0.5) == 0 && hu_pow(0.0, -0.5) > DBL_MAX);
}

static void log1p_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 6};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double u = ((double)hu_random_word(&key, 2 * i) + 1) * 0x1p-32;
        int e = (int)hu_random_below(&key, 60000 + i, 1100);
        double x = i % 4 == 0   ? ldexp(u, 500 - e)
                   : i % 4 == 1 ? u
                   : i % 4 == 2 ? -u * (1 - 0x1p-20)
                                : -ldexp(u, -(e % 64));
        if (x <= -1) continue;
        worst = fmax(worst, ulps(hu_log1p(x), x, mpfr_log1p));
    }
    assert_true(worst < 3);
}

/* cos(2 pi t / 2^32), at 120 bits. */
static int cos_of_turns(mpfr_t y, const mpfr_t t, mpfr_rnd_t mode) {
    mpfr_t angle;
    mpfr_init2(angle, 160);
    mpfr_const_pi(angle, mode);
    mpfr_mul(angle, angle, t, mode);
    mpfr_div_2ui(angle, angle, 31, mode);
    int inexact = mpfr_cos(y, angle, mode);
    mpfr_clear(angle);
    return inexact;
}

static void cos_is_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 5};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        uint32_t near = (uint32_t)(i % 16) << 28, word = hu_random_word(&key, i);
        uint32_t turns = i % 2 ? word : near + (word >> 8 >> word % 24);
        if (turns % (1u << 30) == 0) continue;
        worst = fmax(worst, ulps(hu_cos_turns(turns), turns, cos_of_turns));
    }
    assert_true(worst < 2);
    assert_true(hu_cos_turns(0) == 1 && hu_cos_turns(1u << 31) == -1);
    assert_true(hu_cos_turns(1u << 30) == 0 && hu_cos_turns(3u << 30) == 0);
}

static uint64_t whole; /* of the test that runs */

/* cos(2 pi p / whole), at 120 bits. */
static int cos_of_part(mpfr_t y, const mpfr_t p, mpfr_rnd_t mode) {
    mpfr_t angle;
    mpfr_init2(angle, 160);
    mpfr_const_pi(angle, mode);
    mpfr_mul(angle, angle, p, mode);
    mpfr_mul_2ui(angle, angle, 1, mode);
    mpfr_div_ui(angle, angle, whole, mode);
    int inexact = mpfr_cos(y, angle, mode);
    mpfr_clear(angle);
    return inexact;
}

static void cos_of_parts_is_accurate(void **unused) {
    (void)unused;
    static const uint64_t wholes[] = {4, 160, 640, 441, 1 << 20, 999983, UINT64_C(1) << 32};
    double worst = 0;
    for (size_t w = 0; w < sizeof wholes / sizeof *wholes; w++) {
        whole = wholes[w];
        uint64_t step = whole / 5000 + 1;
        for (uint64_t part = 0; part < whole; part += step) {
            double y = hu_cos_part(part, whole);
            if (4 * part % whole == 0)
                assert_true(y == (double)(1 - (int)(4 * part / whole)) || part * 4 == 3 * whole);
            else
                worst = fmax(worst, ulps(y, (double)part, cos_of_part));
            if (part > 0) assert_true(y == hu_cos_part(whole - part, whole));
        }
        assert_true(hu_cos_part(3 * whole / 4, whole) == 0 || whole % 4);
    }
    if (!(worst < 3)) fail_msg("%g", worst);
}

/* All sizes; and the numbers next to multiples of a quarter turn, where most digits are lost. */
static void sin_and_cos_are_accurate(void **unused) {
    (void)unused;
    hu_random_key key = {.seed = 1, .stream = 2, .step = 11};
    double worst = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double reach = i % 3 == 0 ? HU_ANGLE_MOST : i % 3 == 1 ? 10 : ldexp(1, -(int)(i % 60));
        double x = ((double)hu_random_word(&key, i) * 0x1p-31 - 1) * reach;
        if (i % 5 == 0)
            x = (double)hu_random_below(&key, 60000 + i, 667000) * 1.5707963267948966 + x * 0x1p-45;
        worst = fmax(worst, ulps(hu_sin(x), x, mpfr_sin));
        worst = fmax(worst, ulps(hu_cos(x), x, mpfr_cos));
    }
    assert_true(worst < 3);
    assert_true(hu_sin(0.0) == 0 && signbit(hu_sin(-0.0)) && hu_cos(0.0) == 1);
    assert_true(isnan(hu_sin((double)NAN)) && isnan(hu_cos((double)NAN)));
    assert_true(isnan(hu_sin((double)INFINITY)) && isnan(hu_cos(1e300)));
}

static void edges_are_right(void **unused) {
    (void)unused;
    assert_true(hu_exp(0) == 1 && hu_exp(-0.0) == 1);
    assert_true(hu_exp((double)INFINITY) == (double)INFINITY && hu_exp(1000) == (double)INFINITY);
    assert_true(hu_exp(-(double)INFINITY) == 0 && hu_exp(-746) == 0);
    assert_true(hu_exp(-745) == 0x1p-1074 && isfinite(hu_exp(709.7)));
    assert_true(isinf(hu_exp(709.79)) && isnan(hu_exp((double)NAN)));
    assert_true(hu_log(1) == 0 && hu_log(0) == -(double)INFINITY);
    assert_true(hu_log(-0.0) == -(double)INFINITY && isnan(hu_log(-1)));
    assert_true(hu_log((double)INFINITY) == (double)INFINITY && isnan(hu_log((double)NAN)));
    assert_true(hu_log1p(0) == 0 && hu_log1p(-1) == -(double)INFINITY && isnan(hu_log1p(-2)));
    assert_true(hu_log1p((double)INFINITY) == (double)INFINITY && isnan(hu_log1p((double)NAN)));
    assert_true(hu_log1p(0x1p-1074) == 0x1p-1074 && hu_log1p(-0x1p-60) == -0x1p-60);
    assert_true(fabs(hu_log(0x1p-1074) - -744.4400719213812) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_accurate),          cmocka_unit_test(expm1_is_accurate),
        cmocka_unit_test(tanh_is_accurate),         cmocka_unit_test(erf_is_accurate),
        cmocka_unit_test(erfc_is_accurate),         cmocka_unit_test(log_is_accurate),
        cmocka_unit_test(pow_is_accurate),          cmocka_unit_test(pow_knows_zero_and_infinity),
        cmocka_unit_test(log1p_is_accurate),        cmocka_unit_test(cos_is_accurate),
        cmocka_unit_test(cos_of_parts_is_accurate), cmocka_unit_test(sin_and_cos_are_accurate),
        cmocka_unit_test(edges_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
