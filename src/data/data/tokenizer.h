/* data/tokenizer.h - texts cut into words, pieces of words and tokens. */
#ifndef HU_DATA_TOKENIZER_H
#define HU_DATA_TOKENIZER_H
#include "data/vocabulary.h"

/* ---- Words cut into the pieces of a vocabulary ---- */

/* Cuts a word into pieces from its front on, each the longest that the vocabulary has; those after
 * the first are written there with "##" in front. A word of which some rest begins with no piece is
 * unknown as a whole: one number, vocabulary->unknown. number: [length] at most, of which *count
 * are written. Source: Devlin et al. 2019, WordPiece (Wu et al. 2016). Proof:
 * tests/unit/data_segments_test.c. */
void hu_subwords_of(const hu_vocabulary *vocabulary, const char *word, size_t length,
                    int32_t *number, int64_t *count);

/* ---- Texts as the words that pieces are made of ---- */

/* Whether a vocabulary of pieces has one with a capital letter, [UNK] and its kin excepted: its
 * words keep their capitals and their accents. */
bool hu_subwords_are_cased(const hu_vocabulary *vocabulary);

/* Words of a text in UTF-8 [bytes] as BERT's basic tokenizer has them: control characters are
 * dropped; every sign (ASCII's, and what Unicode calls punctuation) and every Chinese character
 * stands alone; what else stands between blanks is a word. Without capitals (is_cased false)
 * characters become small and are decomposed canonically (NFD), of which the marks (Mn) are
 * dropped. Lines end with \n. words: with a blank after each; owner frees with hu_free.
 * HU_ERR_MEMORY. Source: Devlin et al. 2019, and their tokenization.py for what it leaves open.
 * Proof: tests/unit/data_segments_test.c. */
hu_status hu_subword_words(const char *text, size_t bytes, bool is_cased, char **words,
                           size_t *word_bytes);

/* ---- sentences ---- */

/* A file of sentences, one a line, as small words with single blanks between. */

/* What stands in front of a sentence that is said, and after one in a row of numbers. */
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

/* Words of sentences in UTF-8 [bytes], after a byte-order mark if there is one: every character
 * in its small form (Unicode's simple mapping); runs of letters, digits and "_" are words, and so
 * is every other character alone that is no blank. Blanks are Unicode's. Lines end with \n. text:
 * words with a blank after each; owner frees with hu_free. HU_ERR_MEMORY.
 * Proof: tests/unit/data_parallel_test.c. */
hu_status hu_sentence_words(const char *text, size_t bytes, char **words, size_t *word_bytes);

/* A file DIRECTORY/NAME.LANGUAGE or, where it is missing, DIRECTORY/NAME.LANGUAGE.gz.
 * HU_ERR_MISSING, HU_ERR_IO; HU_ERR_CORRUPT: damaged, without a line, not UTF-8 or with a zero
 * byte, at file, line and byte. HU_ERR_MEMORY. */
hu_status hu_sentences_read(const char *directory, const char *name, const char *language,
                            hu_sentences *sentences);
void hu_sentences_free(hu_sentences *sentences);

/* Whether there is such a file. HU_ERR_MEMORY. */
hu_status hu_sentences_look(const char *directory, const char *name, const char *language,
                            bool *exist);

/* The words from the first one on, <eos> after each sentence. Borrows. */
hu_tokens hu_sentences_tokens(const hu_sentences *sentences);

/* <pad>, <bos>, <eos>, <unk>, then words as hu_vocabulary_of_text has them. */
hu_status hu_sentences_vocabulary(const hu_sentences *sentences, int64_t least,
                                  hu_vocabulary *vocabulary);

/* A file of such a vocabulary; HU_ERR_CORRUPT where it does not begin with those four. */
hu_status hu_sentences_vocabulary_read(const char *path, hu_vocabulary *vocabulary);

#endif
