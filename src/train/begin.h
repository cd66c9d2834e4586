/* train/begin.h - a training that begins where another one stands: for measurements on fixed
 * batches, which see the same step with several precisions. */
#ifndef HU_TRAIN_BEGIN_H
#define HU_TRAIN_BEGIN_H
#include "train/trainer.h"

/* Takes weights, running statistics and optimizer state of another trainer, which stays as it is,
 * and the counters and loss scale of a first step: the next step is step 0. Tensors that were
 * promoted stay promoted, and maxima that scales go by stay. With master=off the weights are
 * rounded, as at every beginning. HU_ERR_SHAPE: the two have other parameters; HU_ERR_ARGUMENT:
 * another kind of optimizer. Proof: tests/unit/train_begin_test.c. */
hu_status hu_trainer_begin_at(hu_trainer *trainer, const hu_trainer *other);

/* Forward tensors of its graph that are promoted from the next step on, as if they had overflowed;
 * those that do not go to a format of more bits stay as they are. Plans again. HU_ERR_ARGUMENT: the
 * precision promotes nothing; HU_ERR_MEMORY. */
hu_status hu_trainer_promote(hu_trainer *trainer, const hu_value_id *value, uint32_t count);

/* The gradient of the step that was done last, times its loss scale: [trained] as the weights
 * have it. NULL: the trainer has no workers, and keeps none. Borrowed: valid until the next step.
 */
const float *hu_trainer_gradient(const hu_trainer *trainer);

#endif
