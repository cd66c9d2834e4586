/* task/guess.h - what guessing is worth: the best predictor that never looks at its input. */
#ifndef HU_TASK_GUESS_H
#define HU_TASK_GUESS_H
#include "task/task.h"

/* Fitted to the training half of a data set in memory and judged on its test half:
 *
 *   rows of classes   the shares of the classes, each counted once more than it occurs; mean loss
 *   pictures          the mean picture; mean squared error of a number in 0..1
 *   sequences         one row of shares for all rows of a sound: the labels as often as they occur,
 *                     and the share of the blank that is best; mean loss of a sample (CTC)
 *   boxes             in every picture the mean box of each class; mean average precision
 *
 *   stride  sequences: frames of a sound for each row of scores of the network
 *   value   a loss as `train` tells it ("test_loss"); of boxes the task's first metric
 *
 * HU_ERR_ARGUMENT: the task has another loss, the data lack a field of it or are read from files;
 * HU_ERR_MEMORY. Proof: tests/unit/task_guess_test.c. */
hu_status hu_task_guess(const hu_task *task, const hu_dataset *dataset, int64_t stride,
                        double *value);

#endif
