#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/format.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/run.h"
#include "format/value.h"
#include "precision/rules.h"
#include "train/internal.h"
#include "train/trainer.h"

/* ---- weight average ---- */

static void name_one(hu_trainer *trainer, uint32_t p, uint32_t rule, double number) {
    (void)rule, (void)number;
    trainer->average.takes_part[p] = true;
}

static const char *name_of(const hu_trainer *trainer, uint32_t p) {
    return trainer->graph->value[trainer->name_order[p]].name;
}

static hu_status unknown(const hu_trainer *trainer, const hu_keys *text, const char *pattern) {
    char nearest[512];
    const char **names = NULL;
    hu_status st = HU_NEW_ARRAY(&names, trainer->parameter_count);
    if (st != HU_OK) return st;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) names[p] = name_of(trainer, p);
    hu_nearest(pattern, names, trainer->parameter_count, nearest, sizeof nearest);
    st = hu_keys_fail(text, "a pattern that matches a parameter, nearest: %s", nearest);
    hu_free(names);
    return st;
}

/* Does it to all parameters that match. HU_ERR_PARSE names text where there is none: that would
 * leave things as they are without a word. */
static hu_status hu_tensors_match(hu_trainer *trainer, const hu_keys *text, const char *pattern,
                                  uint32_t rule, double number, hu_rule_fn *run) {
    bool found = false;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        if (!hu_glob_match(pattern, name_of(trainer, p))) continue;
        run(trainer, p, rule, number);
        found = true;
    }
    return found ? HU_OK : unknown(trainer, text, pattern);
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
static void hu_weight_average_begin(hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    if (!trainer->average.mean || hu_optimizer_t(learner->optimizer) > 0) return;
    memcpy(trainer->average.mean + learner->offset, trainer->weights.block + learner->offset,
           (size_t)learner->elements * sizeof(float));
}

/* Before and after the update of a turn. */
static void hu_weight_average_add(hu_trainer *trainer, int phase) {
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

/* ---- update ---- */

/* ---- Parameters by name, and their bounds ---- */

static void leave_decay_out(hu_trainer *trainer, uint32_t p, uint32_t rule, double number) {
    (void)rule, (void)number;
    trainer->tensors[p].decay = false;
}

static void set_rate(hu_trainer *trainer, uint32_t p, uint32_t rule, double number) {
    (void)rule;
    trainer->tensors[p].rate = number;
}

static void set_bound(hu_trainer *trainer, uint32_t p, uint32_t rule, double number) {
    trainer->clip.group[p] = rule + 1;
    trainer->clip.bound[rule + 1] = number;
}

/* "PATTERN: NUMBER", a finite number >= least. */
static hu_status match_rule(hu_trainer *trainer, const hu_keys *text, uint32_t rule, double least,
                            hu_rule_fn *run) {
    char pattern[HU_NAME_BYTES], *end;
    const char *colon = strrchr(hu_keys_value(text), ':');
    ptrdiff_t length = colon ? colon - hu_keys_value(text) : 0;
    double number = colon ? strtod(colon + 1, &end) : NAN;
    bool is_rule = length > 0 && length < HU_NAME_BYTES && end > colon + 1 && *end == '\0';
    if (!is_rule || !isfinite(number) || number < least)
        return hu_keys_fail(text, "'PATTERN: NUMBER', the number at least %g", least);
    memcpy(pattern, hu_keys_value(text), (size_t)length);
    pattern[length] = '\0';
    return hu_tensors_match(trainer, text, pattern, rule, number, run);
}

/* The first rule that matches counts, so that it has the last word. */
static hu_status match_rules(hu_trainer *trainer, const hu_keys *rules, double least,
                             hu_rule_fn *run) {
    hu_status st = HU_OK;
    for (size_t i = rules ? hu_keys_count(rules) : 0; i-- > 0 && st == HU_OK;)
        st = match_rule(trainer, hu_keys_at(rules, i), (uint32_t)i, least, run);
    return st;
}

hu_status hu_tensors_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    const hu_train_options *options = &trainer->options;
    const hu_keys *patterns = options->no_decay;
    size_t blocks = (size_t)hu_gradient_block_count(trainer);
    hu_clip *clip = &trainer->clip;
    clip->groups = 1 + (options->clip_rules ? (uint32_t)hu_keys_count(options->clip_rules) : 0);
    HU_TRY(HU_NEW_ARRAY(&trainer->tensors, trainer->parameter_count));
    HU_TRY(HU_NEW_ARRAY(&clip->group, trainer->parameter_count));
    HU_TRY(HU_NEW_ARRAY(&clip->bound, clip->groups));
    HU_TRY(HU_NEW_ARRAY(&clip->squares, clip->groups));
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        trainer->tensors[p] = HU_TENSOR_UPDATE;
        trainer->tensors[p].start = trainer->edges.factors.start[trainer->name_order[p]];
    }
    clip->bound[0] = options->clip_norm;
    for (size_t i = 0; patterns && i < hu_keys_count(patterns); i++)
        HU_TRY(hu_tensors_match(trainer, hu_keys_at(patterns, i),
                                hu_keys_value(hu_keys_at(patterns, i)), 0, 0, leave_decay_out));
    HU_TRY(match_rules(trainer, options->lr_rules, 0, set_rate));
    HU_TRY(match_rules(trainer, options->clip_rules, 0x1p-149, set_bound));
    if (hu_optimizer_trusts(trainer->phase[0].optimizer))
        HU_TRY(HU_NEW_ARRAY(&trainer->weight_squares, blocks));
done:
    return st;
}

void hu_tensors_free(hu_trainer *trainer) {
    hu_free(trainer->tensors);
    hu_free(trainer->clip.group);
    hu_free(trainer->clip.bound);
    hu_free(trainer->clip.squares);
    hu_free(trainer->weight_squares);
}

/* What the held gradient of a parameter is times that by the weights of the network without
 * scaling (graph/edge.h). */
static double held_of(const hu_trainer *trainer, hu_value_id param) {
    const hu_factors *factors = &trainer->edges.factors;
    return factors->held[param] * factors->start[param];
}

/* Sum of squares of the masters of every block, as weights of the network without scaling. */
static void square_weights(hu_trainer *trainer, const hu_phase_state *learner) {
    const int64_t first = learner->first_block, end = first + learner->blocks;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = first; b < end; b++) {
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        const float *w = trainer->weights.block + block.offset;
        double sum = 0.0;
        for (int64_t i = 0; i < block.count; i++) sum += (double)w[i] * (double)w[i];
        double start = trainer->edges.factors.start[block.param];
        trainer->weight_squares[b] = sum * start * start;
    }
}

static void find_trust(hu_trainer *trainer, const hu_phase_state *learner) {
    square_weights(trainer, learner);
    int64_t b = learner->first_block;
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++) {
        hu_tensor_update *tensor = &trainer->tensors[p];
        double weight = 0.0, gradient = 0.0;
        double held = held_of(trainer, trainer->name_order[p]);
        for (int64_t end = b + hu_gradient_blocks_of(trainer, p); b < end; b++) {
            weight += trainer->weight_squares[b];
            gradient += trainer->block_squares[b];
        }
        tensor->trust =
            hu_optimizer_trust(learner->optimizer, sqrt(weight),
                               sqrt(gradient) * (double)tensor->clip * held, tensor->decay);
    }
}

/* The norms are of the unscaled gradient, and so are the bounds. */
static void find_clip(hu_trainer *trainer, const hu_phase_state *learner) {
    const hu_clip *clip = &trainer->clip;
    int64_t b = learner->first_block;
    for (uint32_t g = 0; g < clip->groups; g++) clip->squares[g] = 0.0;
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++)
        for (int64_t end = b + hu_gradient_blocks_of(trainer, p); b < end; b++)
            clip->squares[clip->group[p]] += trainer->block_squares[b];
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++) {
        double bound = clip->bound[clip->group[p]], norm = sqrt(clip->squares[clip->group[p]]);
        double clipped = bound > 0.0 && norm > bound ? bound / norm : 1.0;
        trainer->tensors[p].clip = (float)(clipped / held_of(trainer, trainer->name_order[p]));
    }
}

/* Before the update of a turn: works out what the gradient of every tensor is multiplied with so
 * that it is clipped, and then lambda, if the optimizer reads it.
 *
 * A rule bounds the L2 norm of the gradient of all parameters together that it is the first to
 * match; options.clip_norm that of all others. Norms are of the unscaled gradient, from the sums
 * of squares that hu_gradient_squares has left in block_squares; LARS sees the clipped one. Sums
 * are taken in double, block by block and in the order of the blocks, so that they do not depend on
 * threads. Source of rules: the big LSTM of Jozefowicz et al. clips the gradients of its LSTMs. */
static void tensors_find_factors(hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    find_clip(trainer, learner);
    if (hu_optimizer_trusts(learner->optimizer)) find_trust(trainer, learner);
}

/* ---- Updates ---- */

/* Updates that leave no trace, counted by parameter into the edge table
 * (hu_update_counts in graph/edge.h).
 *
 * Without masters the stored weight is compared with the one before: what an update asked for and
 * rounding took back is lost. With masters nothing is: an update that is too small for the weight's
 * format adds up in the master, so that it is only counted as small.
 */

bool hu_step_counts_all(const hu_trainer *trainer, int64_t step) {
    return trainer->count_every > 0 && step % trainer->count_every == 0;
}

/* Whether the blocks of this step's update are compared: in steps that count, with masters. */
static bool hu_lost_is_counted_in_blocks(const hu_trainer *trainer, int64_t step) {
    return trainer->options.keep_masters && hu_step_counts_all(trainer, step);
}

/* Half of the last place at the smallest normal number of a format; below that it is the same.
 * 0: nothing is rounded, or the scale is not known here. */
static float least_half_place(const hu_quantizer *quantizer) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return 0.0f;
    const hu_format_limits limits = hu_format_limits_of(&quantizer->format);
    return (float)(hu_format_step(&quantizer->format, limits.emin) / 2);
}

/* Half of the last place of a format by the exponent field of a float32. */
enum { FIELDS = 256, FIELD_SHIFT = 23 };

static void set_halves(const hu_format *format, float least, float half[FIELDS]) {
    enum { BIAS = 127 };
    half[0] = least;
    for (int field = 1; field < FIELDS; field++) {
        float own = (float)(hu_format_step(format, field - BIAS) / 2);
        half[field] = own > least ? own : least;
    }
}

static void count_small(int64_t n, const float *before, const float *after,
                        const float halves[FIELDS], hu_update_counts *counts) {
    uint32_t asked = 0, small = 0;
    for (int64_t i = 0; i < n; i++) {
        float moved = fabsf(after[i] - before[i]);
        float half = halves[hu_f32_bits(before[i]) >> FIELD_SHIFT & (FIELDS - 1)];
        asked += after[i] != before[i];
        small += after[i] != before[i] && moved < half;
    }
    counts->asked += asked;
    counts->small += small;
}

/* before, after: [block->count] masters. From several threads at once. */
static void hu_lost_in_block(hu_trainer *trainer, const hu_gradient_block *block,
                             const float *before, const float *after) {
    hu_edge *edge = &trainer->edges.value[block->param];
    float least = least_half_place(&edge->quantizer);
    hu_update_counts counts = {0};
    if (least <= 0.0f) return;
    float halves[FIELDS];
    set_halves(&edge->quantizer.format, least, halves);
    count_small(block->count, before, after, halves, &counts);
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
 * numbers after it: these are not compared. */
static bool is_compared(const hu_trainer *trainer, const hu_gradient_block *block) {
    const hu_quantizer *quantizer = &trainer->edges.value[block->param].quantizer;
    return hu_quantizer_rounds(quantizer) && !hu_quantizer_needs_maximum(quantizer) &&
           !hu_quantizer_needs_range(quantizer);
}

/* Adds what has moved of each parameter, before the masters are rounded or after that. */
static void add_moved(hu_trainer *trainer, const hu_phase_state *learner, bool is_behind) {
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

/* Without masters: between the update and the rounding of what it made, and after that. The
 * working copies of the step must be as its passes read them: they are the weights before. */
static void hu_lost_before_rounding(hu_trainer *trainer, int phase) {
    add_moved(trainer, &trainer->phase[phase], false);
}

/* A delayed scale that has changed moves numbers that no update did: then more than were asked. */
static void hu_lost_after_rounding(hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    add_moved(trainer, learner, true);
    /* From those that moved to those that did not. */
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++) {
        hu_update_counts *update = &trainer->edges.value[trainer->name_order[p]].update;
        update->lost = update->asked > update->lost ? update->asked - update->lost : 0;
    }
}

/* ---- update ---- */

/* The scaled gradient of a block: of the one pass, or the sum over the parts. */
static const float *block_gradient(const hu_trainer *trainer, const hu_gradient_block *block,
                                   float *scratch) {
    if (trainer->gradient_sum) return trainer->gradient_sum + block->offset;
    return hu_run_param_grad(trainer->run, block->param, block->first, block->count, scratch);
}

/* Blocks whose sums go side by side: alone, each addition would wait for the one before. */
enum { BESIDE = 4 };

/* sum[k] += squares of the unscaled numbers first .. end-1 of block k, one after the other;
 * poison[k] becomes NaN if a number is infinite or NaN, whatever the scale. */
static void add_squares(int64_t first, int64_t end, const float *const g[BESIDE],
                        float inverse_scale, double sum[BESIDE], double poison[BESIDE]) {
    for (int64_t i = first; i < end; i++)
        for (int k = 0; k < BESIDE; k++) {
            double unscaled = (double)(g[k][i] * inverse_scale);
            sum[k] += unscaled * unscaled;
            poison[k] += (double)g[k][i] * 0.0;
        }
}

/* The squares of n <= BESIDE blocks from b on. */
static void square_blocks(hu_trainer *trainer, int64_t b, int64_t n, float inverse_scale) {
    float scratch[BESIDE][HU_GRADIENT_BLOCK];
    const float *g[BESIDE] = {NULL};
    int64_t count[BESIDE] = {0}, common = HU_GRADIENT_BLOCK;
    double sum[BESIDE] = {0}, poison[BESIDE] = {0};
    for (int64_t k = 0; k < BESIDE; k++) {
        if (k < n) {
            hu_gradient_block block = hu_gradient_block_at(trainer, b + k);
            g[k] = block_gradient(trainer, &block, scratch[k]);
            count[k] = block.count;
        } else {
            g[k] = g[0], count[k] = count[0];
        }
        if (count[k] < common) common = count[k];
    }
    add_squares(0, common, g, inverse_scale, sum, poison);
    for (int64_t k = 0; k < n; k++) {
        double held = held_of(trainer, hu_gradient_block_at(trainer, b + k).param);
        const float *const rest[BESIDE] = {g[k], g[k], g[k], g[k]};
        double sums[BESIDE] = {sum[k]}, poisons[BESIDE] = {poison[k]};
        add_squares(common, count[k], rest, inverse_scale, sums, poisons);
        trainer->block_squares[b + k] = sums[0] / (held * held) + poisons[0];
    }
}

double hu_gradient_squares(hu_trainer *trainer, int phase, float inverse_scale) {
    const int64_t first = trainer->phase[phase].first_block;
    const int64_t end = first + trainer->phase[phase].blocks;
    double total = 0.0;
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)
    for (int64_t b = first; b < end; b += BESIDE)
        square_blocks(trainer, b, end - b < BESIDE ? end - b : BESIDE, inverse_scale);
    /* In the order of the blocks: the number of threads cannot change the sum. */
    for (int64_t b = first; b < end; b++) total += trainer->block_squares[b];
    return total;
}

/* Infinities and NaNs have all exponent bits set. */
static bool has_nonfinite(const float *x, int64_t n) {
    uint32_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        found |= (uint32_t)((bits & 0x7f800000u) == 0x7f800000u);
    }
    return found != 0;
}

/* Every block is unscaled, clipped, applied to its masters and looked at while it is in cache. True
 * if a master is not finite any more; *state_is_bad likewise of packed state. */
static bool apply_update(hu_trainer *trainer, const hu_step_report *report, int phase,
                         float inverse_scale, bool *state_is_bad) {
    const hu_phase_state *learner = &trainer->phase[phase];
    const int64_t first = learner->first_block, end = first + learner->blocks;
    bool counts = hu_lost_is_counted_in_blocks(trainer, report->step);
    bool records = hu_exponent_record_has(trainer->run, (uint64_t)report->step);
    int nonfinite = 0;
    hu_optimizer_begin_step(learner->optimizer, report->phase[phase].lr);
    hu_optimizer_unscale_gradients(learner->optimizer, inverse_scale);
    if (records) hu_optimizer_record(learner->optimizer);
    tensors_find_factors(trainer, phase);
#pragma omp parallel for num_threads(trainer->options.run.threads) schedule(static)                \
    reduction(|                                                                                    \
              : nonfinite)
    for (int64_t b = first; b < end; b++) {
        float scratch[HU_GRADIENT_BLOCK], before[HU_GRADIENT_BLOCK];
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        float *master = trainer->weights.block + block.offset;
        if (counts) memcpy(before, master, (size_t)block.count * sizeof *before);
        hu_optimizer_apply(learner->optimizer, block.offset - learner->offset, block.count, master,
                           block_gradient(trainer, &block, scratch), trainer->tensors[block.index]);
        nonfinite |= has_nonfinite(master, block.count);
        if (counts) hu_lost_in_block(trainer, &block, before, master);
    }
    *state_is_bad = hu_state_formats_note(trainer, phase, records);
    return nonfinite != 0;
}

/* One row holds the whole parameter, so that a scale from its maximum is that of the tensor. */
static void round_masters(hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++)
        hu_run_round_master(trainer->run, trainer->name_order[p]);
}

void hu_round_masters(hu_trainer *trainer) {
    for (int t = 0; t < trainer->phases; t++) round_masters(trainer, t);
}

bool hu_statistics_are_bad(const hu_trainer *trainer) {
    const hu_weights *weights = &trainer->weights;
    return has_nonfinite(weights->block + weights->trained, weights->elements - weights->trained);
}

hu_status hu_check_update(hu_trainer *trainer, const hu_step_report *report,
                          bool masters_nonfinite) {
    const hu_weights *weights = &trainer->weights;
    const char *broken = NULL;
    char state[HU_TENSOR_NAME_BYTES];
    if (!masters_nonfinite && !trainer->bad_statistics) return HU_OK;
    snprintf(trainer->culprit, sizeof trainer->culprit,
             "non-finite running statistics of worker 0 after the update");
    for (hu_value_id v = 0; v < trainer->graph->value_count && !broken; v++) {
        const hu_value_info *value = &trainer->graph->value[v];
        bool is_kept = value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
        if (!is_kept || !has_nonfinite(hu_weights_of(weights, v), value->elements)) continue;
        snprintf(trainer->culprit, sizeof trainer->culprit,
                 "non-finite numbers in %s after the update", value->name);
        broken = value->name;
    }
    if (!broken && hu_state_formats_culprit(trainer, state))
        snprintf(trainer->culprit, sizeof trainer->culprit,
                 "state of the optimizer, %.200s, is beyond its format after the update (key "
                 "optimizer.state; FORMAT:ovf=sat saturates)",
                 state);
    return hu_fail(HU_ERR_NONFINITE, "step %lld: %s (learning rate %g), training stops",
                   (long long)report->step, trainer->culprit, report->lr);
}

bool hu_update_masters(hu_trainer *trainer, const hu_step_report *report, int phase,
                       float inverse_scale) {
    const hu_phase_state *learner = &trainer->phase[phase];
    bool state_is_bad = false;
    if (!report->phase[phase].skipped) {
        hu_weight_average_begin(trainer, phase);
        bool nonfinite = apply_update(trainer, report, phase, inverse_scale, &state_is_bad);
        if (trainer->options.keep_masters) {
            hu_weight_average_add(trainer, phase);
            return nonfinite || state_is_bad;
        }
        bool counts = hu_step_counts_all(trainer, report->step);
        if (counts) hu_lost_before_rounding(trainer, phase);
        round_masters(trainer, phase);
        if (counts) hu_lost_after_rounding(trainer, phase);
        hu_weight_average_add(trainer, phase);
    }
    /* Rounding has changed the masters since the update looked at them, and a skipped step has not
     * looked at them at all. */
    return state_is_bad ||
           has_nonfinite(trainer->weights.block + learner->offset, learner->elements);
}

/* ---- The gradients of the parts of a worker's samples become one gradient ---- */

/* sum[block] = or += the gradient of a block. */
static void add_block(hu_trainer *trainer, hu_gradient_block block, float *sum, bool is_first) {
    float scratch[HU_GRADIENT_BLOCK];
    const float *g =
        hu_run_param_grad(trainer->run, block.param, block.first, block.count, scratch);
    float *to = sum + block.offset;
    for (int64_t i = 0; i < block.count; i++) to[i] = is_first ? g[i] : to[i] + g[i];
}

void hu_reduce_part(hu_trainer *trainer, float *sum, bool is_first) {
    int phase = hu_run_pass(trainer->run)->phase;
    const hu_phase_state *learner = &trainer->phase[phase > 0 ? phase - 1 : 0];
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
