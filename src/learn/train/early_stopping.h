/* train/early_stopping.h - trainings that end early, where evaluations get no better. */
#ifndef HU_TRAIN_EARLY_STOPPING_H
#define HU_TRAIN_EARLY_STOPPING_H
#include "store/checkpoint.h"
#include "train/inner.h"

/* The state of a new training. */
void hu_early_stopping_begin(hu_trainer *trainer);

/* Notes the metric of an evaluation at the end of an epoch: it is better where it beats the best so
 * far by more than options.min_delta, in the unit in which the metric is printed (percentage points
 * of shares). The first is the best so far; a NaN is not better. With options.patience = 0 nothing
 * is noted. Source: Keras' EarlyStopping (min_delta, patience), whose patience is the same.
 * Proof: tests/unit/train_patience_test.c. */
void hu_early_stopping_note(hu_trainer *trainer, double value);

/* Whether so many evaluations in a row as options.patience were not better. */
bool hu_early_stopping_is_over(const hu_trainer *trainer);

/* Section "patience" of trainings that have some; where it is missing, the state is that of a new
 * training. HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_early_stopping_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_early_stopping_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
void hu_early_stopping_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* ---- plateau ---- */

/* Learning rates that fall where a training gets no better: what they know of it.
 */

/* The state of a new training. */
void hu_plateau_begin(hu_trainer *trainer);

/* Notes the metric of an evaluation that schedule plateau follows: it is better where it beats the
 * best so far by more than `threshold` of that; where it has not been for `patience` evaluations,
 * the rate falls and the count begins again. The first is the best so far; a NaN is not better.
 * Source: torch's ReduceLROnPlateau (relative threshold, no cooldown), whose patience is one less.
 * Proof: tests/unit/train_plateau_test.c. */
void hu_plateau_note_metric(hu_trainer *trainer, double value);

/* Notes the loss of a step, for schedule plateau_loss: where the mean over `period` of them is
 * above each of the three means before, the rate falls. Losses that are not finite are left out.
 * Source: TensorFlow's seq2seq tutorial (0.99, 200 steps). */
void hu_plateau_note_loss(hu_trainer *trainer, double loss);

/* The learning rate of a step: that of the schedule, from a base rate of lr factor^drops, or the
 * floor if that is more. */
double hu_plateau_rate(const hu_trainer *trainer, int64_t step);

/* Section "plateau" of trainings whose schedule has such a state; where it is missing, the state is
 * that of a new training. HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_plateau_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_plateau_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
void hu_plateau_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

#endif
