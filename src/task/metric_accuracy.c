/* Share of the samples, or rows, whose class is the model's most likely one. */
#include <math.h>

#include "op/op.h"
#include "task/metric.h"

/* Rows whose class is right, and rows that have a label. */
enum { CORRECT, COUNTED, SUMS };

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

/* Without predictions (a format stopped the pass) no row is correct. */
static void add(const hu_metric_call *part, double *sums) {
    for (int64_t r = 0; r < part->samples * part->rows; r++) {
        if (part->target[r] < 0.0f) continue;
        sums[COUNTED] += 1.0;
        if (!part->prediction) continue;
        int64_t made = hu_metric_class(part->outputs, part->prediction + r * part->outputs);
        sums[CORRECT] += made >= 0 && (float)made == part->target[r];
    }
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

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
                                      .collection = &collection,
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
    .collection = &collection,
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
                                          .collection = &collection,
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
    add(&pairs, sums);
}

static const hu_collection of_pairs = {.sum_count = sum_count, .add = add_pairs};

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
