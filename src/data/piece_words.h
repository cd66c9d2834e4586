/* data/piece_words.h - texts as the words that pieces are made of. */
#ifndef HU_DATA_PIECE_WORDS_H
#define HU_DATA_PIECE_WORDS_H
#include "data/vocabulary.h"

/* Whether a vocabulary of pieces has one with a capital letter, [UNK] and its kin excepted: its
 * words keep their capitals and their accents. */
bool hu_pieces_are_cased(const hu_vocabulary *vocabulary);

/* Words of a text in UTF-8 [bytes] as BERT's basic tokenizer has them: control characters are
 * dropped; every sign (ASCII's, and what Unicode calls punctuation) and every Chinese character
 * stands alone; what else stands between blanks is a word. Without capitals (is_cased false)
 * characters become small and are decomposed canonically (NFD), of which the marks (Mn) are
 * dropped. Lines end with \n. words: with a blank behind each; owner frees with hu_free.
 * HU_ERR_MEMORY. Source: Devlin et al. 2019, and their tokenization.py for what it leaves open.
 * Proof: tests/unit/data_segments_test.c. */
hu_status hu_piece_words(const char *text, size_t bytes, bool is_cased, char **words,
                         size_t *word_bytes);

#endif
