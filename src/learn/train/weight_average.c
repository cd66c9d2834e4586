#include "train/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/trainer.h"

static void name_one(hu_trainer *trainer, uint32_t p, uint32_t rule, double number) {
    (void)rule, (void)number;
    trainer->average.takes_part[p] = true;
}

hu_status hu_weight_average_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    void *block;
    const hu_train_options *options = &trainer->options;
    const hu_keys *patterns = options->average_of;
    hu_weight_average *average = &trainer->average;
    bool all = !patterns || hu_keys_count(patterns) == 0;
    HU_TRY(hu_require_range("optimizer.average", options->average, 0, 1, "a number >= 0 and < 1"));
    if (options->average == 0 && all) return HU_OK;
    if (options->average == 0)
        return hu_keys_fail(hu_keys_at(patterns, 0),
                            "no pattern without optimizer.average, which is 0");
    HU_TRY(hu_alloc_for(HU_MEMORY_OPTIMIZER, (size_t)trainer->weights.trained * sizeof(float),
                        &block));
    average->mean = block;
    HU_TRY(HU_NEW_ARRAY(&average->takes_part, trainer->parameter_count));
    for (uint32_t p = 0; p < trainer->parameter_count; p++) average->takes_part[p] = all;
    for (size_t i = 0; !all && i < hu_keys_count(patterns); i++) {
        const hu_keys *text = hu_keys_at(patterns, i);
        HU_TRY(hu_tensors_match(trainer, text, hu_keys_value(text), 0, 0, name_one));
    }
done:
    return st;
}

void hu_weight_average_free(hu_trainer *trainer) {
    hu_free(trainer->average.mean);
    hu_free(trainer->average.takes_part);
}

/* The masters before the first update are the first means. */
void hu_weight_average_begin(hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    if (!trainer->average.mean || hu_optimizer_t(learner->optimizer) > 0) return;
    memcpy(trainer->average.mean + learner->offset, trainer->weights.block + learner->offset,
           (size_t)learner->elements * sizeof(float));
}

void hu_weight_average_add(hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    const hu_weight_average *average = &trainer->average;
    if (!average->mean) return;
    const float keep = (float)trainer->options.average;
    const float take = (float)(1.0 - trainer->options.average);
    const int64_t first = learner->first_block, end = first + learner->blocks;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = first; b < end; b++) {
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        float *restrict e = average->mean + block.offset;
        const float *restrict w = trainer->weights.block + block.offset;
        if (!average->takes_part[block.index])
            memcpy(e, w, (size_t)block.count * sizeof *e);
        else
            for (int64_t i = 0; i < block.count; i++) e[i] = keep * e[i] + take * w[i];
    }
}

void hu_weight_average_take(hu_trainer *trainer, const hu_trainer *other) {
    if (!trainer->average.mean) return;
    memcpy(trainer->average.mean, other->weights.block,
           (size_t)other->weights.trained * sizeof(float));
    for (int t = 0; other->average.mean && t < other->phases; t++)
        if (hu_optimizer_t(other->phase[t].optimizer) > 0)
            memcpy(trainer->average.mean + other->phase[t].offset,
                   other->average.mean + other->phase[t].offset,
                   (size_t)other->phase[t].elements * sizeof(float));
}

void hu_weight_average_exchange(hu_trainer *trainer) {
    float *mean = trainer->average.mean, *w = trainer->weights.block;
    if (!mean) return;
    for (int t = 0; t < trainer->phases; t++) {
        const hu_phase_state *learner = &trainer->phase[t];
        if (hu_optimizer_t(learner->optimizer) == 0) continue;
        for (int64_t i = learner->offset; i < learner->offset + learner->elements; i++) {
            float master = w[i];
            w[i] = mean[i];
            mean[i] = master;
        }
    }
}

static size_t bytes_of(const hu_trainer *trainer) {
    return (size_t)trainer->weights.trained * sizeof(float);
}

hu_status hu_weight_average_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    if (!trainer->average.mean) return HU_OK;
    return hu_checkpoint_add(writer, "average", trainer->average.mean, bytes_of(trainer));
}

/* The section, NULL for a run without means; the file must have one where the run has. */
static hu_status find(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                      const void **data) {
    size_t bytes = 0, expected = trainer->average.mean ? bytes_of(trainer) : 0;
    *data = NULL;
    hu_status st = hu_checkpoint_section(checkpoint, "average", data, &bytes);
    if (st == HU_ERR_MISSING) st = HU_OK;
    if (st == HU_OK && (bytes > 0) != (expected > 0))
        return hu_fail(HU_ERR_ARGUMENT,
                       "optimizer.average: found %g, expected as in %s, which has %s means",
                       trainer->options.average, hu_checkpoint_path(checkpoint),
                       bytes > 0 ? "such" : "no such");
    if (st == HU_OK && bytes != expected)
        return hu_fail(HU_ERR_CORRUPT, "%s: section 'average' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), bytes, expected);
    return st;
}

hu_status hu_weight_average_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data;
    return find(trainer, checkpoint, &data);
}

hu_status hu_weight_average_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data;
    hu_status st = find(trainer, checkpoint, &data);
    if (st == HU_OK && trainer->average.mean)
        memcpy(trainer->average.mean, data, bytes_of(trainer));
    return st;
}
