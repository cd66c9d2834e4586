/* engine/recurrent_state.h - states of recurrences that go on from pass to pass (hu_op.is_carried):
 * where the one before has ended, one row for each stream, which is a sample's place in the batch.
 *
 * A run has two banks of rows. A step reads one and writes the other, so that its passes, which may
 * be cut or run again, all begin with the same; hu_carried_end_step changes the banks round. An
 * evaluation goes over the bank that no step reads, in place. Rows are stored as the values are of
 * which they were the last, so that they come back bit for bit. No gradient goes through them:
 * truncated back-propagation, Williams and Peng 1990.
 */
#ifndef HU_ENGINE_RECURRENT_STATE_H
#define HU_ENGINE_RECURRENT_STATE_H
#include "engine/chunk.h"

/* True if a value is what such a state starts as. */
static inline bool hu_is_carried_start(const hu_run *run, hu_value_id v) {
    uint32_t producer = run->graph->value[v].producer;
    return producer != HU_NONE && run->graph->node[producer].op->is_carried;
}

/* How rows of one step of a value are stored now. */
hu_storage hu_carried_storage(const hu_slot *slot);

/* ---- passes ---- */

/* What a state starts as, for the samples of the visit: [count, elements]. Borrowed: valid during
 * the visit. */
const float *hu_carried_read(hu_chunk *visit, hu_value_id start);

/* Behind the last step of a loop: what the state of a node has become. length: [count] steps of the
 * samples; one that has none keeps its state. Does nothing for other states, and in a scan. */
void hu_carried_write(hu_chunk *visit, uint32_t node, const int64_t *length);

/* ---- between passes ---- */

/* An epoch begins: the next step reads zeros. */
void hu_carried_clear(hu_run *run);

/* A step begins: streams that none of its passes comes to keep their states. */
void hu_carried_begin_step(hu_run *run);

/* Behind a forward pass over samples first .. of the batch, or for samples that no pass of the step
 * has come to. States of a stream that are not all finite, or that the pass did not come to an end
 * with, become zeros. Returns how many streams. */
int64_t hu_carried_settle(hu_run *run, int64_t first, int64_t count, bool has_ended);

/* A step is done: the next one begins where it has ended. */
void hu_carried_end_step(hu_run *run);

/* An evaluation begins with zeros and leaves alone what the next step reads. Its passes begin at
 * samples u streams + i and do not reach into the next u. */
void hu_carried_begin_evaluation(hu_run *run);
void hu_carried_end_evaluation(hu_run *run);

#endif
