/* train/block.h - the vector of all trained parameters, cut into blocks: what a thread works on at
 * a time, and what sums of squares are made of. */
#ifndef HU_TRAIN_BLOCK_H
#define HU_TRAIN_BLOCK_H
#include "train/inner.h"

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

#endif
