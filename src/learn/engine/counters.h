/* engine/counters.h - roundings counted by tensor, and what a process sends of them to the others.
 */
#ifndef HU_ENGINE_COUNTERS_H
#define HU_ENGINE_COUNTERS_H
#include "engine/run.h"
#include "engine/state.h"

/* ---- tally ---- */

/* The counts of the threads go to the edges, and stop a pass where a format could
 * not encode a number. */

/* Zeroes the threads' tallies: the start of a pass. */
void hu_tally_clear(hu_run *run);

/* Adds counts to an edge (evaluation leaves no trace), and marks the pass as overflowed if what was
 * rounded cannot be encoded. end: how many of the first nodes count completely all the same;
 * HU_NONE: the tensor is a gradient. */
void hu_tally_add(hu_run *run, hu_edge *edge, const hu_round_counts *counts, hu_value_id value,
                  uint32_t end);

/* Counts of one tally by all threads, without the numbers that are not there. */
hu_round_counts hu_tally_sum(const hu_run *run, uint32_t index, hu_value_id value);

/* The node has run in the forward pass: notes how many numbers of its output are not there. */
void hu_tally_note_absent(hu_run *run, uint32_t n);

/* All rows of a tensor are there: rounds staged rows, and adds the tallies of all threads to the
 * edge. index: of the tally. */
void hu_tally_collect(hu_run *run, uint32_t index, hu_slot *slot, hu_value_id value,
                      bool in_gradient);

/* Adds the tallies of the inputs that node n rounds at reading. */
void hu_tally_collect_inputs(hu_run *run, uint32_t n);

/* Zeroes the threads' counts of the accumulators of a region's nodes, and lets their calls count
 * where the pass asks for it; then adds them to the nodes'. */
void hu_products_begin(hu_run *run, uint32_t region);
void hu_products_collect(hu_run *run, uint32_t region);

/* ---- findings ---- */

/* What the passes of a step counted in one process, as bytes: so that all
 * processes of a training can know what they counted together, and decide alike.
 *
 * Counts of weights are left out: every process rounds the same ones.
 */

/* Bytes of the findings of a run: the same in all processes of one plan. 0: nothing is counted. */
size_t hu_counters_bytes(const hu_run *run);

/* Writes the counts of the edge table, the maxima for delayed scales, and what learned roundings
 * found (engine/learn.h), of the present step. */
void hu_counters_write(const hu_run *run, void *bytes);

/* all[rows][hu_counters_bytes]: all these become those of all rows together,
 * added in the order of the rows. */
void hu_counters_merge(hu_run *run, const void *all, int32_t rows);

#endif
