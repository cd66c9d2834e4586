#include "session/completions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

/* ---- Tokens, one after the other ---- */

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

/* Puts tokens after a prompt, one after the other: each is told by a pass over the last tokens, as
 * many as a sample has. A draw is by the cumulated softmax of the scores, in double: the same on
 * every machine that gives the same scores.
 *
 *   trainer  of the task language, on dataset
 *   dataset  as hu_data_known.prompts makes it; its sample is written
 *
 * HU_ERR_ARGUMENT: another task. HU_ERR_NONFINITE: a format stopped the pass, or scores are NaN or
 * infinite. HU_ERR_MEMORY. Proof: tests/program/prompt_test.py. */
static hu_status generate(hu_trainer *trainer, hu_dataset *dataset, const hu_generation *options,
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

/* ---- A run's folder ---- */

static hu_status read_options(const hu_config *config, int32_t unknown_token,
                              hu_generation *options) {
    int64_t seed;
    bool says_unknown;
    hu_status st;
    HU_TRY(hu_config_i64(config, "predict.words", &options->tokens));
    HU_TRY(hu_config_bool(config, "predict.unknown", &says_unknown));
    options->barred = says_unknown ? -1 : unknown_token;
    HU_TRY(hu_config_f64(config, "predict.temperature", &options->temperature));
    HU_TRY(hu_config_i64(config, "predict.seed", &seed));
    options->seed = (uint64_t)seed;
done:
    return st;
}

/* What the model puts after the text; the prompt is then as before. Owner frees *text. */
static hu_status go_on(hu_completions *p, double temperature, char **text) {
    hu_generation options = p->options;
    size_t before = p->prompt.count;
    hu_status st;
    options.temperature = temperature;
    HU_TRY(generate(p->run.trainer, p->run.dataset, &options, &p->prompt));
    st = hu_words_join(&p->words, p->prompt.number + before, options.tokens, true, text);
done:
    p->prompt.count = before;
    return st;
}

/* Keys of predictions of samples, and what says the same of texts. */
static hu_status check_keys(const hu_config *config) {
    static const char *const samples[][2] = {
        {"out.count", "predict.words=N says how many tokens stand behind a text"},
        {"out.file", "what stands behind a text is printed"},
        {"out.pictures", "a text has no pictures"},
        {"predict.top", "of a text the likeliest tokens are printed, and drawn ones beside them"}};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (hu_config_asked(config, samples[i][0]))
            return hu_fail(HU_ERR_ARGUMENT,
                           "found '%.100s' beside predict.text, expected only one of the two: %s",
                           hu_config_typed(config, samples[i][0])
                               ? hu_config_typed(config, samples[i][0])
                               : samples[i][0],
                           samples[i][1]);
    return HU_OK;
}

/* A text with blanks that stands in no quotes ends at the first of them. */
static hu_status check_words(const hu_config *config) {
    const char *word = hu_config_subject(config, 1);
    const char *typed = hu_config_typed(config, "predict.text");
    if (!word) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "found '%.100s' beside '%.100s', expected a run alone; a text with blanks "
                   "stands in quotes: \"text=...\"",
                   word, typed ? typed : "predict.text");
}

hu_status hu_completions_make(hu_config *config, const char *directory, const hu_listener *listener,
                              const char *where, const char *text, size_t bytes,
                              hu_completions *made) {
    hu_status st;
    *made = (hu_completions){.run = {.prompts = true}};
    HU_TRY(check_keys(config));
    HU_TRY(check_words(config));
    HU_TRY(hu_saved_run_open(config, directory, listener, &made->run));
    HU_TRY(hu_words_create(made->run.dataset, &made->words));
    HU_TRY(hu_prompt_read(made->run.dataset, where, text, bytes, &made->prompt));
    HU_TRY(read_options(config, made->prompt.unknown_token, &made->options));
    for (size_t i = 0; i < made->prompt.unknowns; i++)
        hu_listener_tell(listener, "note: the run does not know '%s', and reads <unk>",
                         made->prompt.unknown[i]);
    HU_TRY(go_on(made, 0.0, &made->likeliest));
    if (made->options.temperature > 0.0)
        HU_TRY(go_on(made, made->options.temperature, &made->drawn));
done:
    return st;
}

void hu_completions_free(hu_completions *made) {
    hu_free(made->likeliest);
    hu_free(made->drawn);
    hu_prompt_free(&made->prompt);
    hu_words_free(&made->words);
    hu_saved_run_close(&made->run);
}

/* ---- what is told ---- */

static const char *unit_of(const hu_completions *p) {
    static const char *const names[] = {
        [HU_TEXT_BYTES] = "bytes", [HU_TEXT_CHARACTERS] = "characters", [HU_TEXT_WORDS] = "words"};
    return names[p->run.dataset->unit];
}

static const char *weights_of(const hu_completions *p) {
    return p->run.options.eval_masters ? "master" : "rounded";
}

static json_t *drawn_json(const hu_completions *p) {
    return json_pack("{s:s, s:f, s:I}", "text", p->drawn, "temperature", p->options.temperature,
                     "seed", (json_int_t)p->options.seed);
}

json_t *hu_completions_json(const hu_completions *p) {
    json_t *unknown = json_array();
    for (size_t i = 0; unknown && i < p->prompt.unknowns; i++)
        json_array_append_new(unknown, json_string(p->prompt.unknown[i]));
    json_t *object =
        json_pack("{s:s, s:I, s:s, s:I, s:I, s:o, s:s, s:s}", "run", p->run.directory, "step",
                  (json_int_t)p->run.step, "unit", unit_of(p), "tokens",
                  (json_int_t)p->prompt.count, "made", (json_int_t)p->options.tokens, "unknown",
                  unknown, "likeliest", p->likeliest, "weights", weights_of(p));
    if (object && p->drawn) json_object_set_new(object, "drawn", drawn_json(p));
    return object;
}

/* A heading, the text, and what stands after it: words with a blank between them, but not at the
 * end of a line. */
static hu_status put_one(const hu_completions *p, const char *how, const char *text,
                         const char *made, hu_byte_writer *out) {
    size_t bytes = strlen(text);
    bool is_apart = p->run.dataset->unit == HU_TEXT_WORDS && bytes > 0 && text[bytes - 1] != '\n' &&
                    made[0] != '\n';
    const char *const parts[] = {how, ":\n", text, is_apart ? " " : "", made, "\n\n"};
    hu_status st = HU_OK;
    for (size_t i = 0; st == HU_OK && i < sizeof parts / sizeof *parts; i++)
        st = hu_write_bytes(out, parts[i], strlen(parts[i]));
    return st;
}

hu_status hu_completions_text(const hu_completions *p, char **text) {
    char line[160], *prompt = NULL;
    hu_byte_writer out = {0};
    hu_status st;
    *text = NULL;
    HU_TRY(hu_words_join(&p->words, p->prompt.number, (int64_t)p->prompt.count, true, &prompt));
    HU_TRY(put_one(p, "likeliest", prompt, p->likeliest, &out));
    snprintf(line, sizeof line, "drawn at temperature %g, seed %llu", p->options.temperature,
             (unsigned long long)p->options.seed);
    if (p->drawn) HU_TRY(put_one(p, line, prompt, p->drawn, &out));
    snprintf(line, sizeof line, "step %lld: %lld %s behind %zu  (%s weights)",
             (long long)p->run.step, (long long)p->options.tokens, unit_of(p), p->prompt.count,
             weights_of(p));
    HU_TRY(hu_write_bytes(&out, line, strlen(line) + 1)); /* the final zero too */
    *text = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_free(prompt);
    hu_writer_free(&out);
    return st;
}
