/* sound/spectrogram.h - sound as rows of numbers: the logarithm of its power by time and frequency.
 */
#ifndef HU_SOUND_SPECTROGRAM_H
#define HU_SOUND_SPECTROGRAM_H
#include <stdint.h>

#include <halfulp/status.h>

/* What all clips of one rate share: windows of 20 ms every 10 ms, in whole samples (rounded down).
 */
typedef struct hu_spectrum {
    int64_t rate, window, hop;
    int64_t bins;          /* window / 2 + 1 frequencies, from 0 on */
    double *shape;         /* [window] Hann: 1/2 - 1/2 cos(2 pi n / window) */
    double *cosine, *sine; /* [window, bins] of 2 pi n k / window */
} hu_spectrum;

/* Frequencies at a rate. */
int64_t hu_spectrum_bins(int64_t rate);

/* rate: samples of a second, 200 to 2^20, else HU_ERR_ARGUMENT; HU_ERR_MEMORY. Owner frees with
 * hu_spectrum_free, also on failure. */
hu_status hu_spectrum_create(int64_t rate, hu_spectrum *spectrum);
void hu_spectrum_free(hu_spectrum *spectrum);

/* Frames of so many samples (at least 1): 1 + floor((samples - window) / hop), and 1 for fewer
 * samples than a window, behind which zeros are then taken. */
int64_t hu_spectrum_frames(const hu_spectrum *spectrum, int64_t samples);

/* x = log(P + 1e-6) of the power P = |DFT|^2 of each window, then (x - mean) / (deviation
 * + 1e-3) over all frames and bins of the clip, of which the first ones are written. In double,
 * sums in index order, one rounding: the same bits everywhere.
 *
 *   sample  [count] from -1 to 1, count at least 1
 *   most    frames to write
 *   rows    [min(frames, most), bins]
 *
 * HU_ERR_MEMORY. Proof: tests/unit/sound_spectrogram_test.c. */
hu_status hu_spectrum_rows(const hu_spectrum *spectrum, const double *sample, int64_t count,
                           int64_t most, float *rows);

#endif
