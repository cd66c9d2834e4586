/* How well a picture was enlarged: the peak signal-to-noise ratio of luma, in bytes as they would
 * be stored, without a border; mean over the pictures. Super-resolution papers since SRCNN report
 * this. */
#include <math.h>

#include "base/elementary.h"
#include "task/metric.h"

/* Sum over pictures of their ratio, and how many there are. */
enum { TOTAL, PICTURES, SUMS, COLOURS = 3 };

static const double ln_10 = 2.302585092994045684;

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
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

/* Of picture s; NaN where nothing but border is there. */
static double squared_error(const hu_metric_call *part, int64_t s) {
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

/* In decibels; no ratio counts as more than 100, so that an exact picture does not hide others. */
static double ratio_of(double error) {
    const double most = 100.0, least_error = 1e-10;
    return error < least_error ? most : -10.0 * hu_log(error) / ln_10;
}

/* NaN without predictions (a format stopped the pass). */
static void add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++)
        sums[TOTAL] += part->prediction ? ratio_of(squared_error(part, s)) : (double)NAN;
    sums[PICTURES] += (double)part->samples;
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

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
    .collection = &collection,
    .value = value};
