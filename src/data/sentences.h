/* data/sentences.h - a file of sentences, one a line, as small words with single blanks between. */
#ifndef HU_DATA_SENTENCES_H
#define HU_DATA_SENTENCES_H
#include "data/vocabulary.h"

/* What stands in front of a sentence that is said, and behind one in a row of numbers. */
#define HU_TOKEN_BEGIN "<bos>"
#define HU_TOKEN_PADDING "<pad>"

/* The numbers of these in every vocabulary of sentences; words follow. */
enum { HU_SENTENCE_PADDING, HU_SENTENCE_BEGIN, HU_SENTENCE_END, HU_SENTENCE_UNKNOWN };

/* Owner frees with hu_sentences_free, also after a failure. */
typedef struct hu_sentences {
    char *path;
    char *text;    /* [bytes] and a zero; every line ends */
    int64_t count; /* lines, empty ones too */
    size_t bytes;
} hu_sentences;

/* Words of sentences in UTF-8 [bytes], behind a byte-order mark if there is one: every character
 * in its small form (Unicode's simple mapping); runs of letters, digits and "_" are words, and so
 * is every other character alone that is no blank. Blanks are Unicode's. Lines end with \n. text:
 * words with a blank behind each; owner frees with hu_free. HU_ERR_MEMORY.
 * Proof: tests/unit/data_parallel_test.c. */
hu_status hu_sentence_words(const char *text, size_t bytes, char **words, size_t *word_bytes);

/* A file DIRECTORY/NAME.LANGUAGE or, where it is not there, DIRECTORY/NAME.LANGUAGE.gz.
 * HU_ERR_MISSING, HU_ERR_IO; HU_ERR_CORRUPT: damaged, without a line, not UTF-8 or with a zero
 * byte, at file, line and byte. HU_ERR_MEMORY. */
hu_status hu_sentences_read(const char *directory, const char *name, const char *language,
                            hu_sentences *sentences);
void hu_sentences_free(hu_sentences *sentences);

/* Whether there is such a file. HU_ERR_MEMORY. */
hu_status hu_sentences_look(const char *directory, const char *name, const char *language,
                            bool *exist);

/* The words from the first one on, <eos> behind each sentence. Borrows. */
hu_tokens hu_sentences_tokens(const hu_sentences *sentences);

/* <pad>, <bos>, <eos>, <unk>, then words as hu_vocabulary_of_text has them. */
hu_status hu_sentences_vocabulary(const hu_sentences *sentences, int64_t least,
                                  hu_vocabulary *vocabulary);

/* A file of such a vocabulary; HU_ERR_CORRUPT where it does not begin with those four. */
hu_status hu_sentences_vocabulary_read(const char *path, hu_vocabulary *vocabulary);

#endif
