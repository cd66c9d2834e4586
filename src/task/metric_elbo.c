/* What a variational autoencoder minimises, without weights: minus the evidence lower bound (ELBO)
 * of a sample is the reconstruction, minus the log-likelihood of the sample given one code that is
 * drawn for it, plus the divergence of the code's distribution from the standard normal one (Kingma
 * and Welling 2014). All are means over the samples, in nats. */
#include <math.h>

#include "op/loss.h"
#include "task/metric.h"

enum { TOTAL, SAMPLES, SUMS };

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

static double both(const hu_metric_call *part, int64_t s) {
    return reconstruction(part, s) + divergence(part, s);
}

static void add(const hu_metric_call *part, double *sums,
                double (*of)(const hu_metric_call *, int64_t)) {
    for (int64_t s = 0; s < part->samples; s++) sums[TOTAL] += of(part, s);
    sums[SAMPLES] += (double)part->samples;
}

static void add_both(const hu_metric_call *part, double *sums) {
    add(part, sums, both);
}

static void add_reconstruction(const hu_metric_call *part, double *sums) {
    add(part, sums, reconstruction);
}

static void add_divergence(const hu_metric_call *part, double *sums) {
    add(part, sums, divergence);
}

/* NaN (0/0) without samples. */
static double mean(const hu_metric_call *shape, double *sums) {
    (void)shape;
    return sums[TOTAL] / sums[SAMPLES];
}

const hu_metric hu_metric_negative_elbo = {
    .name = "negative_elbo",
    .help = "minus the evidence lower bound: reconstruction plus divergence, mean over the samples",
    .heading = "Negative ELBO",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .sum_count = sum_count,
    .add = add_both,
    .value = mean};

const hu_metric hu_metric_reconstruction = {
    .name = "reconstruction",
    .help = "minus the log-likelihood of a sample given its code, mean over the samples",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .sum_count = sum_count,
    .add = add_reconstruction,
    .value = mean};

const hu_metric hu_metric_divergence = {
    .name = "divergence",
    .help = "of the distribution of codes from the standard normal one, mean over the samples",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .sum_count = sum_count,
    .add = add_divergence,
    .value = mean};
