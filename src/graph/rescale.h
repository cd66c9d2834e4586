/* graph/rescale.h - scales of whole tensors: maxima, the second pass over chunks, and history.
 *
 * A tensor whose scale comes from its own maximum is made in two loops over the chunks: the op's
 * rows wait in float32 (in a buffer of their own that lives for this node only, or in place where
 * storage is float32) until all chunks are there; the maxima of the threads are combined, which no
 * order changes; then the rows are rounded and stored. A gradient sum is gathered twice instead. A
 * delayed scale is known beforehand: it comes from the maxima of earlier steps, which are state of
 * the run. A pass that is not a training step, or repeats one, leaves that state alone.
 */
#ifndef HU_GRAPH_RESCALE_H
#define HU_GRAPH_RESCALE_H
#include "graph/run.h"

/* Room for the history of all tensors with delayed scales, all empty. */
hu_status hu_rescale_create(hu_run *run);

/* Where rows from first on wait for the maximum, NULL if the slot's do not wait. */
float *hu_rescale_room(const hu_slot *slot, int64_t first);

/* Adds the largest magnitude of rows that are not rounded yet to a tally. */
void hu_rescale_top(const hu_slot *slot, hu_tally *tally, int64_t rows, const float *x);

/* All rows are there: notes their maximum, stores those that wait. index: of the tally. */
void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index);

/* Scales of the gradient sums that a node reads, before it runs backward. */
void hu_rescale_sums(hu_run *run, uint32_t node);

/* Scale of a parameter or its gradient, before its one row x is rounded. noted: the maximum belongs
 * to the history. */
void hu_rescale_row(hu_slot *slot, const float *x, bool noted);

/* The end of a training step: its maxima enter the history and set the next step's scales; of a
 * step that a format stopped only those of what could not be encoded. What the step has stored in
 * tensors with delayed scales must not be read any more. */
void hu_rescale_end_step(hu_run *run);

/* The history as bytes of a checkpoint; *bytes = 0: there is none. Borrowed: valid as long as the
 * run. */
void hu_rescale_history(const hu_run *run, const void **data, size_t *bytes);

/* Takes a history over if it is of the same tensors and lengths; else, and for no data (NULL), it
 * is empty. HU_ERR_CORRUPT: a maximum is no finite number. */
hu_status hu_rescale_restore(hu_run *run, const void *data, size_t bytes);

/* Takes over the maxima of every tensor that has a delayed scale in both runs of the same graph,
 * the newest ones where it keeps fewer now: they are magnitudes, whatever the format. */
void hu_rescale_carry(hu_run *run, const hu_run *from);

#endif
