#include "train/lr_schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_near(double found, double expected) {
    if (fabs(found - expected) > 1e-12 * (1 + fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void a_constant_rate_stays(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(0.25);
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    for (int64_t step = 0; step < 100; step += 7)
        assert_true(hu_schedule_lr(&s, step, 10, 50) == 0.25);
}

/* SGD .1, times .1 at 32k and 48k of 64k iterations. */
static void milestones_in_steps_lower_the_rate_at_the_step(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(0.1);
    s.kind = HU_SCHEDULE_STEP;
    s.unit = HU_UNIT_STEP;
    assert_int_equal(hu_schedule_parse_milestones("32000,48000", &s), HU_OK);
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 391, 64000) == 0.1);
    assert_true(hu_schedule_lr(&s, 31999, 391, 64000) == 0.1);
    expect_near(hu_schedule_lr(&s, 32000, 391, 64000), 0.01);
    expect_near(hu_schedule_lr(&s, 47999, 391, 64000), 0.01);
    expect_near(hu_schedule_lr(&s, 48000, 391, 64000), 0.001);
}

/* Large-batch ResNet-18: .1 to 1.6 over 5 epochs, times .1 after epochs 40 and 80. */
static void milestones_in_epochs_count_from_the_first_step_of_the_warm_up(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(1.6);
    s.kind = HU_SCHEDULE_STEP;
    s.warmup = 5;
    s.warmup_unit = HU_UNIT_EPOCH;
    s.warmup_start = 0.0625;
    assert_int_equal(hu_schedule_parse_milestones(" 40 , 80", &s), HU_OK);
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    expect_near(hu_schedule_lr(&s, 0, 10, 1000), 0.1);
    expect_near(hu_schedule_lr(&s, 25, 10, 1000), 0.85);
    assert_true(hu_schedule_lr(&s, 50, 10, 1000) == 1.6);
    assert_true(hu_schedule_lr(&s, 399, 10, 1000) == 1.6);
    expect_near(hu_schedule_lr(&s, 400, 10, 1000), 0.16);
    expect_near(hu_schedule_lr(&s, 999, 10, 1000), 0.016);
}

static void a_milestone_may_come_every_so_many_units(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(0.1);
    s.kind = HU_SCHEDULE_STEP;
    s.every = 30;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 30 * 5 - 1, 5, 600) == 0.1);
    expect_near(hu_schedule_lr(&s, 30 * 5, 5, 600), 0.01);
    expect_near(hu_schedule_lr(&s, 90 * 5, 5, 600), 0.0001);
}

/* Cosine to 0 over 200 epochs, changing once an epoch (CosineAnnealingLR, T_max = 200). */
static void a_cosine_per_epoch_is_flat_within_the_epoch(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(0.1);
    s.kind = HU_SCHEDULE_COSINE;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    int64_t spe = 391, total = 200 * spe;
    for (int64_t epoch = 0; epoch < 200; epoch++) {
        double expected = 0.05 * (1 + cos(3.14159265358979323846 * (double)epoch / 200));
        expect_near(hu_schedule_lr(&s, epoch * spe, spe, total), expected);
        assert_true(hu_schedule_lr(&s, epoch * spe, spe, total) ==
                    hu_schedule_lr(&s, epoch * spe + spe - 1, spe, total));
    }
    assert_true(hu_schedule_lr(&s, 0, spe, total) == 0.1);
    expect_near(hu_schedule_lr(&s, 100 * spe, spe, total), 0.05);
    assert_true(hu_schedule_lr(&s, total, spe, total) == 0);
}

static void a_cosine_per_step_starts_after_the_warm_up_and_ends_at_the_floor(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(1);
    s.kind = HU_SCHEDULE_COSINE;
    s.unit = HU_UNIT_STEP;
    s.floor = 0.25;
    s.warmup = 20;
    s.warmup_unit = HU_UNIT_STEP;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 10, 120) == 0);
    expect_near(hu_schedule_lr(&s, 10, 10, 120), 0.5);
    assert_true(hu_schedule_lr(&s, 20, 10, 120) == 1);
    expect_near(hu_schedule_lr(&s, 70, 10, 120), 0.625);
    assert_true(hu_schedule_lr(&s, 119, 10, 120) > 0.25);
    assert_true(hu_schedule_lr(&s, 120, 10, 120) == 0.25);
    assert_true(hu_schedule_lr(&s, 5000, 10, 120) == 0.25);
}

static void a_line_goes_down_to_its_floor(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(1);
    s.kind = HU_SCHEDULE_LINEAR;
    s.unit = HU_UNIT_STEP;
    s.floor = 0.5;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 10, 100) == 1);
    expect_near(hu_schedule_lr(&s, 50, 10, 100), 0.75);
    assert_true(hu_schedule_lr(&s, 100, 10, 100) == 0.5);
    s.unit = HU_UNIT_EPOCH;
    assert_true(hu_schedule_lr(&s, 59, 10, 100) == hu_schedule_lr(&s, 50, 10, 100));
}

/* MMSegmentation's: .01 to 1e-4 over 40,000 steps, power .9. */
static void a_power_of_what_is_left_goes_down_to_its_floor(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(0.01);
    s.kind = HU_SCHEDULE_POLY;
    s.unit = HU_UNIT_STEP;
    s.floor = 1e-4;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 100, 40000) == 0.01);
    expect_near(hu_schedule_lr(&s, 10000, 100, 40000), 0.0099 * pow(0.75, 0.9) + 1e-4);
    expect_near(hu_schedule_lr(&s, 39999, 100, 40000), 0.0099 * pow(1 / 40000.0, 0.9) + 1e-4);
    assert_true(hu_schedule_lr(&s, 40000, 100, 40000) == 1e-4);
    s.power = 2;
    s.floor = 0;
    expect_near(hu_schedule_lr(&s, 20000, 100, 40000), 0.0025);
}

/* PAN's: 7e-4 to 1e-7, at the full rate again every 250,000 steps. */
static void cosines_begin_again(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(7e-4);
    s.kind = HU_SCHEDULE_RESTARTS;
    s.unit = HU_UNIT_STEP;
    s.floor = 1e-7;
    s.period = 250000;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    for (int64_t i = 0; i < 4; i++) {
        assert_true(hu_schedule_lr(&s, i * 250000, 100, 1000000) == 7e-4);
        expect_near(hu_schedule_lr(&s, i * 250000 + 125000, 100, 1000000), (7e-4 + 1e-7) / 2);
    }
    expect_near(hu_schedule_lr(&s, 249999, 100, 1000000), 1e-7);
}

/* Units 2..5, 6..13, 14..29 from 1, 1/2, 1/4; the floor is above an eighth. */
static void restarts_grow_longer_and_lower(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(1);
    s.kind = HU_SCHEDULE_RESTARTS;
    s.unit = HU_UNIT_STEP;
    s.warmup = 2;
    s.warmup_unit = HU_UNIT_STEP;
    s.period = 4;
    s.stretch = 2;
    s.shrink = 0.5;
    s.floor = 0.2;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 1, 10, 100) == 0.5);
    assert_true(hu_schedule_lr(&s, 2, 10, 100) == 1);
    expect_near(hu_schedule_lr(&s, 4, 10, 100), 0.6);
    assert_true(hu_schedule_lr(&s, 6, 10, 100) == 0.5);
    expect_near(hu_schedule_lr(&s, 10, 10, 100), 0.35);
    assert_true(hu_schedule_lr(&s, 14, 10, 100) == 0.25);
    expect_near(hu_schedule_lr(&s, 22, 10, 100), 0.225);
    assert_true(hu_schedule_lr(&s, 30, 10, 100) == 0.2);
}

static hu_schedule with_warmup(hu_schedule_kind kind, double steps) {
    hu_schedule s = hu_schedule_constant(1);
    s.kind = kind;
    s.warmup = steps;
    s.warmup_unit = HU_UNIT_STEP;
    return s;
}

/* Up in four steps; then the root of 4 over the step. */
static void roots_fall_behind_the_warm_up(void **state) {
    (void)state;
    hu_schedule s = with_warmup(HU_SCHEDULE_INVERSE_SQRT, 4);
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 10, 100) == 0);
    assert_true(hu_schedule_lr(&s, 3, 10, 100) == 0.75);
    assert_true(hu_schedule_lr(&s, 4, 10, 100) == 1);
    assert_true(hu_schedule_lr(&s, 16, 10, 100) == 0.5);
    assert_true(hu_schedule_lr(&s, 400, 10, 100) == 0.1);
    s.warmup = 0;
    assert_int_equal(hu_schedule_check(&s), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "lr.warmup: found 0, expected > 0"));
}

/* The published formula, d = 16 and w = 4: d^-1/2 min(u^-1/2, u w^-3/2) with its top, 1/8, as lr.
 */
static void noam_counts_steps_from_one(void **state) {
    (void)state;
    hu_schedule s = with_warmup(HU_SCHEDULE_NOAM, 4);
    s.lr = 0.125;
    s.warmup_start = 0.5; /* not read: the ramp is its own */
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    for (int step = 0; step < 1000; step++) {
        double u = step + 1, rate = 0.25 * fmin(pow(u, -0.5), u * pow(4, -1.5));
        expect_near(hu_schedule_lr(&s, step, 10, 100), rate);
    }
    assert_true(hu_schedule_lr(&s, 3, 10, 100) == 0.125);
}

/* The rate falls with every whole unit, that of an epoch or of a step. */
static void anneal_takes_a_factor_in_every_unit(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(1);
    s.kind = HU_SCHEDULE_ANNEAL;
    s.factor = 0.5;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 10, 100) == 1 && hu_schedule_lr(&s, 9, 10, 100) == 1);
    assert_true(hu_schedule_lr(&s, 10, 10, 100) == 0.5 && hu_schedule_lr(&s, 39, 10, 100) == 0.125);
    assert_true(hu_schedule_lr(&s, 200, 10, 100) == 0x1p-20); /* after the end too */
    s.unit = HU_UNIT_STEP;
    assert_true(hu_schedule_lr(&s, 3, 10, 100) == 0.125);
    s.factor = 0;
    assert_int_equal(hu_schedule_check(&s), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "lr.factor"));
}

/* DavidNet's recipe: (0,0) (5,0.4) (24,0) in epochs, evaluated per iteration. */
static void knots_are_joined_by_lines_at_fractions_of_an_epoch(void **state) {
    (void)state;
    hu_schedule s = hu_schedule_constant(0);
    s.kind = HU_SCHEDULE_PIECEWISE;
    assert_int_equal(hu_schedule_parse_knots("0:0,5:0.4,24:0", &s), HU_OK);
    assert_int_equal(s.knot_count, 3);
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    assert_true(hu_schedule_lr(&s, 0, 98, 98 * 24) == 0);
    expect_near(hu_schedule_lr(&s, 49, 98, 98 * 24), 0.04);
    assert_true(hu_schedule_lr(&s, 5 * 98, 98, 98 * 24) == 0.4);
    expect_near(hu_schedule_lr(&s, 1421, 98, 98 * 24), 0.2);
    assert_true(hu_schedule_lr(&s, 98 * 24, 98, 98 * 24) == 0);
    assert_true(hu_schedule_lr(&s, 98 * 30, 98, 98 * 24) == 0);
    s.warmup = 5;
    s.warmup_unit = HU_UNIT_EPOCH;
    expect_near(hu_schedule_lr(&s, 245, 98, 98 * 24), 0.1); /* half of half of 0.4 */
}

static void expect_parse_error(hu_status (*parse)(const char *, hu_schedule *), const char *text,
                               const char *message) {
    hu_schedule s = hu_schedule_constant(1), before = s;
    assert_int_equal(parse(text, &s), HU_ERR_PARSE);
    if (!strstr(hu_last_error(), message)) fail_msg("%s", hu_last_error());
    assert_memory_equal(&s, &before, sizeof s);
}

static void mistakes_in_knots_are_named_with_their_column(void **state) {
    (void)state;
    expect_parse_error(hu_schedule_parse_knots, "",
                       "knots: column 1: found the end, expected a finite number");
    expect_parse_error(hu_schedule_parse_knots, "0:0,5=0.4", "knots: column 6: found '=0.4'");
    expect_parse_error(hu_schedule_parse_knots, "0:0,5:x", "column 7: found 'x'");
    expect_parse_error(hu_schedule_parse_knots, "0:nan", "column 3: found 'nan'");
    expect_parse_error(hu_schedule_parse_knots, "0:1e999", "column 3");
    expect_parse_error(hu_schedule_parse_knots, "0:0,5:1,", "column 9: found the end");
    expect_parse_error(hu_schedule_parse_knots, "0:0, 5:1, 5:2", "column 11: found '5:2'");
    expect_parse_error(hu_schedule_parse_knots, "0:0;5:1", "column 4: found ';5:1', expected ','");
    expect_parse_error(hu_schedule_parse_knots,
                       "0:0,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0,15:0,16:0",
                       "expected at most 16 knots");
}

static void mistakes_in_milestones_are_named_with_their_column(void **state) {
    (void)state;
    expect_parse_error(hu_schedule_parse_milestones, "", "milestones: column 1: found the end");
    expect_parse_error(hu_schedule_parse_milestones, "30,-60", "column 4: found '-60'");
    expect_parse_error(hu_schedule_parse_milestones, "30,20", "column 4: found '20'");
    expect_parse_error(hu_schedule_parse_milestones, "0", "column 1: found '0'");
    expect_parse_error(hu_schedule_parse_milestones, "1,2.5", "column 4: found '.5'");
    expect_parse_error(hu_schedule_parse_milestones, "9223372036854775808", "below 2^63");
    expect_parse_error(hu_schedule_parse_milestones, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
                       "expected at most 16 milestones");
}

static void expect_refused(hu_schedule s, const char *message) {
    assert_int_equal(hu_schedule_check(&s), HU_ERR_ARGUMENT);
    if (!strstr(hu_last_error(), message)) fail_msg("%s", hu_last_error());
}

static void fields_out_of_range_are_refused_by_name(void **state) {
    (void)state;
    expect_refused(hu_schedule_constant(-1), "lr: found -1");
    expect_refused(hu_schedule_constant(NAN), "lr: found nan");
    expect_refused(hu_schedule_constant(INFINITY), "lr: found inf");
    hu_schedule s = hu_schedule_constant(0.1);
    s.kind = HU_SCHEDULE_STEP;
    expect_refused(s, "lr.milestones");
    s.every = -1;
    expect_refused(s, "lr.every");
    s.every = 3;
    s.factor = 0;
    expect_refused(s, "lr.factor");
    s = hu_schedule_constant(0.1);
    s.kind = HU_SCHEDULE_COSINE;
    s.floor = 0.2;
    expect_refused(s, "lr.floor");
    s.floor = 0.1;
    assert_int_equal(hu_schedule_check(&s), HU_OK);
    s.warmup = -1;
    expect_refused(s, "lr.warmup:");
    s.warmup = 1;
    s.warmup_start = 1.5;
    expect_refused(s, "lr.warmup_start");
    s = hu_schedule_constant(0.1);
    s.kind = HU_SCHEDULE_POLY;
    s.power = 0;
    expect_refused(s, "lr.power");
    s.power = 1;
    s.floor = 0.2;
    expect_refused(s, "lr.floor");
    s.kind = HU_SCHEDULE_RESTARTS;
    expect_refused(s, "lr.period");
    s.period = 10;
    s.stretch = 0.5;
    expect_refused(s, "lr.stretch");
    s.stretch = 1;
    s.shrink = 1.5;
    expect_refused(s, "lr.shrink");
    s.kind = HU_SCHEDULE_PLATEAU;
    s.factor = 1;
    expect_refused(s, "lr.factor");
    s.factor = 0.5;
    s.threshold = -1;
    expect_refused(s, "lr.threshold");
    s.threshold = 0;
    s.patience = 0;
    expect_refused(s, "lr.patience");
    s.patience = 1;
    s.kind = HU_SCHEDULE_PLATEAU_LOSS;
    s.period = 0;
    expect_refused(s, "lr.period");
    s.kind = HU_SCHEDULE_PIECEWISE;
    expect_refused(s, "lr.knots");
    assert_int_equal(hu_schedule_parse_knots("0:-1", &s), HU_OK);
    expect_refused(s, "rate of a knot");
    s.kind = HU_SCHEDULE_COUNT;
    expect_refused(s, "lr.kind");
}

static void names_are_parsed_and_mistakes_get_advice(void **state) {
    (void)state;
    hu_schedule_kind kind;
    hu_schedule_unit unit;
    for (int i = 0; i < HU_SCHEDULE_COUNT; i++) {
        assert_int_equal(hu_schedule_parse(hu_schedule_kinds[i].name, &kind), HU_OK);
        assert_int_equal(kind, i);
    }
    for (int i = 0; i < HU_UNIT_COUNT; i++) {
        assert_int_equal(hu_schedule_parse_unit(hu_schedule_units[i].name, &unit), HU_OK);
        assert_int_equal(unit, i);
    }
    assert_int_equal(hu_schedule_parse("cosin", &kind), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "schedule: found 'cosin', expected 'cosine'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_rate_stays),
        cmocka_unit_test(milestones_in_steps_lower_the_rate_at_the_step),
        cmocka_unit_test(milestones_in_epochs_count_from_the_first_step_of_the_warm_up),
        cmocka_unit_test(a_milestone_may_come_every_so_many_units),
        cmocka_unit_test(a_cosine_per_epoch_is_flat_within_the_epoch),
        cmocka_unit_test(a_cosine_per_step_starts_after_the_warm_up_and_ends_at_the_floor),
        cmocka_unit_test(a_line_goes_down_to_its_floor),
        cmocka_unit_test(a_power_of_what_is_left_goes_down_to_its_floor),
        cmocka_unit_test(cosines_begin_again),
        cmocka_unit_test(restarts_grow_longer_and_lower),
        cmocka_unit_test(roots_fall_behind_the_warm_up),
        cmocka_unit_test(noam_counts_steps_from_one),
        cmocka_unit_test(anneal_takes_a_factor_in_every_unit),
        cmocka_unit_test(knots_are_joined_by_lines_at_fractions_of_an_epoch),
        cmocka_unit_test(mistakes_in_knots_are_named_with_their_column),
        cmocka_unit_test(mistakes_in_milestones_are_named_with_their_column),
        cmocka_unit_test(fields_out_of_range_are_refused_by_name),
        cmocka_unit_test(names_are_parsed_and_mistakes_get_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
