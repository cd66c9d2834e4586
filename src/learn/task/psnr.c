#include <math.h>

#include "base/elementary.h"
#include "task/task.h"

/* ---- metric psnr ---- */

/* Errors of pictures whose numbers lie in 0..1: the mean squared error, and the peak
 * signal-to-noise ratio -10 log10(mean squared error of the sample) but at most 100, mean over the
 * samples. */

/* Sums over samples of their errors and ratios, and how many samples there are. */
enum { ERRORS, RATIOS, SAMPLES, PSNR_SUMS };

static const double ln_10 = 2.302585092994045684;

static int64_t psnr_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return PSNR_SUMS;
}

/* Of sample s; NaN without predictions. */
static double psnr_squared_error(const hu_metric_call *part, int64_t s) {
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

static void psnr_add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++) {
        double error = psnr_squared_error(part, s);
        sums[ERRORS] += error;
        sums[RATIOS] += ratio_of(error);
    }
    sums[SAMPLES] += (double)part->samples;
}

static const hu_collection psnr_collection = {.sum_count = psnr_sum_count, .add = psnr_add};

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
    .collection = &psnr_collection,
    .value = mean_ratio};

const hu_metric hu_metric_squared_error = {
    .name = "squared_error",
    .help = "squared error of a number in 0..1, mean over numbers and samples",
    .unit = "",
    .factor = 1.0,
    .decimals = 6,
    .higher_is_better = false,
    .collection = &psnr_collection,
    .value = mean_error};

/* ---- metric luma psnr ---- */

/* How well a picture was enlarged: the peak signal-to-noise ratio of luma, in bytes as they would
 * be stored, without a border; mean over the pictures. Super-resolution papers since SRCNN report
 * this. */

/* Sum over pictures of their ratio, and how many there are. */
enum { TOTAL, PICTURES, LUMA_PSNR_SUMS, COLOURS = 3 };

static int64_t luma_psnr_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return LUMA_PSNR_SUMS;
}

/* Clamped to 0..1 and rounded to 1/255; a NaN stays one. */
static double stored(double x) {
    double clamped = x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
    return floor(clamped * 255.0 + 0.5) / 255.0;
}

/* Y of ITU-R BT.601, in 16/255..235/255; the only channel of grey pictures. loss: what turns
 * outputs into pixels, NULL for pixels. */
static double luma_of(int64_t channels, const float *pixel, const hu_loss_form *loss) {
    double colour[COLOURS] = {0.0};
    for (int64_t c = 0; c < (channels == COLOURS ? COLOURS : 1); c++) {
        double made = (double)pixel[c];
        colour[c] = stored(loss && loss->predicted ? loss->predicted(made) : made);
    }
    if (channels != COLOURS) return colour[0];
    return (65.481 * colour[0] + 128.553 * colour[1] + 24.966 * colour[2] + 16.0) / 255.0;
}

/* Of picture s; NaN where nothing but border is present. */
static double luma_psnr_squared_error(const hu_metric_call *part, int64_t s) {
    int64_t channels = part->outputs, width = part->width, height = part->rows / width;
    double sum = 0.0;
    int64_t pixels = 0;
    for (int64_t y = part->border; y < height - part->border; y++)
        for (int64_t x = part->border; x < width - part->border; x++, pixels++) {
            int64_t at = (s * part->rows + y * width + x) * channels;
            double error = luma_of(channels, part->prediction + at, part->loss) -
                           luma_of(channels, part->target + at, NULL);
            sum += error * error;
        }
    return sum / (double)pixels;
}

/* NaN without predictions (a format stopped the pass). */
static void luma_psnr_add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++)
        sums[TOTAL] += part->prediction ? ratio_of(luma_psnr_squared_error(part, s)) : (double)NAN;
    sums[PICTURES] += (double)part->samples;
}

static const hu_collection luma_psnr_collection = {.sum_count = luma_psnr_sum_count,
                                                   .add = luma_psnr_add};

/* NaN (0/0) without pictures. */
static double value(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[TOTAL] / sums[PICTURES];
}

const hu_metric hu_metric_luma_psnr = {
    .name = "luma_psnr",
    .help = "peak signal-to-noise ratio of luma in bytes, without a border, mean over the pictures",
    .heading = "PSNR of luma",
    .unit = " dB",
    .factor = 1.0,
    .decimals = 3,
    .higher_is_better = true,
    .collection = &luma_psnr_collection,
    .value = value};
