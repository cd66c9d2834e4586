/* What a study of reductions is made of: drawn gradients and their errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "comm/gradient_study.h"
#include "comm/plan.h"

enum { ELEMENTS = 9408, WORKERS = 8 };

/* ---- gradients ---- */

static const hu_synthetic_gradient model = {.elements = ELEMENTS,
                                            .workers = WORKERS,
                                            .rho = 0.2,
                                            .sigma = 1.0,
                                            .magnitude = 1.0,
                                            .seed = 3};

static float normal(const char *what, uint64_t worker, uint64_t i) {
    hu_random_key key = {model.seed, hu_stream_id("gradient", what), worker};
    return hu_random_normal(&key, i);
}

/* Element by element, from the formulas of the header. */
static void gradients_follow_their_model(void **state) {
    (void)state;
    static float size[ELEMENTS], mean[ELEMENTS], gradient[ELEMENTS];
    hu_synthetic_gradient_shared(&model, size, mean);
    for (int32_t w = 0; w < WORKERS; w++) {
        hu_synthetic_gradient_worker(&model, size, mean, w, gradient);
        for (uint64_t i = 0; i < ELEMENTS; i += 37) {
            float s = (float)hu_exp((double)normal("size", 0, i));
            float m = (float)(0.2 * (double)s * (double)normal("mean", 0, i));
            double sum = (double)m + (double)s * (double)normal("noise", (uint64_t)w, i);
            float wanted = (float)(sum / WORKERS);
            assert_memory_equal(&gradient[i], &wanted, sizeof wanted);
        }
    }
}

/* The same bits on every machine, at every instruction set: recorded once. */
static void gradients_keep_their_bits(void **state) {
    (void)state;
    static float size[ELEMENTS], mean[ELEMENTS], gradient[ELEMENTS];
    hu_synthetic_gradient_shared(&model, size, mean);
    hu_synthetic_gradient_worker(&model, size, mean, 5, gradient);
    assert_int_equal(XXH64(gradient, sizeof gradient, 0), UINT64_C(0xc4cf45a968ac1c34));
}

/* Moments of 9,408 numbers: within five standard errors. */
static void gradients_have_the_moments_of_their_model(void **state) {
    (void)state;
    static float size[ELEMENTS], mean[ELEMENTS];
    double log_sum = 0.0, log_square = 0.0, square = 0.0;
    hu_synthetic_gradient_shared(&model, size, mean);
    for (int i = 0; i < ELEMENTS; i++) {
        double l = log((double)size[i]), m = (double)mean[i] / (double)size[i];
        log_sum += l;
        log_square += l * l;
        square += m * m;
    }
    double error = 5.0 / sqrt(ELEMENTS);
    assert_true(fabs(log_sum / ELEMENTS) < error);
    assert_true(fabs(log_square / ELEMENTS - 1.0) < error * sqrt(2.0));
    assert_true(fabs(square / ELEMENTS / 0.04 - 1.0) < error * sqrt(2.0));
}

/* Powers of two move the exponents of all numbers and nothing else. */
static void magnitudes_change_no_digit(void **state) {
    (void)state;
    static float size[ELEMENTS], mean[ELEMENTS], plain[ELEMENTS], scaled[ELEMENTS];
    hu_synthetic_gradient_shared(&model, size, mean);
    hu_synthetic_gradient_worker(&model, size, mean, 5, plain);
    for (int power = -100; power <= 100; power += 50) {
        hu_synthetic_gradient other = model;
        other.magnitude = ldexp(1.0, power);
        hu_synthetic_gradient_worker(&other, size, mean, 5, scaled);
        for (int i = 0; i < ELEMENTS; i++) assert_true(scaled[i] == ldexpf(plain[i], power));
    }
}

/* ---- errors ---- */

static void errors_are_those_of_equation_5(void **state) {
    (void)state;
    const double exact[] = {1.0, -2.0, 0.0, 4.0, 8.0}, sum[] = {1.5, -2.0, 1.0, 0.0, 6.0};
    hu_gradient_error error;
    assert_int_equal(hu_gradient_error_of(5, exact, sum, &error), HU_OK);
    assert_true(error.eq5_mean == (0.5 + 0.0 + 1.0 + 0.25) / 4.0);
    assert_true(error.median == (0.25 + 0.5) / 2.0);
    assert_true(error.relative_l2 == sqrt((0.25 + 1.0 + 16.0 + 4.0) / (1.0 + 4.0 + 16.0 + 64.0)));
    assert_true(error.zeros == 0.25);
    assert_int_equal(error.excluded, 1);
    assert_int_equal(error.nonfinite, 0);
}

static void what_is_not_finite_is_infinitely_wrong(void **state) {
    (void)state;
    const double exact[] = {1.0, 2.0, 3.0}, sum[] = {(double)NAN, -(double)INFINITY, 3.0};
    hu_gradient_error error;
    assert_int_equal(hu_gradient_error_of(3, exact, sum, &error), HU_OK);
    assert_true(isinf(error.eq5_mean) && isinf(error.median) && isinf(error.relative_l2));
    assert_true(error.zeros == 0.0);
    assert_int_equal(error.nonfinite, 2);
}

static void nothing_has_no_error(void **state) {
    (void)state;
    const double zero[2] = {0.0, 0.0};
    hu_gradient_error error;
    for (int64_t n = 0; n <= 2; n += 2) {
        assert_int_equal(hu_gradient_error_of(n, zero, zero, &error), HU_OK);
        assert_true(error.eq5_mean == 0.0 && error.median == 0.0 && error.relative_l2 == 0.0);
        assert_int_equal(error.excluded, n);
    }
}

static void medians_stand_in_the_middle(void **state) {
    (void)state;
    double odd[] = {3.0, 1.0, 2.0}, even[] = {4.0, 1.0, 3.0, 2.0};
    double top[] = {(double)INFINITY, (double)INFINITY}, large[] = {1.7e308, 1.5e308};
    assert_true(hu_comm_median(3, odd) == 2.0);
    assert_true(hu_comm_median(4, even) == 2.5);
    assert_true(isinf(hu_comm_median(2, top)));
    assert_true(hu_comm_median(2, large) == 1.6e308);
}

/* ---- studies ---- */

enum { CASES_MOST = 3 };

/* A study in memory of its own, of no case yet. */
static hu_gradient_study small_study(hu_gradient_study_case *cases) {
    hu_gradient_study study = {
        .gradient = model, .seeds = 3, .reductions = 1, .threads = 1, .cases = cases};
    study.gradient.elements = 500;
    assert_int_equal(hu_comm_link_parse("10G", "10us", &study.link), HU_OK);
    return study;
}

static hu_comm_options *add(hu_gradient_study *study, const char *schedule, const char *scaling,
                            const char *format) {
    hu_comm_options *options = &study->cases[study->count++].options;
    *options = (hu_comm_options){0};
    assert_int_equal(hu_comm_schedule_parse(schedule, &options->schedule, &options->group), HU_OK);
    assert_int_equal(hu_comm_scaling_parse(scaling, &options->scaling, &options->constant), HU_OK);
    assert_int_equal(hu_format_parse(format, &options->format), HU_OK);
    return options;
}

/* A case has the same outcome alone and among others, with any number of threads. */
static void cases_do_not_touch_each_other(void **state) {
    (void)state;
    hu_gradient_study_case cases[CASES_MOST];
    hu_gradient_study study = small_study(cases);
    add(&study, "ring", "aps", "e4m3")->rounding = HU_ROUND_STOCHASTIC;
    add(&study, "hier:4", "aps", "e5m2")->error_feedback = true;
    add(&study, "pairwise", "aps2", "e4m3");
    assert_int_equal(hu_gradient_study_run(&study), HU_OK);
    for (int i = 0; i < study.count; i++) {
        hu_gradient_study_case alone = cases[i];
        hu_gradient_study single = small_study(&alone);
        const hu_gradient_study_outcome *outcome = &cases[i].outcome;
        single.count = 1;
        single.threads = 1 + i;
        assert_int_equal(hu_gradient_study_run(&single), HU_OK);
        assert_int_equal(alone.outcome.hash, outcome->hash);
        assert_true(alone.outcome.error.eq5_mean == outcome->error.eq5_mean);
        assert_true(alone.outcome.error.relative_l2 == outcome->error.relative_l2);
        assert_true(outcome->eq5_least <= outcome->error.eq5_mean);
        assert_true(outcome->eq5_most >= outcome->error.eq5_mean);
    }
}

/* Float32 around the ring is nearly exact; errors of narrow formats are not. */
static void float32_has_the_smallest_error(void **state) {
    (void)state;
    hu_gradient_study_case cases[CASES_MOST];
    hu_gradient_study study = small_study(cases);
    add(&study, "ring", "none", "fp32");
    add(&study, "ring", "aps", "e5m2");
    assert_int_equal(hu_gradient_study_run(&study), HU_OK);
    assert_true(cases[0].outcome.error.relative_l2 < 1e-6);
    assert_true(cases[0].outcome.error.relative_l2 > 0.0);
    assert_true(cases[1].outcome.error.relative_l2 > 0.02);
    assert_true(cases[0].outcome.time.traffic.bytes > 2 * cases[1].outcome.time.traffic.bytes);
}

/* What is lost in one step comes back in later ones. */
static void error_feedback_helps_over_steps(void **state) {
    (void)state;
    hu_gradient_study_case cases[CASES_MOST];
    hu_gradient_study study = small_study(cases);
    add(&study, "pairwise", "aps2", "e4m3");
    add(&study, "pairwise", "aps2", "e4m3")->error_feedback = true;
    study.reductions = 16;
    assert_int_equal(hu_gradient_study_run(&study), HU_OK);
    assert_true(cases[1].outcome.error.relative_l2 < cases[0].outcome.error.relative_l2 / 4.0);
}

static void misfits_end_a_study_at_once(void **state) {
    (void)state;
    hu_gradient_study_case cases[CASES_MOST];
    hu_gradient_study study = small_study(cases);
    add(&study, "ring", "aps2", "e4m3");
    assert_int_equal(hu_gradient_study_run(&study), HU_ERR_ARGUMENT);
}

/* The others run as if they had been alone, in their order; a pair is told once. */
static void misfits_are_put_behind_the_others(void **state) {
    (void)state;
    hu_gradient_study_case cases[6], alone[2];
    hu_gradient_study study = small_study(cases), single = small_study(alone);
    char pair[HU_COMM_PAIR_BYTES];
    add(&study, "ring", "aps2", "e4m3");
    add(&study, "ring", "aps", "e4m3");
    add(&study, "ring", "aps2", "e5m2");
    add(&study, "hier:3", "aps", "e5m2");
    add(&study, "pairwise", "aps2", "e5m2");
    add(&study, "seq", "aps2", "e5m2")->kahan = true;
    assert_int_equal(hu_gradient_study_run(&study), HU_OK);
    assert_int_equal(study.count, 2);
    assert_int_equal(study.skipped, 3);
    add(&single, "ring", "aps", "e4m3");
    add(&single, "pairwise", "aps2", "e5m2");
    assert_int_equal(hu_gradient_study_run(&single), HU_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(cases[i].outcome.hash, alone[i].outcome.hash);
    static const char *const wanted[] = {"ring with aps2", "hier:3 with aps",
                                         "seq with aps2 and kahan"};
    static const char *const why[] = {"its partial sums travel", "found 8 workers",
                                      "its sums are made in float32"};
    for (int i = 0; i < 3; i++) {
        hu_comm_pair_print(&cases[2 + i].options, pair);
        assert_string_equal(pair, wanted[i]);
        assert_memory_equal(cases[2 + i].misfit, why[i], strlen(why[i]));
    }
}

/* Every allocation of a study fails once; nothing is leaked. */
static void memory_may_end(void **state) {
    (void)state;
    hu_gradient_study_case cases[CASES_MOST];
    hu_gradient_study study = small_study(cases);
    uint64_t before = hu_memory_count().live_blocks;
    hu_status st = HU_ERR_MEMORY;
    add(&study, "hier:2", "aps", "e4m3");
    study.seeds = 1;
    for (uint64_t nth = 1; st != HU_OK; nth++) {
        hu_memory_fail_at(nth);
        st = hu_gradient_study_run(&study);
        hu_memory_fail_at(0);
        assert_true(st == HU_OK || st == HU_ERR_MEMORY);
        assert_int_equal(hu_memory_count().live_blocks, before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_follow_their_model),
        cmocka_unit_test(gradients_keep_their_bits),
        cmocka_unit_test(gradients_have_the_moments_of_their_model),
        cmocka_unit_test(magnitudes_change_no_digit),
        cmocka_unit_test(errors_are_those_of_equation_5),
        cmocka_unit_test(what_is_not_finite_is_infinitely_wrong),
        cmocka_unit_test(nothing_has_no_error),
        cmocka_unit_test(medians_stand_in_the_middle),
        cmocka_unit_test(cases_do_not_touch_each_other),
        cmocka_unit_test(float32_has_the_smallest_error),
        cmocka_unit_test(error_feedback_helps_over_steps),
        cmocka_unit_test(misfits_end_a_study_at_once),
        cmocka_unit_test(misfits_are_put_behind_the_others),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
