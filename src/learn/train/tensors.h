/* train/tensors.h - what the update of each tensor has of its own: whether its weights decay, its
 * share of the learning rate, what its gradient is clipped by, and what LARS multiplies its rate
 * with. */
#ifndef HU_TRAIN_TENSORS_H
#define HU_TRAIN_TENSORS_H
#include "train/inner.h"

/* Makes the list, one entry for each trained parameter in name order. HU_ERR_PARSE names a pattern
 * of options.no_decay, .lr_rules or .clip_rules that matches no parameter, with the nearest names,
 * and a rule that is no "PATTERN: NUMBER". */
hu_status hu_tensors_create(hu_trainer *trainer);
void hu_tensors_free(hu_trainer *trainer);

/* What a pattern or rule does to a parameter that it matches. number: of the rule. */
typedef void hu_rule_fn(hu_trainer *trainer, uint32_t p, uint32_t rule, double number);

/* Does it to all parameters that match. HU_ERR_PARSE names text where there is none: that would
 * leave things as they are without a word. */
hu_status hu_tensors_match(hu_trainer *trainer, const hu_keys *text, const char *pattern,
                           uint32_t rule, double number, hu_rule_fn *run);

/* Before the update of a turn: works out what the gradient of every tensor is multiplied with so
 * that it is clipped, and then lambda, if the optimizer reads it.
 *
 * A rule bounds the L2 norm of the gradient of all parameters together that it is the first to
 * match; options.clip_norm that of all others. Norms are of the unscaled gradient, from the sums
 * of squares that hu_gradient_squares has left in block_squares; LARS sees the clipped one. Sums
 * are taken in double, block by block and in the order of the blocks, so that they do not depend on
 * threads. Source of rules: the big LSTM of Jozefowicz et al. clips the gradients of its LSTMs. */
void hu_tensors_find_factors(hu_trainer *trainer, int phase);

#endif
