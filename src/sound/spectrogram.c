#include "sound/spectrogram.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"

enum { WINDOWS_A_SECOND = 50, HOPS_A_SECOND = 100, LEAST_RATE = 200, MOST_RATE = 1 << 20 };

/* Behind logarithm and deviation, so that silence is finite. */
static const double least_power = 1e-6, least_deviation = 1e-3;

/* cos and sin of 2 pi n k / window; the sine is the cosine three quarters of a turn on. */
static void fill_tables(hu_spectrum *s) {
    uint64_t turn = 4 * (uint64_t)s->window;
    for (int64_t n = 0; n < s->window; n++) {
        s->shape[n] = 0.5 - 0.5 * hu_cos_part(4 * (uint64_t)n, turn);
        for (int64_t k = 0; k < s->bins; k++) {
            uint64_t part = 4 * ((uint64_t)(n * k) % (uint64_t)s->window);
            s->cosine[n * s->bins + k] = hu_cos_part(part, turn);
            s->sine[n * s->bins + k] = hu_cos_part((part + 3 * (uint64_t)s->window) % turn, turn);
        }
    }
}

int64_t hu_spectrum_bins(int64_t rate) {
    return rate / WINDOWS_A_SECOND / 2 + 1;
}

hu_status hu_spectrum_create(int64_t rate, hu_spectrum *spectrum) {
    hu_status st;
    *spectrum = (hu_spectrum){.rate = rate,
                              .window = rate / WINDOWS_A_SECOND,
                              .hop = rate / HOPS_A_SECOND,
                              .bins = hu_spectrum_bins(rate)};
    if (rate < LEAST_RATE || rate > MOST_RATE)
        return hu_fail(HU_ERR_ARGUMENT, "found sound of %lld samples a second, expected %d to %d",
                       (long long)rate, LEAST_RATE, MOST_RATE);
    size_t numbers = (size_t)(spectrum->window * spectrum->bins);
    HU_TRY(HU_NEW_ARRAY(&spectrum->shape, (size_t)spectrum->window));
    HU_TRY(HU_NEW_ARRAY(&spectrum->cosine, numbers));
    HU_TRY(HU_NEW_ARRAY(&spectrum->sine, numbers));
    fill_tables(spectrum);
done:
    return st;
}

void hu_spectrum_free(hu_spectrum *spectrum) {
    hu_free(spectrum->shape);
    hu_free(spectrum->cosine);
    hu_free(spectrum->sine);
    *spectrum = (hu_spectrum){0};
}

int64_t hu_spectrum_frames(const hu_spectrum *spectrum, int64_t samples) {
    return samples < spectrum->window ? 1 : 1 + (samples - spectrum->window) / spectrum->hop;
}

/* x [bins] of one window of there samples, behind which zeros follow; imaginary [bins] is scratch.
 * The inner loop runs over the bins: each sum keeps the order of the samples. */
static void window_row(const hu_spectrum *s, const double *sample, int64_t there, double *imaginary,
                       double *x) {
    int64_t bins = s->bins, count = there < s->window ? there : s->window;
    memset(x, 0, (size_t)bins * sizeof *x);
    memset(imaginary, 0, (size_t)bins * sizeof *imaginary);
    for (int64_t n = 0; n < count; n++) {
        const double *cosine = s->cosine + n * bins, *sine = s->sine + n * bins;
        double value = s->shape[n] * sample[n];
        for (int64_t k = 0; k < bins; k++) {
            x[k] += value * cosine[k];
            imaginary[k] += value * sine[k];
        }
    }
    for (int64_t k = 0; k < bins; k++) {
        double power = x[k] * x[k] + imaginary[k] * imaginary[k];
        x[k] = hu_log(power + least_power);
    }
}

/* Mean and standard deviation (divisor n) of x [n]. */
static void moments(const double *x, int64_t n, double *mean, double *deviation) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = sqrt(squares / (double)n);
}

hu_status hu_spectrum_rows(const hu_spectrum *spectrum, const double *sample, int64_t count,
                           int64_t most, float *rows) {
    int64_t frames = hu_spectrum_frames(spectrum, count), bins = spectrum->bins;
    int64_t written = frames < most ? frames : most;
    double *x, mean, deviation;
    hu_status st = HU_NEW_ARRAY(&x, (size_t)((frames + 1) * bins));
    if (st != HU_OK) return st;
    for (int64_t f = 0; f < frames; f++)
        window_row(spectrum, sample + f * spectrum->hop, count - f * spectrum->hop,
                   x + frames * bins, x + f * bins);
    moments(x, frames * bins, &mean, &deviation);
    for (int64_t i = 0; i < written * bins; i++)
        rows[i] = (float)((x[i] - mean) / (deviation + least_deviation));
    hu_free(x);
    return HU_OK;
}
