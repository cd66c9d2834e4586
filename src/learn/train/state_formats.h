/* train/state_formats.h - the formats of the optimizer's state: from the rules of
 * options.optimizer_state into the edge table, from there to the optimizers of the turns, and what
 * their roundings count back into the table.
 *
 * A rule is "FORMAT [MODE]", of all state, or "PATTERN: FORMAT [MODE]", of the state whose name
 * ("conv1.weight.momentum", "conv1.weight.squares") the pattern matches; later rules win. */
#ifndef HU_TRAIN_STATE_FORMATS_H
#define HU_TRAIN_STATE_FORMATS_H
#include "store/checkpoint.h"
#include "train/inner.h"

/* Writes edges.state and trainer->state_formats. The error says what was found in which rule, and
 * what was expected: HU_ERR_PARSE and HU_ERR_UNKNOWN as hu_quantizer_parse, or of a pattern that
 * matches no state, with the nearest names; HU_ERR_ARGUMENT of a format that cannot hold state, and
 * of an optimizer that keeps none. */
hu_status hu_state_formats_write(hu_trainer *trainer);

/* The tensors of a turn in the order of its masters. Owner frees plan->tensor with hu_free. */
hu_status hu_state_formats_plan(const hu_trainer *trainer, int phase, hu_state_plan *plan);

/* Behind the update of a turn: its counts, and its exponents where the step records them, become
 * those of the edge table. True if some state is infinite or NaN now. */
bool hu_state_formats_note(hu_trainer *trainer, int phase, bool records);

/* Name of state that the present step has left infinite or NaN, in text (HU_TENSOR_NAME_BYTES);
 * NULL: none. */
const char *hu_state_formats_culprit(const hu_trainer *trainer, char *text);

/* Section "state.formats" of a checkpoint: a line "NAME FORMAT" of each tensor that is packed; no
 * section where none is. HU_ERR_ARGUMENT where a checkpoint has other formats than the trainer. */
hu_status hu_state_formats_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_state_formats_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

#endif
