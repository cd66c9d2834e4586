/* engine/range.h - ranges of tensors that uniform quantizers round, and running ones of those that
 * are evaluated with them.
 *
 * Source: Banner et al., "Scalable Methods for 8-bit Training of Neural Networks", as CPT and
 * FracTrain implement it: running = 0.9 running + 0.1 current, of zero and width; the first step's
 * range is the first running one.
 */
#ifndef HU_ENGINE_RANGE_H
#define HU_ENGINE_RANGE_H
#include "engine/state.h"

/* Sets the range of the present pass: low .. high, which a training step's running range takes in
 * (of several workers that of the one whose running statistics count), or that running range in an
 * evaluation behind a first step. */
void hu_range_set(hu_run *run, hu_slot *slot, float low, float high);

/* Gives every slot with a running range its place. Returns their number of floats, 0 if there are
 * none; *fingerprint: of the tensors. */
uint32_t hu_range_place(hu_run *run, uint64_t *fingerprint);

#endif
