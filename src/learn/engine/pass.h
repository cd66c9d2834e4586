/* engine/pass.h - forward and backward passes of a planned run. Passes allocate nothing. */
#ifndef HU_ENGINE_PASS_H
#define HU_ENGINE_PASS_H
#include "engine/run.h"

/* Rounds the masters into the working copies: the start of a training step (counted) or of an
 * evaluation with rounded weights (not counted). A master that its format cannot encode overflows
 * all passes on these copies. */
void hu_run_round_parameters(hu_run *run, uint64_t step, bool counted);

/* Rounds those of the parameters that an update in the midst of the step has changed: of one turn,
 * counted from 0. The next step counts them. */
void hu_run_round_phase(hu_run *run, uint64_t step, int phase);

/* Rounds a master in place, uncounted: weights that live in their format. */
void hu_run_round_master(hu_run *run, hu_value_id v);

/* Loads the batch and runs all nodes. The run has overflowed (and the pass ends early) where a
 * format could not encode a number; fails only by HU_ERR_INTERNAL. */
hu_status hu_run_forward(hu_run *run, const hu_pass_options *pass, const hu_source *source,
                         hu_pass_result *result);

/* Runs the gradients of the last forward pass. */
hu_status hu_run_backward(hu_run *run, const hu_pass_options *pass);

/* Elements first .. first + count of the rounded working copy of a parameter; of one that is not
 * rounded, of its master. scratch: room for count floats. Borrowed: valid until the next rounding.
 */
const float *hu_run_rounded_part(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                                 float *scratch);

/* The gradient of a trained parameter after backward: elements first .. first+count-1 (first a
 * multiple of 8), in scratch or in place. Borrowed: valid until the next backward pass. */
const float *hu_run_param_grad(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                               float *scratch);

#endif
