/* task/generative.h - tasks that make pictures: autoencoders, variational ones, adversarial ones.
 */
#ifndef HU_TASK_GENERATIVE_H
#define HU_TASK_GENERATIVE_H
#include "task/task.h"

/* Names of the networks, which are those of their turns: all parameters are called JUDGE.* or
 * MAKER.*. */
#define HU_JUDGE "disc"
#define HU_MAKER "gen"

/* What the networks have made of a batch. The judge is applied three times, because gradients go
 * through each application in one turn alone: to real pictures, to made ones, and to these again
 * for the maker. */
typedef struct hu_adversaries {
    hu_value_id made;              /* pictures, numbers -1..1 */
    hu_value_id real, fake, again; /* what the judge says of them, logits */
} hu_adversaries;

/* HU_ERR_ARGUMENT if the task has no losses for them: to be asked before a model declares them. */
hu_status hu_task_expect_adversaries(const hu_task_choice *choice);

/* Adds both turns with their losses: real.loss and fake.loss of the judge, whose sum is minimised,
 * and again.loss of the maker; and says what metrics compare. HU_ERR_ARGUMENT if the task is
 * another, HU_ERR_SHAPE if the pictures are not those of the data. */
hu_status hu_task_close_adversaries(const hu_task_choice *choice, hu_graph *graph,
                                    const hu_value_id *values, const hu_adversaries *networks);

#endif
