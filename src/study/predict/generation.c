#include "predict/generation.h"

#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/rng.h"

/* Which token comes next. */
typedef struct choosing {
    const hu_generation *options;
    int64_t tokens; /* different ones of the data: a model may have scores of more (model.vocab) */
    int64_t row, drawn; /* place whose scores are read; tokens drawn so far */
    int32_t chosen;     /* -1: the scores tell none */
} choosing;

/* The first of the largest scores; -1 where one is NaN or it is infinite. */
static int32_t likeliest_of(const choosing *c, const float *score) {
    int32_t best = -1;
    for (int64_t i = 0; i < c->tokens; i++) {
        if (isnan(score[i])) return -1;
        if (i != c->options->barred && (best < 0 || score[i] > score[best])) best = (int32_t)i;
    }
    return best < 0 || !isfinite(score[best]) ? -1 : best;
}

/* Of a token beside the likeliest one, before the weights are made a sum of 1. */
static double weight_of(const choosing *c, const float *score, int64_t i, int32_t likeliest) {
    double apart = (double)score[i] - (double)score[likeliest];
    return i == c->options->barred ? 0.0 : hu_exp(apart / c->options->temperature);
}

/* The token at which the cumulated weights pass a share of their sum. */
static int32_t draw(const choosing *c, const float *score, int32_t likeliest) {
    const hu_random_key key = {c->options->seed, hu_stream_id("predict", ""), 0};
    double share = hu_word_share(hu_random_word(&key, (uint64_t)c->drawn));
    double sum = 0.0, passed = 0.0;
    for (int64_t i = 0; i < c->tokens; i++) sum += weight_of(c, score, i, likeliest);
    for (int64_t i = 0; i < c->tokens; i++) {
        passed += weight_of(c, score, i, likeliest);
        if (passed > share * sum) return (int32_t)i;
    }
    return likeliest;
}

static hu_status choose(void *context, int64_t position, const hu_metric_call *call,
                        const hu_loader *loader) {
    choosing *c = context;
    (void)position, (void)loader;
    c->chosen = -1;
    if (!call->prediction) return HU_OK;
    const float *score = call->prediction + c->row * call->outputs;
    c->chosen = likeliest_of(c, score);
    if (c->chosen >= 0 && c->options->temperature > 0.0) c->chosen = draw(c, score, c->chosen);
    return HU_OK;
}

hu_status hu_generation_make(hu_trainer *trainer, hu_dataset *dataset, const hu_generation *options,
                             hu_prompt *prompt) {
    hu_status st = HU_OK;
    choosing c = {.options = options, .tokens = dataset->field[0].classes};
    if (hu_trainer_task(trainer) != &hu_task_language)
        return hu_fail(HU_ERR_ARGUMENT, "found the task %s, expected language to go on with a text",
                       hu_trainer_task(trainer)->name);
    for (; c.drawn < options->tokens; c.drawn++) {
        c.row = hu_prompt_show(prompt, dataset);
        HU_TRY(hu_trainer_show(trainer, 1, choose, &c));
        if (c.chosen < 0)
            HU_TRY(hu_fail(HU_ERR_NONFINITE,
                           "found scores that are not finite behind token %zu of the text, "
                           "expected numbers",
                           prompt->count));
        HU_TRY(hu_prompt_add(prompt, c.chosen));
    }
done:
    return st;
}
