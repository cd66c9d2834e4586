#include "train/tensors.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "precision/role.h"
#include "train/block.h"

static const char *name_of(const hu_trainer *trainer, uint32_t p) {
    return trainer->graph->value[trainer->name_order[p]].name;
}

/* A pattern that matches nothing is a mistake: it would leave the decay on without a word. */
static hu_status unknown(const hu_trainer *trainer, const hu_keys *pattern) {
    char nearest[512];
    const char **names = NULL;
    hu_status st = HU_NEW_ARRAY(&names, trainer->parameter_count);
    if (st != HU_OK) return st;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) names[p] = name_of(trainer, p);
    hu_nearest(hu_keys_value(pattern), names, trainer->parameter_count, nearest, sizeof nearest);
    st = hu_keys_fail(pattern, "a pattern that matches a parameter, nearest: %s", nearest);
    hu_free(names);
    return st;
}

static hu_status leave_out(hu_trainer *trainer, const hu_keys *pattern) {
    bool found = false;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        if (!hu_glob_match(hu_keys_value(pattern), name_of(trainer, p))) continue;
        trainer->tensors[p].decay = false;
        found = true;
    }
    return found ? HU_OK : unknown(trainer, pattern);
}

hu_status hu_tensors_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    const hu_keys *patterns = trainer->options.no_decay;
    size_t blocks = (size_t)hu_gradient_block_count(trainer);
    HU_TRY(HU_NEW_ARRAY(&trainer->tensors, trainer->parameter_count));
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        trainer->tensors[p] = (hu_tensor_update){true, 1.0f};
    for (size_t i = 0; patterns && i < hu_keys_count(patterns); i++)
        HU_TRY(leave_out(trainer, hu_keys_at(patterns, i)));
    if (hu_optimizer_trusts(trainer->turn[0].optimizer))
        HU_TRY(HU_NEW_ARRAY(&trainer->weight_squares, blocks));
done:
    return st;
}

/* Sum of squares of the masters of every block. */
static void square_weights(hu_trainer *trainer, const hu_learner *learner) {
    const int64_t first = learner->first_block, end = first + learner->blocks;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = first; b < end; b++) {
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        const float *w = trainer->weights.block + block.offset;
        double sum = 0.0;
        for (int64_t i = 0; i < block.count; i++) sum += (double)w[i] * (double)w[i];
        trainer->weight_squares[b] = sum;
    }
}

void hu_tensors_find_trust(hu_trainer *trainer, int turn, float clip) {
    const hu_learner *learner = &trainer->turn[turn];
    if (!hu_optimizer_trusts(learner->optimizer)) return;
    square_weights(trainer, learner);
    int64_t b = learner->first_block;
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++) {
        hu_tensor_update *tensor = &trainer->tensors[p];
        double weight = 0.0, gradient = 0.0;
        for (int64_t end = b + hu_gradient_blocks_of(trainer, p); b < end; b++) {
            weight += trainer->weight_squares[b];
            gradient += trainer->block_squares[b];
        }
        tensor->trust = hu_optimizer_trust(learner->optimizer, sqrt(weight),
                                           sqrt(gradient) * (double)clip, tensor->decay);
    }
}
