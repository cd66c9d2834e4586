#include "config/unused_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* ---- used ---- */

/* For verbs that read a few keys only: what they would ignore is an error. */

/* Whether the verb reads the key. */
static bool is_among(const char *key, const char *const *used) {
    for (; *used; used++) {
        size_t length = strcspn(*used, "*");
        /* "gemm.*": all keys that begin so. */
        bool is_space = (*used)[length] == '*';
        if (is_space ? strncmp(key, *used, length) == 0 : strcmp(key, *used) == 0) return true;
    }
    return false;
}

hu_status hu_keys_used(const hu_config *config, const char *reader, const char *const *used) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        if (!hu_config_given(config, key) || is_among(key, used)) continue;
        char list[512] = "";
        for (size_t n = 0; *used; used++, n = strlen(list))
            snprintf(list + n, sizeof list - n, " %s", *used);
        return hu_fail(HU_ERR_ARGUMENT,
                       "found key '%s', which %s does not read, expected one of:%s", key, reader,
                       list);
    }
    return HU_OK;
}

bool hu_config_key_is_free(const char *key) {
    static const char *const names[] = {
        "run.dir",     "run.name",      "run.keep_best",        "eval.checkpoint", "run.threads",
        "run.quiet",   "run.keep",      "run.checkpoint_every", "run.repeat",      "run.norms",
        "comm.bucket", "comm.timeout",  "comm.overlap",         "comm.transport",  "comm.rho",
        "comm.sigma",  "comm.magnitude"};
    static const char *const spaces[] = {"compare.", "assign.", "report.",  "out.",
                                         "bench.",   "gemm.",   "cluster.", "predict."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i]) == 0) return true;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strncmp(key, spaces[i], strlen(spaces[i])) == 0) return true;
    return false;
}

/* ---- idle ---- */

/* Keys that were typed and change nothing beside the values of other keys. Only
 * what was typed is told: a file serves many trainings, and what one of them leaves out is no
 * mistake.
 */

/* How the value of the other key decides. */
typedef enum idle_rule {
    AMONG,  /* it must be one of the words */
    BESIDE, /* it must not be one of them */
    STEM,   /* what stands in front of its first ':' or '+' must be one of them */
    PART,   /* one of the words must stand in it */
    FILLED  /* a list that must have items */
} idle_rule;

/* One key that is read only where another has its say. Keys that are refused where they have no
 * effect (data.frames of glyphs, comm.kahan of one worker) are not here: their readers say more. */
typedef struct idle_row {
    const char *key, *other;
    idle_rule rule;
    const char *words; /* with blanks between them */
} idle_row;

/* precision=demote:0.6, ...: those that choose between two formats. */
#define ASSIGNMENTS "high uniform hfp8 operator operator-out demote listed"
/* Those that round what products multiply: tests/program/operands_test.py knows them all. */
#define RECIPES "deepseek-fp8 nvfp4-te mxfp8-te fp8-delayed-te unit-scaling"

/* A key of several rows has an effect where one of them says so; the first is told. */
static const idle_row rows[] = {
    {"optimizer.momentum", "optimizer.name", AMONG, "sgd lars"},
    {"optimizer.nesterov", "optimizer.name", AMONG, "sgd lars"},
    {"optimizer.beta1", "optimizer.name", AMONG, "adam adamw"},
    {"optimizer.beta2", "optimizer.name", AMONG, "adam adamw"},
    {"optimizer.alpha", "optimizer.name", AMONG, "rmsprop"},
    {"optimizer.eps", "optimizer.name", AMONG, "adam adamw rmsprop adagrad"},
    {"optimizer.initial", "optimizer.name", AMONG, "adagrad"},
    {"lr.milestones", "lr.schedule", AMONG, "step"},
    {"lr.factor", "lr.schedule", AMONG, "step anneal plateau plateau_loss"},
    {"lr.patience", "lr.schedule", AMONG, "plateau"},
    {"lr.threshold", "lr.schedule", AMONG, "plateau"},
    {"lr.knots", "lr.schedule", AMONG, "piecewise"},
    {"lr.floor", "lr.schedule", AMONG, "cosine linear poly restarts plateau plateau_loss"},
    {"lr.power", "lr.schedule", AMONG, "poly"},
    {"lr.period", "lr.schedule", AMONG, "restarts plateau_loss"},
    {"lr.stretch", "lr.schedule", AMONG, "restarts"},
    {"lr.shrink", "lr.schedule", AMONG, "restarts"},
    {"lr.warmup_start", "lr.warmup", BESIDE, "0"},
    {"scaler.init", "scaler.name", AMONG, "constant dynamic"},
    {"scaler.growth", "scaler.name", AMONG, "dynamic"},
    {"scaler.backoff", "scaler.name", AMONG, "dynamic"},
    {"scaler.interval", "scaler.name", AMONG, "dynamic"},
    {"scaler.min", "scaler.name", AMONG, "dynamic"},
    {"scaler.max", "scaler.name", AMONG, "dynamic"},
    {"eval.average", "optimizer.average", BESIDE, "0"},
    {"eval.decode", "task.name", AMONG, "translate"},
    {"comm.schedule", "comm.workers", BESIDE, "1"},
    {"model.norm_rows", "model.name", AMONG, "ds2-s deepspeech2"},
    {"data.border", "data.pad", BESIDE, "0"},
    {"data.class_seed", "data.classes", BESIDE, "0"},
    {"data.class_seed", "data.part", BESIDE, "1/1"},
    {"data.class_seed", "data.validation", BESIDE, "0"},
    {"precision.promote_at", "precision.name", PART, "+promote"},
    {"precision.promote_at", "precision.epochs", FILLED, ""},
    {"precision.high", "precision.name", STEM, ASSIGNMENTS},
    {"precision.high", "precision.name", PART, "+promote"},
    {"precision.high", "precision.epochs", FILLED, ""},
    {"operand.high", "precision.name", PART, RECIPES},
    {"operand.high", "precision.epochs", FILLED, ""},
    {"operand.high", "operand.rules", FILLED, ""},
    {"accumulator.semantics", "accumulator.name", BESIDE, "fp32"},
    {"accumulator.semantics", "accumulator.rules", FILLED, ""},
    {"accumulator.count_every", "accumulator.name", BESIDE, "fp32"},
    {"accumulator.count_every", "accumulator.rules", FILLED, ""},
};

/* Whether a list of words with blanks between them has the word. */
static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(words, word); at && length > 0; at = strstr(at + 1, word)) {
        bool begins = at == words || at[-1] == ' ', ends = !at[length] || at[length] == ' ';
        if (begins && ends) return true;
    }
    return false;
}

/* Whether one of the words stands anywhere in a text. */
static bool has_part(const char *words, const char *text) {
    char word[32];
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (strstr(text, word)) return true;
    }
    return false;
}

/* Whether the value of the other key of a row lets its key have an effect. value: that value. */
static bool has_effect(const hu_config *config, const idle_row *row, const char **value) {
    char stem[64];
    const hu_keys *list;
    *value = "";
    if (row->rule == FILLED)
        return hu_config_list(config, row->other, &list) == HU_OK && hu_keys_count(list) > 0;
    if (hu_config_text(config, row->other, value) != HU_OK) return true;
    if (row->rule == PART) return has_part(row->words, *value);
    int length = row->rule == STEM ? (int)strcspn(*value, ":+") : (int)strlen(*value);
    snprintf(stem, sizeof stem, "%.*s", length, *value);
    return has_word(row->words, stem) != (row->rule == BESIDE);
}

/* Whether the key of the row, the first of its key, was typed and has an effect by no row. value:
 * that of the first row. */
static bool is_idle(const hu_config *config, const idle_row *row, const char **value) {
    const idle_row *end = rows + sizeof rows / sizeof *rows;
    const char *ignored;
    bool is_first = row == rows || strcmp(row[-1].key, row->key) != 0;
    if (!is_first || !hu_config_typed(config, row->key)) return false;
    if (has_effect(config, row, value)) return false;
    for (const idle_row *next = row + 1; next < end && strcmp(next->key, row->key) == 0; next++)
        if (has_effect(config, next, &ignored)) return false;
    return true;
}

bool hu_unused_key(const hu_config *config, size_t index, char *text) {
    const char *value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!is_idle(config, &rows[i], &value) || index-- > 0) continue;
        const hu_config_key *other = hu_config_key_find(rows[i].other);
        snprintf(text, HU_IDLE_BYTES, "%.100s has no effect with %s=%.60s",
                 hu_config_typed(config, rows[i].key),
                 *other->short_form ? other->short_form : other->name, value);
        return true;
    }
    return false;
}

/* Keys of the table that a message may leave out, and why: whoever resumes a finished run with
 * another number of threads, or asks for more steps, has made no mistake.
 *
 * What may be given to every run, or says how long it is. */
static bool is_about_running(const char *key) {
    return hu_config_key_is_free(key) || strcmp(key, "run.steps") == 0 ||
           strcmp(key, "run.epochs") == 0 || strcmp(key, "run.storage") == 0;
}

bool hu_unused_key_typed(const hu_config *config, size_t index, const char *reason, char *text) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *word = hu_config_typed(config, hu_config_keys[i].name);
        if (!word || is_about_running(hu_config_keys[i].name) || index-- > 0) continue;
        snprintf(text, HU_IDLE_BYTES, "%.100s has no effect: %s", word, reason);
        return true;
    }
    return false;
}
