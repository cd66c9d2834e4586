/* model/custom.h - a network that a program has declared itself, in place of a row of the table. */
#ifndef HU_MODEL_CUSTOM_H
#define HU_MODEL_CUSTOM_H
#include "task/task.h"

/* Inputs and operations without targets and losses, which the task brings. */
typedef struct hu_custom_net {
    const hu_graph *graph; /* not finished. Borrowed */
    hu_value_id head;      /* what the loss compares with the target */
} hu_custom_net;

/* Declares the network once more for a task: the task's inputs by their names, the operations, with
 * biases of products as nodes of their own if splits_bias says so, the loss. HU_ERR_ARGUMENT: an
 * input that the task does not have; HU_ERR_SHAPE: one of another shape than the data, or a head
 * that does not fit the task. */
hu_status hu_custom_net_build(const hu_custom_net *net, const hu_task_choice *choice,
                              bool splits_bias, hu_graph *graph);

#endif
