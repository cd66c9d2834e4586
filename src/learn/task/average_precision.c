#include <math.h>
#include <stdlib.h>

#include "task/detection.h"

/* ---- metric mean ap ---- */

/* Mean average precision at an overlap of 0.5: for each class, all detections of all pictures from
 * the best down, precision over recall; the mean over the classes that have boxes. Over all points
 * of the curve, and the mean over 11 recalls as PASCAL VOC took it until 2009 (Everingham et al.,
 * 4.2). Boxes that are difficult are not asked for, and who finds them is not wrong. */

/* The sums of a class: two numbers, then of each detection its score and 2 x its place in the order
 * of arrival + whether it is true. */
enum { BOXES, SAID, HEAD, ENTRY = 2, RECALLS = 11 };

static int64_t doubles_per_class(const hu_metric_call *shape) {
    int64_t most = shape->rows;
    if (most > HU_DETECTIONS_PER_CLASS) most = HU_DETECTIONS_PER_CLASS;
    return HEAD + ENTRY * most * shape->whole;
}

static int64_t sum_count(const hu_metric_call *shape) {
    return hu_detection_classes(shape) * doubles_per_class(shape);
}

/* Room for detections that nobody fills is not touched. */
static void clear(const hu_metric_call *shape, double *sums) {
    for (int64_t c = 0; c < hu_detection_classes(shape); c++, sums += doubles_per_class(shape))
        sums[BOXES] = sums[SAID] = 0.0;
}

/* One picture. */
typedef struct picture {
    hu_finder finder;
    double *sums;
    int64_t per_class;
} picture;

static void add_detection(void *context, const hu_detection *detection) {
    picture *of = context;
    double *sums = of->sums + detection->class_number * of->per_class;
    double *entry = sums + HEAD + ENTRY * (int64_t)sums[SAID];
    hu_worth worth = hu_finder_judge(&of->finder, detection);
    if (worth == HU_DETECTION_IGNORED) return;
    entry[0] = detection->score;
    entry[1] = 2.0 * sums[SAID] + (worth == HU_DETECTION_RIGHT ? 1.0 : 0.0);
    sums[SAID] += 1.0;
}

static void add(const hu_metric_call *part, double *sums) {
    picture of = {.sums = sums, .per_class = doubles_per_class(part)};
    int64_t classes = hu_detection_classes(part);
    for (int64_t s = 0; s < part->samples; s++) {
        of.finder = hu_finder_begin(part, s);
        for (int64_t i = 0; i < of.finder.most; i++) {
            float c = of.finder.rows[i * HU_BOX_NUMBERS + HU_BOX_CLASS];
            if (c >= 0.0f && c < (float)classes) sums[(int64_t)c * of.per_class + BOXES] += 1.0;
        }
        hu_detections_visit(part, s, add_detection, &of);
    }
}

/* Best score first, equal ones as they came. */
static int compare(const void *a, const void *b) {
    const double *left = a, *right = b;
    if (left[0] != right[0]) return left[0] > right[0] ? -1 : 1;
    return (left[1] > right[1]) - (left[1] < right[1]);
}

static bool is_true(const double *entry) {
    return fmod(entry[1], 2.0) == 1.0;
}

/* Recalls 0, 1/10, .. 1 that are first reached with `found` of `boxes`. */
static int64_t recalls_reached(int64_t found, int64_t boxes) {
    int64_t reached = 0;
    for (int64_t k = 0; k < RECALLS; k++) {
        int64_t needed = (k * boxes + RECALLS - 2) / (RECALLS - 1);
        reached += found == (needed > 0 ? needed : 1);
    }
    return reached;
}

/* Best detections first. */
static void finish(const hu_metric_call *shape, double *sums) {
    for (int64_t c = 0; c < hu_detection_classes(shape); c++, sums += doubles_per_class(shape))
        qsort(sums + HEAD, (size_t)sums[SAID], ENTRY * sizeof *sums, compare);
}

static const hu_collection collection = {.sum_count = sum_count,
                                         .clear = clear,
                                         .add = add,
                                         .finish = finish,
                                         .classes = hu_detection_classes};

/* From the worst detection up: precision is the best at this recall or a larger one. NaN where the
 * class has no box. */
static double average_precision(const double *sums, bool has_all_points) {
    int64_t said = (int64_t)sums[SAID], boxes = (int64_t)sums[BOXES], found = 0;
    const double *entry = sums + HEAD;
    double best = 0.0, total = 0.0;
    if (boxes == 0) return (double)NAN;
    for (int64_t i = 0; i < said; i++) found += is_true(entry + ENTRY * i);
    for (int64_t i = said - 1; i >= 0; i--) {
        double precision = (double)found / (double)(i + 1);
        if (precision > best) best = precision;
        if (!is_true(entry + ENTRY * i)) continue;
        total += best * (has_all_points ? 1.0 : (double)recalls_reached(found, boxes));
        found--;
    }
    return total / (has_all_points ? (double)boxes : RECALLS);
}

static double over_all_points(const hu_metric_call *shape, const double *sums,
                              int64_t class_number) {
    return average_precision(sums + class_number * doubles_per_class(shape), true);
}

static double over_11_recalls(const hu_metric_call *shape, const double *sums,
                              int64_t class_number) {
    return average_precision(sums + class_number * doubles_per_class(shape), false);
}

const hu_metric hu_metric_mean_ap = {
    .name = "mean_ap",
    .help = "average precision at an overlap of 0.5, mean over the classes",
    .heading = "mAP",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &collection,
    .of_class = over_all_points,
    .class_name = "ap",
    .class_heading = "AP"};

const hu_metric hu_metric_mean_ap_11 = {.name = "mean_ap_11",
                                        .help =
                                            "the same over 11 recalls, as PASCAL VOC 2007 took it",
                                        .heading = "11-point mAP",
                                        .unit = " %",
                                        .factor = 100.0,
                                        .decimals = 2,
                                        .higher_is_better = true,
                                        .collection = &collection,
                                        .of_class = over_11_recalls,
                                        .class_name = "ap_11",
                                        .class_heading = "11-point AP"};
