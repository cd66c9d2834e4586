/* train/reduce.h - the gradients of the parts of a worker's samples become one gradient. */
#ifndef HU_TRAIN_REDUCE_H
#define HU_TRAIN_REDUCE_H
#include "train/inner.h"

/* Adds the gradients of the pass that just ran, those of its turn, to sum [trained], in the order
 * of the parts; NULL: does nothing, the gradients of the only part are read in place. */
void hu_reduce_part(hu_trainer *trainer, float *sum, bool is_first);

/* The same for one parameter, whose gradient is known before the others' are. */
void hu_reduce_parameter(hu_trainer *trainer, hu_value_id param, float *sum, bool is_first);

#endif
