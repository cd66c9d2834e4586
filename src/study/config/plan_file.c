#include "config/load.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/config.h"
#include "format/table/keep.h"

enum { VERSION = 1, TEXT_BYTES = 1024 };

static const char mark[] = "halfulp_plan";

/* ---- plans of group numbers, which are keys already ---- */

bool hu_is_plan_path(const char *text) {
    const char *end = strrchr(text, '.');
    return end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

static hu_status read_plain(const hu_keys *file, const char *path, hu_keys **plan) {
    hu_status st = HU_OK;
    hu_keys *copy;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, path, plan));
    for (size_t i = 0; i < hu_keys_count(file); i++) {
        const hu_keys *part = hu_keys_at(file, i);
        if (strcmp(hu_keys_name(part), "evidence") == 0) continue;
        if (strcmp(hu_keys_name(part), "precision") != 0 || hu_keys_kind_of(part) != HU_KEYS_MAP)
            HU_TRY(hu_fail(HU_ERR_PARSE,
                           "%s: found the key '%s', expected a plan: a map 'precision' of name, "
                           "low_tensors and other precision keys, and 'evidence', or a resolved "
                           "plan, which begins with '%s: %d'",
                           hu_keys_origin(part), hu_keys_name(part), mark, VERSION));
        HU_TRY(hu_keys_copy(part, &copy));
        HU_TRY(hu_keys_put(*plan, "precision", copy));
    }
    if (!hu_keys_find(*plan, "precision.name"))
        HU_TRY(
            hu_fail(HU_ERR_PARSE, "%s: found no 'precision: name:', expected a plan file", path));
done:
    return st;
}

/* ---- resolved plans ---- */

bool hu_plan_is_resolved(const hu_keys *file) {
    return hu_keys_kind_of(file) == HU_KEYS_MAP && hu_keys_find(file, mark);
}

/* A text of its own with the origin of what it was made from: errors name the file's line. */
static hu_status put_text(hu_keys *keys, const char *path, const char *text, const hu_keys *from) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, hu_keys_origin(from), &node);
    return st == HU_OK ? hu_keys_set(keys, path, node) : st;
}

static hu_status append_text(hu_keys *list, const char *text, const hu_keys *from) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, hu_keys_origin(from), &node);
    return st == HU_OK ? hu_keys_append(list, node) : st;
}

/* Texts where texts are expected, maps where maps are: nothing is guessed. */
static hu_status want_kind(const hu_keys *node, hu_keys_kind kind) {
    if (hu_keys_kind_of(node) == kind) return HU_OK;
    return hu_keys_fail(node, kind == HU_KEYS_MAP ? "a map" : "a text");
}

/* Adds ", WORD TEXT" and the like to a text of TEXT_BYTES. */
static hu_status add_words(char *text, const char *between, const char *word, const hu_keys *node) {
    size_t used = strlen(text);
    hu_status st = want_kind(node, HU_KEYS_TEXT);
    if (st != HU_OK) return st;
    int more =
        snprintf(text + used, TEXT_BYTES - used, "%s%s%s", between, word, hu_keys_value(node));
    if (more < 0 || (size_t)more >= TEXT_BYTES - used)
        return hu_keys_fail(node, "at most %d characters for all of it", TEXT_BYTES);
    return HU_OK;
}

/* A part of a tensor: "; grad F", for a list "; grad F; grad F". */
static hu_status add_part(char *text, const char *between, const hu_keys *part) {
    static const char *const words[][2] = {{"value", "value "},
                                           {"use", "use "},
                                           {"grad", "grad "},
                                           {"sum", "sum "},
                                           {"weights", "weights "}};
    enum { WORDS = sizeof words / sizeof *words };
    hu_status st = HU_OK;
    size_t w = 0;
    while (w < WORDS && strcmp(words[w][0], hu_keys_name(part)) != 0) w++;
    if (w == WORDS)
        return hu_fail(HU_ERR_PARSE, "%s: found '%s', expected value, use, grad, sum or weights",
                       hu_keys_origin(part), hu_keys_name(part));
    if (hu_keys_kind_of(part) != HU_KEYS_LIST) return add_words(text, between, words[w][1], part);
    for (size_t k = 0; k < hu_keys_count(part) && st == HU_OK; k++)
        st = add_words(text, k ? "; " : between, words[w][1], hu_keys_at(part, k));
    return st;
}

/* name: {value: F, grad: F or [F, F], sum: F, weights: F} -> "name: value F; grad F; sum F". */
static hu_status add_tensor(const hu_keys *tensor, hu_keys *list) {
    hu_status st = HU_OK;
    char text[TEXT_BYTES];
    HU_TRY(want_kind(tensor, HU_KEYS_MAP));
    snprintf(text, sizeof text, "%.256s:", hu_keys_name(tensor));
    for (size_t i = 0; i < hu_keys_count(tensor); i++)
        HU_TRY(add_part(text, i ? "; " : " ", hu_keys_at(tensor, i)));
    HU_TRY(append_text(list, text, tensor));
done:
    return st;
}

/* "layer.product: A" or "layer.product.operand: F". */
static hu_status add_rule(const char *name, const hu_keys *choice, hu_keys *list) {
    char text[TEXT_BYTES] = "";
    hu_status st = add_words(text, "", name, choice);
    return st == HU_OK ? append_text(list, text, choice) : st;
}

static bool is_accumulator(const hu_keys *part) {
    return strcmp(hu_keys_name(part), "accumulator") == 0;
}

/* layer: {forward: A, ...} -> "layer.forward: A", one for each; of {forward: {accumulator: A, x: F,
 * ...}} likewise the accumulator alone. */
static hu_status add_product(const hu_keys *layer, hu_keys *list) {
    hu_status st = HU_OK;
    HU_TRY(want_kind(layer, HU_KEYS_MAP));
    for (size_t i = 0; i < hu_keys_count(layer); i++) {
        const hu_keys *product = hu_keys_at(layer, i);
        char name[TEXT_BYTES / 2];
        snprintf(name, sizeof name, "%.250s.%.200s: ", hu_keys_name(layer), hu_keys_name(product));
        if (hu_keys_kind_of(product) != HU_KEYS_MAP) HU_TRY(add_rule(name, product, list));
        for (size_t k = 0; hu_keys_kind_of(product) == HU_KEYS_MAP && k < hu_keys_count(product);
             k++)
            if (is_accumulator(hu_keys_at(product, k)))
                HU_TRY(add_rule(name, hu_keys_at(product, k), list));
    }
done:
    return st;
}

/* layer: {forward: {x: F, ...}} -> "layer.forward.x: F", one for each. */
static hu_status add_operands(const hu_keys *layer, hu_keys *list) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < hu_keys_count(layer); i++) {
        const hu_keys *product = hu_keys_at(layer, i);
        if (hu_keys_kind_of(product) != HU_KEYS_MAP) continue;
        for (size_t k = 0; k < hu_keys_count(product); k++) {
            const hu_keys *operand = hu_keys_at(product, k);
            char name[TEXT_BYTES / 2];
            snprintf(name, sizeof name, "%.250s.%.100s.%.100s: ", hu_keys_name(layer),
                     hu_keys_name(product), hu_keys_name(operand));
            if (!is_accumulator(operand)) HU_TRY(add_rule(name, operand, list));
        }
    }
done:
    return st;
}

/* A map whose entries become the items of a list key. */
static hu_status put_list(const hu_keys *map, hu_keys *keys, const char *path,
                          hu_status (*add)(const hu_keys *entry, hu_keys *list)) {
    hu_status st = HU_OK;
    hu_keys *list = NULL;
    HU_TRY(want_kind(map, HU_KEYS_MAP));
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, hu_keys_origin(map), &list));
    for (size_t i = 0; i < hu_keys_count(map); i++) HU_TRY(add(hu_keys_at(map, i), list));
    return hu_keys_set(keys, path, list);
done:
    hu_keys_free(list);
    return st;
}

/* In the order of the file; the order means nothing. */
static hu_status read_tensors(const hu_keys *node, hu_keys *keys) {
    return put_list(node, keys, "precision.tensors", add_tensor);
}

/* Whether a product rounds what it multiplies. */
static bool has_operands(const hu_keys *products) {
    bool any = false;
    for (size_t i = 0; i < hu_keys_count(products); i++) {
        const hu_keys *layer = hu_keys_at(products, i);
        for (size_t k = 0; k < hu_keys_count(layer); k++)
            any = any || hu_keys_kind_of(hu_keys_at(layer, k)) == HU_KEYS_MAP;
    }
    return any;
}

static hu_status read_products(const hu_keys *node, hu_keys *keys) {
    hu_status st = put_list(node, keys, "accumulator.rules", add_product);
    return st == HU_OK && has_operands(node) ? put_list(node, keys, "operand.rules", add_operands)
                                             : st;
}

/* {at: R, to: {act: F, weight: F}}: the precision promotes, to the high candidate. */
static hu_status read_promotion(const hu_keys *node, hu_keys *keys) {
    static const struct { const char *name, *word; } roles[] = {{"act", "act="}, {"weight", "w="}};
    hu_status st = HU_OK;
    char text[TEXT_BYTES] = "";
    const hu_keys *at = hu_keys_find(node, "at"), *to = hu_keys_find(node, "to");
    if (!at || !to || hu_keys_count(node) != 2)
        return hu_keys_fail(node, "{at: SHARE, to: {act: FORMAT, weight: FORMAT}}");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const hu_keys *format = hu_keys_find(to, roles[i].name);
        if (format) HU_TRY(add_words(text, *text ? "," : "", roles[i].word, format));
    }
    if (!*text) return hu_keys_fail(to, "{act: FORMAT, weight: FORMAT}");
    HU_TRY(want_kind(at, HU_KEYS_TEXT));
    HU_TRY(put_text(keys, "precision.name", "resolved+promote", node));
    HU_TRY(put_text(keys, "precision.promote_at", hu_keys_value(at), at));
    HU_TRY(put_text(keys, "precision.high", text, to));
done:
    return st;
}

/* Name, width and parameters are for people; the hash is compared when the model is known. */
static hu_status read_model(const hu_keys *node, hu_keys *keys) {
    const hu_keys *names = hu_keys_find(node, "names");
    return names ? put_text(keys, "precision.names", hu_keys_value(names), names) : HU_OK;
}

/* Its keys are those of the configuration, and are checked like them. */
static hu_status read_scaler(const hu_keys *node, hu_keys *keys) {
    hu_keys *copy;
    hu_status st = want_kind(node, HU_KEYS_MAP);
    if (st == HU_OK) st = hu_keys_copy(node, &copy);
    return st == HU_OK ? hu_keys_set(keys, "scaler", copy) : st;
}

static hu_status skip_part(const hu_keys *node, hu_keys *keys) {
    (void)node, (void)keys;
    return HU_OK;
}

/* The keys of a resolved plan: a text that stands for a key, or what reads it. */
static const struct {
    const char *name, *key;
    hu_status (*read)(const hu_keys *node, hu_keys *keys);
} parts[] = {{mark, NULL, skip_part},
             {"model", NULL, read_model},
             {"scheme", "precision.scheme", NULL},
             {"master", "precision.master", NULL},
             {"eval", "eval.weights", NULL},
             {"low_bits", "precision.low_bits", NULL},
             {"scaling", "precision.scaling", NULL},
             {"scaler", NULL, read_scaler},
             {"tensors", NULL, read_tensors},
             {"semantics", "accumulator.semantics", NULL},
             {"products", NULL, read_products},
             {"promotion", NULL, read_promotion},
             {"evidence", NULL, skip_part}};
enum { PARTS = sizeof parts / sizeof *parts };

static hu_status read_part(const hu_keys *node, hu_keys *keys) {
    char known[TEXT_BYTES] = "";
    for (size_t p = 0; p < PARTS; p++) {
        hu_note_add(known, sizeof known, ", ", "%s", parts[p].name);
        if (strcmp(parts[p].name, hu_keys_name(node)) != 0) continue;
        if (parts[p].read) return parts[p].read(node, keys);
        hu_status st = want_kind(node, HU_KEYS_TEXT);
        return st == HU_OK ? put_text(keys, parts[p].key, hu_keys_value(node), node) : st;
    }
    return hu_fail(HU_ERR_PARSE, "%s: found the key '%s', expected one of %s", hu_keys_origin(node),
                   hu_keys_name(node), known);
}

/* A plan of a later kind may say what this program does not know. */
static hu_status check_version(const hu_keys *file) {
    const hu_keys *node = hu_keys_find(file, mark);
    char expected[16];
    snprintf(expected, sizeof expected, "%d", VERSION);
    if (strcmp(hu_keys_value(node), expected) != 0)
        return hu_fail(HU_ERR_VERSION, "%s: found %s '%s', expected %s", hu_keys_origin(node), mark,
                       hu_keys_value(node), expected);
    if (!hu_keys_find(file, "tensors"))
        return hu_fail(HU_ERR_PARSE, "%s: found no 'tensors:', expected those that are rounded",
                       hu_keys_origin(file));
    return HU_OK;
}

hu_status hu_plan_resolved_keys(const hu_keys *file, hu_keys **keys) {
    hu_status st = HU_OK;
    *keys = NULL;
    HU_TRY(check_version(file));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, hu_keys_origin(file), keys));
    /* A promotion, where there is one, puts its own name in place of this one. */
    HU_TRY(put_text(*keys, "precision.name", "resolved", file));
    for (size_t i = 0; i < hu_keys_count(file); i++) HU_TRY(read_part(hu_keys_at(file, i), *keys));
done:
    if (st != HU_OK) {
        hu_keys_free(*keys);
        *keys = NULL;
    }
    return st;
}

/* ---- either ---- */

/* Beside the plan of a run lie the tables that it names. */
static hu_status recall_tables(const char *path) {
    char *directory = NULL;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, "plan.resolved.yaml") != 0) return HU_OK;
    hu_status st =
        slash ? hu_strndup(path, (size_t)(name - path), &directory) : hu_strdup(".", &directory);
    if (st == HU_OK) st = hu_code_tables_recall(directory);
    hu_free(directory);
    return st;
}

hu_status hu_plan_read(const char *path, hu_keys **plan) {
    hu_status st = HU_OK;
    hu_keys *file = NULL;
    *plan = NULL;
    HU_TRY(hu_yaml_read(path, &file));
    HU_TRY(recall_tables(path));
    st = hu_plan_is_resolved(file) ? hu_plan_resolved_keys(file, plan)
                                   : read_plain(file, path, plan);
done:
    hu_keys_free(file);
    if (st != HU_OK) {
        hu_keys_free(*plan);
        *plan = NULL;
    }
    return st;
}
