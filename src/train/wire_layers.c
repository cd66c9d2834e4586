#include "train/wire_layers.h"

#include <stdio.h>
#include <string.h>

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

/* Whether a comma-separated list of globs, or "last", names the parameter. */
static bool is_exact(const char *list, const char *name, const char *last) {
    char glob[HU_NAME_BYTES];
    for (const char *at = list; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(glob, sizeof glob, "%.*s", (int)length, at);
        at += length;
        if (strcmp(glob, "last") == 0 && is_same_layer(last, name)) return true;
        if (hu_glob_match(glob, name)) return true;
    }
    return false;
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

int32_t hu_wire_layers(const hu_graph *graph, const char *exact, hu_value_id *param,
                       hu_comm_layer *layer) {
    int32_t count = 0;
    int64_t offset = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER) insert(graph, v, param, count++);
    const char *last = count > 0 ? graph->value[param[0]].name : "";
    for (int32_t l = 0; l < count; l++) {
        const hu_value_info *value = &graph->value[param[l]];
        layer[l] = (hu_comm_layer){.name = value->name,
                                   .offset = offset,
                                   .elements = value->elements,
                                   .exact = is_exact(exact, value->name, last)};
        offset += value->elements;
    }
    return count;
}
