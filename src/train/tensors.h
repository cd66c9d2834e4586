/* train/tensors.h - what the update of each tensor has of its own: whether its weights decay, and
 * what LARS multiplies its rate with. */
#ifndef HU_TRAIN_TENSORS_H
#define HU_TRAIN_TENSORS_H
#include "train/inner.h"

/* Makes the list, one entry for each trained parameter in name order. HU_ERR_PARSE names a pattern
 * of options.no_decay that matches no parameter, with the nearest names. */
hu_status hu_tensors_create(hu_trainer *trainer);

/* Before the update of a turn: works out lambda of every tensor, if the optimizer reads it. The
 * gradient's norms are those that hu_gradient_squares has left in block_squares, times the factor
 * of clipping. Sums of squares are taken in double, block by block and in the order of the blocks,
 * so that they do not depend on threads. */
void hu_tensors_find_trust(hu_trainer *trainer, int turn, float clip);

#endif
