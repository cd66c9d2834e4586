#include "train/reduce.h"

#include "train/update.h"

void hu_reduce_part(hu_trainer *trainer, float *sum, bool is_first) {
    int64_t blocks = hu_gradient_block_count(trainer);
    if (!sum) return;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        float scratch[HU_GRADIENT_BLOCK];
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        const float *g =
            hu_run_param_grad(trainer->run, block.param, block.first, block.count, scratch);
        float *to = sum + block.offset;
        for (int64_t i = 0; i < block.count; i++) to[i] = is_first ? g[i] : to[i] + g[i];
    }
}
