/* op/adaptive_softmax.h - words in bands by how frequent they are, each with tables of its own
 * width (Baevski and Auli 2019; Grave et al. 2017): what works on the rows of one band alone.
 *
 * band_linear: a layer without bias for the rows of in[0] [.., C] whose ids in in[1] [..] lie in
 * the band; the others are exact zeros and absent (product/gathered.h).
 *
 * band_law: scores of a head and of the bands behind it (op/loss.h) -> log-probabilities of all
 * words [.., V], in evaluations; trainings leave it alone.
 */
#ifndef HU_OP_ADAPTIVE_SOFTMAX_H
#define HU_OP_ADAPTIVE_SOFTMAX_H
#include "op/conv.h"

enum { HU_BANDS_MOST = 14 }; /* behind the head: as many inputs as hu_op.saves can name */

typedef struct hu_band_linear_attrs {
    hu_linear_attrs linear; /* rows without bias; first: read as those of a linear layer */
    int64_t first, last;    /* ids first .. last-1 */
    bool all_in_evaluation; /* where all words are asked for: every row takes part */
} hu_band_linear_attrs;

#endif
