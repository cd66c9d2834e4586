/* data/tokens.h - a text as tokens, one after the other. */
#ifndef HU_DATA_TOKENS_H
#define HU_DATA_TOKENS_H
#include <halfulp/data.h>

/* What ends each line of a text of words, and what stands for words that the vocabulary lacks. */
#define HU_TOKEN_END "<eos>"
#define HU_TOKEN_UNKNOWN "<unk>"

/* A place in a text. Words are what stands between blanks (space, tab, carriage return, vertical
 * tab, form feed); each line, an empty one and a last one without its end too, ends with <eos>.
 * Characters are those of UTF-8. */
typedef struct hu_tokens {
    const char *path; /* for messages. Borrowed, as text is */
    const char *text; /* with a zero behind it */
    size_t bytes;
    hu_text_unit unit;
    int64_t left; /* most tokens that are still given */
    size_t at;    /* of the byte behind the last token */
    bool in_line; /* of words: the line has a byte already, and no end yet */
} hu_tokens;

/* The next token; false behind the last one. */
bool hu_tokens_next(hu_tokens *tokens, const char **token, size_t *length);

/* Tokens from here on; the place stays. */
int64_t hu_tokens_count(const hu_tokens *tokens);

/* HU_ERR_CORRUPT where a text of words or characters is not UTF-8 or has a zero byte, with file,
 * line and byte. */
hu_status hu_tokens_check(const hu_tokens *tokens);

/* Line of the byte at an offset, and the byte's place in it, both from 1 on. */
void hu_tokens_place(const hu_tokens *tokens, size_t offset, long long *line, long long *byte);

#endif
