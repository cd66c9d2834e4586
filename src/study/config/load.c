#include "config/load.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/table/keep.h"

/* ---- What a word of the command line that nothing takes was meant to be ---- */

enum { SHOWN_BYTES = 160, NAME_BYTES = 300 };

/* Word `index`; "" where there is none, or where it is the verb. */
static const char *word_at(const hu_config_request *request, int index) {
    bool is_present = index > 0 && index < request->argc && index != request->verb_index;
    return is_present ? request->argv[index] : "";
}

/* Neither a flag nor a pair. */
static bool is_bare(const char *word) {
    return *word && *word != '-' && !strchr(word, '=');
}

/* Whether what stands before '=' is a key. */
static bool is_pair(const char *word) {
    char name[NAME_BYTES];
    size_t length = strcspn(word, "=");
    if (!word[length] || length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    return strcmp(name, "config") == 0 || hu_config_key_find(name) != NULL;
}

/* The words from `first` on, with what is between them, up to the last bare one after `index`. */
static void join(const hu_config_request *request, int first, int index, const char *between,
                 char text[SHOWN_BYTES]) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = first; used < SHOWN_BYTES; i++) {
        const char *word = word_at(request, i);
        if (i > index && !is_bare(word)) break;
        used += (size_t)snprintf(text + used, SHOWN_BYTES - used, "%s%s", i > first ? between : "",
                                 word);
    }
}

/* A shell cuts at blanks what is not in quotes. */
static hu_status refuse_rest(const hu_config_request *request, int index) {
    char whole[SHOWN_BYTES];
    join(request, index - 1, index, " ", whole);
    return hu_fail(HU_ERR_ARGUMENT,
                   "found '%.100s' behind '%.100s', expected key=value or a flag; a value with "
                   "blanks stands in quotes: \"%s\"",
                   word_at(request, index), word_at(request, index - 1), whole);
}

/* "model", "model =NAME" and "model = NAME". */
static hu_status refuse_key(const hu_config_request *request, int index) {
    const char *word = word_at(request, index), *next = word_at(request, index + 1);
    if (next[0] != '=')
        return hu_fail(HU_ERR_ARGUMENT, "found '%.100s' alone, expected a value: %.100s=...", word,
                       word);
    const char *value = next[1] ? next + 1 : word_at(request, index + 2);
    return hu_fail(HU_ERR_ARGUMENT,
                   "found '%.100s' apart from '=', expected no blanks around it: %.100s=%.100s",
                   word, word, *value ? value : "...");
}

/* HU_ERR_ARGUMENT for word `index`, which is no flag, no subject and no pair: a key without its
 * value or with blanks around '=', a part of the value before it that a shell cut off, a value
 * without its key (request->key_of), or nothing that is known. */
static hu_status hu_config_refuse_word(const hu_config_request *request, int index) {
    const char *word = request->argv[index];
    const char *verb = request->verb_index > 0 ? request->argv[request->verb_index] : "";
    const char *key = request->key_of ? request->key_of(word) : NULL;
    const char *before = word_at(request, index - 1);
    char values[SHOWN_BYTES];
    if (hu_config_key_find(word) || strcmp(word, "config") == 0) return refuse_key(request, index);
    /* "rules=fc.*: fp16" and "precision=e5m2, e4m3" go on, whatever the word itself is. */
    if (is_pair(before) && (!key || strchr(",:;", before[strlen(before) - 1])))
        return refuse_rest(request, index);
    if (hu_file_exists(word) && strcmp(verb, "compare") == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found '%.100s', expected key=value or a flag: compare trains; runs that "
                       "are there are put beside each other by `halfulp report RUN...`",
                       word);
    if (!key) return hu_fail(HU_ERR_ARGUMENT, "found '%.100s', expected key=value or a flag", word);
    join(request, index, index, ",", values); /* compare takes lists */
    return hu_fail(HU_ERR_ARGUMENT, "found '%.100s', expected key=value or a flag: %s=%s", word,
                   key, strcmp(verb, "compare") == 0 ? values : word);
}

/* HU_ERR_ARGUMENT where word `index`, a pair, is "lr=" and the word after it would be its value,
 * or where it is the rest of the value before it ("act=e4m3 sr,grad=e5m2"); else HU_OK. */
static hu_status hu_config_check_blanks(const hu_config_request *request, int index) {
    const char *word = request->argv[index], *next = word_at(request, index + 1);
    const char *before = word_at(request, index - 1), *equals = strchr(word, '=');
    if (!equals[1] && request->max_subjects == 0 && is_bare(next) && !hu_config_key_find(next))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found '%.100s' apart from '%.100s', expected no blanks around '=': "
                       "%.100s%.100s",
                       word, next, word, next);
    bool is_rest = is_pair(before) && !is_pair(word) && strcspn(word, ",: ") < strcspn(word, "=");
    return is_rest ? refuse_rest(request, index) : HU_OK;
}

/* ---- command ---- */

/* What config/load.c and config/load.c share: a configuration from within. */

enum { NEAREST_BYTES = 256 };

/* Where a value that was typed came from, in messages. */
static const char typed_origin[] = "command line";

/* Beside what a run or a sweep has kept of its keys lies what it has kept of its network and its
 * tables: the same is trained again, whatever has become of the files that it was begun with. */
static hu_status recall_files(hu_config *config, const char *path) {
    static const char *const kept[] = {"config.resolved.yaml", "common.yaml"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *directory = NULL;
    hu_status st = HU_OK;
    if (strcmp(name, kept[0]) != 0 && strcmp(name, kept[1]) != 0) return HU_OK;
    HU_TRY(slash ? hu_strndup(path, (size_t)(name - path), &directory)
                 : hu_strdup(".", &directory));
    HU_TRY(hu_config_network_recall(config, directory));
    HU_TRY(hu_code_tables_recall(directory));
done:
    hu_free(directory);
    return st;
}

/* config=FILE */
static hu_status merge_file(hu_config *config, const char *path) {
    hu_keys *tree = NULL, *plan = NULL;
    hu_status st = hu_yaml_read(path, &tree);
    if (st != HU_OK) return st;
    bool is_plan = hu_plan_is_resolved(tree);
    if (is_plan) st = hu_plan_resolved_keys(tree, &plan);
    if (st == HU_OK) st = hu_config_merge(config, is_plan ? plan : tree);
    if (st == HU_OK && hu_keys_find(tree, "model.name")) st = recall_files(config, path);
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

/* "-o FILE" is out=FILE. path: the word after it, NULL if there is none. */
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

/* ---- Words and files -> one checked tree with a value for every key ---- */

static const char default_origin[] = "default";
static const char evidence[] = "evidence"; /* key of plan files that is for people */

size_t hu_config_row(const hu_config_key *key) {
    return (size_t)(key - hu_config_keys);
}

/* "crop,flip" -> list of texts; blanks around items are dropped. */
static hu_status split_list(const char *text, const char *origin, hu_keys **list) {
    hu_status st;
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, origin, list));
    while (*text) {
        const char *end;
        size_t used = hu_list_word_at(&text, &end);
        char *item;
        hu_keys *node;
        HU_TRY(hu_strndup(text, used, &item));
        st = hu_keys_create(HU_KEYS_TEXT, item, origin, &node);
        hu_free(item);
        if (st != HU_OK) goto done;
        HU_TRY(hu_keys_append(*list, node));
        text = end + (*end == ',');
    }
    return HU_OK;
done:
    hu_keys_free(*list);
    *list = NULL;
    return st;
}

/* An item of a list as text; the one-pair map that YAML makes of "- conv3.weight: e4m3" is read as
 * that text. */
static hu_status item_text(const hu_keys *item, char **text) {
    if (hu_keys_kind_of(item) == HU_KEYS_TEXT) return hu_strdup(hu_keys_value(item), text);
    const hu_keys *value = hu_keys_count(item) == 1 ? hu_keys_at(item, 0) : NULL;
    if (hu_keys_kind_of(item) != HU_KEYS_MAP || !value || hu_keys_kind_of(value) != HU_KEYS_TEXT)
        return hu_keys_fail(item, "a text or one 'NAME: VALUE'");
    const char *name = hu_keys_name(value);
    size_t bytes = strlen(name) + strlen(hu_keys_value(value)) + 3;
    hu_status st = HU_NEW_ARRAY(text, bytes);
    if (st == HU_OK) snprintf(*text, bytes, "%s: %s", name, hu_keys_value(value));
    return st;
}

/* A list node whose items are texts. */
static hu_status plain_list(const hu_keys *from, hu_keys **list) {
    hu_status st;
    char *text = NULL;
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, hu_keys_origin(from), list));
    for (size_t i = 0; i < hu_keys_count(from); i++) {
        const hu_keys *item = hu_keys_at(from, i);
        hu_keys *node;
        HU_TRY(item_text(item, &text));
        HU_TRY(hu_keys_create(HU_KEYS_TEXT, text, hu_keys_origin(item), &node));
        hu_free(text);
        text = NULL;
        HU_TRY(hu_keys_append(*list, node));
    }
    return HU_OK;
done:
    hu_free(text);
    hu_keys_free(*list);
    *list = NULL;
    return st;
}

/* Text of a LIST key: a YAML list in brackets, else items between commas. */
static hu_status list_from_text(const char *text, const char *origin, hu_keys **list) {
    if (text[0] != '[') return split_list(text, origin, list);
    hu_keys *parsed;
    *list = NULL;
    hu_status st = hu_yaml_parse(text, strlen(text), origin, &parsed);
    if (st != HU_OK) return st;
    st = plain_list(parsed, list);
    hu_keys_free(parsed);
    return st;
}

/* Puts a checked copy of node at the key's place. */
static hu_status store(hu_config *config, const hu_config_key *key, const hu_keys *node) {
    hu_keys *copy;
    hu_status st;
    if (key->type != HU_CONFIG_LIST)
        st = hu_keys_copy(node, &copy);
    else if (hu_keys_kind_of(node) == HU_KEYS_TEXT)
        st = list_from_text(hu_keys_value(node), hu_keys_origin(node), &copy);
    else if (hu_keys_kind_of(node) == HU_KEYS_LIST)
        st = plain_list(node, &copy);
    else
        st = hu_keys_fail(node, "a list");
    if (st != HU_OK) return st;
    hu_keys *last = NULL; /* stands in a tree of its own, so that errors name the full key */
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, hu_keys_origin(node), &last));
    st = hu_keys_set(last, key->name, copy);
    copy = NULL;
    if (st != HU_OK) goto done;
    HU_TRY(hu_config_key_check(key, hu_keys_find(last, key->name)));
    HU_TRY(hu_keys_copy(hu_keys_find(last, key->name), &copy));
    st = hu_keys_set(config->tree, key->name, copy);
    copy = NULL;
    if (strcmp(key->name, "model.name") == 0) hu_config_network_forget(config);
done:
    hu_keys_free(last);
    hu_keys_free(copy);
    return st;
}

hu_status hu_config_store(hu_config *config, const hu_config_key *key, const char *text,
                          const char *origin) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, origin, &node);
    if (st != HU_OK) return st;
    st = store(config, key, node);
    hu_keys_free(node);
    return st;
}

/* Whether keys "name.*" exist. */
static bool is_namespace(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < hu_config_key_count; i++)
        if (*hu_config_keys[i].name == *name &&
            strncmp(hu_config_keys[i].name, name, length) == 0 &&
            hu_config_keys[i].name[length] == '.')
            return true;
    return false;
}

/* Whether the name of a namespace is short for one of its keys, as lr is for lr.base. */
static bool is_key_of_its_own(const char *space) {
    const hu_config_key *key = hu_config_key_find(space);
    size_t length = strlen(space);
    return key && strncmp(key->name, space, length) == 0 && key->name[length] == '.';
}

/* One pair of a file. seen: origins of the keys of this file, to find "batch" beside "run.batch".
 */
static hu_status merge_pair(hu_config *config, const char *name, const hu_keys *node,
                            const char **seen) {
    const hu_config_key *key = hu_config_key_find(name);
    if (!key) return hu_config_key_unknown(hu_keys_origin(node), name);
    size_t row = hu_config_row(key);
    if (seen[row])
        return hu_fail(HU_ERR_PARSE, "%s: found key '%s' a second time, first at %s",
                       hu_keys_origin(node), key->name, seen[row]);
    seen[row] = hu_keys_origin(node);
    config->given[row] = true;
    config->recalled[row] = config->recalls;
    return store(config, key, node);
}

/* name is "" at the root, then "lr" for the pairs inside of lr: {...}. */
static hu_status merge_map(hu_config *config, const char *name, const hu_keys *map,
                           const char **seen) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < hu_keys_count(map) && st == HU_OK; i++) {
        const hu_keys *node = hu_keys_at(map, i);
        char full[HU_CONFIG_NAME_BYTES];
        if (!*name && strcmp(hu_keys_name(node), evidence) == 0) continue;
        snprintf(full, sizeof full, "%s%s%s", name, *name ? "." : "", hu_keys_name(node));
        bool is_map = hu_keys_kind_of(node) == HU_KEYS_MAP, is_space = is_namespace(full);
        if (is_space && is_map)
            st = merge_map(config, full, node, seen);
        else if (is_space && !is_key_of_its_own(full))
            st = hu_keys_fail(node, "a map of the keys %s.*", full);
        else
            st = merge_pair(config, full, node, seen);
    }
    return st;
}

/* One file or tree: a key may stand in it once, under its full name or its short form. */
hu_status hu_config_merge(hu_config *config, const hu_keys *tree) {
    if (hu_keys_kind_of(tree) != HU_KEYS_MAP)
        return hu_fail(HU_ERR_PARSE, "%s: found a %s, expected 'key: value' lines",
                       hu_keys_origin(tree),
                       hu_keys_kind_of(tree) == HU_KEYS_LIST ? "list" : "text");
    const char **seen;
    hu_status st = HU_NEW_ARRAY(&seen, hu_config_key_count);
    if (st != HU_OK) return st;
    st = merge_map(config, "", tree, seen);
    hu_free(seen);
    return st;
}

hu_status hu_config_recall(hu_config *config, const hu_keys *tree) {
    config->recalls = true;
    hu_status st = hu_config_merge(config, tree);
    config->recalls = false;
    return st;
}

/* Every key has its default; files and words replace it. A text is what the table says, and needs
 * no check (tests/fuzz/config_fuzz.c asks for all of them). */
static hu_status store_defaults(hu_config *config) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < hu_config_key_count && st == HU_OK; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        st = key->type == HU_CONFIG_LIST
                 ? hu_config_store(config, key, key->preset, default_origin)
                 : hu_keys_set_text(config->tree, key->name, key->preset, default_origin);
    }
    return st;
}

hu_status hu_config_load(const hu_config_request *request, hu_config **config) {
    hu_status st;
    hu_config *made = NULL;
    *config = NULL;
    HU_TRY(HU_NEW(&made));
    HU_TRY(HU_NEW_ARRAY(&made->given, hu_config_key_count));
    HU_TRY(HU_NEW_ARRAY(&made->recalled, hu_config_key_count));
    HU_TRY(HU_NEW_ARRAY(&made->typed, hu_config_key_count));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "configuration", &made->tree));
    HU_TRY(store_defaults(made));
    HU_TRY(hu_config_read_words(made, request));
    *config = made;
    return HU_OK;
done:
    hu_config_free(made);
    return st;
}

void hu_config_free(hu_config *config) {
    if (!config) return;
    hu_keys_free(config->tree);
    hu_free(config->given);
    hu_free(config->recalled);
    hu_free(config->typed);
    hu_config_network_forget(config);
    hu_free(config);
}

int hu_config_subjects(const hu_config *config) {
    return config->subjects;
}

const char *hu_config_subject(const hu_config *config, int index) {
    return index >= 0 && index < config->subjects ? config->subject[index] : NULL;
}

/* The last flag of a name counts. */
bool hu_config_flag(const hu_config *config, const char *flag, const char **value) {
    if (value) *value = NULL;
    for (int i = config->flags - 1; i >= 0; i--) {
        size_t span = strcspn(config->flag[i], "=");
        if (strlen(flag) != span || memcmp(flag, config->flag[i], span) != 0) continue;
        if (value && config->flag[i][span]) *value = config->flag[i] + span + 1;
        return true;
    }
    return false;
}

bool hu_config_given(const hu_config *config, const char *key) {
    const hu_config_key *row = hu_config_key_find(key);
    return row && config->given[hu_config_row(row)];
}

bool hu_config_asked(const hu_config *config, const char *key) {
    const hu_config_key *row = hu_config_key_find(key);
    return row && config->given[hu_config_row(row)] && !config->recalled[hu_config_row(row)];
}

const char *hu_config_typed(const hu_config *config, const char *key) {
    const hu_config_key *row = hu_config_key_find(key);
    return row ? config->typed[hu_config_row(row)] : NULL;
}

/* The node of a key. Keys are the program's own here: an unknown one is its error, not the user's.
 */
static hu_status find_value(const hu_config *config, const char *key, const hu_keys **node) {
    const hu_config_key *row = hu_config_key_find(key);
    *node = row ? hu_keys_find(config->tree, row->name) : NULL;
    return *node ? HU_OK : hu_fail(HU_ERR_INTERNAL, "the program asked for the key '%s'", key);
}

bool hu_config_is_auto(const hu_config *config, const char *key) {
    const hu_keys *node;
    if (find_value(config, key, &node) != HU_OK) return false;
    if (hu_keys_count(node) == 1) node = hu_keys_at(node, 0);
    return strcmp(hu_keys_value(node), "auto") == 0;
}

hu_status hu_config_set(hu_config *config, const char *key, const char *value, const char *origin) {
    const hu_config_key *row = hu_config_key_find(key);
    if (!row) return hu_fail(HU_ERR_INTERNAL, "the program set the key '%s'", key);
    if (config->given[hu_config_row(row)] && !hu_config_is_auto(config, key)) return HU_OK;
    return hu_config_store(config, row, value, origin);
}

hu_status hu_config_replace(hu_config *config, const char *key, const char *value,
                            const char *origin) {
    const hu_config_key *row = hu_config_key_find(key);
    if (!row) return hu_fail(HU_ERR_INTERNAL, "the program set the key '%s'", key);
    return hu_config_store(config, row, value, origin);
}

hu_status hu_config_text(const hu_config *config, const char *key, const char **value) {
    const hu_keys *node;
    *value = "";
    hu_status st = find_value(config, key, &node);
    return st == HU_OK ? hu_keys_as_text(node, value) : st;
}

hu_status hu_config_i64(const hu_config *config, const char *key, int64_t *value) {
    const hu_keys *node;
    *value = 0;
    hu_status st = find_value(config, key, &node);
    return st == HU_OK ? hu_keys_as_i64(node, value) : st;
}

hu_status hu_config_u64(const hu_config *config, const char *key, uint64_t *value) {
    const hu_keys *node;
    *value = 0;
    hu_status st = find_value(config, key, &node);
    return st == HU_OK ? hu_keys_as_u64(node, value) : st;
}

hu_status hu_config_f64(const hu_config *config, const char *key, double *value) {
    const hu_keys *node;
    *value = 0;
    hu_status st = find_value(config, key, &node);
    return st == HU_OK ? hu_keys_as_f64(node, value) : st;
}

hu_status hu_config_bool(const hu_config *config, const char *key, bool *value) {
    const hu_keys *node;
    *value = false;
    hu_status st = find_value(config, key, &node);
    return st == HU_OK ? hu_keys_as_bool(node, value) : st;
}

hu_status hu_config_list(const hu_config *config, const char *key, const hu_keys **list) {
    *list = NULL;
    hu_status st = find_value(config, key, list);
    return st;
}

const hu_keys *hu_config_tree(const hu_config *config) {
    return config->tree;
}
