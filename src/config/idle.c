/* config/idle.c - which keys are read only beside certain values of others. */
#include "config/idle.h"

#include <stdio.h>
#include <string.h>

#include "config/used.h"

/* How the value of the other key decides. */
typedef enum idle_rule {
    AMONG, /* it must be one of the words */
    BESIDE /* it must not be one of them */
} idle_rule;

/* One key that is read only where another has its say. Keys that are refused where they have no
 * effect (data.frames of glyphs, comm.kahan of one worker) are not here: their readers say more. */
typedef struct idle_row {
    const char *key, *other;
    idle_rule rule;
    const char *words; /* with blanks between them */
} idle_row;

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

/* Whether the key of a row was typed and is not read beside the value of the other, which is given
 * in any case. */
static bool is_idle(const hu_config *config, const idle_row *row, const char **value) {
    *value = "";
    if (!hu_config_typed(config, row->key)) return false;
    if (hu_config_text(config, row->other, value) != HU_OK) return false;
    return has_word(row->words, *value) == (row->rule == BESIDE);
}

bool hu_idle_key(const hu_config *config, size_t index, char *text) {
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

/* What may be given to every run, or says how long it is. */
static bool is_about_running(const char *key) {
    return hu_config_key_is_free(key) || strcmp(key, "run.steps") == 0 ||
           strcmp(key, "run.epochs") == 0 || strcmp(key, "run.storage") == 0;
}

bool hu_idle_typed(const hu_config *config, size_t index, const char *reason, char *text) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *word = hu_config_typed(config, hu_config_keys[i].name);
        if (!word || is_about_running(hu_config_keys[i].name) || index-- > 0) continue;
        snprintf(text, HU_IDLE_BYTES, "%.100s has no effect: %s", word, reason);
        return true;
    }
    return false;
}
