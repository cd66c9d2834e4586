#include "train/block.h"

int64_t hu_gradient_blocks_of(const hu_trainer *trainer, uint32_t index) {
    int64_t elements = trainer->graph->value[trainer->name_order[index]].elements;
    return (elements + HU_GRADIENT_BLOCK - 1) / HU_GRADIENT_BLOCK;
}

int64_t hu_gradient_block_count(const hu_trainer *trainer) {
    int64_t blocks = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        blocks += hu_gradient_blocks_of(trainer, p);
    return blocks;
}

/* Walks over the parameters: there are few, and blocks are large. */
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index) {
    for (uint32_t p = 0;; p++) {
        hu_value_id v = trainer->name_order[p];
        int64_t elements = trainer->graph->value[v].elements;
        int64_t blocks = hu_gradient_blocks_of(trainer, p);
        if (index >= blocks) {
            index -= blocks;
            continue;
        }
        int64_t first = index * HU_GRADIENT_BLOCK, left = elements - first;
        return (hu_gradient_block){v, p, first, left < HU_GRADIENT_BLOCK ? left : HU_GRADIENT_BLOCK,
                                   trainer->weights.offset[v] + first};
    }
}
