/* Sets of low groups as plan files, and the trainings that these describe. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "session/options.h"
#include "sweep/assign.h"

static hu_status put_text(hu_keys *tree, const char *key, const char *text) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, "assign", &node);
    return st == HU_OK ? hu_keys_set(tree, key, node) : st;
}

/* precision.low_tensors: the low groups by number. */
static hu_status put_low_groups(const hu_assign *assign, const bool *low, hu_keys *tree) {
    hu_status st = HU_OK;
    hu_keys *list = NULL, *item;
    char text[24];
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, "assign", &list));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) {
        if (!low[g]) continue;
        snprintf(text, sizeof text, "group:%u", g);
        HU_TRY(hu_keys_create(HU_KEYS_TEXT, text, "assign", &item));
        HU_TRY(hu_keys_append(list, item));
    }
    return hu_keys_set(tree, "precision.low_tensors", list);
done:
    hu_keys_free(list);
    return st;
}

/* The candidates' formats, and all that the command says of precision, rules too. */
static hu_status put_precision(const hu_assign *assign, hu_keys *tree) {
    static const char *const always[] = {"precision.high", "precision.low", "precision.promote_at"};
    hu_status st = HU_OK;
    hu_keys *copy;
    const char *text;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        HU_TRY(hu_config_text(assign->config, always[i], &text));
        HU_TRY(put_text(tree, always[i], text));
    }
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        bool is_ours = strncmp(key, "precision.", 10) == 0 && hu_config_given(assign->config, key);
        if (!is_ours || hu_keys_find(tree, key)) continue;
        HU_TRY(hu_keys_copy(hu_keys_find(hu_config_tree(assign->config), key), &copy));
        HU_TRY(hu_keys_set(tree, key, copy));
    }
done:
    return st;
}

hu_status hu_assign_write_plan(const hu_assign *assign, const bool *low, const char *path,
                               const char *evidence) {
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    char *yaml = NULL, *text = NULL;
    bool has_low = low && memchr(low, true, assign->groups.tensors.count);
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "assign", &tree));
    HU_TRY(put_text(tree, "precision.name", has_low ? "listed+promote" : "high"));
    if (has_low) HU_TRY(put_low_groups(assign, low, tree));
    HU_TRY(put_precision(assign, tree));
    HU_TRY(hu_keys_print(tree, &yaml));
    size_t capacity = strlen(yaml) + (evidence ? strlen(evidence) : 0) + 1;
    HU_TRY(HU_NEW_ARRAY(&text, capacity));
    snprintf(text, capacity, "%s%s", yaml, evidence ? evidence : "");
    HU_TRY(hu_file_replace(path, text, capacity - 1));
done:
    hu_keys_free(tree);
    hu_free(yaml);
    hu_free(text);
    return st;
}

hu_status hu_assign_config(const hu_assign *assign, const char *plan_path, hu_config **config) {
    hu_status st = HU_OK;
    hu_keys *plan = NULL;
    HU_TRY(hu_options_copy(assign->config, config));
    if (!plan_path) goto done;
    HU_TRY(hu_plan_read(plan_path, &plan));
    HU_TRY(hu_config_merge(*config, plan));
done:
    hu_keys_free(plan);
    return st;
}
