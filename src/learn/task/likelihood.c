#include <math.h>

#include "base/elementary.h"
#include "op/attributes.h"
#include "op/op.h"
#include "task/task.h"

/* ---- metric elbo ---- */

/* What a variational autoencoder minimises, without weights: minus the evidence lower bound (ELBO)
 * of a sample is the reconstruction, minus the log-likelihood of the sample given one code that is
 * drawn for it, plus the divergence of the code's distribution from the standard normal one (Kingma
 * and Welling 2014). All are means over the samples, in nats. */

enum { BOTH, RECONSTRUCTION, DIVERGENCE, SAMPLES, ELBO_SUMS };

static int64_t elbo_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return ELBO_SUMS;
}

/* Of sample s, in the order of its numbers; NaN where a format stopped the pass. */
static double reconstruction(const hu_metric_call *part, int64_t s) {
    int64_t numbers = part->rows * part->outputs;
    double sum = 0.0;
    if (!part->prediction) return NAN;
    for (int64_t i = s * numbers; i < (s + 1) * numbers; i++)
        sum += part->loss->token_loss((double)part->prediction[i], (double)part->target[i]);
    return sum;
}

static double divergence(const hu_metric_call *part, int64_t s) {
    double sum = 0.0;
    if (!part->mean || !part->spread) return NAN;
    for (int64_t i = s * part->code; i < (s + 1) * part->code; i++)
        sum += hu_divergence((double)part->mean[i], (double)part->spread[i]);
    return sum;
}

static void elbo_add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++) {
        double made = reconstruction(part, s), apart = divergence(part, s);
        sums[BOTH] += made + apart;
        sums[RECONSTRUCTION] += made;
        sums[DIVERGENCE] += apart;
    }
    sums[SAMPLES] += (double)part->samples;
}

static const hu_collection elbo_collection = {.sum_count = elbo_sum_count, .add = elbo_add};

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
    .collection = &elbo_collection,
    .value = mean_both};

const hu_metric hu_metric_reconstruction = {
    .name = "reconstruction",
    .help = "minus the log-likelihood of a sample given its code, mean over the samples",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .collection = &elbo_collection,
    .value = mean_reconstruction};

const hu_metric hu_metric_divergence = {
    .name = "divergence",
    .help = "of the distribution of codes from the standard normal one, mean over the samples",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 2,
    .collection = &elbo_collection,
    .value = mean_divergence};

/* ---- metric perplexity ---- */

/* How surprising the true tokens are: the exponential of the mean loss of all of them together, and
 * the mean itself in bits, or as it is. */

enum { LOSS, TOKENS, PERPLEXITY_SUMS };

static int64_t perplexity_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return PERPLEXITY_SUMS;
}

/* The losses that the loss itself has left, before any rounding. */
static void perplexity_add(const hu_metric_call *part, double *sums) {
    sums[LOSS] += part->loss_sum;
    sums[TOKENS] += part->units;
}

static const hu_collection perplexity_collection = {.sum_count = perplexity_sum_count,
                                                    .add = perplexity_add};

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
    .collection = &perplexity_collection,
    .value = perplexity,
    .of_batch = perplexity_of_batch};

const hu_metric hu_metric_bits_per_token = {
    .name = "bits_per_token",
    .help = "bits that a token costs who has the model; of characters, bits per character",
    .unit = "",
    .factor = 1.0,
    .decimals = 4,
    .collection = &perplexity_collection,
    .value = bits};

const hu_metric hu_metric_mlm_loss = {
    .name = "mlm_loss",
    .help = "minus the logarithm of what is said of hidden words, mean over them",
    .heading = "MLM loss",
    .unit = " nats",
    .factor = 1.0,
    .decimals = 4,
    .collection = &perplexity_collection,
    .value = mean,
    .of_batch = mean_of_batch};
