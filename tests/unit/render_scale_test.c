/* Scales: round numbers, in range, for any ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/svg.h"

static void test_ends_meet_their_places(void **state) {
    (void)state;
    hu_axis_scale scale = hu_axis_scale_exact(2.0, 6.0, 100.0, 300.0);
    assert_true(hu_axis_scale_at(&scale, 2.0) == 100.0);
    assert_true(hu_axis_scale_at(&scale, 6.0) == 300.0);
    assert_true(hu_axis_scale_at(&scale, 3.0) == 150.0);
    scale = hu_axis_scale_exact(0.0, 1.0, 300.0, 100.0); /* upward */
    assert_true(hu_axis_scale_at(&scale, 0.25) == 250.0);
}

static void test_fitted_ends_are_round(void **state) {
    (void)state;
    hu_axis_scale scale = hu_axis_scale_fit(0.13, 4.97, 0.0, 1.0);
    assert_true(scale.low == 0.0 && scale.high == 5.0);
    scale = hu_axis_scale_fit(80.2, 83.1, 0.0, 1.0);
    assert_true(fabs(scale.low - 80.0) < 1e-9 && fabs(scale.high - 83.5) < 1e-9);
}

static void test_ends_without_room_get_some(void **state) {
    (void)state;
    const double ends[][2] = {{0, 0}, {7, 7}, {NAN, 1}, {1, INFINITY}, {3, 2}, {-5, -5}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        hu_axis_scale scale = hu_axis_scale_fit(ends[i][0], ends[i][1], 0.0, 1.0);
        assert_true(isfinite(scale.low) && scale.high > scale.low);
        assert_true(hu_axis_scale_ticks(&scale, 6).count > 1);
    }
}

static void test_ticks_are_inside_and_told_apart(void **state) {
    (void)state;
    for (int power = -12; power <= 12; power++)
        for (double part = 1.0; part < 10.0; part += 0.7) {
            double span = part * pow(10.0, power);
            hu_axis_scale scale = hu_axis_scale_exact(-0.3 * span, span, 0.0, 1.0);
            hu_ticks ticks = hu_axis_scale_ticks(&scale, 6);
            assert_true(ticks.count >= 3 && ticks.count <= 14);
            for (int i = 0; i < ticks.count; i++)
                assert_true(ticks.at[i] >= scale.low - 1e-6 * span &&
                            ticks.at[i] <= scale.high + 1e-6 * span);
            double step = ticks.at[1] - ticks.at[0];
            if (ticks.digits < 9) assert_true(step > 0.49 * pow(10.0, -ticks.digits));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_meet_their_places),
        cmocka_unit_test(test_fitted_ends_are_round),
        cmocka_unit_test(test_ends_without_room_get_some),
        cmocka_unit_test(test_ticks_are_inside_and_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
