/* The arithmetic of a score: gains, shares, means, errors, places; and a suite that says what it
 * is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sweep/score.h"

enum { SEEDS = 2 };

static const hu_score_network by_loss = {.name = "loss"};
static const hu_score_network by_metric = {.name = "metric", .by_metric = true};

static void shares_are_of_float32_with_the_same_seed(void **state) {
    (void)state;
    const hu_score_run reference = {.value = 1.0, .guess = 3.0};
    const hu_score_run half = {.value = 2.0, .guess = 3.0}, worse = {.value = 9.0, .guess = 3.0};
    const hu_score_run better = {.value = 0.5, .guess = 3.0};
    const hu_score_run broken = {.value = (double)NAN, .guess = 3.0};
    assert_true(hu_score_share(&by_loss, &half, &reference) == 50.0);
    assert_true(hu_score_share(&by_loss, &reference, &reference) == 100.0);
    assert_true(hu_score_share(&by_loss, &better, &reference) == 125.0);
    assert_true(hu_score_share(&by_loss, &worse, &reference) == 0.0);
    assert_true(hu_score_share(&by_loss, &broken, &reference) == 0.0);
    assert_true(isnan(hu_score_share(&by_loss, &half, &worse)));
    assert_true(isnan(hu_score_share(&by_loss, &half, &broken)));
    const hu_score_run high = {.value = 0.8, .guess = 0.2}, low = {.value = 0.5, .guess = 0.2};
    assert_true(fabs(hu_score_share(&by_metric, &low, &high) - 50.0) < 1e-12);
}

static void a_score_is_a_mean_of_means_with_its_error(void **state) {
    (void)state;
    const hu_score_network *const networks[] = {&by_loss, &by_metric};
    const hu_score_run reference[2 * SEEDS] = {{.value = 1.0, .guess = 3.0},
                                               {.value = 2.0, .guess = 3.0},
                                               {.value = 0.9, .guess = 0.1},
                                               {.value = 0.5, .guess = 0.1}};
    const hu_score_run run[2 * SEEDS] = {
        {.value = 2.0, .guess = 3.0, .bits = 8.0},
        {.value = 2.1, .guess = 3.0, .bits = 8.0},
        {.value = 0.9, .guess = 0.1, .bits = 8.5},
        {.value = (double)NAN, .guess = 0.1, .bits = 8.5, .why = "it broke"}};
    hu_score score = {.name = "f"};
    hu_score_sum_up(networks, 2, SEEDS, run, reference, &score);
    /* Shares 50 and 90, then 100 and 0: means 70 and 50, errors 20 and 50. */
    assert_true(fabs(score.part[0].score - 70.0) < 1e-9);
    assert_true(fabs(score.part[0].standard_error - 20.0) < 1e-9);
    assert_true(fabs(score.part[1].score - 50.0) < 1e-9);
    assert_true(fabs(score.part[1].standard_error - 50.0) < 1e-9);
    assert_true(fabs(score.score - 60.0) < 1e-9);
    assert_true(fabs(score.standard_error - sqrt(20.0 * 20.0 + 50.0 * 50.0) / 2.0) < 1e-9);
    assert_true(fabs(score.bits - 8.25) < 1e-12);
    assert_null(score.part[0].failure);
    assert_string_equal(score.part[1].failure, "it broke");
    assert_true(fabs(score.part[1].value - 0.9) < 1e-12);
    assert_true(fabs(score.part[1].float32 - 0.7) < 1e-12);
}

static void one_seed_has_no_error(void **state) {
    (void)state;
    const hu_score_network *const networks[] = {&by_loss};
    const hu_score_run reference = {.value = 1.0, .guess = 3.0};
    const hu_score_run run = {.value = 2.0, .guess = 3.0, .bits = 4.0};
    hu_score score = {.name = "f"};
    hu_score_sum_up(networks, 1, 1, &run, &reference, &score);
    assert_true(score.score == 50.0 && isnan(score.standard_error));
}

/* Where float32 did not learn, there is nothing to keep a share of. */
static void without_a_reference_there_is_no_score(void **state) {
    (void)state;
    const hu_score_network *const networks[] = {&by_loss};
    const hu_score_run reference = {.value = 3.5, .guess = 3.0};
    const hu_score_run run = {.value = 2.0, .guess = 3.0, .bits = 4.0};
    hu_score score = {.name = "f"};
    hu_score_sum_up(networks, 1, 1, &run, &reference, &score);
    assert_true(isnan(score.score) && isnan(score.part[0].score));
}

/* The best row is first, and no row stands twice. */
static void the_league_is_in_order(void **state) {
    (void)state;
    int of = 0;
    for (int i = 0; i + 1 < hu_league_count; i++) {
        assert_true(hu_league[i].score >= hu_league[i + 1].score);
        for (int k = i + 1; k < hu_league_count; k++)
            assert_string_not_equal(hu_league[i].name, hu_league[k].name);
    }
    assert_int_equal(hu_league_place("no such format", 1e9, &of), 1);
    assert_int_equal(of, hu_league_count + 1);
    assert_int_equal(hu_league_place("no such format", -1.0, &of), hu_league_count + 1);
    if (hu_league_count == 0) return;
    assert_true(hu_score_is_same("E6M9", "1/6/9") && hu_score_is_same("lns8", "lns8:f=3"));
    assert_false(hu_score_is_same("e6m9", "1/6/9/n") || hu_score_is_same("hif8", "hif8 sr"));
    int others = 0;
    for (int i = 1; i < hu_league_count; i++)
        others += !hu_score_is_same(hu_league[0].name, hu_league[i].name);
    assert_int_equal(hu_league_place(hu_league[0].name, hu_league[0].score, &of), 1);
    assert_int_equal(of, 1 + others);
}

/* Names are folders and columns; four networks are the quick ones. */
static void the_suite_is_sound(void **state) {
    (void)state;
    int quick = 0;
    for (int n = 0; n < HU_SCORE_NETWORKS; n++) {
        const hu_score_network *network = &hu_score_suite[n];
        assert_int_equal(strspn(network->name, "abcdefghijklmnopqrstuvwxyz"),
                         strlen(network->name));
        assert_true(network->steps > 0 && network->batch > 0 && network->test > 0);
        quick += network->is_quick;
        for (int k = 0; k < n; k++) assert_string_not_equal(network->name, hu_score_suite[k].name);
    }
    assert_int_equal(quick, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_float32_with_the_same_seed),
        cmocka_unit_test(a_score_is_a_mean_of_means_with_its_error),
        cmocka_unit_test(one_seed_has_no_error),
        cmocka_unit_test(without_a_reference_there_is_no_score),
        cmocka_unit_test(the_league_is_in_order),
        cmocka_unit_test(the_suite_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
