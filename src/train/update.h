/* train/update.h - the end of a step: from the gradients of a batch to new master weights. */
#ifndef HU_TRAIN_UPDATE_H
#define HU_TRAIN_UPDATE_H
#include "train/inner.h"

enum { HU_GRADIENT_BLOCK = 4096 };

/* Visits all trained parameters in blocks of HU_GRADIENT_BLOCK elements. The blocks depend on the
 * model only, and so does the order of every sum over them. */
typedef struct hu_gradient_block {
    hu_value_id param;
    int64_t first, count; /* inside the parameter */
    int64_t offset;       /* in the vector of all trained parameters */
} hu_gradient_block;
int64_t hu_gradient_block_count(const hu_trainer *trainer);
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index);

/* Sum of squares of the unscaled gradient of the batch, block by block; not finite if any element
 * of the gradient is not. */
double hu_gradient_squares(hu_trainer *trainer, float inverse_scale);

/* Clips the gradients and lets the optimizer change the masters, unless the step is skipped. True
 * if a master is not finite afterwards. inverse_scale: of the loss scale. */
bool hu_update_masters(hu_trainer *trainer, const hu_step_report *report, float inverse_scale);

/* An update can overflow although its gradients were finite, and such weights must not be saved:
 * HU_ERR_NONFINITE names the first tensor. masters_nonfinite: what hu_update_masters found. */
hu_status hu_check_update(hu_trainer *trainer, const hu_step_report *report,
                          bool masters_nonfinite);

/* Rounds the masters themselves to the formats of the weights, for a training without masters:
 * small updates vanish. */
void hu_round_masters(hu_trainer *trainer);

#endif
