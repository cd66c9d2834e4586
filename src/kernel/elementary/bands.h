/* kernel/elementary/bands.h - the law of words in bands: a softmax over the words of a head and
 * over one score for each band behind it, and a softmax over the words of each band.
 *
 *   log p(v) = log p_head(v), or log p_head(band) + log p_band(v)
 *
 * Source: Grave et al. 2017, "Efficient softmax approximation for GPUs". */
#ifndef HU_KERNEL_ELEMENTARY_BANDS_H
#define HU_KERNEL_ELEMENTARY_BANDS_H
#include <stdint.h>

typedef struct hu_band_scores {
    int64_t head; /* its own words, and a score for each band */
    int bands;
    const int64_t *size; /* [bands] words */
} hu_band_scores;

/* scores: x[0] [rows, head], x[b] [rows, size[b - 1]] -> out [rows, all words] of
 * log-probabilities, in double with one rounding; the same bits with every instruction set. */
void hu_band_law(const hu_band_scores *scores, int64_t rows, const float *const *x, float *out);

#endif
