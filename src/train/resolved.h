/* train/resolved.h - the precision of a trainer as a resolved plan. */
#ifndef HU_TRAIN_RESOLVED_H
#define HU_TRAIN_RESOLVED_H
#include "train/trainer.h"

/* The present edge table as YAML, promotions so far applied; of a precision by epoch, that of the
 * step that was done last. A training with the plan has the same bits from here on. Owner frees
 * with hu_free. */
hu_status hu_trainer_resolved_plan(hu_trainer *trainer, char **yaml);

#endif
