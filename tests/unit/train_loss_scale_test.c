#include "train/loss_scale.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static hu_loss_scale make(hu_loss_scale_options options) {
    hu_loss_scale scale;
    assert_int_equal(hu_loss_scale_init(&options, &scale), HU_OK);
    return scale;
}

static void the_trace_of_gradscaler_is_followed(void **state) {
    (void)state;
    const bool found[7] = {0, 0, 0, 1, 0, 0, 0};
    const float expected[7] = {65536, 65536, 131072, 65536, 65536, 65536, 131072};
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    options.interval = 3;
    hu_loss_scale scale = make(options);
    assert_true(scale.state.scale == 65536.0f);
    for (int step = 0; step < 7; step++) {
        assert_int_equal(hu_loss_scale_update(&scale, found[step], step), HU_OK);
        assert_true(scale.state.scale == expected[step]);
    }
    assert_int_equal(scale.state.good_steps, 0);
    assert_int_equal(scale.state.skipped, 1);
    assert_int_equal(scale.state.consecutive, 0);
    assert_int_equal(scale.state.last_overflow_step, 3);
}

static void an_overflow_starts_the_count_again(void **state) {
    (void)state;
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    options.interval = 3;
    hu_loss_scale scale = make(options);
    const bool found[6] = {0, 0, 1, 0, 0, 1};
    for (int step = 0; step < 6; step++)
        assert_int_equal(hu_loss_scale_update(&scale, found[step], step), HU_OK);
    assert_true(scale.state.scale == 16384.0f); /* never three good steps in a row */
}

static void the_scale_does_not_grow_to_infinity(void **state) {
    (void)state;
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    options.interval = 1;
    options.init = 0x1p126f;
    hu_loss_scale scale = make(options);
    for (int step = 0; step < 5; step++)
        assert_int_equal(hu_loss_scale_update(&scale, false, step), HU_OK);
    assert_true(scale.state.scale == 0x1p127f);
    assert_int_equal(scale.state.good_steps, 0);
}

static void the_scale_may_fall_below_one(void **state) {
    (void)state;
    hu_loss_scale scale = make(hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC));
    for (int step = 0; step < 18; step++)
        assert_int_equal(hu_loss_scale_update(&scale, true, step), HU_OK);
    assert_true(scale.state.scale == 0.25f);
    assert_true(hu_loss_scale_inverse(&scale) == 4.0f);
}

static void bounds_hold_the_scale(void **state) {
    (void)state;
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    options.interval = 1;
    options.max = 0x1p24f;
    options.min = 0x1p10f;
    hu_loss_scale scale = make(options);
    for (int step = 0; step < 19; step++)
        assert_int_equal(hu_loss_scale_update(&scale, false, step), HU_OK);
    assert_true(scale.state.scale == 0x1p24f);
    for (int step = 19; step < 38; step++)
        assert_int_equal(hu_loss_scale_update(&scale, true, step), HU_OK);
    assert_true(scale.state.scale == 0x1p10f);
}

static void constant_and_none_count_but_never_change(void **state) {
    (void)state;
    for (int kind = HU_LOSS_SCALE_NONE; kind <= HU_LOSS_SCALE_CONSTANT; kind++) {
        hu_loss_scale_options options = hu_loss_scale_defaults((hu_loss_scale_kind)kind);
        hu_loss_scale scale = make(options);
        float init = kind == HU_LOSS_SCALE_NONE ? 1.0f : 65536.0f;
        for (int step = 0; step < 5000; step++)
            assert_int_equal(hu_loss_scale_update(&scale, step % 100 == 7, step), HU_OK);
        assert_true(scale.state.scale == init);
        assert_int_equal(scale.state.skipped, 50);
        assert_int_equal(scale.state.last_overflow_step, 4907);
    }
}

static void the_twentieth_skip_in_a_row_stops_the_run_with_a_reason(void **state) {
    (void)state;
    for (int kind = 0; kind < HU_LOSS_SCALE_COUNT; kind++) {
        hu_loss_scale scale = make(hu_loss_scale_defaults((hu_loss_scale_kind)kind));
        for (int step = 0; step < 19; step++)
            assert_int_equal(hu_loss_scale_update(&scale, true, step), HU_OK);
        assert_int_equal(hu_loss_scale_update(&scale, false, 19), HU_OK);
        for (int step = 20; step < 39; step++)
            assert_int_equal(hu_loss_scale_update(&scale, true, step), HU_OK);
        assert_int_equal(hu_loss_scale_update(&scale, true, 39), HU_ERR_NONFINITE);
        assert_non_null(strstr(hu_last_error(), "step 39"));
        assert_non_null(strstr(hu_last_error(), "20 steps in a row"));
        assert_non_null(strstr(hu_last_error(), hu_loss_scale_kinds[kind].name));
        assert_int_equal(scale.state.skipped, 39);
        assert_int_equal(scale.state.consecutive, 20);
    }
}

static void the_stop_rule_can_be_switched_off_until_no_scale_is_left(void **state) {
    (void)state;
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    options.max_consecutive_skips = 0;
    hu_loss_scale scale = make(options);
    int step = 0;
    while (hu_loss_scale_update(&scale, true, step) == HU_OK && step < 1000) {
        assert_true(isfinite(hu_loss_scale_inverse(&scale)));
        step++;
    }
    assert_int_equal(step, 143); /* 2^(16-144) = 2^-128: its reciprocal is above FLT_MAX */
    assert_non_null(strstr(hu_last_error(), "reciprocal"));
}

/* (float)(1 / (double)S), not a reciprocal in float of a rounded quotient. */
static void the_inverse_is_rounded_once(void **state) {
    (void)state;
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_CONSTANT);
    const float scales[] = {1.0f, 3.0f, 0x1.fffffep15f, 1000.0f, FLT_MAX, 0x1p-127f};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        options.init = scales[i];
        hu_loss_scale scale = make(options);
        assert_true(hu_loss_scale_inverse(&scale) == (float)(1.0 / (double)scales[i]));
    }
}

static void a_restored_state_goes_on_alike(void **state) {
    (void)state;
    hu_loss_scale_options options = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    options.interval = 5;
    hu_loss_scale first = make(options), second = make(options);
    for (int step = 0; step < 200; step++) {
        bool found = step % 13 == 5 || step % 29 == 3;
        if (step == 98) {
            hu_loss_scale_state saved = first.state;
            assert_int_equal(hu_loss_scale_restore(&second, &saved, sizeof saved), HU_OK);
        }
        assert_int_equal(hu_loss_scale_update(&first, found, step), HU_OK);
        if (step < 98) continue;
        assert_int_equal(hu_loss_scale_update(&second, found, step), HU_OK);
        assert_memory_equal(&first.state, &second.state, sizeof first.state);
    }
}

static void a_wrong_state_is_refused(void **state) {
    (void)state;
    hu_loss_scale scale = make(hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC));
    hu_loss_scale_state before = scale.state, bad = before;
    assert_int_equal(hu_loss_scale_restore(&scale, &bad, 31), HU_ERR_CORRUPT);
    bad.scale = 0;
    assert_int_equal(hu_loss_scale_restore(&scale, &bad, sizeof bad), HU_ERR_CORRUPT);
    bad.scale = NAN;
    assert_int_equal(hu_loss_scale_restore(&scale, &bad, sizeof bad), HU_ERR_CORRUPT);
    bad = before;
    bad.good_steps = -1;
    assert_int_equal(hu_loss_scale_restore(&scale, &bad, sizeof bad), HU_ERR_CORRUPT);
    bad = before;
    bad.consecutive = 1;
    assert_int_equal(hu_loss_scale_restore(&scale, &bad, sizeof bad), HU_ERR_CORRUPT);
    bad = before;
    bad.last_overflow_step = -2;
    assert_int_equal(hu_loss_scale_restore(&scale, &bad, sizeof bad), HU_ERR_CORRUPT);
    assert_memory_equal(&scale.state, &before, sizeof before);
}

static void expect_refused(hu_loss_scale_options options, const char *name) {
    hu_loss_scale scale;
    assert_int_equal(hu_loss_scale_init(&options, &scale), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), name));
}

static void options_out_of_range_are_refused_by_name(void **state) {
    (void)state;
    const hu_loss_scale_options good = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    hu_loss_scale_options bad = good;
    bad.init = 0;
    expect_refused(bad, "scaler.init");
    bad.init = INFINITY;
    expect_refused(bad, "scaler.init");
    bad = good;
    bad.growth = 0.5f;
    expect_refused(bad, "scaler.growth");
    bad = good;
    bad.backoff = 1;
    expect_refused(bad, "scaler.backoff");
    bad = good;
    bad.interval = 0;
    expect_refused(bad, "scaler.interval");
    bad = good;
    bad.min = 0x1p17f;
    expect_refused(bad, "scaler.min");
    bad = good;
    bad.max = 1;
    expect_refused(bad, "scaler.max:");
    bad = good;
    bad.max_consecutive_skips = -1;
    expect_refused(bad, "scaler.max_consecutive_skips");
    bad = good;
    bad.min = bad.max = bad.init;
    hu_loss_scale scale = make(bad);
    assert_int_equal(hu_loss_scale_update(&scale, true, 0), HU_OK);
    assert_true(scale.state.scale == bad.init);
}

static void names_are_parsed_and_mistakes_get_advice(void **state) {
    (void)state;
    hu_loss_scale_kind kind;
    for (int i = 0; i < HU_LOSS_SCALE_COUNT; i++) {
        assert_int_equal(hu_loss_scale_parse(hu_loss_scale_kinds[i].name, &kind), HU_OK);
        assert_int_equal(kind, i);
    }
    assert_int_equal(hu_loss_scale_parse("dynamik", &kind), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "scaler: found 'dynamik', expected 'dynamic'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trace_of_gradscaler_is_followed),
        cmocka_unit_test(an_overflow_starts_the_count_again),
        cmocka_unit_test(the_scale_does_not_grow_to_infinity),
        cmocka_unit_test(the_scale_may_fall_below_one),
        cmocka_unit_test(bounds_hold_the_scale),
        cmocka_unit_test(constant_and_none_count_but_never_change),
        cmocka_unit_test(the_twentieth_skip_in_a_row_stops_the_run_with_a_reason),
        cmocka_unit_test(the_stop_rule_can_be_switched_off_until_no_scale_is_left),
        cmocka_unit_test(the_inverse_is_rounded_once),
        cmocka_unit_test(a_restored_state_goes_on_alike),
        cmocka_unit_test(a_wrong_state_is_refused),
        cmocka_unit_test(options_out_of_range_are_refused_by_name),
        cmocka_unit_test(names_are_parsed_and_mistakes_get_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
