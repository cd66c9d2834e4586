/* Means, deviations, and the width of the interval of a difference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/statistics.h"

static hu_sample_stats spread_of(const double *x, int count) {
    hu_sample_stats spread = {0};
    for (int i = 0; i < count; i++) hu_sample_stats_add(&spread, x[i]);
    return spread;
}

static void expect(double found, double expected) {
    if (fabs(found - expected) > 1e-12 * fabs(expected))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void means_and_deviations_of_a_few(void **state) {
    (void)state;
    const double x[] = {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
    hu_sample_stats none = {0}, one = spread_of(x, 1), all = spread_of(x, 8);
    assert_true(isnan(hu_sample_stats_mean(&none)) && isnan(hu_sample_stats_deviation(&none)));
    assert_true(hu_sample_stats_mean(&one) == 2.0 && isnan(hu_sample_stats_deviation(&one)));
    expect(hu_sample_stats_mean(&all), 5.0);
    expect(hu_sample_stats_deviation(&all), sqrt(32.0 / 7.0));
    /* Far from zero a difference of squares would have nothing left. */
    const double far[] = {1e9, 1e9 + 1.0, 1e9 + 2.0};
    hu_sample_stats shifted = spread_of(far, 3);
    expect(hu_sample_stats_deviation(&shifted), 1.0);
}

static void the_median_lies_above_the_least(void **state) {
    (void)state;
    double odd[] = {3.0, 2.0, 5.0}, even[] = {2.0, 4.0, 3.0, 2.5}, same[] = {7.0, 7.0};
    double zero[] = {0.0, 1.0, 2.0}, slow[] = {1.0, 1.0, 1.0, 1.0, 100.0};
    expect(hu_sample_stats_above_least(odd, 3), 0.5);
    expect(hu_sample_stats_above_least(even, 4), 0.375); /* the median is 2.75 */
    assert_true(hu_sample_stats_above_least(same, 2) == 0.0);
    assert_true(hu_sample_stats_above_least(slow, 5) == 0.0); /* one disturbed turn is none */
    assert_true(isnan(hu_sample_stats_above_least(odd, 1)) &&
                isnan(hu_sample_stats_above_least(NULL, 0)));
    assert_true(isnan(hu_sample_stats_above_least(zero, 3)));
}

static void noise_is_pooled_by_degrees_of_freedom(void **state) {
    (void)state;
    const double a[] = {1.0, 3.0}, b[] = {10.0, 11.0, 12.0};
    hu_sample_stats first = spread_of(a, 2), second = spread_of(b, 3), one = spread_of(a, 1);
    hu_noise noise = {0};
    hu_noise_pool(&noise, &first);
    hu_noise_pool(&noise, &second);
    hu_noise_pool(&noise, &one); /* tells nothing */
    expect(noise.freedom, 3.0);
    expect(noise.variance, (2.0 + 2.0) / 3.0);
    expect(hu_noise_of(&noise, 2, 3), 3.182 * sqrt(4.0 / 3.0 * (1.0 / 2.0 + 1.0 / 3.0)));
}

static void quantiles_fall_to_the_normal_one(void **state) {
    (void)state;
    const double freedom[] = {1, 2, 10, 29, 30, 39, 40, 59, 60, 119, 120, 1e6, (double)INFINITY};
    const double expected[] = {12.706, 4.303, 2.228, 2.045, 2.042, 2.042, 2.021,
                               2.021,  2.000, 2.000, 1.980, 1.980, 1.960};
    for (int i = 0; i < (int)(sizeof freedom / sizeof *freedom); i++) {
        hu_noise noise = {1.0, freedom[i]};
        expect(hu_noise_of(&noise, 2, 2), expected[i]);
    }
    hu_noise unknown = {(double)NAN, 0.0}, none = {0};
    assert_true(isnan(hu_noise_of(&unknown, 1, 1)) && isnan(hu_noise_of(&none, 1, 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_deviations_of_a_few),
        cmocka_unit_test(the_median_lies_above_the_least),
        cmocka_unit_test(noise_is_pooled_by_degrees_of_freedom),
        cmocka_unit_test(quantiles_fall_to_the_normal_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
