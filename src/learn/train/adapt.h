/* train/adapt.h - where the adaptations of a training (precision/adaptation.h) meet its steps. */
#ifndef HU_TRAIN_ADAPT_H
#define HU_TRAIN_ADAPT_H
#include "store/checkpoint.h"
#include "train/inner.h"
#include "train/trainer.h"

/* States for what the precision asks for. */
hu_status hu_adapt_create(hu_trainer *trainer);

/* Before the passes of the report's step: lets the adaptations change the edges, and plans again if
 * they did. */
hu_status hu_adapt_before(hu_trainer *trainer, hu_step_report *report);

/* Between two steps, before the weights are evaluated or saved: the same, for the precision of the
 * step that was done last. */
hu_status hu_adapt_between(hu_trainer *trainer);

/* The end of a step: what its counts ask for comes true before the next pass; the report lists it.
 */
void hu_adapt_after(hu_trainer *trainer, hu_step_report *report);

/* Adds a section for each adaptation that has a state. */
hu_status hu_adapt_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);

/* Whether the sections of a checkpoint fit the adaptations of this training: HU_ERR_ARGUMENT if one
 * was made by an adaptation that this training does without, HU_ERR_CORRUPT. Changes nothing. */
hu_status hu_adapt_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Takes the states of a checkpoint that was checked, and plans for them; done_steps: of the
 * checkpoint. */
hu_status hu_adapt_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint,
                           int64_t done_steps);

/* ---- aggregate ---- */

/* The model aggregate over the steps: promotion and other changes of formats
 * make it larger or smaller while a training runs. */

/* Adds the step whose formats the edges hold; before its promotions. */
void hu_aggregate_add(hu_trainer *trainer, int64_t step);

/* A section "aggregate" of checkpoints behind the first step; in those of older versions, all steps
 * up to `done` are taken to have had the present one. restore takes what check has found sound:
 * HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_aggregate_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_aggregate_check(const hu_checkpoint *checkpoint);
void hu_aggregate_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint, int64_t done);

/* ---- The precision of a trainer as a resolved plan ---- */

/* The present edge table as YAML, promotions so far applied; of a precision by epoch, that of the
 * step that was done last. A training with the plan has the same bits from here on. Owner frees
 * with hu_free. */
hu_status hu_trainer_resolved_plan(hu_trainer *trainer, char **yaml);

#endif
