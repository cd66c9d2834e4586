/* engine/rescale.h - the second loop over the chunks, for scales from a tensor's own maximum.
 *
 * Such a tensor is made in two loops: the op's rows are staged in float32 (in a buffer that lives
 * for this node only, or in place where storage is float32) until all chunks are there; the maxima
 * of the threads are combined, which no order changes; then the rows are rounded and stored. A
 * gradient sum is gathered twice instead.
 */
#ifndef HU_ENGINE_RESCALE_H
#define HU_ENGINE_RESCALE_H
#include "engine/state.h"

/* Notes the largest magnitude of the threads' tallies, where the slot keeps a history. */
void hu_rescale_note(hu_run *run, hu_slot *slot, uint32_t index);

/* All rows are there: notes their maximum, rounds and stores staged rows. index: of the tally. */
void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index);

/* Sets the scales of the inputs that a node rounds at reading, before it runs forward. */
void hu_rescale_inputs(hu_run *run, uint32_t node);

/* Sets the scales of the gradient sums that a node reads, before it runs backward. */
void hu_rescale_sums(hu_run *run, uint32_t node);

#endif
