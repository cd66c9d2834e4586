/* Mean intersection over union: for each class, pixels that are and are said to be of it over
 * pixels that are or are said to be; the mean over the classes of the labels. Mean accuracy: over
 * those that are, for the classes that are. Both over the whole test set. */
#include <math.h>

#include "task/metric.h"

/* Three sums per class. */
enum { BOTH, TRUE, SAID, SUMS };

static int64_t sum_count(const hu_metric_call *shape) {
    return SUMS * shape->outputs;
}

/* A row that holds a NaN is said to be of no class. */
static void add(const hu_metric_call *part, double *sums) {
    for (int64_t r = 0; r < part->samples * part->rows; r++) {
        float target = part->target[r];
        if (!(target >= 0.0f && target < (float)part->outputs)) continue; /* unlabelled, or NaN */
        int64_t is = (int64_t)target, made = -1;
        if (part->prediction)
            made = hu_metric_class(part->outputs, part->prediction + r * part->outputs);
        sums[is * SUMS + TRUE] += 1.0;
        if (made >= 0) sums[made * SUMS + SAID] += 1.0;
        if (made == is) sums[is * SUMS + BOTH] += 1.0;
    }
}

static int64_t classes(const hu_metric_call *shape) {
    return shape->outputs;
}

static const hu_collection collection = {.sum_count = sum_count, .add = add, .classes = classes};

/* A class that no label has says nothing, whether or not it is said of some pixel. */
static double iou(const hu_metric_call *shape, const double *sums, int64_t class_number) {
    const double *of = sums + class_number * SUMS;
    (void)shape;
    return of[TRUE] == 0.0 ? (double)NAN : of[BOTH] / (of[TRUE] + of[SAID] - of[BOTH]);
}

static double accuracy(const hu_metric_call *shape, const double *sums, int64_t class_number) {
    const double *of = sums + class_number * SUMS;
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
    .collection = &collection,
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
    .collection = &collection,
    .of_class = accuracy,
    .class_name = "accuracy",
    .class_heading = "Accuracy"};
