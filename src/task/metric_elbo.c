/* What a variational autoencoder minimises, without weights: minus the evidence lower bound (ELBO)
 * of a sample is the reconstruction, minus the log-likelihood of the sample given one code that is
 * drawn for it, plus the divergence of the code's distribution from the standard normal one (Kingma
 * and Welling 2014). All are means over the samples, in nats. */
#include <math.h>

#include "op/loss.h"
#include "task/metric.h"

enum { BOTH, RECONSTRUCTION, DIVERGENCE, SAMPLES, SUMS };

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

/* Of sample s, in the order of its numbers; NaN where a format stopped the pass. */
static double reconstruction(const hu_metric_call *part, int64_t s) {
    int64_t numbers = part->rows * part->outputs;
    double sum = 0.0;
    if (!part->prediction) return NAN;
    for (int64_t i = s * numbers; i < (s + 1) * numbers; i++)
        sum += part->loss->surprise((double)part->prediction[i], (double)part->target[i]);
    return sum;
}

static double divergence(const hu_metric_call *part, int64_t s) {
    double sum = 0.0;
    if (!part->mean || !part->spread) return NAN;
    for (int64_t i = s * part->code; i < (s + 1) * part->code; i++)
        sum += hu_divergence((double)part->mean[i], (double)part->spread[i]);
    return sum;
}

static void add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++) {
        double made = reconstruction(part, s), apart = divergence(part, s);
        sums[BOTH] += made + apart;
        sums[RECONSTRUCTION] += made;
        sums[DIVERGENCE] += apart;
    }
    sums[SAMPLES] += (double)part->samples;
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

/* NaN (0/0) without samples. */
static double mean_both(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[BOTH] / sums[SAMPLES];
}

static double mean_reconstruction(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[RECONSTRUCTION] / sums[SAMPLES];
}

static double mean_divergence(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[DIVERGENCE] / sums[SAMPLES];
}

const hu_metric hu_metric_negative_elbo = {
    .name = "negative_elbo",
    .help = "minus the evidence lower bound: reconstruction plus divergence, mean over the samples",
    .heading = "Negative ELBO",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .collection = &collection,
    .value = mean_both};

const hu_metric hu_metric_reconstruction = {
    .name = "reconstruction",
    .help = "minus the log-likelihood of a sample given its code, mean over the samples",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .collection = &collection,
    .value = mean_reconstruction};

const hu_metric hu_metric_divergence = {
    .name = "divergence",
    .help = "of the distribution of codes from the standard normal one, mean over the samples",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .collection = &collection,
    .value = mean_divergence};
