/* Help of verbs and keys. */
#include "help/about.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "help/manual.h"
#include "settings/options.h"

enum { NAME_COLUMNS = 24, INDENT = 2 };

/* One pattern of a table of keys. */
static bool fits(const char *pattern, const char *key) {
    size_t length = strcspn(pattern, "*");
    return pattern[length] ? strncmp(pattern, key, length) == 0 : strcmp(pattern, key) == 0;
}

bool hu_verb_takes(const hu_verb *verb, const char *key) {
    bool takes = false;
    for (size_t i = 0; verb->keys && verb->keys[i]; i++) {
        bool is_exception = verb->keys[i][0] == '-';
        if (fits(verb->keys[i] + is_exception, key)) takes = !is_exception;
    }
    return takes;
}

void hu_put_key_line(hu_page *page, const hu_config_key *key) {
    char brief[HU_BRIEF_BYTES];
    hu_page_put(page, "  %-*s %s\n", NAME_COLUMNS, hu_key_typed_name(key),
                hu_key_brief(key->help, brief));
}

/* What may be typed, each with what it does below. */
static void put_examples(hu_page *page, const hu_verb *verb) {
    if (!verb->examples[0].words) return;
    hu_page_put(page, "\nexamples:\n");
    for (int i = 0; i < HU_VERB_EXAMPLES && verb->examples[i].words; i++)
        hu_page_put(page, "  halfulp %s\n      %s\n", verb->examples[i].words,
                    verb->examples[i].what);
}

/* The names of a group's keys that the verb takes and that are not common. */
static void put_other_keys(hu_page *page, const hu_verb *verb, const hu_key_group *group) {
    char line[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        bool is_told = hu_key_is_of(key, group) && !hu_key_is_common(key);
        if (!is_told || !hu_verb_takes(verb, key->name) || used >= sizeof line) continue;
        used += (size_t)snprintf(line + used, sizeof line - used, " %s", hu_key_typed_name(key));
    }
    if (used == 0) return;
    hu_page_put(page, "  %-12s", group->name);
    hu_put_wrapped(page, line, INDENT + 12, INDENT + 12);
}

/* The common keys that the verb takes, then the others by group; nothing where it takes none. */
static void put_keys(hu_page *page, const hu_verb *verb) {
    bool has_any = false;
    for (size_t i = 0; hu_common_key_at(i); i++) {
        if (!hu_verb_takes(verb, hu_common_key_at(i)->name)) continue;
        if (!has_any) hu_page_put(page, "\nkeys, the common ones first:\n");
        has_any = true;
        hu_put_key_line(page, hu_common_key_at(i));
    }
    if (!has_any && verb->keys && verb->keys[0]) hu_page_put(page, "\nkeys:\n");
    for (size_t i = 0; hu_key_group_at(i); i++) put_other_keys(page, verb, hu_key_group_at(i));
    if (verb->keys && verb->keys[0])
        hu_page_put(page, "`halfulp help KEY` tells of one, `halfulp help GROUP` of all in a "
                          "line above.\n");
}

void hu_put_verb(hu_page *page, const hu_verb *verb) {
    int at = (int)strlen("usage: halfulp  ") + (int)strlen(verb->name);
    hu_page_put(page, "usage: halfulp %s ", verb->name);
    hu_put_wrapped(page, verb->usage, at, at);
    hu_page_put(page, "\n%s\n", verb->help);
    if (*verb->details) hu_page_put(page, "\n%s", verb->details);
    put_examples(page, verb);
    put_keys(page, verb);
}

hu_status hu_manual_verb(const hu_verb *verb, char **text) {
    hu_page page = {.status = HU_OK};
    hu_put_verb(&page, verb);
    return hu_page_finish(&page, text);
}

/* What may stand behind '='. text: capacity bytes. */
static void print_values(const hu_config_key *key, char *text, size_t capacity) {
    const char *or_auto = strcmp(key->preset, "auto") == 0 ? ", or auto" : "";
    if (key->type == HU_CONFIG_CHOICE)
        snprintf(text, capacity, "one of: %s", key->words);
    else if (key->type == HU_CONFIG_INT)
        snprintf(text, capacity, "an integer from %.0f to %.0f%s", key->least, key->most, or_auto);
    else if (key->type == HU_CONFIG_REAL)
        snprintf(text, capacity, "a number from %g to %g%s", key->least, key->most, or_auto);
    else if (key->type == HU_CONFIG_BOOL)
        snprintf(text, capacity, "on or off%s", or_auto);
    else if (key->type == HU_CONFIG_LIST)
        snprintf(text, capacity, "a list, its items between commas");
    else
        snprintf(text, capacity, "text");
}

/* The value of a key as text; of lists their items. */
static void print_value(const hu_config *config, const char *key, char *text, size_t capacity) {
    const hu_keys *node = hu_keys_find(hu_config_tree(config), key);
    size_t used = 0;
    snprintf(text, capacity, "%s", node ? hu_keys_value(node) : "");
    for (size_t i = 0; node && i < hu_keys_count(node) && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? "," : "",
                                 hu_keys_value(hu_keys_at(node, i)));
}

/* The default of the model at hand, where a recipe has one of its own. */
static hu_status put_recipe(hu_page *page, const hu_config_key *key, const hu_config *asked) {
    hu_status st;
    hu_config *config = NULL;
    const char *model, *data;
    char value[256];
    HU_TRY(hu_options_copy(asked, &config));
    HU_TRY(hu_recipe_data(config));
    HU_TRY(hu_recipe_apply(config));
    HU_TRY(hu_config_text(config, "model.name", &model));
    HU_TRY(hu_config_text(config, "data.name", &data));
    print_value(config, key->name, value, sizeof value);
    if (strcmp(value, key->preset) != 0)
        hu_page_put(page, "  of %s on %s: %s\n", model, data, value);
    else if (hu_config_given(asked, "model.name"))
        hu_page_put(page, "  of %s on %s: the same\n", model, data);
done:
    hu_config_free(config);
    return st;
}

/* The verbs whose tables have the key. */
static void put_verbs_of(hu_page *page, const hu_verb *const *verbs, const hu_config_key *key) {
    char line[1024] = "";
    size_t used = 0;
    for (; *verbs; verbs++)
        if (hu_verb_takes(*verbs, key->name) && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, " %s", (*verbs)->name);
    if (used == 0) return;
    hu_page_put(page, "  read by: ");
    hu_put_wrapped(page, line, 11, 4);
}

/* Name, help, values, default. */
void hu_put_key(hu_page *page, const hu_config_key *key) {
    char values[512];
    hu_page_put(page, "%s%s%s\n  ", key->name, *key->short_form ? ", short: " : "",
                key->short_form);
    hu_put_wrapped(page, key->help, INDENT, INDENT);
    print_values(key, values, sizeof values);
    hu_page_put(page, "  values: ");
    hu_put_wrapped(page, values, 10, 4);
    hu_page_put(page, "  default: %s\n", *key->preset ? key->preset : "none");
}

hu_status hu_put_key_fully(hu_page *page, const hu_verb *const *verbs, const hu_config_key *key,
                           const hu_config *config) {
    hu_put_key(page, key);
    hu_status st = put_recipe(page, key, config);
    put_verbs_of(page, verbs, key);
    return st;
}
