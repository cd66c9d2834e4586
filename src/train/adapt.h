/* train/adapt.h - promotion on overflow: found after a step, planned before the next pass. */
#ifndef HU_TRAIN_ADAPT_H
#define HU_TRAIN_ADAPT_H
#include "train/inner.h"

/* Room for promotions if the precision promotes. */
hu_status hu_create_promotions(hu_trainer *trainer);

/* The end of a step: finds the tensors that go high, for the next step. */
void hu_find_promotions(hu_trainer *trainer, hu_step_report *report);

/* Before a pass: gives promoted tensors their format and plans again. */
hu_status hu_apply_promotions(hu_trainer *trainer);

/* Takes over the promotions of a checkpoint, ids[count], in place of those so far; the caller has
 * checked them. */
hu_status hu_restore_promotions(hu_trainer *trainer, const uint32_t *ids, uint32_t count);

#endif
