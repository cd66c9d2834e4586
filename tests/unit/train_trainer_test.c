/* Training on a handful of drawn images: updates, skipped steps, culprits, memory. */
#include <math.h>

#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

static int64_t elements(const fixture *f, const char *name) {
    return f->trainer->graph->value[hu_graph_find(f->trainer->graph, name)].elements;
}

static void test_learns(void **state) {
    (void)state;
    static const char *const precisions[] = {"fp32", "fp16", "hfp8", "1/6/9/d"};
    for (size_t p = 0; p < 4; p++) {
        fixture f;
        double first = 0, last = 0, accuracy, loss;
        prepare(&f, precisions[p]);
        begin(&f);
        for (int i = 0; i < 60; i++) {
            hu_step_report report = step(&f);
            assert_int_equal(report.step, i);
            assert_int_equal(report.epoch, i / 3);
            assert_int_equal(report.samples, i % 3 < 2 ? 16 : 8);
            if (i < 3) first += report.loss;
            if (i >= 57) last += report.loss;
        }
        if (!(last < 0.5 * first)) fail_msg("%s: %g, then %g", precisions[p], first, last);
        assert_int_equal(hu_trainer_evaluate(f.trainer, &accuracy, &loss), HU_OK);
        assert_true(accuracy > 0.9 && loss < 0.6);
        assert_int_equal(hu_trainer_progress(f.trainer)->step, 60);
        end(&f);
    }
}

/* Threads and storages do not change a bit of losses or weights. */
static void test_same_bits(void **state) {
    (void)state;
    static const hu_storage_mode storages[] = {HU_STORAGE_PACKED, HU_STORAGE_FLOAT32,
                                               HU_STORAGE_DENSE};
    double losses[7];
    uint64_t hash = 0;
    for (int run = 0; run < 5; run++) {
        fixture f;
        prepare(&f, "hfp8");
        f.options.run.storage = storages[run % 3];
        f.options.run.threads = (const int[]){1, 2, 3, 7, 2}[run];
        f.options.clip_norm = 1.0;
        begin(&f);
        for (int i = 0; i < 7; i++) {
            double loss = step(&f).loss;
            if (run == 0) losses[i] = loss;
            assert_memory_equal(&loss, &losses[i], sizeof loss);
        }
        if (run == 0) hash = hu_trainer_weights_hash(f.trainer);
        assert_true(hu_trainer_weights_hash(f.trainer) == hash);
        end(&f);
    }
}

/* Weights and optimizer stay, the scale halves; running statistics belong to the forward pass. */
static void test_skipped_step(void **state) {
    (void)state;
    fixture f;
    const char *name;
    const void *data;
    size_t bytes;
    prepare(&f, "hfp8");
    begin(&f);
    step(&f);
    f.trainer->phase[0].scaler.state.scale = 0x1p40f;
    size_t trained = (size_t)f.trainer->weights.trained * sizeof(float);
    float *weights = malloc(trained), *momentum = malloc(trained);
    assert_true(weights && momentum);
    memcpy(weights, f.trainer->weights.block, trained);
    assert_true(hu_optimizer_state(f.trainer->phase[0].optimizer, 1, &name, &data, &bytes));
    assert_int_equal(bytes, trained);
    memcpy(momentum, data, trained);
    float mean = master(&f, "bn1.running_mean")[0];
    hu_step_report report = step(&f);
    assert_true(report.skipped);
    assert_true(isnan(report.gradient_norm));
    assert_true(isfinite(report.loss));
    assert_true(report.scale == 0x1p40f);
    assert_true(hu_trainer_scaler(f.trainer)->scale == 0x1p39f);
    assert_int_equal(hu_trainer_scaler(f.trainer)->skipped, 1);
    assert_memory_equal(f.trainer->weights.block, weights, trained);
    assert_memory_equal(data, momentum, trained);
    assert_int_equal(hu_optimizer_t(f.trainer->phase[0].optimizer), 1);
    assert_true(master(&f, "bn1.running_mean")[0] != mean);
    assert_non_null(strstr(report.culprit, "log_softmax.out.grad"));
    assert_int_equal(hu_trainer_progress(f.trainer)->step, 2);
    free(weights);
    free(momentum);
    for (int i = 0; report.skipped && i < 30; i++) {
        f.trainer->phase[0].scaler.state.consecutive = 0;
        report = step(&f);
    }
    assert_false(report.skipped);
    assert_string_equal(report.culprit, "");
    assert_true(hu_trainer_scaler(f.trainer)->scale < 0x1p22f);
    end(&f);
}

static double distance(const float *a, const float *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += pow((double)a[i] - (double)b[i], 2);
    return sqrt(sum);
}

/* The unscaled gradient is clipped: a power of two as loss scale changes nothing. */
static void test_clipping_after_unscaling(void **state) {
    (void)state;
    double norm[2];
    uint64_t hash[2];
    for (int scaled = 0; scaled < 2; scaled++) {
        fixture f;
        prepare(&f, "fp32");
        f.options.optimizer.momentum = 0;
        f.options.schedule = hu_schedule_constant(1.0);
        f.options.clip_norm = 0.125;
        if (scaled) f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_CONSTANT);
        if (scaled) f.options.scaler.init = 4096.0f;
        begin(&f);
        int64_t trained = f.trainer->weights.trained;
        float *before = malloc((size_t)trained * sizeof *before);
        assert_non_null(before);
        memcpy(before, f.trainer->weights.block, (size_t)trained * sizeof *before);
        hu_step_report report = step(&f);
        assert_true(report.scale == (scaled ? 4096.0f : 1.0f));
        assert_true(report.gradient_norm > 0.125);
        double moved = distance(before, f.trainer->weights.block, trained);
        assert_true(fabs(moved - 0.125) < 1e-5);
        norm[scaled] = report.gradient_norm;
        hash[scaled] = hu_trainer_weights_hash(f.trainer);
        free(before);
        end(&f);
    }
    assert_true(norm[0] == norm[1]);
    assert_true(hash[0] == hash[1]);
}

/* All images are equal, so that batch statistics are those of every part. */
static void test_accumulation(void **state) {
    (void)state;
    static float weights[2][20000];
    double norm[2], loss[2];
    int64_t trained = 0;
    for (int parts = 1; parts <= 2; parts++) {
        fixture f;
        prepare(&f, "fp32");
        for (int s = 1; s < TRAIN; s++) {
            memcpy(f.train_pixels + s * PIXELS, f.train_pixels, PIXELS);
            f.train_labels[s] = f.train_labels[0];
        }
        f.options.accumulate = parts;
        begin(&f);
        for (int i = 0; i < 4; i++) {
            hu_step_report report = step(&f);
            norm[parts - 1] = report.gradient_norm;
            loss[parts - 1] = report.loss;
        }
        trained = f.trainer->weights.trained;
        assert_true(trained <= 20000);
        memcpy(weights[parts - 1], f.trainer->weights.block, (size_t)trained * sizeof(float));
        end(&f);
    }
    assert_true(fabs(norm[0] - norm[1]) < 1e-4 * norm[0]);
    assert_true(fabs(loss[0] - loss[1]) < 1e-5 * loss[0]);
    assert_true(distance(weights[0], weights[1], trained) < 1e-5);
}

/* Updates below half an ulp vanish without masters and add up with them (Micikevicius et al.). */
static void test_masters(void **state) {
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        fixture f;
        int moved = 0, off_grid = 0;
        hu_format fp16;
        assert_int_equal(hu_format_parse("fp16", &fp16), HU_OK);
        prepare(&f, "fp16");
        f.options.keep_masters = keep;
        f.options.schedule = hu_schedule_constant(1e-6);
        begin(&f);
        for (int i = 0; i < 5; i++) assert_false(step(&f).skipped);
        for (int64_t c = 0; c < elements(&f, "bn2.weight"); c++)
            moved += master(&f, "bn2.weight")[c] != 1.0f; /* an ulp of fp16 at 1: 2^-10 */
        for (int64_t i = 0; i < f.trainer->weights.trained; i++) {
            float x = f.trainer->weights.block[i];
            off_grid += hu_format_round(&fp16, HU_ROUND_NEAREST_EVEN, x, 0) != x;
        }
        assert_int_equal(moved > 0, keep);
        assert_int_equal(off_grid > 0, keep);
        end(&f);
    }
}

static void spoil_weight(fixture *f) {
    master(f, "conv2.weight")[7] = NAN;
}

/* Forward finite; the gradient of the head's input overflows float32. */
static void spoil_scale(fixture *f) {
    f->trainer->phase[0].scaler.state.scale = 0x1p100f;
    for (int64_t i = 0; i < elements(f, "fc.weight"); i++) master(f, "fc.weight")[i] *= 0x1p40f;
}

/* The step that meets the number names the tensor where it came from. */
static void expect_culprit(const char *precision, void (*spoil_data)(fixture *),
                           void (*spoil_run)(fixture *), const char *culprit, int64_t parts) {
    fixture f;
    hu_step_report report;
    prepare(&f, precision);
    f.options.accumulate = parts;
    f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_NONE);
    if (spoil_data) spoil_data(&f);
    begin(&f);
    if (spoil_run) spoil_run(&f);
    uint64_t hash = hu_trainer_weights_hash(f.trainer);
    assert_int_equal(hu_trainer_step(f.trainer, &report), HU_ERR_NONFINITE);
    assert_true(report.skipped);
    if (!strstr(report.culprit, culprit))
        fail_msg("%s: '%s' lacks '%s'", precision, report.culprit, culprit);
    if (!strstr(hu_last_error(), culprit) || !strstr(hu_last_error(), "step 0"))
        fail_msg("'%s' lacks '%s' or the step", hu_last_error(), culprit);
    assert_true(hu_trainer_weights_hash(f.trainer) == hash);
    end(&f);
}

static void spoil_mean(fixture *f) {
    f->data.field[HU_FIELD_IMAGE].mean[0] = NAN;
}
static void spoil_label(fixture *f) {
    for (int s = 0; s < TRAIN; s++) f->train_labels[s] = CLASSES + 4;
}

static void test_culprits(void **state) {
    (void)state;
    static const char *const precisions[] = {"fp32", "fp16", "hfp8", "1/6/9/d"};
    for (size_t p = 0; p < 4; p++)
        for (int64_t parts = 1; parts <= 2; parts++) {
            expect_culprit(precisions[p], NULL, spoil_weight, "conv2.weight", parts);
            expect_culprit(precisions[p], spoil_mean, NULL, "first in input (", parts);
            expect_culprit(precisions[p], spoil_label, NULL, "label: ", parts);
        }
    expect_culprit("fp32", NULL, spoil_scale, "first in pool.out.grad (float32", 1);
    expect_culprit("fp32", NULL, spoil_scale, "first in pool.out.grad (float32", 2);
    expect_culprit("fp16", NULL, spoil_scale, "first in fc.weight (fp16", 1);
}

/* A bad sample in the second part of a batch is found there. */
static void test_culprit_in_a_later_part(void **state) {
    (void)state;
    fixture f;
    hu_step_report report;
    prepare(&f, "fp32");
    f.options.accumulate = 2;
    begin(&f);
    assert_int_equal(hu_loader_begin_epoch(f.trainer->train_loader, 0), HU_OK);
    f.train_labels[hu_loader_index(f.trainer->train_loader, BATCH - 1)] = CLASSES;
    assert_int_equal(hu_trainer_step(f.trainer, &report), HU_ERR_NONFINITE);
    assert_string_equal(report.culprit, "label: 1 of 16 are not one of the classes 0..2");
    assert_true(isnan(report.loss));
    end(&f);
}

/* A momentum that throws one weight out of float32 although the gradients are finite. */
static void spoil_momentum(fixture *f, const char *name, int64_t index) {
    const char *block_name;
    const void *data;
    size_t bytes;
    hu_optimizer *optimizer = f->trainer->phase[0].optimizer;
    assert_true(hu_optimizer_state(optimizer, 1, &block_name, &data, &bytes));
    float *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    copy[master(f, name) - f->trainer->weights.block + index] = -3e38f;
    assert_int_equal(hu_optimizer_restore(optimizer, 1, copy, bytes), HU_OK);
    free(copy);
}

/* What an update breaks is named, wherever it is; the rounding of the masters may mend it. */
static void test_broken_update(void **state) {
    (void)state;
    static const struct {
        const char *precision, *name;
        bool keep, stops;
    } cases[] = {{"fp32", "fc.weight", true, true},
                 {"hfp8", "fc.bias", true, true},
                 {"fp16", "conv1.weight", true, true},
                 {"fp16", "fc.weight", false, true},
                 {"e4m3fn:ovf=sat", "fc.weight", false, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fixture f;
        hu_step_report report;
        char expected[128];
        prepare(&f, cases[c].precision);
        f.options.schedule = hu_schedule_constant(2.0);
        f.options.keep_masters = cases[c].keep;
        begin(&f);
        spoil_momentum(&f, cases[c].name, elements(&f, cases[c].name) - 1);
        snprintf(expected, sizeof expected, "non-finite numbers in %s after the update",
                 cases[c].name);
        hu_status st = hu_trainer_step(f.trainer, &report);
        assert_false(report.skipped);
        assert_int_equal(st, cases[c].stops ? HU_ERR_NONFINITE : HU_OK);
        assert_string_equal(report.culprit, cases[c].stops ? expected : "");
        end(&f);
    }
}

/* Running statistics are no part of the update, but what is saved must be finite; in a skipped step
 * too. */
static void test_broken_statistics(void **state) {
    (void)state;
    for (int skipped = 0; skipped < 2; skipped++) {
        fixture f;
        hu_step_report report;
        prepare(&f, "fp16");
        f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
        begin(&f);
        if (skipped) f.trainer->phase[0].scaler.state.scale = 0x1p100f;
        master(&f, "bn1.running_mean")[0] = NAN;
        assert_int_equal(hu_trainer_step(f.trainer, &report), HU_ERR_NONFINITE);
        assert_int_equal(report.skipped, skipped);
        assert_string_equal(report.culprit,
                            "non-finite numbers in bn1.running_mean after the update");
        end(&f);
    }
}

static void test_ledger_and_allocations(void **state) {
    (void)state;
    for (int64_t parts = 1; parts <= 3; parts++) {
        fixture f;
        hu_ledger before = hu_ledger_now();
        double accuracy, loss;
        prepare(&f, parts == 2 ? "fp32" : "hfp8");
        f.options.accumulate = parts;
        if (parts == 3) f.options.optimizer = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
        begin(&f);
        hu_ledger ledger = hu_trainer_ledger(f.trainer);
        if (hu_ledger_check(&ledger, &before) != HU_OK) fail_msg("%s", hu_last_error());
        ledger.optimizer++;
        assert_int_equal(hu_ledger_check(&ledger, &before), HU_ERR_INTERNAL);
        assert_non_null(strstr(hu_last_error(), "optimizer"));
        step(&f);
        uint64_t count = hu_memory_count().allocations;
        for (int i = 0; i < 5; i++) step(&f); /* the third of an epoch is short */
        assert_int_equal(hu_trainer_evaluate(f.trainer, &accuracy, &loss), HU_OK);
        assert_int_equal(hu_memory_count().allocations, count);
        end(&f);
        ledger = hu_ledger_now();
        assert_true(ledger.total == before.total);
    }
}

/* Evaluation leaves the training, and what it counted, as they were. */
static void test_evaluation_disturbs_nothing(void **state) {
    (void)state;
    uint64_t hash[2], counted[2];
    for (int evaluates = 0; evaluates < 2; evaluates++) {
        fixture f;
        double accuracy, loss;
        prepare(&f, "hfp8");
        f.options.eval_masters = false;
        begin(&f);
        for (int i = 0; i < 4; i++) {
            step(&f);
            hu_value_id v = hu_graph_find(f.trainer->graph, "conv1.out");
            uint64_t elements_now = f.trainer->edges.value[v].counts.elements;
            if (!evaluates) continue;
            assert_int_equal(hu_trainer_evaluate(f.trainer, &accuracy, &loss), HU_OK);
            assert_true(f.trainer->edges.value[v].counts.elements == elements_now);
        }
        hash[evaluates] = hu_trainer_weights_hash(f.trainer);
        counted[evaluates] = hu_trainer_progress(f.trainer)->elements;
        end(&f);
    }
    assert_true(hash[0] == hash[1]);
    assert_true(counted[0] == counted[1]);
    fixture f;
    double accuracy, loss;
    prepare(&f, "hfp8");
    f.options.eval_masters = false;
    begin(&f);
    spoil_weight(&f);
    assert_int_equal(hu_trainer_evaluate(f.trainer, &accuracy, &loss), HU_OK);
    assert_true(accuracy == 0.0 && isnan(loss));
    end(&f);
}

static void test_refusals(void **state) {
    (void)state;
    fixture f;
    prepare(&f, "fp32");
    uint64_t live = hu_memory_count().live_blocks;
    hu_train_options good = f.options;
    for (int bad = 0; bad < 5; bad++) {
        f.options = good;
        f.data.train.count = TRAIN;
        if (bad == 0) f.options.batch = 0;
        if (bad == 1) f.options.accumulate = BATCH + 1;
        if (bad == 2) f.data.train.count = 0;
        if (bad == 3) f.options.schedule.lr = -1;
        if (bad == 4) f.options.steps = -1;
        assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_ARGUMENT);
        assert_null(f.trainer);
        assert_int_equal(hu_memory_count().live_blocks, live);
    }
}

/* Parameters in name order, whatever the order of declaration. */
static void test_name_order(void **state) {
    (void)state;
    fixture f;
    prepare(&f, "fp32");
    begin(&f);
    const hu_trainer *t = f.trainer;
    assert_int_equal(t->parameter_count, 3 * 3 + 2);
    for (uint32_t p = 1; p < t->parameter_count; p++)
        assert_true(strcmp(t->graph->value[t->name_order[p - 1]].name,
                           t->graph->value[t->name_order[p]].name) < 0);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_skipped_step),
        cmocka_unit_test(test_clipping_after_unscaling),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_masters),
        cmocka_unit_test(test_culprits),
        cmocka_unit_test(test_culprit_in_a_later_part),
        cmocka_unit_test(test_broken_update),
        cmocka_unit_test(test_broken_statistics),
        cmocka_unit_test(test_ledger_and_allocations),
        cmocka_unit_test(test_evaluation_disturbs_nothing),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_name_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
