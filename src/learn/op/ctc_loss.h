/* op/ctc_loss.h - connectionist temporal classification (Graves et al. 2006): rows of class scores
 * with a shorter sequence of labels, of which nobody says which row each belongs to.
 *
 * in[0] [T, V] logits or log-probabilities, class 0 the blank; in[1] [L] class numbers 1..V-1, then
 * unlabelled ones (below 0); in[2] the rows that count, 0..T. The loss of a sample is -log of the
 * probability of all paths that spell the labels, the blanks dropped and repeats joined: in double,
 * by the recurrences over rows in ascending (alpha) and descending order (beta). Rows that do not
 * count have gradient 0. A sample with fewer rows than labels and equal neighbours among them has
 * no path: loss and gradient are 0, and the metric of the loss counts it (torch's zero_infinity).
 */
#ifndef HU_OP_CTC_LOSS_H
#define HU_OP_CTC_LOSS_H
#include "media/ctc.h"
#include "op/op.h"

typedef struct hu_ctc_attrs {
    bool takes_logs; /* in[0] holds log-probabilities */
} hu_ctc_attrs;

#endif
