/* How surprising the true tokens are: the exponential of the mean loss of all of them together, and
 * the mean itself in bits, or as it is. */
#include <math.h>

#include "base/elementary.h"
#include "op/op.h"
#include "task/metric.h"

enum { LOSS, TOKENS, SUMS };

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

/* The losses that the loss itself has left, before any rounding. */
static void add(const hu_metric_call *part, double *sums) {
    sums[LOSS] += part->loss_sum;
    sums[TOKENS] += part->units;
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

/* NaN (0/0) where no token counts. */
static double perplexity(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return hu_exp(sums[LOSS] / sums[TOKENS]);
}

static double bits(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[LOSS] / sums[TOKENS] / (HU_LN2_HIGH + HU_LN2_LOW);
}

static double mean(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[LOSS] / sums[TOKENS];
}

static double mean_of_batch(const double *stats, double units) {
    return stats[HU_LOSS_SUM] / units;
}

static double perplexity_of_batch(const double *stats, double units) {
    return hu_exp(stats[HU_LOSS_SUM] / units);
}

const hu_metric hu_metric_perplexity = {
    .name = "perplexity",
    .help = "among how many equally likely tokens the model would have to choose",
    .unit = "",
    .factor = 1.0,
    .decimals = 2,
    .collection = &collection,
    .value = perplexity,
    .of_batch = perplexity_of_batch};

const hu_metric hu_metric_bits_per_token = {
    .name = "bits_per_token",
    .help = "bits that a token costs who has the model; of characters, bits per character",
    .unit = "",
    .factor = 1.0,
    .decimals = 4,
    .collection = &collection,
    .value = bits};

const hu_metric hu_metric_mlm_loss = {
    .name = "mlm_loss",
    .help = "minus the logarithm of what is said of hidden words, mean over them",
    .heading = "MLM loss",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 4,
    .collection = &collection,
    .value = mean,
    .of_batch = mean_of_batch};
