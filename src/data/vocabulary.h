/* data/vocabulary.h - the words of a text, or its characters, with a number each. */
#ifndef HU_DATA_VOCABULARY_H
#define HU_DATA_VOCABULARY_H
#include "data/tokens.h"

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

/* Those words in front [count], whether or not the text has them, and behind them those that stand
 * in it at least so many times, in that order. Errors are the same. */
hu_status hu_vocabulary_behind(const hu_tokens *tokens, int64_t least, const char *const *front,
                               size_t count, hu_vocabulary *vocabulary);

/* Words of these that it lacks stand behind its others from now on. Errors as
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
