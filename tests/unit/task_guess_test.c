/* What guessing is worth, against sums that are done by hand on data made for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "task/guess.h"

static double guess(const char *task, const char *data, const hu_data_limits *limits) {
    const hu_task *found;
    hu_dataset *d;
    double value;
    assert_int_equal(hu_task_find(task, &found), HU_OK);
    assert_int_equal(hu_dataset_open(data, limits, &d), HU_OK);
    assert_int_equal(hu_task_guess(found, d, 2, &value), HU_OK);
    hu_dataset_close(d);
    return value;
}

/* Ten classes, each as often as the others in both halves. */
static void equal_classes_are_worth_the_logarithm_of_their_number(void **state) {
    (void)state;
    assert_true(fabs(guess("classify", "glyphs", &(hu_data_limits){200, 100}) - log(10.0)) < 1e-12);
}

static void words_are_worth_the_entropy_of_their_shares(void **state) {
    (void)state;
    const hu_data_limits limits = {300, 50};
    hu_dataset *d;
    double count[512] = {0}, all = 0.0, sum = 0.0;
    double found = guess("language", "grammar", &limits);
    assert_int_equal(hu_dataset_open("grammar", &limits, &d), HU_OK);
    const int32_t *train = d->train.rows[1], *test = d->test.rows[1];
    int64_t classes = d->field[1].classes;
    for (int i = 0; i < 300 * 32; i++) count[train[i]] += 1.0, all += 1.0;
    for (int i = 0; i < 50 * 32; i++)
        sum -= log((count[test[i]] + 1.0) / (all + (double)classes)) / (50 * 32);
    assert_true(fabs(found - sum) < 1e-9);
    assert_true(found > 3.5 && found < log((double)classes));
    hu_dataset_close(d);
}

static void pictures_are_worth_their_variance(void **state) {
    (void)state;
    enum { PIXELS = 28 * 28, COUNT = 40 };
    const hu_data_limits limits = {COUNT, COUNT};
    hu_dataset *d;
    double sum = 0.0;
    assert_int_equal(hu_dataset_open("contacts", &limits, &d), HU_OK);
    for (int i = 0; i < PIXELS; i++) {
        double mean = 0.0;
        for (int s = 0; s < COUNT; s++)
            mean += ((const uint8_t *)d->train.rows[0])[s * PIXELS + i] / 255.0 / COUNT;
        for (int s = 0; s < COUNT; s++) {
            double away = ((const uint8_t *)d->test.rows[0])[s * PIXELS + i] / 255.0 - mean;
            sum += away * away / (COUNT * PIXELS);
        }
    }
    hu_dataset_close(d);
    assert_true(fabs(guess("autoencode", "contacts", &limits) - sum) < 1e-12);
}

/* All ways in which the same law in every row spells one label in two rows: label and blank in
 * either order, or the label twice. The blank's best share follows from the derivative. */
static void sequences_are_worth_their_best_law(void **state) {
    (void)state;
    enum { BLANK, LABEL };
    const hu_task *task = &hu_task_transcribe;
    const float rows[4] = {0};
    const int32_t frames[1] = {4}, label[1] = {LABEL}, said[1] = {1};
    double value;
    hu_dataset d = {.name = "own",
                    .field = {{.name = "features",
                               .type = HU_FIELD_F32,
                               .rank = 3,
                               .extent = {4, 1, 1},
                               .is_ragged = true},
                              {.name = "length", .type = HU_FIELD_I32},
                              {.name = "label",
                               .type = HU_FIELD_I32,
                               .rank = 1,
                               .extent = {1},
                               .is_ragged = true,
                               .classes = 2}},
                    .field_count = 3};
    d.train = d.test =
        (hu_split){.count = 1, .rows = {rows, frames, label}, .length = {frames, NULL, said}};
    /* One label has share 1 - b: P = 2 b (1 - b) + (1 - b)^2 = 1 - b^2, the best for the smallest
     * blank that is looked at. */
    assert_int_equal(hu_task_guess(task, &d, 2, &value), HU_OK);
    assert_true(value > 0.0 && value < -log(1.0 - 0.011 * 0.011));
    assert_true(guess("transcribe", "tones", &(hu_data_limits){100, 100}) > 8.0);
}

/* The same box in every picture, and one class never in the same place. */
static void boxes_are_worth_what_their_means_hit(void **state) {
    (void)state;
    enum { COUNT = 4, MOST = 1 };
    const float boxes[COUNT * MOST * 5] = {0.2f, 0.2f, 0.6f, 0.6f, 0, 0.2f, 0.2f, 0.6f, 0.6f, 0,
                                           0.0f, 0.0f, 0.1f, 0.1f, 1, 0.9f, 0.9f, 1.0f, 1.0f, 1};
    const int32_t length[COUNT] = {1, 1, 1, 1};
    double value;
    hu_dataset d = {.name = "own",
                    .field = {{.name = "image"},
                              {.name = "boxes",
                               .type = HU_FIELD_F32,
                               .rank = 2,
                               .extent = {MOST, 5},
                               .is_ragged = true,
                               .is_boxes = true,
                               .classes = 2}},
                    .field_count = 2};
    d.train = d.test = (hu_split){.count = COUNT, .rows = {boxes, boxes}, .length = {NULL, length}};
    assert_int_equal(hu_task_guess(&hu_task_detect, &d, 1, &value), HU_OK);
    /* Class 0: said in four pictures, right in two, both boxes found: 1/2 x 1. Class 1: none. */
    assert_true(fabs(value - 0.25) < 1e-12);
}

static void others_are_refused(void **state) {
    (void)state;
    hu_dataset *d;
    double value;
    uint64_t blocks;
    const hu_data_limits limits = {10, 10};
    assert_int_equal(hu_dataset_open("glyphs", &limits, &d), HU_OK);
    assert_int_equal(hu_task_guess(&hu_task_vae, d, 1, &value), HU_ERR_ARGUMENT);
    assert_int_equal(hu_task_guess(&hu_task_language, d, 1, &value), HU_ERR_ARGUMENT);
    assert_true(isnan(value));
    blocks = hu_memory_count().live_blocks;
    hu_memory_fail_at(1);
    assert_int_equal(hu_task_guess(&hu_task_classify, d, 1, &value), HU_ERR_MEMORY);
    hu_memory_fail_at(0);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_classes_are_worth_the_logarithm_of_their_number),
        cmocka_unit_test(words_are_worth_the_entropy_of_their_shares),
        cmocka_unit_test(pictures_are_worth_their_variance),
        cmocka_unit_test(sequences_are_worth_their_best_law),
        cmocka_unit_test(boxes_are_worth_what_their_means_hit),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
