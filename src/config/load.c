/* Words and files -> one checked tree with a value for every key. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/words.h"
#include "config/command.h"
#include "config/config.h"
#include "config/plan_file.h"

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
