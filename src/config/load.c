/* Words and files -> one checked tree with a value for every key. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/words.h"
#include "config/config.h"
#include "config/plan_file.h"

enum { MAX_SUBJECTS = 1024, MAX_FLAGS = 16, NAME_BYTES = 300, NEAREST_BYTES = 256 };

static const char evidence[] = "evidence"; /* key of plan files that is for people */

struct hu_config {
    hu_keys *tree;
    bool *given;    /* [hu_config_key_count] */
    bool *recalled; /* [the same] given by a run that is read again, and not since */
    bool recalls;   /* such a run is being read */
    const char *subject[MAX_SUBJECTS];
    int subjects;
    const char *flag[MAX_FLAGS]; /* words behind "--" */
    int flags;
};

static size_t row_of(const hu_config_key *key) {
    return (size_t)(key - hu_config_keys);
}

/* "crop,flip" -> list of texts; blanks around items are dropped. */
static hu_status split_list(const char *text, const char *origin, hu_keys **list) {
    hu_status st;
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, origin, list));
    while (*text) {
        const char *end;
        size_t used = hu_word_at(&text, &end);
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
done:
    hu_keys_free(last);
    hu_keys_free(copy);
    return st;
}

/* store() of a text that came from no file. */
static hu_status store_text(hu_config *config, const hu_config_key *key, const char *text,
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
        if (strncmp(hu_config_keys[i].name, name, length) == 0 &&
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
    size_t row = row_of(key);
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
        char full[NAME_BYTES];
        if (!*name && strcmp(hu_keys_name(node), evidence) == 0) continue;
        snprintf(full, sizeof full, "%s%s%s", name, *name ? "." : "", hu_keys_name(node));
        bool is_map = hu_keys_kind_of(node) == HU_KEYS_MAP;
        if (is_namespace(full) && is_map)
            st = merge_map(config, full, node, seen);
        else if (is_namespace(full) && !is_key_of_its_own(full))
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

static hu_status merge_plan(hu_config *config, const char *path) {
    hu_keys *plan;
    hu_status st = hu_plan_read(path, &plan);
    if (st == HU_OK) st = hu_config_merge(config, plan);
    hu_keys_free(plan);
    return st;
}

/* "--json" or "--round=MODE": one of the verb's flags, with a value only where it takes one. */
static hu_status take_flag(hu_config *config, const hu_config_request *request, int index) {
    const char *word = request->argv[index];
    const char *text = word + strspn(word, "-");
    size_t length = strcspn(text, "=");
    char names[MAX_FLAGS][32];
    const char *known[MAX_FLAGS + 1]; /* the verb's own and --help */
    size_t count = 0;
    for (; request->flags[count] && count < MAX_FLAGS; count++) {
        const char *flag = request->flags[count];
        size_t span = strcspn(flag, "=");
        snprintf(names[count], sizeof names[count], "--%.*s", (int)span, flag);
        known[count] = names[count];
        if (span != length || memcmp(flag, text, span) != 0 || text != word + 2) continue;
        if (text[length] == '=' && flag[span] != '=')
            return hu_fail(HU_ERR_PARSE, "argument %d: found '%s', expected --%s without a value",
                           index, word, flag);
        if (config->flags == MAX_FLAGS)
            return hu_fail(HU_ERR_PARSE, "argument %d: found '%s', expected at most %d flags",
                           index, word, MAX_FLAGS);
        config->flag[config->flags++] = text;
        return HU_OK;
    }
    known[count] = "--help";
    char nearest[NEAREST_BYTES];
    hu_nearest(word, known, count + 1, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "argument %d: unknown flag '%.100s', expected %s", index, word,
                   nearest);
}

/* "key=value": text of any type, checked against the table. */
static hu_status take_pair(hu_config *config, const char *word, const char *equals, int index) {
    char name[NAME_BYTES], origin[32];
    snprintf(name, sizeof name, "%.*s", (int)(equals - word < 256 ? equals - word : 256), word);
    snprintf(origin, sizeof origin, "argument %d", index);
    if (strcmp(name, "config") == 0) return HU_OK; /* read before all other words */
    const hu_config_key *key = hu_config_key_find(name);
    if (!key) return hu_config_key_unknown(origin, name);
    if (!hu_text_is_utf8(equals + 1))
        return hu_fail(HU_ERR_PARSE, "%s: key '%s': found bytes that are not UTF-8", origin, name);
    config->given[row_of(key)] = true;
    config->recalled[row_of(key)] = false;
    return store_text(config, key, equals + 1, origin);
}

/* Whether the part before '=' is a key; a path may hold a '=' too. */
static bool names_key(const char *word, const char *equals) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(equals - word < 256 ? equals - word : 256), word);
    return strcmp(name, "config") == 0 || hu_config_key_find(name) != NULL;
}

/* One word of the command line: a flag, a subject or a pair. */
static hu_status take_word(hu_config *config, const hu_config_request *request, int index) {
    const char *word = request->argv[index];
    const char *equals = strchr(word, '=');
    if (word[0] == '-' && word[1]) return take_flag(config, request, index);
    bool takes_paths = config->subjects == 0 || request->max_subjects > 1; /* may hold a '=' */
    bool is_subject = !equals || (takes_paths && !names_key(word, equals));
    if (is_subject && config->subjects < request->max_subjects && config->subjects < MAX_SUBJECTS) {
        config->subject[config->subjects++] = word;
        return HU_OK;
    }
    if (equals) return take_pair(config, word, equals, index);
    return hu_fail(HU_ERR_PARSE, "argument %d: found '%.100s', expected key=value or a flag", index,
                   word);
}

/* "-o FILE" is out=FILE. */
static hu_status take_output(hu_config *config, const char *path, int index) {
    char word[4200];
    int length = snprintf(word, sizeof word, "out=%s", path);
    if (length < 0 || (size_t)length >= sizeof word)
        return hu_fail(HU_ERR_PARSE, "argument %d: found a path of %zu bytes, expected fewer",
                       index, strlen(path));
    return take_pair(config, word, word + 3, index);
}

/* Files first, then plan files, then words in their order: later ones win. */
static hu_status read_words(hu_config *config, const hu_config_request *request) {
    hu_status st = HU_OK;
    for (int i = 1; i < request->argc && st == HU_OK; i++)
        if (strncmp(request->argv[i], "config=", 7) == 0)
            st = merge_file(config, request->argv[i] + 7);
    for (int i = 1; i < request->argc && st == HU_OK; i++)
        if (plan_path(request->argv[i])) st = merge_plan(config, plan_path(request->argv[i]));
    for (int i = 1; i < request->argc && st == HU_OK; i++) {
        if (i == request->verb_index || plan_path(request->argv[i])) continue;
        bool is_output = strcmp(request->argv[i], "-o") == 0 && i + 1 < request->argc;
        if (is_output) i++;
        st = is_output ? take_output(config, request->argv[i], i) : take_word(config, request, i);
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
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "configuration", &made->tree));
    for (size_t i = 0; i < hu_config_key_count; i++)
        HU_TRY(store_text(made, &hu_config_keys[i], hu_config_keys[i].preset, "default"));
    /* Every key has its default now; files and words replace it. */
    HU_TRY(read_words(made, request));
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
    return row && config->given[row_of(row)];
}

bool hu_config_asked(const hu_config *config, const char *key) {
    const hu_config_key *row = hu_config_key_find(key);
    return row && config->given[row_of(row)] && !config->recalled[row_of(row)];
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
    if (config->given[row_of(row)] && !hu_config_is_auto(config, key)) return HU_OK;
    return store_text(config, row, value, origin);
}

hu_status hu_config_replace(hu_config *config, const char *key, const char *value,
                            const char *origin) {
    const hu_config_key *row = hu_config_key_find(key);
    if (!row) return hu_fail(HU_ERR_INTERNAL, "the program set the key '%s'", key);
    return store_text(config, row, value, origin);
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
