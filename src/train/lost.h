/* train/lost.h - updates that leave no trace, counted by parameter into the edge table
 * (hu_update_counts in graph/edge.h).
 *
 * Without masters the stored weight is compared with the one before: what an update asked for and
 * rounding took back is lost. With masters nothing is: an update that is too small for the weight's
 * format adds up in the master, so that it is only counted as small.
 */
#ifndef HU_TRAIN_LOST_H
#define HU_TRAIN_LOST_H
#include "train/block.h"

/* Whether a step counts tensors that are not rounded, and what becomes of its update. */
bool hu_step_counts_all(const hu_trainer *trainer, int64_t step);

/* Whether the blocks of this step's update are compared: in steps that count, with masters. */
bool hu_lost_is_counted_in_blocks(const hu_trainer *trainer, int64_t step);

/* before, after: [block->count] masters. From several threads at once. */
void hu_lost_in_block(hu_trainer *trainer, const hu_gradient_block *block, const float *before,
                      const float *after);

/* Without masters: between the update and the rounding of what it made, and behind that. The
 * working copies of the step must be as its passes read them: they are the weights before. */
void hu_lost_before_rounding(hu_trainer *trainer, int turn);
void hu_lost_after_rounding(hu_trainer *trainer, int turn);

#endif
