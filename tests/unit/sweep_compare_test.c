/* Means of a comparison: what is far below the best is separated from it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "sweep/compare.h"

enum { PRECISIONS = 4, MOST_SEEDS = 3 };

static hu_keys *texts(const char *text) {
    hu_keys *list;
    assert_int_equal(hu_compare_split(text, "test", &list), HU_OK);
    return list;
}

/* accuracy[precision][seed]; each run saw 10,000 test samples. */
static hu_compare_mean *compare_of(double accuracy[PRECISIONS][MOST_SEEDS], const char *seeds,
                                   int64_t samples, hu_compare *compare) {
    hu_compare_mean *means;
    void *block;
    *compare = (hu_compare){.precisions = texts("fp32;fp16;hfp8;e4m3"), .seeds = texts(seeds)};
    assert_int_equal(hu_keys_create(HU_KEYS_MAP, NULL, "test", &compare->common), HU_OK);
    size_t count = hu_keys_count(compare->seeds);
    compare->count = (int)(PRECISIONS * count);
    assert_int_equal(hu_alloc_array(PRECISIONS * count, sizeof *compare->job, &block), HU_OK);
    compare->job = block;
    for (size_t p = 0; p < PRECISIONS; p++)
        for (size_t s = 0; s < count; s++) {
            hu_job *job = &compare->job[p * count + s];
            job->state = HU_JOB_DONE;
            job->result =
                json_pack("{s:{s:s}, s:f, s:f, s:{s:f, s:I}}", "metric", "name", "accuracy",
                          "test_accuracy", accuracy[p][s], "best_accuracy", accuracy[p][s],
                          "chance", "value", 0.1, "samples", (json_int_t)samples);
            assert_non_null(job->result);
        }
    assert_int_equal(hu_compare_means(compare, &means), HU_OK);
    return means;
}

static void finish(hu_compare *compare, hu_compare_mean *means) {
    hu_free(means);
    hu_compare_free(compare);
}

static bool prints(const hu_compare *compare, const char *words) {
    char *text;
    assert_int_equal(hu_compare_print(compare, false, &text), HU_OK);
    bool found = strstr(text, words) != NULL;
    hu_free(text);
    return found;
}

/* Seeds that scatter little separate what is far below; it is told once, not with ~. */
static void what_is_far_is_separated(void **state) {
    double accuracy[PRECISIONS][MOST_SEEDS] = {
        {0.90, 0.901, 0.899}, {0.899, 0.9, 0.901}, {0.898, 0.9, 0.899}, {0.70, 0.701, 0.699}};
    hu_compare compare;
    (void)state;
    hu_compare_mean *means = compare_of(accuracy, "1,2,3", 10000, &compare);
    assert_true(means[3].is_far && !means[3].is_noise);
    assert_true(means[2].is_noise && !means[2].is_far);
    assert_true(prints(&compare, "e4m3 (far below)"));
    assert_false(prints(&compare, "one seed each"));
    char *text;
    assert_int_equal(hu_compare_print(&compare, true, &text), HU_OK);
    assert_non_null(strstr(text, "  \033[1m90.00 +- 0.10 %\033[0m  "));
    assert_null(strstr(text, "\033[31m"));
    hu_free(text);
    assert_false(prints(&compare, "\033"));
    finish(&compare, means);
}

/* The same means of seeds that scatter by more than the difference. */
static void what_is_not_separated_is_not_far(void **state) {
    double accuracy[PRECISIONS][MOST_SEEDS] = {
        {0.90, 0.99, 0.81}, {0.899, 0.98, 0.82}, {0.898, 0.7, 0.998}, {0.70, 0.5, 0.9}};
    hu_compare compare;
    (void)state;
    hu_compare_mean *means = compare_of(accuracy, "1,2,3", 10000, &compare);
    for (int i = 0; i < PRECISIONS; i++) assert_false(means[i].is_far);
    assert_true(means[3].is_noise);
    assert_false(prints(&compare, "e4m3 (far below)"));
    finish(&compare, means);
}

/* One seed each: few test samples separate nothing, many do; and it is said what is not known. */
static void one_seed_tells_nothing_of_seeds(void **state) {
    double accuracy[PRECISIONS][MOST_SEEDS] = {{0.90}, {0.899}, {0.898}, {0.70}};
    hu_compare compare;
    (void)state;
    hu_compare_mean *means = compare_of(accuracy, "1", 10, &compare);
    assert_true(means[3].is_noise && !means[3].is_far);
    assert_true(prints(&compare, "one seed each: nothing is known of how far other seeds"));
    finish(&compare, means);
    means = compare_of(accuracy, "1", 10000, &compare);
    assert_true(means[3].is_far && !means[3].is_noise);
    finish(&compare, means);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_far_is_separated),
                                       cmocka_unit_test(what_is_not_separated_is_not_far),
                                       cmocka_unit_test(one_seed_tells_nothing_of_seeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
