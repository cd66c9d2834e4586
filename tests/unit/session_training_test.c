/* The public training: settings, steps, weights, counts, bytes, checkpoints, samples of a program.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <halfulp/train.h>

static const hu_setting small[] = {
    {"model", "cnn-s"},    {"data", "glyphs"},  {"data.limit", "64"}, {"data.test_limit", "32"},
    {"precision", "hfp8"}, {"run.batch", "16"}, {"steps", "4"},       {"threads", "1"},
};
enum { SMALL = sizeof small / sizeof *small };

static hu_training *open_small(void) {
    hu_training *training;
    if (hu_training_open(NULL, small, SMALL, NULL, &training) != HU_OK)
        fail_msg("%s", hu_last_error());
    return training;
}

static hu_step next(hu_training *training) {
    hu_step step = {.size = sizeof step};
    if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
    return step;
}

static void a_training_runs_to_its_end(void **state) {
    (void)state;
    hu_training *training = open_small();
    double metric, loss;
    assert_int_equal(hu_training_steps(training), 4);
    for (int64_t s = 0; s < 4; s++) {
        hu_step step = next(training);
        assert_int_equal(step.step, s);
        assert_int_equal(step.samples, 16);
        assert_true(step.loss > 0.0 && step.metric >= 0.0 && step.metric <= 1.0);
    }
    hu_step more = {.size = sizeof more};
    assert_int_equal(hu_training_next(training, &more), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "finished"));
    assert_int_equal(hu_training_test(training, &metric, &loss), HU_OK);
    assert_true(metric >= 0.0 && metric <= 1.0 && loss > 0.0);
    hu_training_close(training);
}

static void predictions_have_the_columns_of_the_task(void **state) {
    (void)state;
    hu_training *training = open_small();
    const char *titles[HU_PREDICTION_COLUMNS];
    double cells[32 * HU_PREDICTION_COLUMNS], metric, loss;
    int correct = 0;
    assert_int_equal(hu_training_columns(training, titles), 3);
    assert_string_equal(titles[1], "predicted");
    next(training);
    assert_int_equal(hu_training_predict(training, 32, cells), HU_OK);
    for (int i = 0; i < 32; i++) correct += cells[3 * i] == cells[3 * i + 1];
    assert_int_equal(hu_training_test(training, &metric, &loss), HU_OK);
    assert_true(metric == correct / 32.0);
    assert_int_equal(hu_training_predict(training, 33, cells), HU_ERR_ARGUMENT);
    hu_training_close(training);
}

/* A caller that was compiled with a shorter struct gets what it knows, and nothing after it. */
static void a_shorter_result_is_filled_as_far_as_it_goes(void **state) {
    (void)state;
    hu_training *training = open_small();
    hu_step step;
    memset(&step, 0x5a, sizeof step);
    step.size = offsetof(hu_step, metric);
    assert_int_equal(hu_training_next(training, &step), HU_OK);
    assert_true(step.samples == 16 && step.loss > 0.0);
    assert_int_equal(((unsigned char *)&step.metric)[0], 0x5a);
    step.size = 0;
    assert_int_equal(hu_training_next(training, &step), HU_ERR_ARGUMENT);
    hu_training_close(training);
}

static void weights_are_read_and_written_by_name(void **state) {
    (void)state;
    hu_training *training = open_small();
    float weight[64], again[64];
    size_t count, room = sizeof weight / sizeof *weight;
    assert_int_equal(hu_training_read(training, "conv1.weight", NULL, 0, &count), HU_OK);
    assert_true(count > room);
    assert_int_equal(hu_training_read(training, "fc.bias", weight, room, &count), HU_OK);
    assert_int_equal(count, 10);
    for (size_t i = 0; i < count; i++) weight[i] = 0.5f + (float)i;
    uint64_t before = hu_training_hash(training);
    assert_int_equal(hu_training_write(training, "fc.bias", weight, count), HU_OK);
    assert_true(hu_training_hash(training) != before);
    assert_int_equal(hu_training_read(training, "fc.bias", again, room, &count), HU_OK);
    assert_memory_equal(weight, again, count * sizeof *weight);
    assert_int_equal(hu_training_write(training, "fc.bias", weight, 9), HU_ERR_SHAPE);
    assert_int_equal(hu_training_read(training, "fc.bia", again, room, &count), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'fc.bias'"));
    hu_training_close(training);
}

static void counts_and_bytes_are_known_by_name(void **state) {
    (void)state;
    hu_training *training = open_small();
    hu_round_counts counts;
    uint64_t total, arena, masters, optimizer;
    next(training);
    assert_int_equal(hu_training_counts(training, "conv1.out", &counts), HU_OK);
    assert_true(counts.elements > 0);
    assert_int_equal(hu_training_counts(training, "conv1.out.grad", &counts), HU_OK);
    assert_true(counts.elements > 0);
    assert_int_equal(hu_training_counts(training, "conv1.outs", &counts), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'conv1.out'"));
    assert_int_equal(hu_training_bytes(training, "total", &total), HU_OK);
    assert_int_equal(hu_training_bytes(training, "arena", &arena), HU_OK);
    assert_int_equal(hu_training_bytes(training, "masters", &masters), HU_OK);
    assert_int_equal(hu_training_bytes(training, "optimizer", &optimizer), HU_OK);
    assert_int_equal(arena + masters + optimizer, total);
    assert_int_equal(hu_training_bytes(training, "master", &total), HU_ERR_UNKNOWN);
    hu_training_close(training);
}

static void a_resumed_training_has_the_same_bits(void **state) {
    (void)state;
    char folder[] = "/tmp/training-XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    hu_training *whole = open_small(), *resumed = open_small();
    for (int s = 0; s < 4; s++) {
        if (s == 2) assert_int_equal(hu_training_save(whole, folder), HU_OK);
        next(whole);
    }
    assert_int_equal(hu_training_resume(resumed, folder), HU_OK);
    assert_int_equal(hu_training_step(resumed), 2);
    next(resumed);
    next(resumed);
    assert_int_equal(hu_training_hash(whole), hu_training_hash(resumed));
    hu_training_close(whole);
    hu_training_close(resumed);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void refuses(const char *key, const char *value, hu_status status, const char *word) {
    hu_training *training;
    hu_setting settings[] = {{"data", "glyphs"}, {key, value}};
    assert_int_equal(hu_training_open(NULL, settings, 2, NULL, &training), status);
    assert_null(training);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void settings_are_checked_as_the_program_does(void **state) {
    (void)state;
    refuses("modle", "cnn-s", HU_ERR_UNKNOWN, "'model'");
    refuses("model", "cnn-z", HU_ERR_UNKNOWN, "'cnn-s'");
    refuses("precision", "hfp9", HU_ERR_UNKNOWN, "'hfp8'");
    refuses("run.batch", "many", HU_ERR_PARSE, "many");
    refuses("run.batch", "0", HU_ERR_ARGUMENT, "0");
    refuses("steps", NULL, HU_ERR_ARGUMENT, "setting 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_runs_to_its_end),
        cmocka_unit_test(predictions_have_the_columns_of_the_task),
        cmocka_unit_test(a_shorter_result_is_filled_as_far_as_it_goes),
        cmocka_unit_test(weights_are_read_and_written_by_name),
        cmocka_unit_test(counts_and_bytes_are_known_by_name),
        cmocka_unit_test(a_resumed_training_has_the_same_bits),
        cmocka_unit_test(settings_are_checked_as_the_program_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
