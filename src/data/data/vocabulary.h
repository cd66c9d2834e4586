/* data/vocabulary.h - words and their numbers. */
#ifndef HU_DATA_VOCABULARY_H
#define HU_DATA_VOCABULARY_H
#include <halfulp/data.h>

/* ---- A text as tokens, one after the other ---- */

/* What ends each line of a text of words, and what stands for words that the vocabulary lacks. */
#define HU_TOKEN_END "<eos>"
#define HU_TOKEN_UNKNOWN "<unk>"

/* A place in a text. Words are what stands between blanks (space, tab, carriage return, vertical
 * tab, form feed); each line, an empty one and a last one without its end too, ends with <eos>.
 * Characters are those of UTF-8. */
typedef struct hu_tokens {
    const char *path; /* for messages. Borrowed, as text is */
    const char *text; /* with a zero after it */
    size_t bytes;
    hu_text_unit unit;
    int64_t left; /* most tokens that are still given */
    size_t at;    /* of the byte after the last token */
    bool in_line; /* of words: the line has a byte already, and no end yet */
} hu_tokens;

/* The next token; false after the last one. */
bool hu_tokens_next(hu_tokens *tokens, const char **token, size_t *length);

/* Tokens from here on; the place stays. */
int64_t hu_tokens_count(const hu_tokens *tokens);

/* HU_ERR_CORRUPT where a text of words or characters is not UTF-8 or has a zero byte, with file,
 * line and byte. */
hu_status hu_tokens_check(const hu_tokens *tokens);

/* Line of the byte at an offset, and the byte's place in it, both from 1 on. */
void hu_tokens_place(const hu_tokens *tokens, size_t offset, long long *line, long long *byte);

/* ---- Numbers of tokens or letters as text for people ---- */

/* What the class numbers of a data set of text or speech mean. Borrows the data set. */
typedef struct hu_words {
    const char **word; /* [count] by number; NULL: numbers are bytes */
    int64_t count;
    hu_text_unit unit; /* words stand with blanks between them; letters of speech as characters */
} hu_words;

/* HU_ERR_MEMORY. Owner frees with hu_words_free, also on failure. */
hu_status hu_words_create(const hu_dataset *dataset, hu_words *words);

/* The same of the numbers of its field "source": of the language that is translated. */
hu_status hu_words_of_source(const hu_dataset *dataset, hu_words *words);
void hu_words_free(hu_words *words);

/* One text of numbers [count], those below 0 left out. What is no UTF-8 and characters that steer
 * terminals, but for line ends and tabs, become U+FFFD. breaks_lines: <eos> of words is a line end,
 * without blanks around it. Owner frees *text with hu_free. HU_ERR_MEMORY.
 * Proof: tests/unit/data_words_test.c. */
hu_status hu_words_join(const hu_words *words, const int32_t *number, int64_t count,
                        bool breaks_lines, char **text);

/* What a run's folder calls the file of its words. */
#define HU_VOCABULARY_FILE "vocabulary.txt"

/* And that of the words that are translated from; the other file has those translated into. */
#define HU_VOCABULARY_SOURCE_FILE "vocabulary.source.txt"

typedef struct hu_word {
    const char *at; /* without a final zero */
    size_t length;
    int64_t count; /* in the text that the vocabulary was made of; 0 of one that was read */
} hu_word;

/* What stands for words that have no pieces in a vocabulary of these. */
#define HU_PIECE_UNKNOWN "[UNK]"

/* Empty when zero. Owner frees with hu_vocabulary_free, also after a failure. */
typedef struct hu_vocabulary {
    hu_word *word; /* [count] by number */
    size_t count, capacity;
    uint32_t *place; /* [places] 1 + number at a word's hash or the next free place, 0: free */
    size_t places;   /* 0, or a power of two above twice count */
    char *text;      /* the words with a final zero each, where they are not in a text of others */
    int64_t unknown; /* number of <unk>, else of [UNK]; -1: there is neither */
} hu_vocabulary;

/* Most words: numbers up to here are exact as float32. */
enum { HU_VOCABULARY_MOST = 1 << 24 };

/* The words that stand at least so many times in a text, by falling count and equal ones by their
 * bytes; characters by their bytes. <eos> and <unk>, in this order, follow where words lack them;
 * <unk> also where some characters are too few. HU_ERR_LIMIT: more than HU_VOCABULARY_MOST.
 * HU_ERR_MEMORY. */
hu_status hu_vocabulary_of_text(const hu_tokens *tokens, int64_t least, hu_vocabulary *vocabulary);

/* Those words in front [count], whether or not the text has them, and after them those that stand
 * in it at least so many times, in that order. Errors are the same. */
hu_status hu_vocabulary_behind(const hu_tokens *tokens, int64_t least, const char *const *front,
                               size_t count, hu_vocabulary *vocabulary);

/* Words of these that it lacks stand after its others from now on. Errors as
 * hu_vocabulary_of_text. */
hu_status hu_vocabulary_add(hu_vocabulary *vocabulary, const char *const *word, int count);

/* A file of hu_vocabulary_write; lines may end with \r\n too. HU_ERR_CORRUPT names file and line: a
 * line that is empty, the same as another one, not UTF-8 or wrongly escaped; no <eos> or no <unk>
 * among words, no [UNK] among pieces. */
hu_status hu_vocabulary_read(const char *path, hu_text_unit unit, hu_vocabulary *vocabulary);

/* As hu_dataset.class_names has them: count words, each with a final zero. Borrows the words. */
hu_status hu_vocabulary_of_names(const char *names, int64_t count, hu_vocabulary *vocabulary);

/* One word in each line, by number; line ends and backslashes in characters become \n, \r and \\.
 * names: [count] as above. Proof: tests/unit/data_text_test.c. */
hu_status hu_vocabulary_write(const char *path, const char *names, int64_t count);

/* Number of a word, -1 if it has none. */
int64_t hu_vocabulary_find(const hu_vocabulary *vocabulary, const char *at, size_t length);

void hu_vocabulary_free(hu_vocabulary *vocabulary);

#endif
