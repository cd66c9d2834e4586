/* train/sized.h - test samples of another size than those of training: a graph of their own, whose
 * plan stands while they are evaluated. Weights, formats and scales are the trainer's. */
#ifndef HU_TRAIN_SIZED_H
#define HU_TRAIN_SIZED_H
#include "train/inner.h"

/* Nothing where test samples are as large as those of training. Else makes graph and edges, and
 * plans once, so that what cannot be planned is an error here. HU_ERR_SHAPE: the model's parameters
 * depend on the size. Owner frees with hu_sized_free, also on failure. */
hu_status hu_sized_create(hu_trainer *trainer);
void hu_sized_free(hu_sized *sized);

/* Plans a run for one sample after the other, with the formats and scales that the trainer has now.
 * Its memory is in no ledger: it is given back by hu_sized_end. */
hu_status hu_sized_begin(hu_trainer *trainer);

/* counts: what the passes have counted becomes the trainer's counts of the step. */
void hu_sized_end(hu_trainer *trainer, bool counts);

#endif
