#include "train/reduce.h"

#include "train/update.h"

/* sum[block] = or += the gradient of a block. */
static void add_block(hu_trainer *trainer, hu_gradient_block block, float *sum, bool is_first) {
    float scratch[HU_GRADIENT_BLOCK];
    const float *g =
        hu_run_param_grad(trainer->run, block.param, block.first, block.count, scratch);
    float *to = sum + block.offset;
    for (int64_t i = 0; i < block.count; i++) to[i] = is_first ? g[i] : to[i] + g[i];
}

void hu_reduce_part(hu_trainer *trainer, float *sum, bool is_first) {
    int turn = hu_run_pass(trainer->run)->turn;
    const hu_learner *learner = &trainer->turn[turn > 0 ? turn - 1 : 0];
    const int64_t first = learner->first_block, end = first + learner->blocks;
    if (!sum) return;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = first; b < end; b++)
        add_block(trainer, hu_gradient_block_at(trainer, b), sum, is_first);
}

void hu_reduce_parameter(hu_trainer *trainer, hu_value_id param, float *sum, bool is_first) {
    int64_t elements = trainer->graph->value[param].elements;
#pragma omp parallel for num_threads(trainer->options.run.threads)                                 \
    schedule(static) if (elements > HU_GRADIENT_BLOCK)
    for (int64_t first = 0; first < elements; first += HU_GRADIENT_BLOCK) {
        int64_t left = elements - first;
        hu_gradient_block block = {.param = param,
                                   .first = first,
                                   .count = left < HU_GRADIENT_BLOCK ? left : HU_GRADIENT_BLOCK,
                                   .offset = trainer->weights.offset[param] + first};
        add_block(trainer, block, sum, is_first);
    }
}
