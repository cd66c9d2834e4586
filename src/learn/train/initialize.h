/* train/initialize.h - how a training begins: a check of the start, or the state of another
 * training. */
#ifndef HU_TRAIN_INITIALIZE_H
#define HU_TRAIN_INITIALIZE_H
#include "graph/graph.h"
#include "train/trainer.h"

/* ---- begin ---- */

/* A training that begins where another one stands: for measurements on fixed
 * batches, which see the same step with several precisions. */

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

/* ---- check start ---- */

/* A start without random numbers: every element of every parameter is a
 * function of the parameter's name and of the element's index, so that any other program can begin
 * with the same bits.
 *
 * With t = number i of the name (base/rng.h), element i, row-major in torch's shape, is
 *   1 + t/16      weights of norms,
 *   t/8           tables: names that are or end in pos, cls,
 *   t/16          other parameters of one extent,
 *   t 2^-floor((bits(fan) - 1) / 2)   all others; bits: length in binary
 *
 * where fan are the elements of a row, of a transposed convolution those of first extent x kernel /
 * stride^2. All are exact in float32 but the first, which is rounded once.
 */

/* x [elements] of parameter v, whose shape in torch is shape. */
void hu_check_start_fill(const hu_graph *graph, hu_value_id v, const hu_shape *shape,
                         const char *salt, float *x);

/* The salt of "check" or "check:SALT", NULL of any other text, which is a file. Borrowed from init.
 */
const char *hu_check_salt(const char *init);

#endif
