/* data/speech.h - sounds with what is said in them. */
#ifndef HU_DATA_SPEECH_H
#define HU_DATA_SPEECH_H
#include <halfulp/data.h>

#include "media/audio.h"

/* What became of the sounds of a half, counted by all threads that read it. */
typedef struct hu_sound_counts {
    _Atomic int64_t cut, resampled, silent;
} hu_sound_counts;

/* The spectrum of all sounds of a data set: at choice->rate, else at the rate of the first sound,
 * whose path it is. Where a model knows its frequencies (choice->known, is_known), at the first
 * sound's rate if that has so many, else at a usual rate that has. HU_ERR_ARGUMENT: choice->rate
 * has other ones, or is out of range; HU_ERR_CORRUPT: the first sound's is. Owner frees with
 * hu_spectrum_free, also on failure. */
hu_status hu_sound_spectrum(const char *first, const hu_image_choice *choice, bool is_known,
                            hu_spectrum *spectrum);

/* The rows of a file, resampled where it has another rate: row [most, bins], of which *frames are
 * present and the others stay as they are. Proof: tests/unit/data_speech_test.c. */
hu_status hu_sound_rows(const char *path, const hu_spectrum *spectrum, int64_t most, float *row,
                        int32_t *frames, hu_sound_counts *counts);

#endif
