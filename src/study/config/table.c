/* The table of configuration keys, and what each key takes. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"

const hu_config_key hu_config_keys[] = {
#define X(name, short_form, type, least, most, preset, words, help)                                \
    {name, short_form, HU_CONFIG_##type, (double)(least), (double)(most), preset, words, help},
#include "config/keys.list"
#include "config/keys_verbs.list"
#undef X
};

enum { KEY_COUNT = sizeof hu_config_keys / sizeof *hu_config_keys, NEAREST_BYTES = 256 };

const size_t hu_config_key_count = KEY_COUNT;

/* Most names differ in their first character: a configuration is searched for each of its keys. */
static bool is_same(const char *a, const char *b) {
    return *a == *b && strcmp(a, b) == 0;
}

const hu_config_key *hu_config_key_find(const char *name) {
    for (size_t i = 0; i < KEY_COUNT && *name; i++)
        if (is_same(hu_config_keys[i].name, name) || is_same(hu_config_keys[i].short_form, name))
            return &hu_config_keys[i];
    return NULL;
}

/* Full names of which the user gave the last part only: "clip_norm". */
static size_t list_without_namespace(const char *name, const char **names) {
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *dot = strchr(hu_config_keys[i].name, '.');
        if (dot && strcmp(dot + 1, name) == 0) names[count++] = hu_config_keys[i].name;
    }
    return count;
}

/* Every name that a word may begin with, for the search for the nearest. */
static size_t list_all(const char **names) {
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[count++] = hu_config_keys[i].name;
        if (*hu_config_keys[i].short_form) names[count++] = hu_config_keys[i].short_form;
    }
    return count;
}

/* Words of other programs, dashes as underscores; the short form that is typed here. A word that is
 * a key here, too, is none of them. */
const char *hu_config_key_alias(const char *name) {
    static const char *const aliases[][2] = {
        {"batch_size", "batch"},
        {"bs", "batch"},
        {"learning_rate", "lr"},
        {"num_epochs", "epochs"},
        {"epoch", "epochs"},
        {"max_steps", "steps"},
        {"dataset", "data"},
        {"arch", "model"},
        {"net", "model"},
        {"optim", "optimizer"},
        {"dtype", "precision"},
        {"wd", "optimizer.weight_decay"},
        {"output", "out"},
        {"resume_from", "init"},
        {"num_threads", "threads"},
        {"imgsz", "data.size"},
        {"img_size", "data.size"},
        {"image_size", "data.size"},
        {"lr_scheduler", "lr.schedule"},
        {"scheduler", "lr.schedule"},
        {"seq_len", "data.length"},
        {"max_length", "data.length"},
        {"pretrained", "init"},
        {"save_dir", "run.dir"},
        {"output_dir", "run.dir"},
        {"log_dir", "run.dir"},
        {"early_stopping", "stop.patience"},
        {"grad_clip", "optimizer.clip_norm"},
        {"max_grad_norm", "optimizer.clip_norm"},
        {"gradient_accumulation_steps", "optimizer.accumulate"},
        {"tokenizer", "data.unit"},
        {"val_split", "data.validation"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i][0], name) == 0) return aliases[i][1];
    return NULL;
}

bool hu_config_is_format_option(const char *name) {
    static const char *const options[] = {"bias", "specials", "sub", "ovf", "nan", "scale"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i], name) == 0) return true;
    return false;
}

const char *hu_config_key_elsewhere(const char *name) {
    static const char *const known[][2] = {
        {"device", "there is no GPU here: threads=N says how many threads of the CPU compute"},
        {"gpu", "there is no GPU here: threads=N says how many threads of the CPU compute"},
        {"gpus", "there is no GPU here: threads=N says how many threads of the CPU compute"},
        {"cuda", "there is no GPU here: threads=N says how many threads of the CPU compute"},
        {"amp", "precision=fp16 is what automatic mixed precision does, with its loss scaling"},
        {"mixed_precision", "precision=fp16, bf16 or hfp8; `halfulp help precision` lists more"},
        {"fp16", "precision=fp16"},
        {"bf16", "precision=bf16"},
        {"fp8", "precision=hfp8"},
        {"num_workers", "samples are read by threads of their own as they are needed; threads=N "
                        "says how many compute, workers=N how many workers share a batch"},
        {"pin_memory", "samples are in memory already, or are read ahead"},
        {"deterministic", "every training is: the same bits on every machine, with any threads"},
        {"compile", "nothing has to be compiled"},
        {"resume", "a run goes on by `halfulp resume RUN`"},
        {"export", "weights are written by `halfulp export RUN`"},
        {"device_map", "there is no GPU here: threads=N says how many threads compute"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i][0], name) == 0) return known[i][1];
    return NULL;
}

hu_status hu_config_key_unknown(const char *origin, const char *name) {
    const char *names[2 * KEY_COUNT];
    const char *usual = hu_config_key_alias(name);
    if (usual)
        return hu_fail(HU_ERR_UNKNOWN, "%s: unknown key '%s', expected '%s', as it is called here",
                       origin, name, usual);
    if (hu_config_is_format_option(name))
        return hu_fail(HU_ERR_UNKNOWN,
                       "%s: unknown key '%s', which is a part of a format's name: e4m3:bias=11",
                       origin, name);
    if (hu_config_key_elsewhere(name))
        return hu_fail(HU_ERR_UNKNOWN, "%s: unknown key '%s': %s", origin, name,
                       hu_config_key_elsewhere(name));
    if (strcmp(name, "config") == 0)
        return hu_fail(HU_ERR_UNKNOWN,
                       "%s: unknown key 'config', which stands on command lines only: files do not "
                       "name each other",
                       origin);
    size_t count = list_without_namespace(name, names);
    if (count == 0) count = list_all(names);
    char nearest[NEAREST_BYTES];
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "%s: unknown key '%.100s', expected a known one; nearest: %s",
                   origin, name, nearest);
}

/* "auto", which is a value where the table's default says so. */
static bool is_auto(const hu_keys *node) {
    return hu_keys_kind_of(node) == HU_KEYS_TEXT && strcmp(hu_keys_value(node), "auto") == 0;
}

/* Whether a list of words separated by blanks holds the word. */
static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    while (*words) {
        size_t span = strcspn(words, " ");
        if (span == length && memcmp(words, word, span) == 0) return true;
        words += span + (words[span] == ' ');
    }
    return false;
}

/* The text itself could be read: only its value is wrong. */
static hu_status outside(hu_status failed) {
    return failed == HU_ERR_PARSE ? HU_ERR_ARGUMENT : failed;
}

/* Bounds are doubles; every bound of the table below 2^53 is exact. */
static hu_status check_int(const hu_config_key *key, const hu_keys *node) {
    int64_t value;
    hu_status st = hu_keys_as_i64(node, &value);
    if (st != HU_OK) return st;
    if ((double)value < key->least || (double)value > key->most)
        return outside(hu_keys_fail(node, "an integer from %.0f to %.0f", key->least, key->most));
    return HU_OK;
}

/* Bounds are inclusive; a NaN is no finite number, and was refused before. */
static hu_status check_real(const hu_config_key *key, const hu_keys *node) {
    double value;
    hu_status st = hu_keys_as_f64(node, &value);
    if (st != HU_OK) return st;
    if (value < key->least || value > key->most)
        return outside(hu_keys_fail(node, "a number from %g to %g", key->least, key->most));
    return HU_OK;
}

/* The one number that a recorded run may give: scaler.init=auto:RUN. */
static bool is_from_run(const hu_config_key *key, const hu_keys *node) {
    return strcmp(key->name, "scaler.init") == 0 && hu_keys_kind_of(node) == HU_KEYS_TEXT &&
           strncmp(hu_keys_value(node), "auto:", 5) == 0 && hu_keys_value(node)[5];
}

hu_status hu_config_key_check(const hu_config_key *key, const hu_keys *node) {
    const char *text;
    bool flag;
    if (key->type == HU_CONFIG_LIST)
        return hu_keys_kind_of(node) == HU_KEYS_LIST ? HU_OK : hu_keys_fail(node, "a list");
    /* "auto" is a value where the table's default says so, whatever the type. */
    if (strcmp(key->preset, "auto") == 0 && is_auto(node)) return HU_OK;
    if (is_from_run(key, node)) return HU_OK;
    switch (key->type) {
    case HU_CONFIG_INT:
        return check_int(key, node);
    case HU_CONFIG_REAL:
        return check_real(key, node);
    case HU_CONFIG_BOOL:
        return hu_keys_as_bool(node, &flag);
    case HU_CONFIG_CHOICE:
        if (has_word(key->words, "on") && hu_keys_as_bool(node, &flag) == HU_OK) return HU_OK;
        if (!has_word(key->words, hu_keys_value(node)) || !*hu_keys_value(node))
            return outside(hu_keys_fail(node, "one of: %s", key->words));
        return HU_OK;
    default:
        return hu_keys_as_text(node, &text);
    }
}
