#include "train/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/precision.h"
#include "precision/rules.h"
#include "tensor/quantizer.h"
#include "train/trainer.h"

/* ---- What travels between workers, as users write it ---- */

/* Characters of a phase: up to the comma after which the next one begins; other commas belong to
 * its format, "fp(4,3,7)". */
static size_t phase_length(const char *text) {
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] == ',' && hu_precision_is_list(text + length + 1)) break;
    return length;
}

/* One format, text[length] with spaces around it. */
static hu_status read_format(const char *text, size_t length, hu_format *format) {
    char name[HU_QUANTIZER_BYTES];
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    if (length >= sizeof name)
        return hu_fail(HU_ERR_PARSE, "comm.format: found %zu characters, expected a number format",
                       length);
    memcpy(name, text, length);
    name[length] = '\0';
    return hu_plain_format_parse(name, format);
}

/* "30: e4m3" with text[length]. */
static hu_status read_phase(const char *text, size_t length, const hu_wire_phase *before,
                            hu_wire_phase *phase) {
    char *end;
    phase->epoch = strtoll(text, &end, 10);
    size_t skip = (size_t)(end - text) + strspn(end, " ") + 1; /* and the colon */
    if (!before && phase->epoch != 0)
        return hu_fail(HU_ERR_ARGUMENT, "comm.format: found epoch %lld first, expected 0",
                       (long long)phase->epoch);
    if (before && phase->epoch <= before->epoch)
        return hu_fail(HU_ERR_ARGUMENT,
                       "comm.format: found epoch %lld behind epoch %lld, expected a later one",
                       (long long)phase->epoch, (long long)before->epoch);
    return read_format(text + skip, length - skip, &phase->format);
}

hu_status hu_wire_formats_parse(const char *text, hu_wire_phase **phase, int32_t *phases) {
    hu_status st = HU_OK;
    size_t capacity = 0;
    *phase = NULL;
    *phases = 0;
    bool is_list = hu_precision_is_list(text);
    for (const char *at = text; at == text || *at; at += *at == ',') {
        HU_TRY(hu_grow(phase, (size_t)*phases, &capacity, sizeof **phase));
        hu_wire_phase *one = &(*phase)[*phases];
        const hu_wire_phase *before = *phases > 0 ? one - 1 : NULL;
        at += is_list ? strspn(at, " ") : 0;
        size_t length = is_list ? phase_length(at) : strlen(at);
        st = is_list ? read_phase(at, length, before, one) : read_format(at, length, &one->format);
        if (st != HU_OK) HU_TRY(hu_fail_within(st, "comm.format '%s': ", text));
        ++*phases;
        at += length;
    }
done:
    if (st != HU_OK) {
        hu_free(*phase);
        *phase = NULL;
    }
    return st;
}

hu_status hu_wire_formats_keep_range(const hu_train_comm *comm, bool *keeps) {
    hu_wire_phase *phase = NULL;
    int32_t phases = 0;
    hu_status st = HU_OK;
    *keeps = true;
    if (comm->options.workers == 0) return HU_OK;
    HU_TRY(hu_wire_formats_parse(comm->formats, &phase, &phases));
    for (int32_t p = 0; p < phases; p++) *keeps &= hu_format_keeps_range(&phase[p].format);
done:
    hu_free(phase);
    return st;
}

/* ---- The gradients of a graph as layers of a reduction ---- */

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
        size_t length = hu_list_word_at(&list, &end);
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
