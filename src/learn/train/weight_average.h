/* train/weight_average.h - a running mean of the weights, for evaluation.
 *
 * e = d e + (1 - d) w behind every update of a turn that was not skipped, d = options.average,
 * beginning with the weights before the first update; in float32, every operation rounded. Trained
 * parameters that no pattern of options.average_of names are as they are. Source: Jozefowicz et
 * al., "Exploring the limits of language modeling" (d = 0.999, of the LSTM's weights). */
#ifndef HU_TRAIN_WEIGHT_AVERAGE_H
#define HU_TRAIN_WEIGHT_AVERAGE_H
#include "store/checkpoint.h"
#include "train/micro_batch.h"

/* Nothing is made where options.average is 0. HU_ERR_ARGUMENT: it is not below 1; HU_ERR_PARSE
 * names a pattern that matches no parameter; HU_ERR_MEMORY. */
hu_status hu_weight_average_create(hu_trainer *trainer);
void hu_weight_average_free(hu_trainer *trainer);

/* Before and behind the update of a turn. */
void hu_weight_average_begin(hu_trainer *trainer, int phase);
void hu_weight_average_add(hu_trainer *trainer, int phase);

/* Begins with the means of another trainer of the same parameters; with its weights if it has none.
 */
void hu_weight_average_take(hu_trainer *trainer, const hu_trainer *other);

/* Puts the means in the place of the masters, and the masters in theirs; called again, it puts them
 * back. Does nothing without means, or before the first update. */
void hu_weight_average_exchange(hu_trainer *trainer);

/* Section "average" of a checkpoint, of a run that has means. check changes nothing. */
hu_status hu_weight_average_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_weight_average_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
hu_status hu_weight_average_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

#endif
