/* data/transcripts.h - what is said in the sounds of a folder. */
#ifndef HU_DATA_TRANSCRIPTS_H
#define HU_DATA_TRANSCRIPTS_H
#include <stdbool.h>

#include "data/file_names.h"

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
