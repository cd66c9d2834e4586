/* engine/dynamic_scale.h - scales of whole tensors: maxima, their history, ranges. */
#ifndef HU_ENGINE_DYNAMIC_SCALE_H
#define HU_ENGINE_DYNAMIC_SCALE_H
#include "engine/run.h"
#include "engine/slot.h"
#include "engine/state.h"

/* ---- scale ---- */

/* Scales of whole tensors: maxima, and their history.
 *
 * A scale that comes from the tensor's own maximum is known when all rows are there
 * (engine/rescale.h). A delayed scale is known beforehand: it comes from the maxima of earlier
 * steps, which are state of the run. A pass that is not a training step, or repeats one, leaves
 * that state alone.
 */

/* Gives every slot with a delayed scale its place in the history. Returns the history's length in
 * words, 0 if no scale is delayed; *fingerprint: of the tensors and their lengths. */
uint32_t hu_dynamic_scale_place_history(hu_run *run, uint64_t *fingerprint);

/* Empties the history, which layout has just allocated. */
void hu_dynamic_scale_clear_history(hu_run *run, uint64_t fingerprint);

/* Where rows from first on are staged until the maximum is known, NULL if the slot needs none. */
float *hu_dynamic_scale_staged_rows(const hu_slot *slot, int64_t first);

/* Adds the largest magnitude of rows that are not rounded yet to a tally; for uniform quantizers
 * their range. */
void hu_dynamic_scale_add_maximum(const hu_slot *slot, hu_tally *tally, int64_t n, const float *x);

/* Adds a maximum to that of the present step, where the slot keeps a history. */
void hu_dynamic_scale_note_maximum(hu_slot *slot, uint32_t top);

/* Scale of a parameter or its gradient, before its one row x is rounded. is_noted: the maximum
 * belongs to the history. */
void hu_dynamic_scale_set_from_row(hu_slot *slot, const float *x, bool is_noted);

/* Maxima of the present step, where several processes share it: how many there are, their bits
 * (HU_NONE: none) in one order, and those of another process joined with them. Bytes need no
 * alignment. */
size_t hu_dynamic_scale_tops(const hu_run *run);
void hu_dynamic_scale_read_tops(const hu_run *run, void *bytes);
void hu_dynamic_scale_raise_tops(hu_run *run, const void *bytes);

/* The end of a training step: its maxima enter the history and set the next step's scales; of a
 * step that a format stopped only those of what could not be encoded. What the step has stored in
 * tensors with delayed scales must not be read any more. */
void hu_dynamic_scale_end_step(hu_run *run);

/* The history as bytes of a checkpoint; *bytes = 0: there is none. Borrowed: valid as long as the
 * run. */
void hu_dynamic_scale_history(const hu_run *run, const void **data, size_t *bytes);

/* Takes a history over if it is of the same tensors and lengths; else, and for no data (NULL), it
 * is empty. HU_ERR_CORRUPT: a maximum is no finite number. */
hu_status hu_dynamic_scale_restore(hu_run *run, const void *data, size_t bytes);

/* Takes over the maxima of every tensor that has a delayed scale in both runs of the same graph,
 * the newest ones where it keeps fewer now: they are magnitudes, whatever the format. */
void hu_dynamic_scale_carry(hu_run *run, const hu_run *from);

/* ---- range ---- */

/* Ranges of tensors that uniform quantizers round, and running ones of those that
 * are evaluated with them.
 *
 * Source: Banner et al., "Scalable Methods for 8-bit Training of Neural Networks", as CPT and
 * FracTrain implement it: running = 0.9 running + 0.1 current, of zero and width; the first step's
 * range is the first running one.
 */

/* Sets the range of the present pass: low .. high, which a training step's running range takes in
 * (of several workers that of the one whose running statistics count), or that running range in an
 * evaluation behind a first step. */
void hu_dynamic_range_set(hu_run *run, hu_slot *slot, float low, float high);

/* Gives every slot with a running range its place. Returns their number of floats, 0 if there are
 * none; *fingerprint: of the tensors. */
uint32_t hu_dynamic_range_place(hu_run *run, uint64_t *fingerprint);

#endif
