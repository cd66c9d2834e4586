/* media/audio.h - sound from files: decoded, resampled, and as a spectrogram. */
#ifndef HU_SOUND_AUDIO_H
#define HU_SOUND_AUDIO_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* ---- decode ---- */

/* Sound from the bytes of a file: WAV, AIFF, FLAC, OGG (Vorbis, Opus) and what
 * else libsndfile reads. */

/* Largest file that is read, and most moments of a sound. */
#define HU_SOUND_FILE_MAX ((size_t)1 << 30)
#define HU_SOUND_MOMENTS_MAX ((int64_t)1 << 29)

/* One channel: the mean of those of the file. */
typedef struct hu_sound {
    int64_t rate;   /* moments of a second */
    int64_t count;  /* moments */
    double *sample; /* [count] from -1 to 1: whole numbers of n bits over 2^(n - 1), floats as they
                       are; owner frees with hu_free */
} hu_sound;

/* Reads a file of one of the kinds by its contents, with any number of channels, which are added
 * in their order and divided by their number. Of WAV a size of "data" of 0, or of 0x7ffff000 and
 * more, as programs write that cannot go back, and any size of RIFF mean all that is present.
 *
 * HU_ERR_CORRUPT names the file, what was found and what was expected: no sound file, a chunk or a
 * stream that is cut off or damaged, no moment, a number that is not finite. HU_ERR_UNSUPPORTED: a
 * sound file of another kind or coding, with the command that converts it. HU_ERR_LIMIT,
 * HU_ERR_MEMORY. sound->sample is NULL on failure.
 * Proof: tests/unit/sound_decode_test.c. */
hu_status hu_sound_decode(const char *name, const uint8_t *data, size_t bytes, hu_sound *sound);

/* ---- Sound at another rate ---- */

/* Makes sound one of so many moments a second, by libsamplerate's band-limited interpolation
 * (SRC_SINC_MEDIUM_QUALITY), which computes in float32 and whose bits are those of that library.
 * Nothing happens where the rate is the same. The sound gets as long as it was, to the nearest
 * moment, at least one.
 *
 * HU_ERR_UNSUPPORTED: rates of which one is more than 256 times the other. HU_ERR_LIMIT,
 * HU_ERR_MEMORY. name: of the sound, for these. The sound is as it was after a failure.
 * Proof: tests/unit/sound_decode_test.c. */
hu_status hu_sound_resample(const char *name, int64_t rate, hu_sound *sound);

/* ---- spectrogram ---- */

/* Sound as rows of numbers: the logarithm of its power by time and frequency.
 */

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
 * samples than a window, after which zeros are then taken. */
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
