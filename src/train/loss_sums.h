/* train/loss_sums.h - the total loss of the samples of several passes. */
#ifndef HU_TRAIN_LOSS_SUMS_H
#define HU_TRAIN_LOSS_SUMS_H
#include "engine/options.h"
#include "task/task.h"

/* Sums over the passes so far, by loss of the graph. */
typedef struct hu_loss_sums {
    double stats[HU_LOSSES_MOST][HU_LOSS_STATS];
    double units[HU_LOSSES_MOST]; /* over which each loss is a mean, see op/op.h */
} hu_loss_sums;

/* Adds what a pass found. */
void hu_loss_sums_add(hu_loss_sums *sums, const hu_pass_result *result);

/* The total loss: the sum over the losses of weight x mean over units. A loss without a unit is
 * zero beside others; where none has one the total is NaN, of a task that looks for boxes 0. */
double hu_loss_sums_total(const hu_loss_sums *sums, const hu_graph *graph, const hu_task *task);

#endif
