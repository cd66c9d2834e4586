/* train/micro_batch.h - the parts of a batch, and arrays of one block of parameters. */
#ifndef HU_TRAIN_MICRO_BATCH_H
#define HU_TRAIN_MICRO_BATCH_H
#include "train/inner.h"

/* ---- block ---- */

/* The vector of all trained parameters, cut into blocks: what a thread works on at
 * a time, and what sums of squares are made of. */

enum { HU_GRADIENT_BLOCK = 4096 };

/* Visits all trained parameters in blocks of HU_GRADIENT_BLOCK elements. The blocks depend on the
 * model only, and so does the order of every sum over them. */
typedef struct hu_gradient_block {
    hu_value_id param;
    uint32_t index;       /* of the parameter in name order */
    int64_t first, count; /* inside the parameter */
    int64_t offset;       /* in the vector of all trained parameters */
} hu_gradient_block;
int64_t hu_gradient_block_count(const hu_trainer *trainer);
int64_t hu_gradient_blocks_of(const hu_trainer *trainer, uint32_t index);
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index);

/* ---- part ---- */

/* The samples of a step and the forward passes over their parts.
 *
 * A part is what one pass runs: the samples of a worker, which are the whole batch where there is
 * only one, or one of optimizer.accumulate pieces of them. */

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
