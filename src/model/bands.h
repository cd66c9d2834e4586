/* model/bands.h - words in bands by how frequent they are: frequent ones have wide rows in a table
 * of their own, rare ones narrow rows, and a product for each band brings them to one width. The
 * scores read the same tables and products the other way round. As builder.h: the first error
 * sticks.
 *
 * Sources: Baevski and Auli 2019, "Adaptive input representations for neural language modeling";
 * Grave et al. 2017, "Efficient softmax approximation for GPUs". */
#ifndef HU_MODEL_BANDS_H
#define HU_MODEL_BANDS_H
#include "model/builder.h"

/* Words first[b] .. first[b + 1] - 1 are band b, whose rows have width[b] numbers. */
typedef struct hu_word_bands {
    int count;
    int64_t first[HU_BANDS_MOST + 2], width[HU_BANDS_MOST + 1];
} hu_word_bands;

/* The bands that the user chose (model.bands), or those of own [n] that begin within the words of
 * the data: each has a fourth of the numbers of the one before it, at least one. HU_ERR_ARGUMENT
 * (in b) unless the user's ascend and lie within the words. */
hu_word_bands hu_build_word_bands(hu_builder *b, const int64_t *own, int n, int64_t width);

/* tokens [T] -> rows [T, width], times the root of the width: nodes emb.B and emb.B.proj, whose
 * weights are the tables and products of the bands, emb.add and emb.scale. Tables begin normal with
 * variance 1 / width of a row, products uniform as Glorot and Bengio 2010 (their section 4.2.1). */
hu_value_id hu_build_band_rows(hu_builder *b, const hu_word_bands *bands, hu_value_id tokens,
                               int64_t width);

/* Scores of every row and their loss: head.proj and head.words, the first band's, head.bands, one
 * score for each other band (the only weight that is not of the tables), head; tail.B.proj and
 * tail.B, for the rows alone whose target is in the band; law, what they say of all words. */
void hu_build_band_loss(hu_builder *b, const hu_word_bands *bands, hu_value_id rows);

#endif
