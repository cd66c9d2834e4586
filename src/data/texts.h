/* data/texts.h - the two texts of a data set, to be trained with and to be tested on, and the
 * numbers of their tokens. */
#ifndef HU_DATA_TEXTS_H
#define HU_DATA_TEXTS_H
#include "data/vocabulary.h"

enum { HU_TEXT_HALVES = 2, HU_BYTE_VALUES = 256 };

/* The texts may be parts of one file. Empty when zero but for vocabulary.unknown, which is -1 then.
 * Owner frees with hu_texts_free, also after a failure. */
typedef struct hu_texts {
    char *file[HU_TEXT_HALVES]; /* with a zero behind; the second NULL: both are of the first */
    hu_tokens half[HU_TEXT_HALVES];
    hu_vocabulary vocabulary; /* empty of bytes, which are numbers already */
} hu_texts;

/* Reads the text of a path and that of choice->valid, or parts the first one, and finds the
 * vocabulary that the choice means. HU_ERR_CORRUPT as hu_tokens_check and hu_vocabulary_read;
 * HU_ERR_ARGUMENT for a vocabulary of bytes; HU_ERR_IO, HU_ERR_LIMIT, HU_ERR_MEMORY. */
hu_status hu_texts_read(const char *path, const hu_text_choice *choice, hu_texts *texts);
void hu_texts_free(hu_texts *texts);

/* Different tokens. */
int64_t hu_texts_classes(const hu_texts *texts);

/* The number of a token that `tokens` has just given. HU_ERR_CORRUPT with file, line and byte: the
 * vocabulary has neither the token nor <unk>. */
hu_status hu_texts_number(const hu_texts *texts, const hu_tokens *tokens, const char *token,
                          size_t length, int32_t *number);

/* Gives the words to a data set, as the names of its classes. */
void hu_texts_give_names(hu_texts *texts, hu_dataset *dataset);

#endif
