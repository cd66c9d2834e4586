/* engine/tally.h - the counts of the threads go to the edges, and stop a pass where a format could
 * not encode a number. */
#ifndef HU_ENGINE_TALLY_H
#define HU_ENGINE_TALLY_H
#include "engine/state.h"

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

#endif
