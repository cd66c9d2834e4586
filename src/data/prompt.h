/* data/prompt.h - a text that a model of text:FILE goes on with, as numbers of its tokens. */
#ifndef HU_DATA_PROMPT_H
#define HU_DATA_PROMPT_H
#include <halfulp/data.h>

typedef struct hu_prompt {
    int32_t *number; /* [count] */
    size_t count, capacity;
    const char **unknown; /* [unknowns] words that are read as <unk>, each once; into words */
    size_t unknowns, unknown_capacity;
    int32_t unknown_token; /* number of <unk>, -1: the vocabulary has none */
    char *words;           /* private: what unknown points into */
} hu_prompt;

/* The tokens of a text [bytes, with a zero behind it], in the unit and the words of a data set that
 * hu_data_known.prompts made. A last line of words without its end is gone on with: no <eos> stands
 * behind it. where: names the text in messages, which tell line and byte. HU_ERR_CORRUPT: no UTF-8,
 * or a character that is none of a vocabulary without <unk>; HU_ERR_ARGUMENT: no token at all;
 * HU_ERR_MEMORY. Owner frees with hu_prompt_free, also on failure.
 * Proof: tests/unit/data_prompt_test.c. */
hu_status hu_prompt_read(const hu_dataset *dataset, const char *where, const char *text,
                         size_t bytes, hu_prompt *prompt);
void hu_prompt_free(hu_prompt *prompt);

/* A token behind the others. HU_ERR_MEMORY. */
hu_status hu_prompt_add(hu_prompt *prompt, int32_t number);

/* Writes the last tokens, as many as there are and a sample holds, into the only sample of such a
 * data set, from its first place on; a network that looks ahead at none does not see what is behind
 * them. Returns the place of the last one. */
int64_t hu_prompt_show(const hu_prompt *prompt, hu_dataset *dataset);

#endif
