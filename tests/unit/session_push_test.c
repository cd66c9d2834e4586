/* The public training with samples of the caller's, and numbers of its tensors: bits as those of
 * the data set's own samples, and numbers that explain the counts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <halfulp/quantize.h>
#include <halfulp/train.h>

enum {
    BATCH = 16,
    TRAIN = 72,
    TEST = 32,
    STEPS = 7,
    PIXELS = 32 * 32 * 3,
    CLASSES = 10,
    MOST = 12
};

/* Settings of cnn-s on glyphs; the last step of an epoch has 8 samples. */
static size_t settings_with(const char *const *more, hu_setting *all) {
    static const hu_setting usual[] = {{"model", "cnn-s"}, {"run.batch", "16"},
                                       {"steps", "7"},     {"threads", "2"},
                                       {"seed", "3"},      {"lr.schedule", "cosine"}};
    size_t count = sizeof usual / sizeof *usual;
    memcpy(all, usual, sizeof usual);
    for (; *more; more += 2) all[count++] = (hu_setting){more[0], more[1]};
    return count;
}

static hu_dataset *open_glyphs(void) {
    hu_dataset *data;
    const hu_data_limits limits = {TRAIN, TEST};
    if (hu_dataset_open("glyphs", &limits, &data) != HU_OK) fail_msg("%s", hu_last_error());
    return data;
}

static hu_training *open_with(const char *const *more, const hu_dataset *data) {
    hu_setting all[MOST + 6];
    hu_training *training;
    size_t count = settings_with(more, all);
    if (hu_training_open(NULL, all, count, data, &training) != HU_OK)
        fail_msg("%s", hu_last_error());
    return training;
}

/* Rows of a half, as a training reads them. */
static int64_t fill(hu_loader *loader, int64_t first, int64_t most, float *image, float *label) {
    int64_t left = hu_loader_count(loader) - first, count = left < most ? left : most;
    assert_int_equal(hu_loader_want(loader, first, count), HU_OK);
    hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_NORMALISED, first, count, image);
    hu_loader_fill(loader, HU_FIELD_LABEL, HU_READ_PLAIN, first, count, label);
    return count;
}

static hu_loader *open_loader(const hu_dataset *data, hu_split_kind half) {
    hu_loader *loader;
    const hu_loader_settings settings = {
        .seed = 3, .shuffle = half == HU_SPLIT_TRAIN, .batch = BATCH, .augment = data->augment};
    assert_int_equal(hu_loader_create(data, half, &settings, &loader), HU_OK);
    return loader;
}

static hu_step next(hu_training *training) {
    hu_step step = {.size = sizeof step};
    if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
    return step;
}

static hu_step push(hu_training *training, int64_t count, const float *image, const float *label) {
    hu_step step = {.size = sizeof step};
    const float *const rows[] = {image, label};
    if (hu_training_push(training, count, rows, &step) != HU_OK) fail_msg("%s", hu_last_error());
    return step;
}

/* All steps, with the samples of the data set's own loader given from outside. */
static void push_all(hu_training *training, const hu_dataset *data) {
    static float image[BATCH * PIXELS], label[BATCH];
    hu_loader *loader = open_loader(data, HU_SPLIT_TRAIN);
    int64_t per_epoch = (TRAIN + BATCH - 1) / BATCH;
    for (int64_t s = 0; s < STEPS; s++) {
        if (s % per_epoch == 0)
            assert_int_equal(hu_loader_begin_epoch(loader, s / per_epoch), HU_OK);
        int64_t count = fill(loader, s % per_epoch * BATCH, BATCH, image, label);
        hu_step step = push(training, count, image, label);
        assert_int_equal(step.samples, count);
        assert_int_equal(step.epoch, s / per_epoch);
    }
    hu_loader_close(loader);
}

static const char *const kinds[][MOST] = {
    {"precision", "fp32", NULL},
    {"precision", "hfp8", NULL},
    {"precision", "mxfp8", "optimizer.accumulate", "3", NULL},
    {"precision", "hfp8", "accumulator", "fmac8:1/6/9", NULL},
    {"precision", "hfp8", "comm.workers", "2", NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void pushed_samples_train_to_the_same_bits(void **state) {
    (void)state;
    hu_dataset *data = open_glyphs();
    for (size_t k = 0; k < KINDS; k++) {
        hu_training *own = open_with(kinds[k], data), *pushed = open_with(kinds[k], data);
        for (int s = 0; s < STEPS; s++) next(own);
        push_all(pushed, data);
        assert_true(hu_training_hash(own) == hu_training_hash(pushed));
        hu_training_close(own);
        hu_training_close(pushed);
    }
    hu_dataset_close(data);
}

static void a_data_set_needs_no_samples_of_its_own(void **state) {
    (void)state;
    hu_dataset *data = open_glyphs(), *bare;
    static const hu_field fields[] = {{.name = "image", .rank = 3, .extent = {32, 32, 3}},
                                      {.name = "label", .classes = CLASSES}};
    const hu_sample_rows train = {sizeof train, TRAIN, NULL}, test = {sizeof test, 1, NULL};
    const float zeros[PIXELS] = {0};
    const float *const half[] = {zeros, NULL};
    const hu_sample_rows lacking = {sizeof lacking, 1, half};
    assert_int_equal(hu_dataset_of_rows(fields, 2, &lacking, &test, &bare), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "training rows: found none of field 1"));
    assert_null(bare);
    assert_int_equal(hu_dataset_of_rows(fields, 2, &train, &test, &bare), HU_OK);
    hu_training *own = open_with(kinds[1], data), *pushed = open_with(kinds[1], bare);
    for (int s = 0; s < STEPS; s++) next(own);
    hu_step step = {.size = sizeof step};
    double metric, loss;
    assert_int_equal(hu_training_next(pushed, &step), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "hu_training_push"));
    assert_int_equal(hu_training_test(pushed, &metric, &loss), HU_ERR_MISSING);
    push_all(pushed, data);
    assert_true(hu_training_hash(own) == hu_training_hash(pushed));
    hu_training_close(own);
    hu_training_close(pushed);
    hu_dataset_close(bare);
    hu_dataset_close(data);
}

/* Rows in memory are the samples of a data set, shuffled as any other. */
static void rows_are_a_data_set(void **state) {
    (void)state;
    static float image[TRAIN * PIXELS], label[TRAIN], held[TEST * PIXELS], shown[TEST];
    hu_dataset *data = open_glyphs(), *rows;
    hu_loader *train_loader, *loader = open_loader(data, HU_SPLIT_TEST);
    const hu_loader_settings in_order = {.seed = 3};
    assert_int_equal(hu_loader_create(data, HU_SPLIT_TRAIN, &in_order, &train_loader), HU_OK);
    fill(train_loader, 0, TRAIN, image, label);
    fill(loader, 0, TEST, held, shown);
    const float *const of_train[] = {image, label}, *const of_test[] = {held, shown};
    static const hu_field fields[] = {{.name = "image", .rank = 3, .extent = {32, 32, 3}},
                                      {.name = "label", .classes = CLASSES}};
    const hu_sample_rows train = {sizeof train, TRAIN, of_train};
    const hu_sample_rows test = {sizeof test, TEST, of_test};
    assert_int_equal(hu_dataset_of_rows(fields, 2, &train, &test, &rows), HU_OK);
    const char *const more[] = {"precision", "hfp8", "data.augment", "none", NULL};
    hu_training *own = open_with(more, data), *of_rows = open_with(more, rows);
    double metric[2], loss[2];
    for (int s = 0; s < STEPS; s++) {
        next(own);
        next(of_rows);
    }
    assert_true(hu_training_hash(own) == hu_training_hash(of_rows));
    assert_int_equal(hu_training_test(own, &metric[0], &loss[0]), HU_OK);
    assert_int_equal(hu_training_test(of_rows, &metric[1], &loss[1]), HU_OK);
    assert_true(metric[0] == metric[1] && loss[0] == loss[1]);
    hu_training_close(own);
    hu_training_close(of_rows);
    hu_loader_close(loader);
    hu_loader_close(train_loader);
    hu_dataset_close(rows);
    hu_dataset_close(data);
}

static void predictions_are_those_of_the_evaluation(void **state) {
    (void)state;
    static float image[TEST * PIXELS], label[TEST], scores[TEST * CLASSES], again[TEST * CLASSES];
    hu_dataset *data = open_glyphs();
    hu_loader *loader = open_loader(data, HU_SPLIT_TEST);
    hu_training *training = open_with(kinds[1], data);
    const char *titles[HU_PREDICTION_COLUMNS];
    double cells[TEST * HU_PREDICTION_COLUMNS], metric, expected, loss, unknown;
    next(training);
    fill(loader, 0, TEST, image, label);
    const float *const rows[] = {image, label}, *const without[] = {image, NULL};
    assert_int_equal(hu_training_prediction_elements(training), CLASSES);
    assert_int_equal(hu_training_predict_rows(training, TEST, rows, scores, &loss), HU_OK);
    assert_int_equal(hu_training_predict_rows(training, TEST, without, again, &unknown), HU_OK);
    assert_memory_equal(scores, again, sizeof scores);
    assert_true(isnan(unknown));
    assert_int_equal(hu_training_test(training, &metric, &expected), HU_OK);
    assert_true(loss == expected);
    int columns = hu_training_columns(training, titles);
    assert_int_equal(hu_training_predict(training, TEST, cells), HU_OK);
    for (int i = 0; i < TEST; i++) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (scores[i * CLASSES + c] > scores[i * CLASSES + best]) best = c;
        assert_true(cells[i * columns + 1] == best);
    }
    /* The last part of any number of samples is one of its own. */
    assert_int_equal(hu_training_predict_rows(training, 5, rows, again, &loss), HU_OK);
    assert_memory_equal(scores, again, 5 * CLASSES * sizeof *scores);
    hu_training_close(training);
    hu_loader_close(loader);
    hu_dataset_close(data);
}

static void what_cannot_be_pushed_is_refused(void **state) {
    (void)state;
    static float image[(BATCH + 1) * PIXELS], label[BATCH + 1];
    hu_dataset *data = open_glyphs();
    hu_training *training = open_with(kinds[0], data);
    uint64_t before = hu_training_hash(training);
    hu_step step = {.size = sizeof step};
    const float *const rows[] = {image, label}, *const without[] = {image, NULL};
    assert_int_equal(hu_training_push(training, BATCH + 1, rows, &step), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "found 17 samples, expected 1 to 16"));
    assert_int_equal(hu_training_push(training, 0, rows, &step), HU_ERR_SHAPE);
    assert_int_equal(hu_training_push(training, 2, without, &step), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "'label'"));
    assert_int_equal(hu_training_step(training), 0);
    assert_true(hu_training_hash(training) == before);
    next(training); /* of the data set again */
    hu_training_close(training);
    hu_dataset_close(data);
}

/* ---- numbers of tensors ---- */

/* Watches all that can be, but for inputs of the task. */
static void watch_all(hu_training *training) {
    for (size_t i = 0; i < hu_training_tensor_count(training); i++) {
        hu_training_tensor tensor = {.size = sizeof tensor};
        assert_int_equal(hu_training_tensor_at(training, i, &tensor), HU_OK);
        hu_status expected = tensor.parts > 0 ? HU_OK : HU_ERR_ARGUMENT;
        char name[256];
        strcpy(name, tensor.name);
        assert_int_equal(hu_training_watch(training, name), expected);
    }
}

static float *numbers_of(hu_training *training, const char *name, int rounded, size_t *count) {
    assert_int_equal(hu_training_numbers(training, name, rounded, NULL, 0, count), HU_OK);
    float *x = malloc((*count + 1) * sizeof *x);
    assert_non_null(x);
    assert_int_equal(hu_training_numbers(training, name, rounded, x, *count, count), HU_OK);
    return x;
}

/* The numbers before rounding explain the counts of the step, and the numbers after it. */
static void compare(hu_training *training, const hu_training_tensor *tensor, int64_t samples) {
    hu_quantization *quantization;
    hu_round_counts counted, counts;
    size_t count, again;
    char name[256], text[256];
    hu_round_counts_clear(&counts);
    strcpy(name, tensor->name);
    strcpy(text, tensor->format);
    int64_t line = tensor->shape.rank > 0 ? tensor->shape.extent[tensor->shape.rank - 1] : 1;
    float *made = numbers_of(training, name, 0, &count);
    float *rounded = numbers_of(training, name, 1, &again), *y = malloc(count * sizeof *y);
    assert_int_equal(count, again);
    int64_t rows = tensor->has_samples ? samples : 1;
    assert_int_equal(count, tensor->parts * rows * hu_shape_elements(&tensor->shape));
    if (strcmp(text, "float32") == 0) {
        assert_memory_equal(made, rounded, count * sizeof *made);
    } else {
        assert_int_equal(hu_quantization_open(text, HU_ROUND_NEAREST_EVEN, line, &quantization),
                         HU_OK);
        size_t each = count / (size_t)tensor->parts; /* contributions have scales of their own */
        for (size_t at = 0; at < count; at += each)
            assert_int_equal(hu_quantize(quantization, (int64_t)each / line, made + at, y + at,
                                         NULL, 0, NULL, &counts),
                             HU_OK);
        if (memcmp(y, rounded, count * sizeof *y) != 0) fail_msg("%s in %s", name, text);
        assert_int_equal(hu_training_counts(training, name, &counted), HU_OK);
        /* Steps that bring no gradient are zeros here, and are not counted there. */
        uint64_t absent = counts.elements - counted.elements;
        counts.elements -= absent;
        counts.zero -= absent;
        if (memcmp(&counts, &counted, sizeof counts) != 0)
            fail_msg("%s in %s: counts %llu %llu %llu %llu %d %d, of its numbers %llu %llu %llu "
                     "%llu %d %d",
                     name, text, (unsigned long long)counted.elements,
                     (unsigned long long)counted.underflow, (unsigned long long)counted.subnormal,
                     (unsigned long long)counted.zero, counted.max_exponent, counted.min_exponent,
                     (unsigned long long)counts.elements, (unsigned long long)counts.underflow,
                     (unsigned long long)counts.subnormal, (unsigned long long)counts.zero,
                     counts.max_exponent, counts.min_exponent);
        hu_quantization_close(quantization);
    }
    free(made);
    free(rounded);
    free(y);
}

/* Two trainings of which one is looked at. Formats that round to nearest even. */
static void explain(const hu_setting *settings, size_t count) {
    hu_training *plain = NULL, *watched = NULL;
    if (hu_training_open(NULL, settings, count, NULL, &plain) != HU_OK ||
        hu_training_open(NULL, settings, count, NULL, &watched) != HU_OK)
        fail_msg("%s", hu_last_error());
    watch_all(watched);
    next(plain);
    int64_t samples = next(watched).samples;
    for (size_t i = 0; i < hu_training_tensor_count(watched); i++) {
        hu_training_tensor tensor = {.size = sizeof tensor};
        assert_int_equal(hu_training_tensor_at(watched, i, &tensor), HU_OK);
        bool is_weight = strcmp(tensor.role, "parameter") == 0;
        if (tensor.parts > 0 && !is_weight) compare(watched, &tensor, samples);
    }
    next(plain);
    next(watched);
    assert_true(hu_training_hash(plain) == hu_training_hash(watched));
    hu_training_close(plain);
    hu_training_close(watched);
}

static const char *const precisions[] = {"hfp8", "mxfp8", "fp32", "e4m3:scale=current"};

static void numbers_explain_the_counts(void **state) {
    (void)state;
    static const char *const models[] = {"cnn-s", "resnet20"};
    for (int m = 0; m < 2; m++)
        for (int p = 0; p < 3; p++) { /* steps have scales of their own */
            const hu_setting settings[] = {{"model", models[m]},
                                           {"data", "glyphs"},
                                           {"data.limit", "24"},
                                           {"data.test_limit", "8"},
                                           {"precision", precisions[p]},
                                           {"run.batch", "12"},
                                           {"steps", "2"},
                                           {"threads", "2"},
                                           {"model.width", "0.25"}};
            explain(settings, sizeof settings / sizeof *settings);
        }
}

/* Steps of a loop, and parts of a batch that run one after the other. */
static void numbers_of_loops_explain_the_counts(void **state) {
    (void)state;
    char path[] = "/tmp/halfulp-words-XXXXXX", spec[64];
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (int i = 0; i < 400; i++)
        assert_int_equal(write(file, "the grey fox sees a blue fox ", 29), 29);
    close(file);
    snprintf(spec, sizeof spec, "text:%s", path);
    for (int p = 0; p < 3; p++) { /* steps have scales of their own */
        const hu_setting settings[] = {{"model", "lstm-lm-s"},  {"data", spec},
                                       {"data.unit", "char"},   {"data.length", "12"},
                                       {"model.width", "0.25"}, {"precision", precisions[p]},
                                       {"run.batch", "6"},      {"steps", "2"},
                                       {"threads", "2"},        {"model.dropout", "0"}};
        explain(settings, sizeof settings / sizeof *settings);
    }
    unlink(path);
}

/* The gradient of a bias is the sum of what comes to its layer; parameters need no watch. */
static void numbers_of_gradients_and_weights(void **state) {
    (void)state;
    hu_dataset *data = open_glyphs();
    hu_training *training = open_with(kinds[0], data);
    size_t count, weights;
    float master[CLASSES], copy[CLASSES], x[4];
    assert_int_equal(hu_training_numbers(training, "fc.out.grad", 1, x, 4, &count),
                     HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "hu_training_watch"));
    assert_int_equal(hu_training_watch(training, "fc.out.gard"), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'fc.out.grad'"));
    assert_int_equal(hu_training_watch(training, "fc.out.grad"), HU_OK);
    assert_int_equal(hu_training_watch(training, "fc.bias.grad"), HU_OK);
    assert_int_equal(hu_training_read(training, "fc.bias", master, CLASSES, &weights), HU_OK);
    assert_int_equal(hu_training_numbers(training, "fc.out.grad", 1, NULL, 0, &count),
                     HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found no step since it is watched"));
    next(training);
    assert_int_equal(hu_training_numbers(training, "fc.out.grad", 1, x, 4, &count), HU_ERR_SHAPE);
    float *grad = numbers_of(training, "fc.out.grad", 1, &count);
    assert_int_equal(count, BATCH * CLASSES);
    float *bias = numbers_of(training, "fc.bias.grad", 1, &count);
    assert_int_equal(count, CLASSES);
    for (int c = 0; c < CLASSES; c++) {
        double sum = 0.0;
        for (int i = 0; i < BATCH; i++) sum += (double)grad[i * CLASSES + c];
        assert_true(fabs(sum - (double)bias[c]) < 1e-6);
    }
    assert_int_equal(hu_training_numbers(training, "fc.bias", 1, copy, CLASSES, &count), HU_OK);
    assert_int_equal(count, CLASSES);
    hu_training_unwatch(training);
    assert_int_equal(hu_training_numbers(training, "fc.out.grad", 1, NULL, 0, &count),
                     HU_ERR_ARGUMENT);
    free(grad);
    free(bias);
    hu_training_close(training);
    hu_dataset_close(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_samples_train_to_the_same_bits),
        cmocka_unit_test(a_data_set_needs_no_samples_of_its_own),
        cmocka_unit_test(rows_are_a_data_set),
        cmocka_unit_test(predictions_are_those_of_the_evaluation),
        cmocka_unit_test(what_cannot_be_pushed_is_refused),
        cmocka_unit_test(numbers_explain_the_counts),
        cmocka_unit_test(numbers_of_loops_explain_the_counts),
        cmocka_unit_test(numbers_of_gradients_and_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
