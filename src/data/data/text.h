/* data/text.h - text:FILE: the texts of a data set, and prompts. */
#ifndef HU_DATA_TEXT_H
#define HU_DATA_TEXT_H
#include <halfulp/data.h>

#include "data/vocabulary.h"

/* ---- texts ---- */

/* The two texts of a data set, to be trained with and to be tested on, and the
 * numbers of their tokens. */

enum { HU_TEXT_HALVES = 2, HU_BYTE_VALUES = 256 };

/* The texts may be parts of one file. Empty when zero but for vocabulary.unknown, which is -1 then.
 * Owner frees with hu_texts_free, also after a failure. */
typedef struct hu_texts {
    char *file[HU_TEXT_HALVES]; /* with a zero after; the second NULL: both are of the first */
    hu_tokens half[HU_TEXT_HALVES];
    hu_vocabulary vocabulary; /* empty of bytes, which are numbers already */
} hu_texts;

/* Reads the text of a path and that of choice->valid, or parts the first one, and finds the
 * vocabulary that the choice means. HU_ERR_CORRUPT as hu_tokens_check and hu_vocabulary_read;
 * HU_ERR_ARGUMENT for a vocabulary of bytes; HU_ERR_IO, HU_ERR_LIMIT, HU_ERR_MEMORY. */
hu_status hu_texts_read(const char *path, const hu_text_choice *choice, hu_texts *texts);
void hu_texts_free(hu_texts *texts);

/* The vocabulary that the choice means, of texts that are there already. Errors as hu_texts_read.
 */
hu_status hu_texts_find_words(const hu_text_choice *choice, hu_texts *texts);

/* A data set of both texts: windows of choice->length tokens or rounds of choice->streams, as many
 * as the limits leave. HU_ERR_ARGUMENT: a text is too short for them; HU_ERR_LIMIT, HU_ERR_MEMORY,
 * and HU_ERR_CORRUPT as hu_texts_number. */
hu_status hu_texts_open(hu_texts *texts, const hu_text_choice *choice, const hu_data_limits *limits,
                        hu_dataset *dataset);

/* Different tokens. */
int64_t hu_texts_classes(const hu_texts *texts);

/* The number of a token that `tokens` has just given. HU_ERR_CORRUPT with file, line and byte: the
 * vocabulary has neither the token nor <unk>. */
hu_status hu_texts_number(const hu_texts *texts, const hu_tokens *tokens, const char *token,
                          size_t length, int32_t *number);

/* Gives the words to a data set, as the names of its classes. */
void hu_texts_give_names(hu_texts *texts, hu_dataset *dataset);

/* ---- prompt ---- */

/* A text that a model of text:FILE goes on with, as numbers of its tokens. */

typedef struct hu_prompt {
    int32_t *number; /* [count] */
    size_t count, capacity;
    const char **unknown; /* [unknowns] words that are read as <unk>, each once; into words */
    size_t unknowns, unknown_capacity;
    int32_t unknown_token; /* number of <unk>, -1: the vocabulary has none */
    char *words;           /* private: what unknown points into */
} hu_prompt;

/* The tokens of a text [bytes, with a zero after it], in the unit and the words of a data set that
 * hu_data_known.prompts made. A last line of words without its end is gone on with: no <eos> stands
 * after it. where: names the text in messages, which tell line and byte. HU_ERR_CORRUPT: no UTF-8,
 * or a character that is none of a vocabulary without <unk>; HU_ERR_ARGUMENT: no token at all;
 * HU_ERR_MEMORY. Owner frees with hu_prompt_free, also on failure.
 * Proof: tests/unit/data_prompt_test.c. */
hu_status hu_prompt_read(const hu_dataset *dataset, const char *where, const char *text,
                         size_t bytes, hu_prompt *prompt);
void hu_prompt_free(hu_prompt *prompt);

/* A token after the others. HU_ERR_MEMORY. */
hu_status hu_prompt_add(hu_prompt *prompt, int32_t number);

/* Writes the last tokens, as many as there are and a sample holds, into the only sample of such a
 * data set, from its first place on; a network that looks ahead at none does not see what is after
 * them. Returns the place of the last one. */
int64_t hu_prompt_show(const hu_prompt *prompt, hu_dataset *dataset);

#endif
