/* data/speech.h - sounds with what is said in them. */
#ifndef HU_DATA_SPEECH_H
#define HU_DATA_SPEECH_H
#include "data/directory.h"
#include <halfulp/data.h>
#include <halfulp/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- what is said in the sounds of a folder ---- */

/* ---- alphabet ---- */

/* The characters of a language as class numbers, for sequences without marks. */

/* Class 0 is the blank, which is no character; then come a to z, then the others. */
enum { HU_ALPHABET_BLANK = 0, HU_ALPHABET_LETTERS = 26 };

/* In the folder of a run: a character in each line, from class 1 on, as data/vocabulary.h writes
 * them. */
#define HU_ALPHABET_FILE "alphabet.txt"

typedef struct hu_alphabet {
    uint32_t *point;        /* [count] code points: a to z, then others in ascending order */
    size_t count, capacity; /* classes: count + 1 */
} hu_alphabet;

/* Writes or replaces a file of names as above, the blank left out, and reads it back: *names NULL
 * where there is no such file. HU_ERR_CORRUPT names the file. Owner frees *names with hu_free.
 * Proof: tests/unit/data_speech_test.c. */
hu_status hu_alphabet_write(const char *path, const char *names, int64_t count);
hu_status hu_alphabet_read(const char *path, char **names, int64_t *count);

/* Texts in UTF-8, capital letters A to Z made small. */
typedef struct hu_transcripts {
    const char **text; /* [sounds], in the order of their names; NULL where nobody says */
    char *block;       /* private: what they lie in; NULL: they are static */
} hu_transcripts;

/* Those of FOLDER/transcripts.txt: a line for each sound, its name without its ending, a tab and
 * the text. Where there is no such file, names like 7_jackson_3.wav mean the digit that they begin
 * with: "seven". Where may_lack is set, a folder without the file and with other names is one of
 * which nobody says anything. HU_ERR_CORRUPT names the file and what is wrong: a line without a
 * tab, one for no sound or for one that has its text, a byte that is not UTF-8, a sound without a
 * line, two of one name; a name that is of neither kind. HU_ERR_IO, HU_ERR_LIMIT, HU_ERR_MEMORY.
 * Owner frees with hu_transcripts_free, also on failure. Proof: tests/unit/data_speech_test.c. */
hu_status hu_transcripts_read(const char *folder, const hu_file_names *sounds, bool may_lack,
                              hu_transcripts *transcripts);
void hu_transcripts_free(hu_transcripts *transcripts);

#endif
