/* train/evaluate.h - the room that evaluation works in. */
#ifndef HU_TRAIN_EVALUATE_H
#define HU_TRAIN_EVALUATE_H
#include "train/inner.h"

/* Makes room for the predictions, targets and sums of one part. */
hu_status hu_evaluation_room_create(hu_trainer *trainer);
void hu_evaluation_room_free(hu_evaluation_room *room);

#endif
