/* train/update.h - the end of a step: from the gradients of a batch to new master weights. */
#ifndef HU_TRAIN_UPDATE_H
#define HU_TRAIN_UPDATE_H
#include "train/block.h"

/* Sum of squares of the unscaled gradient of the batch in a turn, block by block; not finite if any
 * element of the gradient is not. The sum of each block stays in block_squares. */
double hu_gradient_squares(hu_trainer *trainer, int turn, float inverse_scale);

/* Clips the gradients of a turn and lets its optimizer change the masters, unless the turn is
 * skipped. True if one of them, or packed state, is not finite
 * afterwards. inverse_scale: of the loss scale. */
bool hu_update_masters(hu_trainer *trainer, const hu_step_report *report, int turn,
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

#endif
