/* model/sampled.h - a softmax of many classes that is sampled in training. */
#ifndef HU_MODEL_SAMPLED_H
#define HU_MODEL_SAMPLED_H
#include "model/builder.h"

/* Closes a model whose head is a product of rows [T, C] with a weight NAME.weight [classes, C] and
 * a bias NAME.bias, which starts as zeros. Evaluations have this head, NAME.whole.out; trainings
 * the scores NAME.sampled.out of each row's own class and of `numbers` others, neg.out, which are
 * drawn in each step (op/sampled.h). */
void hu_build_sampled_loss(hu_builder *b, const char *name, hu_value_id in, int64_t numbers,
                           hu_init weight);

#endif
