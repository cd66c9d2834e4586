/* train/aggregate.h - the model aggregate over the steps: promotion and other changes of formats
 * make it larger or smaller while a training runs. */
#ifndef HU_TRAIN_AGGREGATE_H
#define HU_TRAIN_AGGREGATE_H
#include "store/checkpoint.h"
#include "train/inner.h"

/* Adds the step whose formats the edges hold; before its promotions. */
void hu_aggregate_add(hu_trainer *trainer, int64_t step);

/* A section "aggregate" of checkpoints behind the first step; in those of older versions, all steps
 * up to `done` are taken to have had the present one. restore takes what check has found sound:
 * HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_aggregate_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_aggregate_check(const hu_checkpoint *checkpoint);
void hu_aggregate_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint, int64_t done);

#endif
