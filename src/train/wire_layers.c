#include "train/wire_layers.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"
#include "precision/role.h"

/* The backward pass makes the gradient of a parameter last at its first consumer. */
static uint32_t last_maker(const hu_graph *graph, hu_value_id v) {
    return graph->use[graph->value[v].uses[0]].node;
}

/* Whether two parameters are of one layer: weight and bias may belong to different nodes. */
static bool is_same_layer(const char *a, const char *b) {
    const char *dot = strrchr(a, '.');
    if (!dot) return strcmp(a, b) == 0;
    size_t length = (size_t)(dot - a);
    return strncmp(a, b, length + 1) == 0 && !strchr(b + length + 1, '.');
}

/* Puts a parameter among those that stand in the order in which their gradients are made. */
static void insert(const hu_graph *graph, hu_value_id v, hu_value_id *param, int32_t count) {
    int32_t at = count;
    for (; at > 0 && last_maker(graph, param[at - 1]) < last_maker(graph, v); at--)
        param[at] = param[at - 1];
    param[at] = v;
}

int32_t hu_wire_layer_count(const hu_graph *graph) {
    int32_t count = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        count += graph->value[v].role == HU_VALUE_PARAMETER;
    return count;
}

/* An entry that names nothing is a mistake: what it meant would be rounded without a word. */
static hu_status unknown(const char *entry, const hu_comm_layer *layer, int32_t layers) {
    char nearest[HU_NAME_BYTES * 4];
    const char **names = NULL;
    hu_status st = HU_NEW_ARRAY(&names, (size_t)layers + 1);
    if (st != HU_OK) return st;
    names[layers] = "last";
    for (int32_t l = 0; l < layers; l++) names[l] = layer[l].name;
    hu_nearest(entry, names, (size_t)layers + 1, nearest, sizeof nearest);
    st = hu_fail(HU_ERR_UNKNOWN,
                 "key 'comm.exact': found '%.100s', expected 'last' or a pattern that matches a "
                 "parameter; nearest: %s",
                 entry, nearest);
    hu_free(names);
    return st;
}

/* One entry: a glob, or "last". Layer 0 is the last one of the network. */
static hu_status keep_exact(const char *entry, hu_comm_layer *layer, int32_t layers) {
    bool found = false, is_last = strcmp(entry, "last") == 0;
    for (int32_t l = 0; l < layers; l++) {
        bool is_named = hu_glob_match(entry, layer[l].name) ||
                        (is_last && is_same_layer(layer[0].name, layer[l].name));
        layer[l].exact = layer[l].exact || is_named;
        found = found || is_named;
    }
    return found ? HU_OK : unknown(entry, layer, layers);
}

static hu_status read_exact(const char *list, hu_comm_layer *layer, int32_t layers) {
    hu_status st = HU_OK;
    while (*list && st == HU_OK) {
        char entry[HU_NAME_BYTES];
        const char *end;
        size_t length = hu_word_at(&list, &end);
        /* Too long a word is no name: its beginning names nothing either. */
        snprintf(entry, sizeof entry, "%.*s", (int)length, list);
        if (length > 0) st = keep_exact(entry, layer, layers);
        list = end + (*end == ',');
    }
    return st;
}

hu_status hu_wire_layers(const hu_graph *graph, const char *exact, hu_value_id *param,
                         hu_comm_layer *layer, int32_t *layers) {
    int64_t offset = 0;
    *layers = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER) insert(graph, v, param, (*layers)++);
    for (int32_t l = 0; l < *layers; l++) {
        const hu_value_info *value = &graph->value[param[l]];
        layer[l] =
            (hu_comm_layer){.name = value->name, .offset = offset, .elements = value->elements};
        offset += value->elements;
    }
    return read_exact(exact, layer, *layers);
}
