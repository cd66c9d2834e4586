/* train/patience.h - trainings that end early, where evaluations get no better. */
#ifndef HU_TRAIN_PATIENCE_H
#define HU_TRAIN_PATIENCE_H
#include "store/checkpoint.h"
#include "train/inner.h"

/* The state of a new training. */
void hu_patience_begin(hu_trainer *trainer);

/* Notes the metric of an evaluation at the end of an epoch: it is better where it beats the best so
 * far by more than options.min_delta, in the unit in which the metric is printed (percentage points
 * of shares). The first is the best so far; a NaN is not better. With options.patience = 0 nothing
 * is noted. Source: Keras' EarlyStopping (min_delta, patience), whose patience is the same.
 * Proof: tests/unit/train_patience_test.c. */
void hu_patience_note(hu_trainer *trainer, double value);

/* Whether so many evaluations in a row as options.patience were not better. */
bool hu_patience_is_over(const hu_trainer *trainer);

/* Section "patience" of trainings that have some; where it is missing, the state is that of a new
 * training. HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_patience_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_patience_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
void hu_patience_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

#endif
