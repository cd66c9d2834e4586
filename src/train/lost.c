#include "train/lost.h"

#include <halfulp/format.h>
#include <math.h>

#include "base/bits.h"

bool hu_step_counts_all(const hu_trainer *trainer, int64_t step) {
    return trainer->count_every > 0 && step % trainer->count_every == 0;
}

bool hu_lost_is_counted_in_blocks(const hu_trainer *trainer, int64_t step) {
    return trainer->options.keep_masters && hu_step_counts_all(trainer, step);
}

/* Half of the last place at the smallest normal number of a format; below that it is the same.
 * 0: nothing is rounded, or the scale is not known here. */
static float least_half_place(const hu_quantizer *quantizer) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return 0.0f;
    const hu_format_limits limits = hu_format_limits_of(&quantizer->format);
    return ldexpf(1.0f, limits.emin - quantizer->format.man_bits - 1);
}

/* The power of two of x. */
static float power_of(float x) {
    return hu_f32_of_bits(hu_f32_bits(x) & HU_F32_INFINITY);
}

static void count_small(int64_t n, const float *before, const float *after, float least,
                        float relative, hu_update_counts *counts) {
    uint32_t asked = 0, small = 0;
    for (int64_t i = 0; i < n; i++) {
        float moved = fabsf(after[i] - before[i]), half = power_of(before[i]) * relative;
        half = half > least ? half : least;
        asked += after[i] != before[i];
        small += after[i] != before[i] && moved < half;
    }
    counts->asked += asked;
    counts->small += small;
}

void hu_lost_in_block(hu_trainer *trainer, const hu_gradient_block *block, const float *before,
                      const float *after) {
    hu_edge *edge = &trainer->edges.value[block->param];
    float least = least_half_place(&edge->quantizer);
    hu_update_counts counts = {0};
    if (least <= 0.0f) return;
    float relative = ldexpf(1.0f, -(int)edge->quantizer.format.man_bits - 1);
    count_small(block->count, before, after, least, relative, &counts);
#pragma omp atomic
    edge->update.asked += counts.asked;
#pragma omp atomic
    edge->update.small += counts.small;
}

/* Elements that differ from the working copy. */
static uint64_t count_moved(const hu_trainer *trainer, const hu_gradient_block *block) {
    float scratch[HU_GRADIENT_BLOCK];
    uint32_t moved = 0;
    const float *master = trainer->weights.block + block->offset;
    const float *was =
        hu_run_rounded_part(trainer->run, block->param, block->first, block->count, scratch);
    for (int64_t i = 0; i < block->count; i++) moved += master[i] != was[i];
    return moved;
}

/* Weights that are not rounded are their own working copies, and nothing of them is lost. Where a
 * scale or a range is found before masters are rounded, codes of the working copy mean other
 * numbers behind it: these are not compared. */
static bool is_compared(const hu_trainer *trainer, const hu_gradient_block *block) {
    const hu_quantizer *quantizer = &trainer->edges.value[block->param].quantizer;
    return hu_quantizer_rounds(quantizer) && !hu_quantizer_needs_maximum(quantizer) &&
           !hu_quantizer_needs_range(quantizer);
}

/* Adds what has moved of each parameter, before the masters are rounded or behind that. */
static void add_moved(hu_trainer *trainer, const hu_learner *learner, bool is_behind) {
    const int64_t first = learner->first_block, end = first + learner->blocks;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = first; b < end; b++) {
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        if (!is_compared(trainer, &block)) continue;
        hu_update_counts *update = &trainer->edges.value[block.param].update;
        uint64_t moved = count_moved(trainer, &block);
        uint64_t *sum = is_behind ? &update->lost : &update->asked;
#pragma omp atomic
        *sum += moved;
    }
}

void hu_lost_before_rounding(hu_trainer *trainer, int turn) {
    add_moved(trainer, &trainer->turn[turn], false);
}

/* A delayed scale that has changed moves numbers that no update did: then more than were asked. */
void hu_lost_after_rounding(hu_trainer *trainer, int turn) {
    const hu_learner *learner = &trainer->turn[turn];
    add_moved(trainer, learner, true);
    /* From those that moved to those that did not. */
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++) {
        hu_update_counts *update = &trainer->edges.value[trainer->name_order[p]].update;
        update->lost = update->asked > update->lost ? update->asked - update->lost : 0;
    }
}
