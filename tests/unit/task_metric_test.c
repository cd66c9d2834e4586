/* Metrics against their definitions, written down once more. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "data/fields.h"
#include "task/task.h"

enum { SAMPLES = 12, ROWS = 20, CLASSES = 5, PARTS = 3, MOST_SUMS = 64 };

static float scores[SAMPLES * ROWS * CLASSES], truth[SAMPLES * ROWS];

/* Scores whose largest is any class, and class numbers of which some are unlabelled. */
static void draw(void) {
    hu_random_key key = {4, hu_stream_id("test", "metric"), 0};
    for (uint64_t i = 0; i < SAMPLES * ROWS * CLASSES; i++)
        scores[i] = (float)(hu_random_word(&key, i) >> 8) * 0x1p-24f;
    key.step = 1;
    for (uint64_t i = 0; i < SAMPLES * ROWS; i++)
        truth[i] = (float)(hu_random_word(&key, i) % (CLASSES + 1)) - 1.0f;
}

/* The sums of a metric, from parts of different lengths. */
static void sum(const hu_metric *metric, hu_metric_call whole, int64_t targets_per_sample,
                double *sums) {
    int64_t cuts[PARTS + 1] = {0, 5, 6, whole.samples};
    assert_true(metric->collection->sum_count(&whole) <= MOST_SUMS);
    for (int p = 0; p < PARTS; p++) {
        hu_metric_call part = whole;
        part.samples = cuts[p + 1] - cuts[p];
        if (whole.prediction) part.prediction += cuts[p] * whole.rows * whole.outputs;
        part.target += cuts[p] * targets_per_sample;
        metric->collection->add(&part, sums);
    }
}

static double value_of(const hu_metric *metric, hu_metric_call whole, int64_t targets_per_sample) {
    double sums[MOST_SUMS] = {0};
    sum(metric, whole, targets_per_sample, sums);
    return hu_metric_value(metric, &whole, sums);
}

static hu_metric_call pixels(void) {
    return (hu_metric_call){.samples = SAMPLES,
                            .rows = ROWS,
                            .outputs = CLASSES,
                            .prediction = scores,
                            .target = truth,
                            .loss = &hu_loss_softmax_cross_entropy};
}

/* Two parts of 5 and 3 tokens that count. */
static void perplexity_is_that_of_all_tokens_together(void **state) {
    (void)state;
    double sums[2] = {0, 0};
    const hu_metric_call parts[] = {{.samples = 2, .rows = 3, .loss_sum = 5.5, .units = 5},
                                    {.samples = 1, .rows = 3, .loss_sum = 0.5, .units = 3}};
    const hu_metric_call stopped = {.samples = 1, .rows = 3, .loss_sum = (double)NAN, .units = 0};
    const hu_metric *metric = &hu_metric_perplexity, *bits = &hu_metric_bits_per_token;
    assert_ptr_equal(metric->collection, bits->collection);
    assert_int_equal(metric->collection->sum_count(&parts[0]), 2);
    assert_true(isnan(hu_metric_value(metric, &parts[0], sums)));
    for (int p = 0; p < 2; p++) metric->collection->add(&parts[p], sums);
    assert_true(fabs(hu_metric_value(metric, &parts[0], sums) - exp(0.75)) < 1e-15);
    assert_true(fabs(hu_metric_value(bits, &parts[0], sums) - 0.75 / log(2)) < 1e-15);
    metric->collection->add(&stopped, sums);
    assert_true(isnan(hu_metric_value(metric, &parts[0], sums)));
    assert_true(hu_metric_is_better(metric, 2.0, 3.0));
    assert_true(fabs(metric->of_batch((double[]){6.0, 1.0}, 8.0) - exp(0.75)) < 1e-15);
}

static int said(int row) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (scores[row * CLASSES + c] > scores[row * CLASSES + best]) best = c;
    return best;
}

static void mean_iou_is_the_mean_over_the_classes_of_the_labels(void **state) {
    (void)state;
    draw();
    for (int r = 0; r < SAMPLES * ROWS; r++)
        if (truth[r] == 2.0f) truth[r] = 1.0f; /* class 2 is only said */
    double total = 0;
    int classes = 0;
    for (int c = 0; c < CLASSES; c++) {
        int both = 0, either = 0, labels = 0;
        for (int r = 0; r < SAMPLES * ROWS; r++) {
            if (truth[r] < 0) continue;
            bool is = truth[r] == (float)c, made = said(r) == c;
            both += is && made;
            either += is || made;
            labels += is;
        }
        total += labels ? (double)both / either : 0.0;
        classes += labels > 0;
    }
    assert_int_equal(classes, CLASSES - 1);
    assert_true(value_of(&hu_metric_mean_iou, pixels(), ROWS) == total / classes);
}

static void mean_accuracy_is_the_mean_over_the_classes_of_the_labels(void **state) {
    (void)state;
    draw();
    for (int r = 0; r < SAMPLES * ROWS; r++)
        if (truth[r] == 2.0f) truth[r] = -1.0f; /* class 2 is only said */
    double total = 0;
    for (int c = 0; c < CLASSES; c++) {
        int both = 0, is = 0;
        for (int r = 0; r < SAMPLES * ROWS; r++) {
            is += truth[r] == (float)c;
            both += truth[r] == (float)c && said(r) == c;
        }
        total += is ? (double)both / is : 0.0;
    }
    assert_true(value_of(&hu_metric_mean_accuracy, pixels(), ROWS) == total / (CLASSES - 1));
}

/* Class 2 is only said: nothing is known of it. */
static void each_class_has_its_share(void **state) {
    (void)state;
    double sums[MOST_SUMS] = {0};
    hu_metric_call call = pixels();
    draw();
    for (int r = 0; r < SAMPLES * ROWS; r++)
        if (truth[r] == 2.0f) truth[r] = -1.0f;
    sum(&hu_metric_mean_iou, call, ROWS, sums);
    assert_int_equal(hu_metric_mean_iou.collection->classes(&call), CLASSES);
    for (int c = 0; c < CLASSES; c++) {
        int both = 0, either = 0, is = 0;
        for (int r = 0; r < SAMPLES * ROWS; r++) {
            if (truth[r] < 0) continue;
            both += truth[r] == (float)c && said(r) == c;
            either += truth[r] == (float)c || said(r) == c;
            is += truth[r] == (float)c;
        }
        double iou = hu_metric_mean_iou.of_class(&call, sums, c);
        double accuracy = hu_metric_mean_accuracy.of_class(&call, sums, c);
        assert_true(c == 2 ? isnan(iou) : iou == (double)both / either);
        assert_true(c == 2 ? isnan(accuracy) : accuracy == (double)both / is);
    }
}

/* A metric is a number of all samples, or the mean over classes that have a name. */
static void means_over_classes_are_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; hu_metric_at(i); i++) {
        const hu_metric *metric = hu_metric_at(i);
        assert_true((metric->value != NULL) == (metric->of_class == NULL));
        assert_true(!metric->of_class || (metric->class_name && metric->class_heading));
        assert_true(!metric->of_class || metric->collection->classes);
    }
}

static void a_class_that_never_occurs_does_not_count(void **state) {
    (void)state;
    draw();
    for (int r = 0; r < SAMPLES * ROWS; r++) {
        truth[r] = (float)said(r);
        if (said(r) == 3) truth[r] = -1.0f; /* class 3: only said of unlabelled pixels */
    }
    assert_true(value_of(&hu_metric_mean_iou, pixels(), ROWS) == 1.0);
    assert_true(value_of(&hu_metric_pixel_accuracy, pixels(), ROWS) == 1.0);
}

static void accuracy_leaves_unlabelled_rows_out(void **state) {
    (void)state;
    draw();
    double right = 0, counted = 0;
    for (int r = 0; r < SAMPLES * ROWS; r++) {
        right += truth[r] == (float)said(r);
        counted += truth[r] >= 0;
    }
    assert_true(counted < SAMPLES * ROWS);
    assert_true(value_of(&hu_metric_accuracy, pixels(), ROWS) == right / counted);
}

static void without_predictions_nothing_is_right(void **state) {
    (void)state;
    draw();
    hu_metric_call none = pixels();
    none.prediction = NULL;
    assert_true(value_of(&hu_metric_accuracy, none, ROWS) == 0.0);
    assert_true(value_of(&hu_metric_mean_iou, none, ROWS) == 0.0);
    assert_true(value_of(&hu_metric_mean_accuracy, none, ROWS) == 0.0);
    none.loss = &hu_loss_mse;
    assert_true(isnan(value_of(&hu_metric_psnr, none, ROWS * CLASSES)));
}

static void a_nan_is_of_no_class(void **state) {
    (void)state;
    float row[] = {0.5f, NAN, 0.9f}, fine[] = {0.5f, 0.9f, 0.9f};
    assert_int_equal(hu_metric_class(3, row), -1);
    assert_int_equal(hu_metric_class(3, fine), 1); /* the first of equal ones */
}

static void pictures_are_measured_per_sample(void **state) {
    (void)state;
    float made[2 * 4] = {0, 0, 0, 0, 1, 1, 1, 1}, want[2 * 4] = {1, 1, 1, 1, 1, 1, 1, 0.5f};
    hu_metric_call call = {.samples = 2,
                           .rows = 4,
                           .outputs = 1,
                           .prediction = made,
                           .target = want,
                           .loss = &hu_loss_mse};
    double sums[3] = {0}, errors[3] = {0};
    hu_metric_psnr.collection->add(&call, sums);
    hu_metric_squared_error.collection->add(&call, errors);
    /* Errors 1 and 1/16: 0 dB and 10 log10(16). */
    assert_true(fabs(hu_metric_psnr.value(&call, sums) - 5.0 * log10(16.0)) < 1e-12);
    assert_true(hu_metric_squared_error.value(&call, errors) == (1.0 + 0.0625) / 2.0);
    /* An exact picture counts 100 dB, one that is off by 2e-5 its own ratio. */
    memcpy(made, want, sizeof made);
    made[4] += 0x1p-15f;
    memset(sums, 0, sizeof sums);
    hu_metric_psnr.collection->add(&call, sums);
    double ratio = 10.0 * log10(4.0 * 0x1p30);
    assert_true(ratio < 100.0 &&
                fabs(hu_metric_psnr.value(&call, sums) - (100.0 + ratio) / 2.0) < 1e-11);
    for (int i = 0; i < 8; i++) made[i] = 0.0f; /* logits: the sigmoid of 0 is 1/2 */
    call.loss = &hu_loss_bce;
    memset(errors, 0, sizeof errors);
    hu_metric_squared_error.collection->add(&call, errors);
    assert_true(hu_metric_squared_error.value(&call, errors) == (0.25 + 3.0 * 0.25 / 4.0) / 2.0);
}

/* Two pictures of two logits with targets 1/2 and 1, two codes of one number. */
static void a_bound_is_reconstruction_and_divergence(void **state) {
    (void)state;
    const float made[4] = {0, 0, 0, 40}, want[4] = {0.5f, 1, 0.5f, 1};
    const float mean[2] = {1, 2}, spread[2] = {0, 0};
    hu_metric_call call = {.samples = 2,
                           .rows = 2,
                           .outputs = 1,
                           .prediction = made,
                           .target = want,
                           .loss = &hu_loss_bce_sum,
                           .code = 1,
                           .mean = mean,
                           .spread = spread};
    double ln_2 = log(2.0), sums[3][4] = {{0}};
    const hu_metric *metric[] = {&hu_metric_reconstruction, &hu_metric_divergence,
                                 &hu_metric_negative_elbo};
    for (int m = 0; m < 3; m++) metric[m]->collection->add(&call, sums[m]);
    /* 2 ln 2 and ln 2 + log(1 + e^-40); 1/2 and 2. */
    assert_true(fabs(metric[0]->value(&call, sums[0]) - 1.5 * ln_2) < 1e-15);
    assert_true(metric[1]->value(&call, sums[1]) == 1.25);
    assert_true(fabs(metric[2]->value(&call, sums[2]) - (1.5 * ln_2 + 1.25)) < 1e-15);
    assert_false(metric[2]->higher_is_better);
    call.prediction = call.mean = call.spread = NULL;
    for (int m = 0; m < 3; m++) {
        metric[m]->collection->add(&call, sums[m]);
        assert_true(isnan(metric[m]->value(&call, sums[m])));
    }
}

/* Blocks of one pixel: features are the pixels themselves. */
static double distance_of(const float *made, const float *real, int64_t samples) {
    static double sums[2 * (64 + 64 * 64) + 1];
    hu_metric_call call = {.samples = samples,
                           .rows = 64,
                           .outputs = 1,
                           .prediction = made,
                           .target = real,
                           .loss = &hu_loss_bce};
    memset(sums, 0, sizeof sums);
    assert_int_equal(hu_metric_fd64.collection->sum_count(&call), sizeof sums / sizeof *sums);
    hu_metric_fd64.collection->add(&call, sums);
    return hu_metric_fd64.value(&call, sums);
}

/* Independent pixels of deviations a and b and means 0 and 1/2: each is (a - b)^2 + 1/4 away.
 * Turned sets are as far from each other: the distance does not depend on the axes. */
static void sets_of_pictures_are_as_far_apart_as_their_laws(void **state) {
    (void)state;
    enum { SETS = 128, PIXELS = 64 };
    static float made[SETS * PIXELS], real[SETS * PIXELS];
    /* Rows of +-1 of a Hadamard matrix of 64 and their negatives: mean 0, products 128 I. */
    for (int s = 0; s < SETS; s++)
        for (int i = 0; i < PIXELS; i++) {
            float one = __builtin_parity((unsigned)(s % PIXELS & i)) ? -1.0f : 1.0f;
            one = s < PIXELS ? one : -one;
            made[s * PIXELS + i] = 2.0f * one;
            real[s * PIXELS + i] = 0.5f + one * (float)(i % 4);
        }
    double unit = SETS / (SETS - 1.0), expected = 0.0;
    for (int i = 0; i < PIXELS; i++) {
        double a = 2.0 * sqrt(unit), b = (double)(i % 4) * sqrt(unit);
        expected += (a - b) * (a - b) + 0.25;
    }
    assert_true(fabs(distance_of(made, real, SETS) - expected) < 1e-10 * expected);
    assert_true(fabs(distance_of(real, made, SETS) - expected) < 1e-10 * expected);
    assert_true(fabs(distance_of(real, real, SETS)) < 1e-9);
    assert_true(isnan(distance_of(made, real, 1)));
    made[5] = NAN;
    assert_true(isnan(distance_of(made, real, SETS)));
    assert_true(isnan(distance_of(NULL, real, SETS)));
}

static hu_dataset *framed_fashion(void) {
    hu_data_limits limits = {2000, 2000};
    hu_dataset *d = NULL;
    if (!hu_dataset_available("fashion-mnist")) return NULL;
    assert_int_equal(hu_dataset_open("fashion-mnist", &limits, &d), HU_OK);
    assert_int_equal(hu_dataset_frame(d, 2), HU_OK);
    return d;
}

/* The first 2,000 training images of Fashion-MNIST and its first 2,000 test images, framed. */
static void two_halves_of_one_set_are_near(void **state) {
    (void)state;
    enum { COUNT = 2000, PIXELS = 32 * 32, SUMS = 2 * (64 + 64 * 64) + 1 };
    static double sums[SUMS];
    hu_dataset *d = framed_fashion();
    if (!d) skip();
    float *rows[2];
    for (int h = 0; h < 2; h++) {
        hu_loader_settings settings = {.window = COUNT, .threads = 1};
        hu_loader *loader;
        rows[h] = malloc(sizeof(float) * COUNT * PIXELS);
        assert_int_equal(
            hu_loader_create(d, h ? HU_SPLIT_TEST : HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
        hu_loader_fill(loader, 0, HU_READ_SIGNED, 0, COUNT, rows[h]);
        hu_loader_close(loader);
    }
    hu_metric_call call = {.samples = COUNT,
                           .rows = PIXELS,
                           .outputs = 1,
                           .prediction = rows[0],
                           .target = rows[1],
                           .loss = &hu_loss_bce};
    hu_metric_fd64.collection->add(&call, sums);
    double distance = hu_metric_fd64.value(&call, sums);
    print_message("FD-64 of training and test images: %.6f\n", distance);
    assert_true(fabs(distance - 0.03799) < 0.000005);
    free(rows[0]);
    free(rows[1]);
    hu_dataset_close(d);
}

/* Bytes: what is near enough rounds to them, what lies outside is cut off. The border does not
 * count. */
static void luma_is_measured_in_bytes_without_a_border(void **state) {
    (void)state;
    enum { HIGH = 4, WIDE = 5, ALL = HIGH * WIDE * 3 };
    float made[ALL], want[ALL];
    for (int i = 0; i < ALL; i++) want[i] = made[i] = (float)(i % 256) / 255.0f;
    made[0] = 1.0f; /* a corner */
    int at = (2 * WIDE + 3) * 3;
    made[at] += 0.4f / 255.0f;
    made[at + 1] += 51.0f / 255.0f;
    want[at + 2] = 1.0f;
    made[at + 2] = 7.0f;
    hu_metric_call call = {.samples = 1,
                           .rows = HIGH * WIDE,
                           .outputs = 3,
                           .prediction = made,
                           .target = want,
                           .width = WIDE,
                           .border = 1};
    double sums[2] = {0}, error = 128.553 * 51.0 / 255.0 / 255.0;
    hu_metric_luma_psnr.collection->add(&call, sums);
    double expected = -10.0 * log10(error * error / 6.0);
    assert_true(fabs(hu_metric_luma_psnr.value(&call, sums) - expected) < 1e-9);
    made[at + 1] = want[at + 1];
    hu_metric_luma_psnr.collection->add(&call, sums); /* 100 dB at most, mean over the pictures */
    assert_true(fabs(hu_metric_luma_psnr.value(&call, sums) - (expected + 100.0) / 2.0) < 1e-9);
    call.prediction = NULL;
    hu_metric_luma_psnr.collection->add(&call, sums);
    assert_true(isnan(hu_metric_luma_psnr.value(&call, sums)));
}

static void better_knows_its_direction(void **state) {
    (void)state;
    assert_true(hu_metric_is_better(&hu_metric_accuracy, 0.5, 0.4));
    assert_true(hu_metric_is_better(&hu_metric_squared_error, 0.4, 0.5));
    assert_false(hu_metric_is_better(&hu_metric_accuracy, 0.4, 0.4));
    assert_true(hu_metric_is_better(&hu_metric_squared_error, 0.4, NAN));
    assert_false(hu_metric_is_better(&hu_metric_psnr, NAN, 0.0));
}

/* The pairs that compute what they share once; all sums of a collection are asked for by its first
 * metric alone. */
static void metrics_of_a_collection_share_its_sums(void **state) {
    (void)state;
    const int of_segment[] = {0, 0, 2}, of_vae[] = {0, 0, 0, 3}, of_enlarge[] = {0, 1};
    for (int m = 0; m < 3; m++)
        assert_int_equal(hu_task_collection(&hu_task_segment, m), of_segment[m]);
    for (int m = 0; m < 4; m++) assert_int_equal(hu_task_collection(&hu_task_vae, m), of_vae[m]);
    for (int m = 0; m < 2; m++) {
        assert_int_equal(hu_task_collection(&hu_task_enlarge, m), of_enlarge[m]);
        assert_int_equal(hu_task_collection(&hu_task_autoencode, m), 0);
        assert_int_equal(hu_task_collection(&hu_task_detect, m), 0);
        assert_int_equal(hu_task_collection(&hu_task_detect_regions, m), 0);
    }
}

static void every_metric_is_found_by_its_name(void **state) {
    (void)state;
    size_t count = 0;
    for (; hu_metric_at(count); count++)
        assert_ptr_equal(hu_metric_find(hu_metric_at(count)->name), hu_metric_at(count));
    assert_true(count >= 5);
    assert_null(hu_metric_find("accurate"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_iou_is_the_mean_over_the_classes_of_the_labels),
        cmocka_unit_test(mean_accuracy_is_the_mean_over_the_classes_of_the_labels),
        cmocka_unit_test(each_class_has_its_share),
        cmocka_unit_test(means_over_classes_are_told_apart),
        cmocka_unit_test(a_class_that_never_occurs_does_not_count),
        cmocka_unit_test(accuracy_leaves_unlabelled_rows_out),
        cmocka_unit_test(without_predictions_nothing_is_right),
        cmocka_unit_test(a_nan_is_of_no_class),
        cmocka_unit_test(pictures_are_measured_per_sample),
        cmocka_unit_test(a_bound_is_reconstruction_and_divergence),
        cmocka_unit_test(sets_of_pictures_are_as_far_apart_as_their_laws),
        cmocka_unit_test(two_halves_of_one_set_are_near),
        cmocka_unit_test(luma_is_measured_in_bytes_without_a_border),
        cmocka_unit_test(better_knows_its_direction),
        cmocka_unit_test(metrics_of_a_collection_share_its_sums),
        cmocka_unit_test(perplexity_is_that_of_all_tokens_together),
        cmocka_unit_test(every_metric_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
