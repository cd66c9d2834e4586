/* Errors of pictures whose numbers lie in 0..1: the mean squared error, and the peak
 * signal-to-noise ratio -10 log10(mean squared error of the sample) but at most 100, mean over the
 * samples. */
#include <math.h>

#include "base/elementary.h"
#include "task/metric.h"

/* Sums over samples of their errors and ratios, and how many samples there are. */
enum { ERRORS, RATIOS, SAMPLES, SUMS };

static const double ln_10 = 2.302585092994045684;

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

/* Of sample s; NaN without predictions. */
static double squared_error(const hu_metric_call *part, int64_t s) {
    int64_t numbers = part->rows * part->outputs;
    double sum = 0.0;
    if (!part->prediction) return NAN;
    for (int64_t i = s * numbers; i < (s + 1) * numbers; i++) {
        double made = (double)part->prediction[i];
        if (part->loss->predicted) made = part->loss->predicted(made);
        double error = made - (double)part->target[i];
        sum += error * error;
    }
    return sum / (double)numbers;
}

/* In decibels. The largest number is 1, so that the peak has no term of its own. A picture that is
 * reproduced exactly would be infinite, and one such picture would hide all others in the mean: no
 * ratio counts as more than 100 dB, errors of 1e-5. */
static double ratio_of(double error) {
    const double most = 100.0, least_error = 1e-10;
    return error < least_error ? most : -10.0 * hu_log(error) / ln_10;
}

static void add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++) {
        double error = squared_error(part, s);
        sums[ERRORS] += error;
        sums[RATIOS] += ratio_of(error);
    }
    sums[SAMPLES] += (double)part->samples;
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

/* NaN (0/0) without samples. */
static double mean_error(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[ERRORS] / sums[SAMPLES];
}

static double mean_ratio(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[RATIOS] / sums[SAMPLES];
}

const hu_metric hu_metric_psnr = {
    .name = "psnr",
    .help = "peak signal-to-noise ratio of a picture, at most 100 dB, mean over the samples",
    .heading = "PSNR",
    .unit = " dB",
    .factor = 1.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &collection,
    .value = mean_ratio};

const hu_metric hu_metric_squared_error = {
    .name = "squared_error",
    .help = "squared error of a number in 0..1, mean over numbers and samples",
    .unit = "",
    .factor = 1.0,
    .decimals = 6,
    .higher_is_better = false,
    .collection = &collection,
    .value = mean_error};
