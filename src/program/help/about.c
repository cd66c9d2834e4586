/* Help of verbs and keys. */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "help/internal.h"
#include "help/manual.h"
#include "settings/options.h"

/* ---- Groups of keys ---- */

enum { COLUMNS = 79 };

/* In the order of keys.list, but for what only some verbs read, which comes last. */
static const hu_key_group groups[] = {
    {"model", "the network"},
    {"init", "which weights of a file it begins with"},
    {"task", "what it learns"},
    {"data", "what it is trained on"},
    {"precision", "which tensors are rounded, and to what"},
    {"bits", "schedules of bits: precision=static, cpt, pfq, ldp, random, staged"},
    {"cost", "what a multiply-accumulate costs"},
    {"accumulator", "how matrix products add their terms"},
    {"operand", "how matrix products round what they multiply"},
    {"optimizer", "how gradients become updates"},
    {"lr", "the learning rate over time"},
    {"scaler", "loss scaling"},
    {"eval", "evaluation"},
    {"stop", "when a training ends early"},
    {"run", "length, seed, threads, and what a run leaves in its folder"},
    {"comm", "several workers, and how their gradients meet"},
    {"cluster", "the network between machines, for predictions"},
    {"out", "files that verbs write"},
    {"predict", "what a trained model is asked"},
    {"why", "what becomes of numbers in a run"},
    {"fmt", "formats beside each other"},
    {"bench", "what is measured"},
    {"gemm", "products of random factors"},
    {"compare", "several trainings beside each other"},
    {"assign", "the search for a precision of each tensor"},
};

/* In the order in which a first training is thought of. */
static const char *const common[] = {
    "model.name",  "data.name",        "precision.name", "run.epochs",     "run.steps",
    "run.batch",   "lr.base",          "lr.schedule",    "optimizer.name", "optimizer.weight_decay",
    "scaler.name", "accumulator.name", "data.limit",     "run.seed",       "run.threads",
    "run.dir",     "compare.seeds",    "out.file"};

const hu_key_group *hu_key_group_at(size_t index) {
    return index < sizeof groups / sizeof *groups ? &groups[index] : NULL;
}

bool hu_key_is_of(const hu_config_key *key, const hu_key_group *group) {
    size_t length = strlen(group->name);
    return strncmp(key->name, group->name, length) == 0 && key->name[length] == '.';
}

const hu_config_key *hu_common_key_at(size_t index) {
    return index < sizeof common / sizeof *common ? hu_config_key_find(common[index]) : NULL;
}

/* Whether the key is among them. */
static bool key_is_common(const hu_config_key *key) {
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (hu_common_key_at(i) == key) return true;
    return false;
}

const char *hu_key_typed_name(const hu_config_key *key) {
    return *key->short_form ? key->short_form : key->name;
}

const char *hu_key_brief(const char *help, char *text) {
    enum { MOST = 48 };
    size_t end = 0, length = strlen(help);
    for (size_t i = 0; i < length && i < MOST; i++)
        if (help[i] == ';' || (help[i] == ' ' && help[i + 1] == '(')) {
            end = i;
            break;
        }
    if (end == 0 && length <= MOST) end = length;
    if (end > 0) {
        snprintf(text, HU_BRIEF_BYTES, "%.*s", (int)end, help);
        return text;
    }
    for (end = MOST; end > 0 && help[end] != ' ';) end--;
    while (end > 0 && strchr(" ,:", help[end - 1])) end--;
    snprintf(text, HU_BRIEF_BYTES, "%.*s ...", (int)end, help);
    return text;
}

void hu_put_wrapped(hu_page *page, const char *text, int at, int indent) {
    bool is_first = true;
    while (*(text += strspn(text, " "))) {
        int length = (int)strcspn(text, " ");
        if (!is_first && at + 1 + length > COLUMNS) {
            hu_page_put(page, "\n%*s", indent, "");
            at = indent;
            is_first = true;
        }
        hu_page_put(page, "%s%.*s", is_first ? "" : " ", length, text);
        at += length + !is_first;
        is_first = false;
        text += length;
    }
    hu_page_put(page, "\n");
}

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
        bool is_told = hu_key_is_of(key, group) && !key_is_common(key);
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

/* The whole help of a verb: usage, one line, details, examples, and its keys, of which the common
 * ones have a line each and the others stand as names in the line of their group. */
static void put_verb(hu_page *page, const hu_verb *verb) {
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
    put_verb(&page, verb);
    return hu_page_finish(&page, text);
}

/* What may stand after '='. text: capacity bytes. */
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
    hu_keys_join(hu_keys_find(hu_config_tree(config), key->name), ",", value, sizeof value);
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
