/* train/evaluate.h - the room that evaluation works in. */
#ifndef HU_TRAIN_EVALUATE_H
#define HU_TRAIN_EVALUATE_H
#include "train/inner.h"

/* ---- sized ---- */

/* Test samples of another size than those of training: a graph of their own, whose
 * plan stands while they are evaluated. Weights, formats and scales are the trainer's. */

/* Nothing where test samples are as large as those of training. Else makes graph and edges, and
 * plans once, so that what cannot be planned is an error here. HU_ERR_SHAPE: the model's parameters
 * depend on the size. Owner frees with hu_evaluation_graph_free, also on failure. */
hu_status hu_evaluation_graph_create(hu_trainer *trainer);
void hu_evaluation_graph_free(hu_evaluation_graph *sized);

/* Makes room for the predictions, targets and sums of one part. */
hu_status hu_evaluation_room_create(hu_trainer *trainer);
void hu_evaluation_room_free(hu_evaluation_room *room);

#endif
