/* What the statistics of a training say, and what they cost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/run.h"
#include "runlog/folder.h"
#include "runlog/history.h"

#include "train_fixture.h"

static bool recorded(const fixture *f, hu_tensor tensor, hu_histogram *x) {
    const hu_run *run = f->trainer->run;
    *x = (hu_histogram){0};
    if (tensor.kind == HU_TENSOR_VALUE) return hu_exponent_record_value(run, tensor.value, x);
    if (tensor.kind == HU_TENSOR_SUM) return hu_exponent_record_sum(run, tensor.value, x);
    return hu_exponent_record_gradient(run, tensor.value, x);
}

/* A histogram says the same of a rounded tensor as the counts of its rounding. */
static void assert_agrees(const fixture *f, hu_tensor tensor, uint32_t *compared) {
    char name[HU_TENSOR_NAME_BYTES];
    hu_histogram x;
    hu_round_counts c = hu_tensor_counts(f->trainer->graph, &f->trainer->edges, tensor);
    const hu_quantizer *quantizer =
        hu_tensor_quantizer(f->trainer->graph, &f->trainer->edges, tensor);
    if (!hu_quantizer_rounds(quantizer) || c.elements == 0) return;
    hu_tensor_name(f->trainer->graph, tensor, name);
    if (!recorded(f, tensor, &x)) fail_msg("%s: not recorded", name);
    int32_t top = HU_NO_EXPONENT, bottom = HU_NO_EXPONENT;
    for (int32_t b = 0; b < HU_HISTOGRAM_BINS; b++) {
        if (x.bin[b] == 0) continue;
        top = HU_HISTOGRAM_LEAST + b;
        if (bottom == HU_NO_EXPONENT) bottom = top;
    }
    bool agrees = x.elements == c.elements && x.zero + c.underflow == c.zero && x.nan == c.nan &&
                  top == c.max_exponent && bottom == c.min_exponent;
    if (!agrees)
        fail_msg("%s: %llu elements %llu zero exponents %d..%d, counted %llu, %llu - %llu, %d..%d",
                 name, (unsigned long long)x.elements, (unsigned long long)x.zero, bottom, top,
                 (unsigned long long)c.elements, (unsigned long long)c.zero,
                 (unsigned long long)c.underflow, c.min_exponent, c.max_exponent);
    ++*compared;
}

static void histograms_agree_with_counts(void **state) {
    static const char *const precisions[] = {"hfp8", "fp16", "e4m3fn", "1/6/9/n"};
    (void)state;
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++)
        for (int variant = 0; variant < 4; variant++) {
            fixture f;
            uint32_t compared = 0;
            prepare(&f, precisions[p]);
            f.options.histogram_every = 1;
            f.options.run.fuse = variant != 1;
            f.options.run.recompute = variant != 2;
            f.options.accumulate = variant == 3 ? 2 : 1;
            f.options.run.storage = variant == 2 ? HU_STORAGE_FLOAT32 : HU_STORAGE_PACKED;
            begin(&f);
            for (int s = 0; s < 3; s++) {
                if (step(&f).skipped) continue;
                for (uint32_t i = 0; i < f.trainer->walk.count; i++)
                    assert_agrees(&f, f.trainer->walk.tensor[i], &compared);
            }
            assert_true(compared > 20);
            end(&f);
        }
}

/* Recording changes no bit and allocates nothing. */
static void recording_leaves_the_training_alone(void **state) {
    fixture plain, recording;
    (void)state;
    prepare(&plain, "hfp8");
    prepare(&recording, "hfp8");
    recording.options.histogram_every = 2;
    begin(&plain);
    begin(&recording);
    (void)step(&recording);
    uint64_t before = hu_memory_count().allocations;
    for (int s = 1; s < 5; s++) (void)step(&recording);
    assert_int_equal(hu_memory_count().allocations, before);
    for (int s = 0; s < 5; s++) (void)step(&plain);
    assert_true(hu_trainer_weights_hash(plain.trainer) ==
                hu_trainer_weights_hash(recording.trainer));
    end(&plain);
    end(&recording);
}

/* In a training without rounding all tensors are recorded, and the exponents are those of their
 * numbers. */
static void float32_trainings_are_recorded(void **state) {
    fixture f;
    hu_histogram x, wanted = {0};
    (void)state;
    prepare(&f, "fp32");
    f.options.histogram_every = 1;
    begin(&f);
    hu_value_id v = hu_graph_find(f.trainer->graph, "conv1.weight");
    assert_int_equal(hu_histogram_add((size_t)f.trainer->graph->value[v].elements,
                                      master(&f, "conv1.weight"), 1, &wanted),
                     HU_OK);
    (void)step(&f);
    for (uint32_t i = 0; i < f.trainer->walk.count; i++) {
        hu_tensor tensor = f.trainer->walk.tensor[i];
        const hu_value_info *value = &f.trainer->graph->value[tensor.value];
        bool is_present = recorded(&f, tensor, &x);
        if (tensor.kind == HU_TENSOR_SUM ||
            f.trainer->graph->value[tensor.value].role == HU_VALUE_TARGET)
            continue;
        if (value->role == HU_VALUE_BUFFER) continue;
        if (!is_present) fail_msg("%s, kind %d: not recorded", value->name, (int)tensor.kind);
        bool is_whole = value->role == HU_VALUE_PARAMETER;
        assert_int_equal(x.elements, (uint64_t)value->elements * (is_whole ? 1 : BATCH));
    }
    assert_true(recorded(&f, (hu_tensor){HU_TENSOR_VALUE, v}, &x));
    assert_memory_equal(&x, &wanted, sizeof x);
    end(&f);
}

/* ---- the recorder ---- */

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[2][128];
    static int phase;
    phase = !phase;
    snprintf(path[phase], sizeof path[phase], "%s/%s", folder, name);
    return path[phase];
}

static void touch(const char *name) {
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fclose(file);
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/statistics-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    touch("config.resolved.yaml");
    touch("metrics.jsonl");
    return 0;
}

static int drop_folder(void **state) {
    static const char *const names[] = {"config.resolved.yaml", "metrics.jsonl", "numerics.jsonl",
                                        "histograms.jsonl"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(in_folder(names[i]));
    return rmdir(folder);
}

static hu_recorder *open_recorder(const fixture *f) {
    hu_recorder *recorder;
    char numerics[128], histograms[128];
    strcpy(numerics, in_folder("numerics.jsonl"));
    strcpy(histograms, in_folder("histograms.jsonl"));
    hu_status st =
        hu_recorder_open(numerics, histograms, f->trainer->graph, &f->trainer->edges, &recorder);
    if (st != HU_OK) fail_msg("%s", hu_last_error());
    return recorder;
}

static void note(hu_recorder *recorder, fixture *f, hu_step_end end) {
    int64_t last = f->trainer->progress.step - 1;
    assert_int_equal(hu_recorder_note(recorder, f->trainer->run, last, end), HU_OK);
}

/* Rows hold the sums of all steps, whatever lies between them, and survive a checkpoint. */
static void rows_lose_no_step(void **state) {
    fixture f;
    hu_history *history;
    (void)state;
    prepare(&f, "hfp8");
    f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_NONE);
    begin(&f);
    hu_value_id v = hu_graph_find(f.trainer->graph, "conv1.out");
    hu_round_counts total;
    hu_round_counts_clear(&total);
    hu_recorder *recorder = open_recorder(&f);
    for (int s = 0; s < 9; s++) {
        (void)step(&f);
        hu_round_counts_add(&total, &f.trainer->edges.value[v].counts);
        note(recorder, &f, HU_STEP_DONE);
        if (s == 0) assert_int_equal(hu_recorder_row(recorder), HU_OK);
        if (s != 6) continue;
        const void *data;
        size_t bytes;
        hu_recorder *next = open_recorder(&f);
        hu_recorder_state(recorder, &data, &bytes);
        assert_int_equal(hu_recorder_restore(next, data, bytes), HU_OK);
        assert_int_equal(hu_recorder_restore(next, data, bytes - 1), HU_ERR_CORRUPT);
        hu_recorder_close(recorder);
        recorder = next;
    }
    assert_int_equal(hu_recorder_row(recorder), HU_OK);
    assert_int_equal(hu_recorder_row(recorder), HU_OK);
    hu_recorder_close(recorder);
    if (hu_history_read(folder, &history) != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(history->numerics_count, 2);
    assert_int_equal(history->numerics[1].step, 8);
    assert_int_equal(history->numerics[1].steps, 8);
    hu_round_counts found;
    hu_round_counts_clear(&found);
    uint32_t name = hu_names_find(&history->tensors, "conv1.out");
    for (size_t r = 0; r < 2; r++)
        for (uint32_t i = 0; i < history->numerics[r].tensor_count; i++)
            if (history->numerics[r].tensor[i].tensor == name)
                hu_round_counts_add(&found, &history->numerics[r].tensor[i].counts);
    assert_memory_equal(&found, &total, sizeof found);
    hu_history_free(history);
    end(&f);
}

/* A step that was not done stands alone, and so do the four before it. */
static void skipped_steps_stand_alone(void **state) {
    static const int64_t steps[] = {5, 1, 1, 1, 1}, last[] = {4, 5, 6, 7, 8};
    fixture f;
    hu_history *history;
    (void)state;
    prepare(&f, "hfp8");
    f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_NONE);
    begin(&f);
    hu_recorder *recorder = open_recorder(&f);
    for (int s = 0; s < 9; s++) {
        (void)step(&f);
        note(recorder, &f, s == 8 ? HU_STEP_SKIPPED : HU_STEP_DONE);
    }
    assert_int_equal(hu_recorder_row(recorder), HU_OK);
    hu_recorder_close(recorder);
    if (hu_history_read(folder, &history) != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(history->numerics_count, 5);
    for (size_t r = 0; r < 5; r++) {
        assert_int_equal(history->numerics[r].step, last[r]);
        assert_int_equal(history->numerics[r].steps, steps[r]);
        assert_int_equal(history->numerics[r].skipped, r == 4);
    }
    hu_history_free(history);
    end(&f);
}

/* ---- cost ---- */

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

/* Steps with and without a histogram in turns, and what noting a step takes; printed, not asserted:
 * other programs run beside this one. */
static void what_statistics_cost(void **state) {
    enum { TURNS = 6, USUAL = 100 };
    (void)state;
    for (int rounds = 0; rounds < 2; rounds++) {
        fixture f;
        double with = 1e9, without = 1e9, noting = 1e9;
        prepare(&f, rounds ? "hfp8" : "fp32");
        f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_NONE);
        f.options.model = "resnet20";
        f.options.width = 1.0;
        f.options.histogram_every = 2;
        begin(&f);
        hu_recorder *recorder = open_recorder(&f);
        for (int t = 0; t < 2 * TURNS; t++) {
            double start = seconds_now();
            (void)step(&f);
            double end_of_step = seconds_now();
            note(recorder, &f, HU_STEP_DONE);
            if (t % 2) noting = least(noting, seconds_now() - end_of_step);
            if (t % 2)
                without = least(without, end_of_step - start);
            else
                with = least(with, end_of_step - start);
        }
        print_message("resnet20 %s: step %.2f ms, with histograms %+.1f %% (every %d steps: %+.2f "
                      "%%), noting %+.2f %%\n",
                      rounds ? "hfp8" : "fp32", 1e3 * without, 100.0 * (with / without - 1.0),
                      USUAL, 100.0 * (with / without - 1.0) / USUAL, 100.0 * noting / without);
        hu_recorder_close(recorder);
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_agree_with_counts),
        cmocka_unit_test(recording_leaves_the_training_alone),
        cmocka_unit_test(float32_trainings_are_recorded),
        cmocka_unit_test_setup_teardown(rows_lose_no_step, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(skipped_steps_stand_alone, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(what_statistics_cost, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
