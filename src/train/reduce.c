#include "train/reduce.h"

#include "train/update.h"

void hu_reduce_part(hu_trainer *trainer, bool is_first) {
    int64_t blocks = hu_gradient_block_count(trainer);
    /* One part: its gradients are read in place. */
    if (!trainer->gradient_sum) return;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        float scratch[HU_GRADIENT_BLOCK];
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        const float *g =
            hu_run_param_grad(trainer->run, block.param, block.first, block.count, scratch);
        float *sum = trainer->gradient_sum + block.offset;
        for (int64_t i = 0; i < block.count; i++) sum[i] = is_first ? g[i] : sum[i] + g[i];
    }
}
