#include "model/network_file.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/internal.h"
#include "model/network_fold.h"
#include "model/network_internal.h"

/* ---- Keys ---- */

/* The hu_network_child of a map, NULL: it has none of that name. */
const hu_keys *hu_network_child(const hu_keys *map, const char *name) {
    for (size_t i = 0; hu_keys_kind_of(map) == HU_KEYS_MAP && i < hu_keys_count(map); i++)
        if (strcmp(hu_keys_name(hu_keys_at(map, i)), name) == 0) return hu_keys_at(map, i);
    return NULL;
}

hu_status hu_network_expect(const hu_keys *node, hu_keys_kind kind, const char *expected) {
    if (hu_keys_kind_of(node) == kind) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "%s: %s%sfound a %s, expected %s", hu_keys_origin(node),
                   hu_keys_name(node), *hu_keys_name(node) ? ": " : "",
                   hu_keys_kind_of(node) == HU_KEYS_TEXT ? "text" : "list or map", expected);
}

/* Every key of a map is one of these. */
hu_status hu_network_check_keys(const hu_keys *map, const char *what, const char *const *names,
                                size_t count) {
    for (size_t i = 0; i < hu_keys_count(map); i++) {
        const hu_keys *key = hu_keys_at(map, i);
        bool is_known = false;
        for (size_t k = 0; k < count; k++) is_known |= strcmp(hu_keys_name(key), names[k]) == 0;
        if (!is_known)
            return hu_network_unknown(hu_keys_origin(key), what, hu_keys_name(key), names, count);
    }
    return HU_OK;
}

/* The text of a hu_network_child; NULL where there is none. */
static hu_status text_of(const hu_keys *map, const char *name, const char **text) {
    const hu_keys *node = hu_network_child(map, name);
    *text = NULL;
    if (!node) return HU_OK;
    hu_status st = hu_network_expect(node, HU_KEYS_TEXT, "a text");
    if (st == HU_OK) *text = hu_keys_value(node);
    return st;
}

/* ---- The top of a file ---- */

#define VERSION_KEY "halfulp_network"

/* Tasks and models that a heading names are known. */
static hu_status check_named(const hu_keys *file, const hu_network_heading *heading) {
    const hu_task *task;
    const hu_model *model;
    hu_status st = heading->task ? hu_task_find(heading->task, &task) : HU_OK;
    if (st != HU_OK)
        return hu_fail_within(st, "%s: ", hu_keys_origin(hu_network_child(file, "task")));
    st = heading->recipe ? hu_model_find(heading->recipe, &model) : HU_OK;
    if (st == HU_OK) return st;
    return hu_fail_within(st, "%s: recipe: ", hu_keys_origin(hu_network_child(file, "recipe")));
}

hu_status hu_network_read_heading(const hu_keys *file, hu_network_heading *heading) {
    static const char *const keys[] = {VERSION_KEY, "name",    "task",   "recipe", "inputs",
                                       "sizes",     "valid",   "blocks", "nodes",  "head",
                                       "losses",    "compare", "weights"};
    hu_status st;
    const hu_keys *version = hu_network_child(file, VERSION_KEY);
    *heading = (hu_network_heading){.name = ""};
    if (!version)
        return hu_fail(HU_ERR_PARSE,
                       "%s: found no key " VERSION_KEY ", expected " VERSION_KEY ": 1",
                       hu_keys_origin(file));
    HU_TRY(hu_network_expect(version, HU_KEYS_TEXT, "1"));
    if (strcmp(hu_keys_value(version), "1") != 0)
        return hu_fail(HU_ERR_VERSION, "%s: found version '%.40s' of network files, expected 1",
                       hu_keys_origin(version), hu_keys_value(version));
    HU_TRY(hu_network_check_keys(file, "key", keys, sizeof keys / sizeof *keys));
    HU_TRY(text_of(file, "name", &heading->name));
    HU_TRY(text_of(file, "task", &heading->task));
    HU_TRY(text_of(file, "recipe", &heading->recipe));
    HU_TRY(text_of(file, "weights", &heading->weights));
    if (!heading->name) heading->name = "";
    st = check_named(file, heading);
done:
    return st;
}

static hu_status unknown_input(const hu_network_reader *r, const hu_keys *key) {
    const char *names[HU_TASK_FIELDS_MAX];
    char what[128];
    size_t count = 0;
    for (uint32_t i = 0; i < r->graph->loaded_count && count < HU_TASK_FIELDS_MAX; i++)
        names[count++] = r->graph->value[r->graph->loaded[i]].name;
    snprintf(what, sizeof what, "input (of the task %s)", r->words.options->choice->task->name);
    return hu_network_unknown(hu_keys_origin(key), what, hu_keys_name(key), names, count);
}

/* "[32, 32, 3]" */
static hu_status check_extents(const hu_value_info *value, const hu_keys *list) {
    enum { SHAPE_BYTES = 128 };
    char found[SHAPE_BYTES], expected[SHAPE_BYTES];
    hu_shape shape = {.rank = 0};
    if (hu_keys_count(list) > HU_MAX_RANK)
        return hu_fail(HU_ERR_SHAPE, "%s: input '%s': found %zu extents, expected at most %d",
                       hu_keys_origin(list), value->name, hu_keys_count(list), HU_MAX_RANK);
    for (size_t i = 0; i < hu_keys_count(list); i++, shape.rank++) {
        hu_status st = hu_keys_as_i64(hu_keys_at(list, i), &shape.extent[i]);
        if (st != HU_OK) return st;
    }
    if (hu_shape_equal(&shape, &value->shape)) return HU_OK;
    hu_shape_print(&shape, found, sizeof found);
    hu_shape_print(&value->shape, expected, sizeof expected);
    return hu_fail(HU_ERR_SHAPE, "%s: input '%s': the network takes %s, the data has %s",
                   hu_keys_origin(list), value->name, found, expected);
}

static hu_status read_input(hu_network_reader *r, const hu_keys *key) {
    hu_value_id id = hu_graph_find(r->graph, hu_keys_name(key));
    if (id == HU_NONE) return unknown_input(r, key);
    const hu_value_info *value = &r->graph->value[id];
    if (hu_keys_kind_of(key) == HU_KEYS_LIST) return check_extents(value, key);
    hu_status st =
        hu_network_expect(key, HU_KEYS_TEXT, "image, rows, ids, target or extents [32, 32, 3]");
    if (st != HU_OK) return st;
    const char *said = hu_keys_value(key);
    bool is_any = value->role == HU_VALUE_INPUT && strcmp(said, "rows") == 0;
    if (is_any || strcmp(said, hu_network_input_kind(value)) == 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: input '%s': found '%.40s', expected %s: so is the data",
                   hu_keys_origin(key), value->name, said, hu_network_input_kind(value));
}

static hu_status read_inputs(hu_network_reader *r) {
    const hu_keys *inputs = hu_network_child(r->file, "inputs");
    hu_status st = HU_OK;
    if (!inputs)
        return hu_fail(HU_ERR_PARSE,
                       "%s: found no key inputs, expected one as inputs: {input: image}",
                       hu_keys_origin(r->file));
    HU_TRY(hu_network_expect(inputs, HU_KEYS_MAP, "a map as {input: image}"));
    for (size_t i = 0; i < hu_keys_count(inputs); i++) HU_TRY(read_input(r, hu_keys_at(inputs, i)));
done:
    return st;
}

/* "layers: 4": what model.layers chooses in its place. */
static hu_status read_size(hu_network_reader *r, const hu_keys *key) {
    hu_network_words *words = &r->words;
    const hu_model_options *options = words->options;
    int s = 0;
    while (s < HU_SIZES && strcmp(hu_size_keys[s], hu_keys_name(key)) != 0) s++;
    if (s == HU_SIZES)
        return hu_network_unknown(hu_keys_origin(key), "size", hu_keys_name(key), hu_size_keys,
                                  HU_SIZES);
    words->size[words->sizes].key = (hu_size)s;
    if (options->read_sizes) *options->read_sizes |= 1u << s;
    hu_status st = hu_keys_as_i64(key, &words->size[words->sizes].number);
    if (options->sizes.chosen[s]) words->size[words->sizes].number = options->sizes.chosen[s];
    words->sizes++;
    return st;
}

static hu_status read_sizes(hu_network_reader *r) {
    const hu_keys *sizes = hu_network_child(r->file, "sizes");
    hu_status st = HU_OK;
    if (!sizes) return HU_OK;
    HU_TRY(hu_network_expect(sizes, HU_KEYS_MAP, "a map as {layers: 4}"));
    for (size_t i = 0; i < hu_keys_count(sizes); i++) HU_TRY(read_size(r, hu_keys_at(sizes, i)));
done:
    return st;
}

/* "valid: {tokens: length}": how many rows of a loaded value a sample has. */
static hu_status read_valid(hu_network_reader *r, const hu_network_scope *scope) {
    const hu_keys *valid = hu_network_child(r->file, "valid");
    hu_status st = HU_OK;
    hu_value_id value, lengths;
    if (!valid) return HU_OK;
    HU_TRY(hu_network_expect(valid, HU_KEYS_MAP, "a map as {tokens: length}"));
    for (size_t i = 0; i < hu_keys_count(valid); i++) {
        const hu_keys *key = hu_keys_at(valid, i);
        HU_TRY(hu_network_expect(key, HU_KEYS_TEXT, "the name of a value"));
        HU_TRY(hu_network_value(&r->words, scope, hu_keys_name(key), hu_keys_origin(key), &value));
        HU_TRY(
            hu_network_value(&r->words, scope, hu_keys_value(key), hu_keys_origin(key), &lengths));
        st = hu_graph_end_rows(r->graph, value, lengths);
        if (st != HU_OK) return hu_fail_within(st, "%s: ", hu_keys_origin(key));
    }
done:
    return st;
}

/* ---- What is learned ---- */

hu_status hu_network_named(const hu_network_reader *r, const hu_network_scope *scope,
                           const hu_keys *node, hu_value_id *value) {
    hu_status st = hu_network_expect(node, HU_KEYS_TEXT, "the name of a value");
    if (st != HU_OK) return st;
    return hu_network_value(&r->words, scope, hu_keys_value(node), hu_keys_origin(node), value);
}

/* One word of a few. */
static hu_status choose(const hu_keys *map, const char *key, const char *const *names, size_t count,
                        size_t *chosen) {
    const char *text;
    hu_status st = text_of(map, key, &text);
    *chosen = 0;
    if (st != HU_OK || !text) return st;
    for (size_t i = 0; i < count; i++, (*chosen)++)
        if (strcmp(names[i], text) == 0) return HU_OK;
    return hu_network_unknown(hu_keys_origin(hu_network_child(map, key)), key, text, names, count);
}

/* {value: NAME, weight: 0.3, per: sample, when: always} or {phase: NAME} */
static hu_status read_loss(hu_network_reader *r, const hu_network_scope *scope,
                           const hu_keys *item) {
    static const char *const keys[] = {"value", "weight", "per", "when", "phase"};
    static const char *const per[] = {"sample", "row"};
    static const char *const when[] = {"always", "training", "evaluation"};
    const hu_keys *phase = hu_network_child(item, "phase"),
                  *value = hu_network_child(item, "value");
    hu_status st = HU_OK;
    hu_value_id loss;
    double weight = 1.0;
    size_t normaliser, pass;
    HU_TRY(hu_network_expect(item, HU_KEYS_MAP, "a map as {value: NAME, weight: 1}"));
    HU_TRY(hu_network_check_keys(item, "key", keys, sizeof keys / sizeof *keys));
    if (phase && hu_keys_count(item) > 1)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "%s: losses: found phase beside other keys, expected it "
                       "alone, before its losses",
                       hu_keys_origin(item)));
    if (phase) {
        HU_TRY(hu_network_expect(phase, HU_KEYS_TEXT, "the name of a phase"));
        st = hu_graph_phase(r->graph, hu_keys_value(phase));
    } else if (value) {
        HU_TRY(hu_network_named(r, scope, value, &loss));
        if (hu_network_child(item, "weight"))
            HU_TRY(hu_keys_as_f64(hu_network_child(item, "weight"), &weight));
        HU_TRY(choose(item, "per", per, 2, &normaliser));
        HU_TRY(choose(item, "when", when, 3, &pass));
        st = hu_graph_loss_when(r->graph, loss, (float)weight, (hu_normaliser)normaliser,
                                (hu_loss_when)pass);
    } else {
        st = hu_fail(HU_ERR_PARSE, "found neither value nor phase");
    }
    if (st != HU_OK) st = hu_fail_within(st, "%s: losses: ", hu_keys_origin(item));
done:
    return st;
}

/* "compare: [made, wanted]" */
static hu_status read_compare(hu_network_reader *r, const hu_network_scope *scope) {
    const hu_keys *compare = hu_network_child(r->file, "compare");
    hu_value_id value[2];
    if (!compare) return HU_OK;
    if (hu_keys_kind_of(compare) != HU_KEYS_LIST || hu_keys_count(compare) != 2)
        return hu_fail(HU_ERR_PARSE, "%s: compare: expected two values as [made, wanted]",
                       hu_keys_origin(compare));
    for (size_t i = 0; i < 2; i++) {
        hu_status st = hu_network_named(r, scope, hu_keys_at(compare, i), &value[i]);
        if (st != HU_OK) return st;
    }
    hu_graph_answer(r->graph, value[0], value[1]);
    return HU_OK;
}

/* A head, to which the task adds its loss, or losses that are nodes of the file. */
static hu_status read_learned(hu_network_reader *r, const hu_network_scope *scope) {
    const hu_keys *head = hu_network_child(r->file, "head"),
                  *losses = hu_network_child(r->file, "losses");
    hu_status st = HU_OK;
    hu_value_id value;
    if (!head == !losses)
        return hu_fail(HU_ERR_PARSE, "%s: found %s, expected one: head: NAME, or losses: [...]",
                       hu_keys_origin(head ? head : r->file),
                       head ? "head and losses" : "neither head nor losses");
    if (head && hu_network_child(r->file, "compare"))
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found compare beside head, whose task says what is compared",
                       hu_keys_origin(hu_network_child(r->file, "compare")));
    if (head) {
        HU_TRY(hu_network_named(r, scope, head, &value));
        st = hu_task_close(r->words.options->choice, r->graph, r->field, value);
        if (st != HU_OK) st = hu_fail_within(st, "%s: head: ", hu_keys_origin(head));
        goto done;
    }
    HU_TRY(hu_network_expect(losses, HU_KEYS_LIST, "a list of losses"));
    if (hu_keys_count(losses) == 0)
        HU_TRY(hu_fail(HU_ERR_PARSE, "%s: losses: found none", hu_keys_origin(losses)));
    for (size_t i = 0; i < hu_keys_count(losses); i++)
        HU_TRY(read_loss(r, scope, hu_keys_at(losses, i)));
    HU_TRY(read_compare(r, scope));
done:
    return st;
}

hu_status hu_network_declare(const hu_model_options *options, const hu_keys *file,
                             hu_graph *graph) {
    hu_status st = HU_OK;
    hu_network_heading heading;
    hu_network_scope *scope = NULL;
    hu_network_reader r = {.words = {.options = options, .file = file, .graph = graph},
                           .file = file,
                           .blocks = hu_network_child(file, "blocks"),
                           .graph = graph};
    const hu_keys *nodes = hu_network_child(file, "nodes");
    HU_TRY(hu_network_read_heading(file, &heading));
    if (r.blocks) HU_TRY(hu_network_expect(r.blocks, HU_KEYS_MAP, "a map of blocks by name"));
    if (r.blocks) HU_TRY(hu_network_check_blocks(r.blocks));
    if (!nodes)
        return hu_fail(HU_ERR_PARSE, "%s: found no key nodes, expected a list",
                       hu_keys_origin(file));
    HU_TRY(HU_NEW(&scope));
    scope->prefix = "";
    HU_TRY(hu_task_declare(options->choice, graph, r.field));
    HU_TRY(read_inputs(&r));
    HU_TRY(read_sizes(&r));
    HU_TRY(read_valid(&r, scope));
    HU_TRY(hu_network_declare_nodes(&r, scope, nodes));
    HU_TRY(read_learned(&r, scope));
done:
    hu_network_names_free(&r.words.names);
    for (size_t i = 0; i < r.pendings; i++) {
        hu_free(r.pending[i].next);
        hu_free(r.pending[i].prefix);
    }
    hu_free(r.pending);
    hu_free(scope);
    return st;
}

hu_status hu_network_fail_within(const hu_keys *file, hu_status st) {
    const char *origin = hu_keys_origin(file), *end = strrchr(origin, ':');
    /* "PATH:line:column" of the root */
    while (end && end > origin && *--end != ':') {
    }
    int length = end ? (int)(end - origin) : 0;
    if (length == 0 || strncmp(hu_last_error(), origin, (size_t)length) == 0) return st;
    return hu_fail_within(st, "%.*s: ", length, origin);
}

const char *hu_network_unused(const hu_graph *graph) {
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        bool is_used = node->loss >= 0;
        for (int i = 0; i < node->n_out; i++)
            is_used |= graph->value[node->out[i]].use_count > 0 ||
                       graph->value[node->out[i]].tells_ends || node->out[i] == graph->made ||
                       node->out[i] == graph->wanted;
        if (!is_used) return node->name;
    }
    return NULL;
}
