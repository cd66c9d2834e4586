#include "train/tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/rules.h"
#include "train/micro_batch.h"

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

hu_status hu_tensors_match(hu_trainer *trainer, const hu_keys *text, const char *pattern,
                           uint32_t rule, double number, hu_rule_fn *run) {
    bool found = false;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        if (!hu_glob_match(pattern, name_of(trainer, p))) continue;
        run(trainer, p, rule, number);
        found = true;
    }
    return found ? HU_OK : unknown(trainer, text, pattern);
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
    for (uint32_t p = 0; p < trainer->parameter_count; p++) trainer->tensors[p] = HU_TENSOR_UPDATE;
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

static void find_trust(hu_trainer *trainer, const hu_learner *learner) {
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
                                           sqrt(gradient) * (double)tensor->clip, tensor->decay);
    }
}

/* The norms are of the unscaled gradient, and so are the bounds. */
static void find_clip(hu_trainer *trainer, const hu_learner *learner) {
    const hu_clip *clip = &trainer->clip;
    int64_t b = learner->first_block;
    for (uint32_t g = 0; g < clip->groups; g++) clip->squares[g] = 0.0;
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++)
        for (int64_t end = b + hu_gradient_blocks_of(trainer, p); b < end; b++)
            clip->squares[clip->group[p]] += trainer->block_squares[b];
    for (uint32_t p = learner->first; p < learner->first + learner->count; p++) {
        double bound = clip->bound[clip->group[p]], norm = sqrt(clip->squares[clip->group[p]]);
        trainer->tensors[p].clip = bound > 0.0 && norm > bound ? (float)(bound / norm) : 1.0f;
    }
}

void hu_tensors_find_factors(hu_trainer *trainer, int phase) {
    const hu_learner *learner = &trainer->phase[phase];
    find_clip(trainer, learner);
    if (hu_optimizer_trusts(learner->optimizer)) find_trust(trainer, learner);
}
