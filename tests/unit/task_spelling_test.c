/* What rows spell, how far texts are apart, and the metrics made of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "model/model.h"
#include "says.h"
#include "task/task.h"
#include "task/internal.h"

enum { ROWS = 6, CLASSES = 4, MOST = 3, SAMPLES = 5 };

/* A row of scores for each class number; 9: a row with a NaN. */
static const int said[SAMPLES][ROWS] = {
    {0, 1, 1, 0, 1, 2}, /* 1 1 2 */
    {3, 3, 3, 3, 3, 3}, /* 3, of four rows */
    {0, 0, 0, 0, 0, 0}, /* nothing */
    {1, 9, 1, 2, 9, 9}, /* 1 1 2 */
    {2, 0, 1, 3, 3, 3}, /* 2, of one row */
};
static const float target[SAMPLES * MOST] = {1, 2, -1, 3, -1, -1, -1, -1, -1, 1, 1, 2, 2, 2, 1};
static const float lengths[SAMPLES] = {6, 4, 6, 6, 1};
static float scores[SAMPLES * ROWS * CLASSES];

static hu_metric_call texts(void *scratch) {
    for (int r = 0; r < SAMPLES * ROWS; r++)
        for (int k = 0; k < CLASSES; k++) {
            int class_number = said[r / ROWS][r % ROWS];
            scores[r * CLASSES + k] = k == class_number ? 2.0f : -0.5f * (float)k;
            if (class_number == 9 && k == 1) scores[r * CLASSES + k] = NAN;
        }
    return (hu_metric_call){.samples = SAMPLES,
                            .rows = ROWS,
                            .outputs = CLASSES,
                            .prediction = scores,
                            .target = target,
                            .targets = MOST,
                            .lengths = lengths,
                            .loss = &hu_loss_ctc,
                            .scratch = scratch};
}

static void best_paths_are_spelled(void **state) {
    (void)state;
    static const int32_t expected[SAMPLES][MOST] = {{1, 1, 2}, {3}, {0}, {1, 1, 2}, {2}};
    static const int64_t counts[SAMPLES] = {3, 1, 0, 3, 1}, wanted[SAMPLES] = {2, 1, 0, 3, 3};
    static const int64_t edits[SAMPLES] = {1, 0, 0, 0, 2};
    int64_t scratch[64];
    hu_metric_call call = texts(scratch);
    assert_true(hu_spelling_scratch_bytes(&call) <= sizeof scratch);
    for (int s = 0; s < SAMPLES; s++) {
        hu_spelling found = hu_spelling_of(&call, s);
        assert_int_equal(found.made_count, counts[s]);
        assert_memory_equal(found.made, expected[s], (size_t)counts[s] * sizeof(int32_t));
        assert_int_equal(found.wanted_count, wanted[s]);
        assert_int_equal(found.edits, edits[s]);
    }
}

/* Three of nine letters; the last sample has one row for three letters. */
static void metrics_are_sums_over_the_samples(void **state) {
    (void)state;
    int64_t scratch[64];
    hu_metric_call call = texts(scratch);
    double sums[4] = {0}, parts[4] = {0};
    const hu_collection *collection = hu_metric_label_error_rate.collection;
    assert_ptr_equal(collection, hu_metric_ctc_impossible.collection);
    collection->add(&call, sums);
    assert_true(hu_metric_value(&hu_metric_label_error_rate, &call, sums) == 3.0 / 9.0);
    assert_true(hu_metric_value(&hu_metric_ctc_impossible, &call, sums) == 1.0);
    for (int s = 0; s < SAMPLES; s++) {
        hu_metric_call part = call;
        part.samples = 1;
        part.prediction += s * ROWS * CLASSES;
        part.target += s * MOST;
        part.lengths += s;
        collection->add(&part, parts);
    }
    assert_memory_equal(sums, parts, sizeof sums);
    call.prediction = NULL; /* a format stopped the pass: nothing is said */
    memset(sums, 0, sizeof sums);
    collection->add(&call, sums);
    assert_true(hu_metric_value(&hu_metric_label_error_rate, &call, sums) == 1.0);
    assert_false(hu_metric_label_error_rate.higher_is_better);
}

/* By the definition, without a table. */
static int64_t plain_distance(const int32_t *one, int64_t m, const int32_t *other, int64_t n) {
    if (m == 0 || n == 0) return m + n;
    int64_t aslant = plain_distance(one + 1, m - 1, other + 1, n - 1) + (one[0] != other[0]);
    int64_t less = plain_distance(one + 1, m - 1, other, n) + 1;
    int64_t more = plain_distance(one, m, other + 1, n - 1) + 1;
    int64_t least = less < more ? less : more;
    return aslant < least ? aslant : least;
}

static void distances_follow_the_definition(void **state) {
    (void)state;
    static const int32_t kitten[] = {11, 9, 20, 20, 5, 14}, sitting[] = {19, 9, 20, 20, 9, 14, 7};
    int64_t room[16];
    hu_random_key key = {.seed = 8};
    assert_int_equal(hu_edit_distance(kitten, 6, sitting, 7, room), 3);
    for (uint64_t i = 0; i < 300; i++) {
        int32_t one[6], other[6];
        for (uint64_t k = 0; k < 6; k++) {
            one[k] = (int32_t)(hu_random_word(&key, 14 * i + k) % 3);
            other[k] = (int32_t)(hu_random_word(&key, 14 * i + 6 + k) % 3);
        }
        int64_t m = (int64_t)(hu_random_word(&key, 14 * i + 12) % 7);
        int64_t n = (int64_t)(hu_random_word(&key, 14 * i + 13) % 7);
        assert_int_equal(hu_edit_distance(one, m, other, n, room),
                         plain_distance(one, m, other, n));
    }
}

static void predictions_are_counted(void **state) {
    (void)state;
    int64_t scratch[64];
    hu_metric_call sample = texts(scratch);
    double cells[HU_TASK_COLUMNS_MAX];
    sample.samples = 1;
    hu_task_transcribe.describe(&sample, cells);
    assert_true(cells[0] == 2 && cells[1] == 3 && cells[2] == 1);
    sample.prediction = NULL;
    hu_task_transcribe.describe(&sample, cells);
    assert_true(cells[0] == 2 && cells[1] == -1 && cells[2] == 2);
}

static hu_dataset sounds(int rank, int64_t classes) {
    static char name[] = "heard";
    hu_dataset made = {.name = name, .field_count = 3};
    made.field[0] =
        (hu_field){.name = "features", .type = HU_FIELD_F32, .rank = rank, .extent = {8, 5, 1}};
    made.field[1] = (hu_field){.name = "length", .type = HU_FIELD_I32};
    made.field[2] = (hu_field){
        .name = "label", .type = HU_FIELD_I32, .rank = 1, .extent = {MOST}, .classes = classes};
    return made;
}

static void data_and_heads_that_do_not_fit_are_refused(void **state) {
    (void)state;
    hu_dataset data = sounds(3, CLASSES), flat = sounds(1, CLASSES), none = sounds(3, 0);
    hu_task_choice choice;
    hu_graph *graph;
    hu_model_options options = {.name = "cnn-s", .width = 1.0, .choice = &choice};
    hu_task_shapes shapes;
    says(hu_task_fit(&hu_task_transcribe, &flat, &shapes), HU_ERR_ARGUMENT,
         "fields 'features' and 'length': found ranks 1 and 0");
    says(hu_task_fit(&hu_task_transcribe, &none, &shapes), HU_ERR_ARGUMENT,
         "field 'label': found 0 classes, rank 1");
    assert_int_equal(hu_task_fit(&hu_task_transcribe, &data, &shapes), HU_OK);
    assert_int_equal(shapes.outputs, CLASSES);
    assert_int_equal(hu_model_choose("cnn-s", &hu_task_transcribe, NULL, &data, &choice), HU_OK);
    says(hu_model_build(&options, &graph), HU_ERR_SHAPE,
         "found a head of shape [4], the task transcribe needs [8, 4]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_paths_are_spelled),
        cmocka_unit_test(metrics_are_sums_over_the_samples),
        cmocka_unit_test(distances_follow_the_definition),
        cmocka_unit_test(predictions_are_counted),
        cmocka_unit_test(data_and_heads_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
