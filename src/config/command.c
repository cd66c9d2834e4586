/* config/command.c - the words of a command line: flags, subjects, key=value. */
#include "config/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "config/misplaced.h"
#include "config/plan_file.h"

enum { NEAREST_BYTES = 256 };

/* Where a value that was typed came from, in messages. */
static const char typed_origin[] = "command line";

/* config=FILE */
static hu_status merge_file(hu_config *config, const char *path) {
    hu_keys *tree = NULL, *plan = NULL;
    hu_status st = hu_yaml_read(path, &tree);
    if (st != HU_OK) return st;
    bool is_plan = hu_plan_is_resolved(tree);
    if (is_plan) st = hu_plan_resolved_keys(tree, &plan);
    if (st == HU_OK) st = hu_config_merge(config, is_plan ? plan : tree);
    hu_keys_free(plan);
    hu_keys_free(tree);
    return st;
}

/* Path of the plan file that a word names ("precision=plan.yaml"), NULL if it names none: also
 * where compare names several, and in a list by epoch ("0: plan.yaml"). */
static const char *plan_path(const char *word) {
    static const char *const keys[] = {"precision=", "precision.name="};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        size_t length = strlen(keys[k]);
        if (strncmp(word, keys[k], length) != 0) continue;
        const char *value = word + length;
        size_t digits = strspn(value, "0123456789");
        bool is_list = strpbrk(value, ",;") || (digits > 0 && value[digits] == ':');
        return hu_is_plan_path(word) && !is_list ? value : NULL;
    }
    return NULL;
}

/* A plan stands for the keys that it was made of. */
static hu_status merge_plan(hu_config *config, const char *path) {
    hu_keys *plan;
    hu_status st = hu_plan_read(path, &plan);
    if (st == HU_OK) st = hu_config_merge(config, plan);
    hu_keys_free(plan);
    return st;
}

/* The flags of a request and --help, with their dashes. */
typedef struct flag_names {
    char text[HU_CONFIG_MAX_FLAGS][32];
    const char *name[HU_CONFIG_MAX_FLAGS + 1];
    size_t count;
} flag_names;

/* In the order of the request; --help, which every verb has, is the last. */
static void list_flags(const hu_config_request *request, flag_names *f) {
    for (f->count = 0; request->flags[f->count] && f->count < HU_CONFIG_MAX_FLAGS; f->count++) {
        const char *flag = request->flags[f->count];
        snprintf(f->text[f->count], sizeof f->text[0], "--%.*s", (int)strcspn(flag, "="), flag);
        f->name[f->count] = f->text[f->count];
    }
    f->name[f->count++] = "--help";
}

/* "--lr=0.1", "--lr 0.1", "-lr": a key with dashes. HU_OK where it is none. */
static hu_status refuse_dashes(const hu_config_request *request, int index) {
    const char *word = request->argv[index], *text = word + strspn(word, "-");
    size_t length = strcspn(text, "=");
    char name[HU_CONFIG_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", length < 256 ? (int)length : 256, text);
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
    const char *usual = hu_config_key_alias(name);
    if (hu_config_key_elsewhere(name) && !hu_config_key_find(name))
        return hu_fail(HU_ERR_UNKNOWN, "found '%.100s': %s", word, hu_config_key_elsewhere(name));
    if (!hu_config_key_find(name) && !usual) return HU_OK;
    const char *next = index + 1 < request->argc ? request->argv[index + 1] : "";
    bool has_next = *next && *next != '-' && !strchr(next, '=') && index + 1 != request->verb_index;
    const char *value = text[length] ? text + length + 1 : has_next ? next : "VALUE";
    return hu_fail(HU_ERR_UNKNOWN, "found '%.100s', expected key=value: write %s=%.100s", word,
                   usual ? usual : name, value);
}

/* "--json" or "--round=MODE": one of the verb's flags, with a value only where it takes one. */
static hu_status take_flag(hu_config *config, const hu_config_request *request, int index) {
    const char *word = request->argv[index];
    const char *text = word + strspn(word, "-");
    size_t length = strcspn(text, "=");
    flag_names known;
    for (size_t i = 0; request->flags[i] && i < HU_CONFIG_MAX_FLAGS; i++) {
        const char *flag = request->flags[i];
        size_t span = strcspn(flag, "=");
        if (span != length || memcmp(flag, text, span) != 0 || text != word + 2) continue;
        if (text[length] == '=' && flag[span] != '=')
            return hu_fail(HU_ERR_ARGUMENT, "found '%s', expected --%s without a value", word,
                           flag);
        if (config->flags == HU_CONFIG_MAX_FLAGS)
            return hu_fail(HU_ERR_ARGUMENT, "found '%s', expected at most %d flags", word,
                           HU_CONFIG_MAX_FLAGS);
        config->flag[config->flags++] = text;
        return HU_OK;
    }
    hu_status st = refuse_dashes(request, index);
    if (st != HU_OK) return st;
    list_flags(request, &known);
    char nearest[NEAREST_BYTES];
    hu_nearest(word, known.name, known.count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown flag '%.100s', expected %s", word, nearest);
}

/* A key is typed once. typed: the word as it stands on the command line. */
static hu_status note_typed(hu_config *config, const hu_config_key *key, const char *typed) {
    const char **first = &config->typed[hu_config_row(key)];
    if (*first)
        return hu_fail(HU_ERR_ARGUMENT, "found '%.100s' behind '%.100s', expected the key %s once",
                       typed, *first, key->name);
    *first = typed;
    return HU_OK;
}

/* What messages begin with: the word itself where it has another name for the key than they do. */
static const char *origin_of(const hu_config_key *key, const char *name, const char *typed) {
    enum { SHORT = 100 };
    if (strcmp(name, key->name) == 0) return typed_origin;
    return strlen(typed) <= SHORT ? typed : name;
}

/* "fmt 1/4/3 bias=9": an option of the format that was named before. */
static hu_status refuse_format_option(const hu_config *config, const char *word) {
    return hu_fail(HU_ERR_UNKNOWN, "found '%.60s' apart from '%.60s', expected '%.60s:%.60s'", word,
                   config->subject[config->subjects - 1], config->subject[config->subjects - 1],
                   word);
}

/* "key=value": text of any type, checked against the table. typed: the word as it was typed. */
static hu_status take_pair(hu_config *config, const char *word, const char *typed) {
    char name[HU_CONFIG_NAME_BYTES];
    const char *equals = strchr(word, '=');
    snprintf(name, sizeof name, "%.*s", (int)(equals - word < 256 ? equals - word : 256), word);
    if (strcmp(name, "config") == 0) return HU_OK; /* read before all other words */
    const hu_config_key *key = hu_config_key_find(name);
    if (!key && config->subjects > 0 && hu_config_is_format_option(name))
        return refuse_format_option(config, word);
    if (!key) return hu_config_key_unknown(typed_origin, name);
    if (!hu_text_is_utf8(equals + 1))
        return hu_fail(HU_ERR_PARSE, "%s: key '%s': found bytes that are not UTF-8", typed_origin,
                       name);
    hu_status st = note_typed(config, key, typed);
    if (st != HU_OK) return st;
    config->given[hu_config_row(key)] = true;
    config->recalled[hu_config_row(key)] = false;
    return hu_config_store(config, key, equals + 1, origin_of(key, name, typed));
}

/* Whether the part before '=' is a key; a path may hold a '=' too. */
static bool names_key(const char *word, const char *equals) {
    char name[HU_CONFIG_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(equals - word < 256 ? equals - word : 256), word);
    return strcmp(name, "config") == 0 || hu_config_key_find(name) != NULL;
}

/* Whether a word with '=' that names no key is a mistyped key: what stands before the '=' looks
 * like one, and nothing of that name lies there. */
static bool looks_like_key(const char *word, const char *equals) {
    size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyz_.0123456789");
    return letters == (size_t)(equals - word) && !hu_file_exists(word);
}

/* "-0.5" is no flag. */
static bool is_number(const char *word) {
    return word[1] == '.' || isdigit((unsigned char)word[1]);
}

/* One word of the command line: a flag, a subject or a pair. */
static hu_status take_word(hu_config *config, const hu_config_request *request, int index) {
    const char *word = request->argv[index];
    const char *equals = strchr(word, '=');
    if (word[0] == '-' && word[1] && !is_number(word)) return take_flag(config, request, index);
    bool takes_paths = config->subjects == 0 || request->max_subjects > 1; /* may hold a '=' */
    bool is_subject = !equals || (takes_paths && !names_key(word, equals));
    if (equals && config->subjects > 0 && looks_like_key(word, equals)) is_subject = false;
    bool has_room = config->subjects < request->max_subjects;
    if (is_subject && has_room && config->subjects < HU_CONFIG_MAX_SUBJECTS) {
        config->subject[config->subjects++] = word;
        return HU_OK;
    }
    if (!equals) return hu_config_refuse_word(request, index);
    hu_status st = hu_config_check_blanks(request, index);
    return st == HU_OK ? take_pair(config, word, word) : st;
}

/* "-o FILE" is out=FILE. path: the word behind it, NULL if there is none. */
static hu_status take_output(hu_config *config, const char *path) {
    char word[4200];
    if (!path) return hu_fail(HU_ERR_ARGUMENT, "found '-o' at the end, expected a file: -o FILE");
    if (path[0] == '-' && path[1])
        return hu_fail(HU_ERR_ARGUMENT, "found '%.100s' behind '-o', expected a file: -o FILE",
                       path);
    int length = snprintf(word, sizeof word, "out=%s", path);
    if (length < 0 || (size_t)length >= sizeof word)
        return hu_fail(HU_ERR_ARGUMENT, "-o: found a path of %zu bytes, expected fewer",
                       strlen(path));
    return take_pair(config, word, "-o");
}

/* The length of a training is told by one key. Of a file, that which was typed takes the place of
 * the other. */
static hu_status choose_length(hu_config *config) {
    const hu_config_key *steps = hu_config_key_find("run.steps");
    const char *typed_steps = hu_config_typed(config, "run.steps");
    const char *typed_epochs = hu_config_typed(config, "run.epochs");
    if (!typed_epochs || !hu_config_given(config, "run.steps")) return HU_OK;
    if (typed_steps && !hu_config_is_auto(config, "run.steps"))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found '%.60s' beside '%.60s', expected one of them: a step is one update, "
                       "an epoch one pass over the data",
                       typed_epochs, typed_steps);
    config->given[hu_config_row(steps)] = typed_steps != NULL;
    return hu_config_store(config, steps, "auto", typed_origin);
}

/* precision=plan.yaml: the keys of the plan, in front of the words. */
static hu_status read_plans(hu_config *config, const hu_config_request *request) {
    hu_status st = HU_OK;
    for (int i = 1; i < request->argc && st == HU_OK; i++) {
        if (!plan_path(request->argv[i])) continue;
        st = note_typed(config, hu_config_key_find("precision.name"), request->argv[i]);
        if (st == HU_OK) st = merge_plan(config, plan_path(request->argv[i]));
    }
    return st;
}

hu_status hu_config_read_words(hu_config *config, const hu_config_request *request) {
    hu_status st = HU_OK;
    for (int i = 1; i < request->argc && st == HU_OK; i++)
        if (strncmp(request->argv[i], "config=", 7) == 0)
            st = merge_file(config, request->argv[i] + 7);
    if (st == HU_OK) st = read_plans(config, request);
    for (int i = 1; i < request->argc && st == HU_OK; i++) {
        if (i == request->verb_index || plan_path(request->argv[i])) continue;
        if (strcmp(request->argv[i], "-o") != 0)
            st = take_word(config, request, i);
        else if (++i < request->argc)
            st = take_output(config, request->argv[i]);
        else
            st = take_output(config, NULL);
    }
    return st == HU_OK ? choose_length(config) : st;
}
