/* train/update.h - the update of parameters: summed gradients, the optimizer, and updates that
 * rounding cancels. */
#ifndef HU_TRAIN_UPDATE_H
#define HU_TRAIN_UPDATE_H
#include "train/inner.h"
#include "train/micro_batch.h"

/* ---- lost ---- */

/* Updates that leave no trace, counted by parameter into the edge table
 * (hu_update_counts in graph/edge.h).
 *
 * Without masters the stored weight is compared with the one before: what an update asked for and
 * rounding took back is lost. With masters nothing is: an update that is too small for the weight's
 * format adds up in the master, so that it is only counted as small.
 */

/* Whether a step counts tensors that are not rounded, and what becomes of its update. */
bool hu_step_counts_all(const hu_trainer *trainer, int64_t step);

/* Sum of squares of the unscaled gradient of the batch in a turn, block by block; not finite if any
 * element of the gradient is not. The sum of each block stays in block_squares. */
double hu_gradient_squares(hu_trainer *trainer, int phase, float inverse_scale);

/* Clips the gradients of a turn and lets its optimizer change the masters, unless the turn is
 * skipped. True if one of them, or packed state, is not finite
 * afterwards. inverse_scale: of the loss scale. */
bool hu_update_masters(hu_trainer *trainer, const hu_step_report *report, int phase,
                       float inverse_scale);

/* Whether a running statistic of this process is not finite. */
bool hu_statistics_are_bad(const hu_trainer *trainer);

/* An update can overflow although its gradients were finite, and such weights must not be saved:
 * HU_ERR_NONFINITE names the first tensor. masters_nonfinite: what hu_update_masters found. Running
 * statistics are those of worker 0, whose process told all others of them (bad_statistics). */
hu_status hu_check_update(hu_trainer *trainer, const hu_step_report *report,
                          bool masters_nonfinite);

/* Rounds the masters themselves to the formats of the weights, for a training without masters:
 * small updates vanish. */
void hu_round_masters(hu_trainer *trainer);

/* ---- The gradients of the parts of a worker's samples become one gradient ---- */

/* Adds the gradients of the pass that just ran, those of its turn, to sum [trained], in the order
 * of the parts; NULL: does nothing, the gradients of the only part are read in place. */
void hu_reduce_part(hu_trainer *trainer, float *sum, bool is_first);

/* The same for one parameter, whose gradient is known before the others' are. */
void hu_reduce_parameter(hu_trainer *trainer, hu_value_id param, float *sum, bool is_first);

#endif
