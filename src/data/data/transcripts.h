/* data/transcripts.h - what is said in the sounds of a folder. */
#ifndef HU_DATA_TRANSCRIPTS_H
#define HU_DATA_TRANSCRIPTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "data/directory.h"

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

/* The letters and all other characters of texts in UTF-8 [count]. HU_ERR_MEMORY. Owner frees with
 * hu_alphabet_free, also on failure. */
hu_status hu_alphabet_create(const char *const *texts, size_t count, hu_alphabet *alphabet);
void hu_alphabet_free(hu_alphabet *alphabet);

/* Characters of a text in UTF-8. */
int64_t hu_alphabet_length(const char *text);

/* Their class numbers; number [hu_alphabet_length]. HU_ERR_CORRUPT for a character that the
 * alphabet lacks: the message names it alone. */
hu_status hu_alphabet_spell(const hu_alphabet *alphabet, const char *text, int32_t *number);

/* Names of the classes as hu_dataset_class_name reads them: the blank's is empty. Owner frees *text
 * with hu_free. */
hu_status hu_alphabet_names(const hu_alphabet *alphabet, char **text);

/* The alphabet of such names [count classes]. HU_ERR_CORRUPT: the first is not the blank, a to z do
 * not follow, or one of the others is no character after those before it. HU_ERR_MEMORY. Owner
 * frees, also on failure. */
hu_status hu_alphabet_of_names(const char *names, int64_t count, hu_alphabet *alphabet);

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
