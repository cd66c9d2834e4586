/* train/reduce.h - the gradients of the parts of a batch become one gradient. */
#ifndef HU_TRAIN_REDUCE_H
#define HU_TRAIN_REDUCE_H
#include "train/inner.h"

/* Adds the gradients of the pass that just ran to the sum over the parts of the batch, in the order
 * of the parts. Does nothing where the batch is one part: its gradients are read in place. */
void hu_reduce_part(hu_trainer *trainer, bool is_first);

#endif
