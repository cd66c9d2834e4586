/* Which rows of evaluations are said to have collapsed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runlog/result.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const hu_chance tenth = {0.1, 900}; /* deviation 0.01 */
static const hu_chance unknown = {0.0, 0};

static void expect(bool expected, const hu_metric *metric, const hu_chance *chance,
                   const double *test, size_t count, const char *text) {
    char reason[HU_COLLAPSE_BYTES];
    assert_int_equal(hu_collapsed(metric, chance, test, count, reason), expected);
    if (expected && !strstr(reason, text)) fail_msg("found '%s', expected '%s'", reason, text);
    if (!expected) assert_string_equal(reason, "");
}

static void a_fall_is_one_that_lasts(void **state) {
    (void)state;
    const double falls[] = {0.3, 0.6, 0.61, 0.55, 0.31, 0.25, 0.30};
    expect(false, &hu_metric_accuracy, &tenth, falls, 4, "");
    expect(false, &hu_metric_accuracy, &tenth, falls, 6, ""); /* one of the last two */
    expect(false, &hu_metric_accuracy, &tenth, falls, 7, ""); /* two of the last three */
    const double stays[] = {0.3, 0.6, 0.61, 0.55, 0.30, 0.25, 0.30};
    expect(true, &hu_metric_accuracy, &tenth, stays, 7,
           "accuracy was 61.00 % at best and ended at 30.00 %, less than half of that in the last "
           "3 of 7 evaluations");
    const double two[] = {0.6, 0.2};
    expect(false, &hu_metric_accuracy, &tenth, two, 2, ""); /* too few to call it staying */
    const double recovers[] = {0.6, 0.2, 0.2, 0.2, 0.2, 0.5};
    expect(false, &hu_metric_accuracy, &tenth, recovers, COUNT(recovers), "");
}

static void chance_is_two_deviations_wide(void **state) {
    (void)state;
    const double low[] = {0.12}, high[] = {0.1201}, below[] = {0.02};
    expect(true, &hu_metric_accuracy, &tenth, low, 1,
           "accuracy ended at guessing level, 12.00 %; a guess gives 10.00 % of 900 samples, give "
           "or take 1 %");
    expect(false, &hu_metric_accuracy, &tenth, high, 1, "");
    expect(true, &hu_metric_accuracy, &tenth, below, 1, "ended at 2.00 %");
    expect(false, &hu_metric_accuracy, &unknown, low, 1, "");
    expect(false, &hu_metric_accuracy, &tenth, low, 0, "");
    const double none[] = {0.5, (double)NAN};
    expect(true, &hu_metric_accuracy, &tenth, none, 2, "ended at -");
}

/* Of a metric that is better when it is lower, twice the best is the bound. */
static void lower_may_be_better(void **state) {
    (void)state;
    const double grows[] = {0.4, 0.2, 0.41, 0.5}, holds[] = {0.4, 0.2, 0.41, 0.4};
    expect(true, &hu_metric_squared_error, &unknown, grows, 4, "was 0.2");
    expect(true, &hu_metric_perplexity, &unknown, grows, 4, "more than twice that in the last 2");
    expect(false, &hu_metric_squared_error, &unknown, holds, 4, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fall_is_one_that_lasts),
        cmocka_unit_test(chance_is_two_deviations_wide),
        cmocka_unit_test(lower_may_be_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
