#include <math.h>

#include "op/op.h"
#include "task/task.h"

/* ---- metric accuracy ---- */

/* Share of the samples, or rows, whose class is the model's most likely one. */

/* Rows whose class is right, and rows that have a label. */
enum { CORRECT, COUNTED, ACCURACY_SUMS };

static int64_t accuracy_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return ACCURACY_SUMS;
}

/* Without predictions (a format stopped the pass) no row is correct. */
static void accuracy_add(const hu_metric_call *part, double *sums) {
    for (int64_t r = 0; r < part->samples * part->rows; r++) {
        if (part->target[r] < 0.0f) continue;
        sums[COUNTED] += 1.0;
        if (!part->prediction) continue;
        int64_t made = hu_metric_class(part->outputs, part->prediction + r * part->outputs);
        sums[CORRECT] += made >= 0 && (float)made == part->target[r];
    }
}

static const hu_collection accuracy_collection = {.sum_count = accuracy_sum_count,
                                                  .add = accuracy_add};

/* NaN (0/0) where no row has a label. */
static double value(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[CORRECT] / sums[COUNTED];
}

/* The loss has counted correct rows on its way; units: samples, or rows that have a label. */
static double of_batch(const double *stats, double units) {
    return stats[HU_LOSS_METRIC] / units;
}

static double chance(int64_t outputs) {
    return 1.0 / (double)outputs;
}

const hu_metric hu_metric_accuracy = {.name = "accuracy",
                                      .help = "share of the samples that are classified correctly",
                                      .unit = " %",
                                      .factor = 100.0,
                                      .decimals = 2,
                                      .higher_is_better = true,
                                      .collection = &accuracy_collection,
                                      .value = value,
                                      .chance = chance,
                                      .of_batch = of_batch};

const hu_metric hu_metric_pixel_accuracy = {
    .name = "pixel_accuracy",
    .help = "share of the labelled pixels that are classified correctly",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &accuracy_collection,
    .value = value,
    .of_batch = of_batch};

const hu_metric hu_metric_mlm_accuracy = {.name = "mlm_accuracy",
                                          .help =
                                              "share of the hidden words that are told correctly",
                                          .heading = "MLM accuracy",
                                          .unit = " %",
                                          .factor = 100.0,
                                          .decimals = 2,
                                          .higher_is_better = true,
                                          .collection = &accuracy_collection,
                                          .value = value,
                                          .of_batch = of_batch};

/* Of pairs, the second head. */
static void add_pairs(const hu_metric_call *part, double *sums) {
    enum { SCORES = 2 };
    hu_metric_call pairs = *part;
    pairs.rows = 1;
    pairs.outputs = SCORES;
    pairs.prediction = part->pair_scores;
    pairs.target = part->pair_label;
    accuracy_add(&pairs, sums);
}

static const hu_collection of_pairs = {.sum_count = accuracy_sum_count, .add = add_pairs};

const hu_metric hu_metric_nsp_accuracy = {
    .name = "nsp_accuracy",
    .help =
        "share of the pairs of which is told correctly whether the second part follows the first",
    .heading = "NSP accuracy",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &of_pairs,
    .value = value};

/* ---- metric mean iou ---- */

/* Mean intersection over union: for each class, pixels that are and are said to be of it over
 * pixels that are or are said to be; the mean over the classes of the labels. Mean accuracy: over
 * those that are, for the classes that are. Both over the whole test set. */

/* Three sums per class. */
enum { BOTH, TRUE, SAID, MEAN_IOU_SUMS };

static int64_t mean_iou_sum_count(const hu_metric_call *shape) {
    return MEAN_IOU_SUMS * shape->outputs;
}

/* A row that holds a NaN is said to be of no class. */
static void mean_iou_add(const hu_metric_call *part, double *sums) {
    for (int64_t r = 0; r < part->samples * part->rows; r++) {
        float target = part->target[r];
        if (!(target >= 0.0f && target < (float)part->outputs)) continue; /* unlabelled, or NaN */
        int64_t is = (int64_t)target, made = -1;
        if (part->prediction)
            made = hu_metric_class(part->outputs, part->prediction + r * part->outputs);
        sums[is * MEAN_IOU_SUMS + TRUE] += 1.0;
        if (made >= 0) sums[made * MEAN_IOU_SUMS + SAID] += 1.0;
        if (made == is) sums[is * MEAN_IOU_SUMS + BOTH] += 1.0;
    }
}

static int64_t classes(const hu_metric_call *shape) {
    return shape->outputs;
}

static const hu_collection mean_iou_collection = {
    .sum_count = mean_iou_sum_count, .add = mean_iou_add, .classes = classes};

/* A class that no label has says nothing, whether or not it is said of some pixel. */
static double iou(const hu_metric_call *shape, const double *sums, int64_t class_number) {
    const double *of = sums + class_number * MEAN_IOU_SUMS;
    (void)shape;
    return of[TRUE] == 0.0 ? (double)NAN : of[BOTH] / (of[TRUE] + of[SAID] - of[BOTH]);
}

static double accuracy(const hu_metric_call *shape, const double *sums, int64_t class_number) {
    const double *of = sums + class_number * MEAN_IOU_SUMS;
    (void)shape;
    return of[TRUE] == 0.0 ? (double)NAN : of[BOTH] / of[TRUE];
}

const hu_metric hu_metric_mean_iou = {
    .name = "mean_iou",
    .help = "intersection over union, mean over the classes of the labels",
    .heading = "Mean IoU",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &mean_iou_collection,
    .of_class = iou,
    .class_name = "iou",
    .class_heading = "IoU"};

const hu_metric hu_metric_mean_accuracy = {
    .name = "mean_accuracy",
    .help = "share of a class's pixels that are classified correctly, mean over the classes",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &mean_iou_collection,
    .of_class = accuracy,
    .class_name = "accuracy",
    .class_heading = "Accuracy"};
