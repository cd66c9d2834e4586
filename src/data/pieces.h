/* data/pieces.h - words cut into the pieces of a vocabulary. */
#ifndef HU_DATA_PIECES_H
#define HU_DATA_PIECES_H
#include "data/vocabulary.h"

/* Cuts a word into pieces from its front on, each the longest that the vocabulary has; those behind
 * the first are written there with "##" in front. A word of which some rest begins with no piece is
 * unknown as a whole: one number, vocabulary->unknown. number: [length] at most, of which *count
 * are written. Source: Devlin et al. 2019, WordPiece (Wu et al. 2016). Proof:
 * tests/unit/data_segments_test.c. */
void hu_pieces_of(const hu_vocabulary *vocabulary, const char *word, size_t length, int32_t *number,
                  int64_t *count);

#endif
