/* model/lstm_lm.h - language models of LSTM layers, and their sampled softmax. */
#ifndef HU_MODEL_LSTM_LM_H
#define HU_MODEL_LSTM_LM_H
#include "model/builder.h"

/* Closes a model whose head is a product of rows [T, C] with a weight NAME.weight [classes, C] and
 * a bias NAME.bias, which starts as zeros. Evaluations have this head, NAME.whole.out; trainings
 * the scores NAME.sampled.out of each row's own class and of `numbers` others, neg.out, which are
 * drawn in each step (op/attributes.h). */
void hu_build_sampled_loss(hu_builder *b, const char *name, hu_value_id in, int64_t numbers,
                           hu_init weight);

#endif
