/* train/part.h - the samples of a step and the forward passes over their parts.
 *
 * A part is what one pass runs: the samples of a worker, which are the whole batch where there is
 * only one, or one of optimizer.accumulate pieces of them. */
#ifndef HU_TRAIN_PART_H
#define HU_TRAIN_PART_H
#include "train/inner.h"

/* The samples of one step: places in the present epoch. */
typedef struct hu_step_batch {
    int64_t first, samples;
    int64_t units[HU_LOSSES_MOST]; /* over which each loss is a mean: of the whole batch */
} hu_step_batch;

/* Part of an epoch of a loader that begins at sample `first`, as a hu_source. The values of the
 * graph are loaded in the order of the task's fields. */
typedef struct hu_batch_source {
    const hu_trainer *trainer;
    const hu_loader *loader;
    int64_t first;
} hu_batch_source;
void hu_fill_batch(void *context, uint32_t field, int64_t first, int64_t count, float *rows);

/* Units over which a loss of samples first .. of the present epoch is a mean (op/op.h). */
int64_t hu_count_units(hu_trainer *trainer, int loss, int64_t first, int64_t samples);

/* Forward pass of the next part of a share of the batch, which becomes shorter by it; sets samples
 * and first_sample of the pass. */
hu_status hu_forward_part(hu_trainer *trainer, const hu_step_batch *batch, hu_share *share,
                          hu_pass_options *pass, hu_pass_result *result);

#endif
