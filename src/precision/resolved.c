/* Reading the tensors of a resolved plan, and writing them into the edge table. */
#include "precision/resolved.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- text ---- */

const char *const hu_part_names[HU_PARTS] = {"value", "use", "grad", "sum", "weights"};

bool hu_part_is_per_use(hu_tensor_part part) {
    return part == HU_PART_USE || part == HU_PART_GRAD;
}

/* Each use has its own entry once there is more than one. */
static hu_status add_format(hu_part_formats *formats, const hu_quantizer *quantizer) {
    void *array = formats->list;
    hu_status st = hu_realloc(&array, (formats->count + 1) * sizeof *formats->list);
    if (st != HU_OK) return st;
    formats->list = array;
    formats->list[formats->count++] = *quantizer;
    return HU_OK;
}

/* "value F", "use F", "grad F", "sum F" or "weights F". */
static hu_status read_part(const char *text, hu_precision_tensor *tensor) {
    hu_quantizer quantizer;
    size_t word = strcspn(text, " ");
    const char *format = text + word + strspn(text + word, " ");
    int part = 0;
    for (; part < HU_PARTS; part++)
        if (strlen(hu_part_names[part]) == word && memcmp(text, hu_part_names[part], word) == 0)
            break;
    if (part == HU_PARTS)
        return hu_fail(HU_ERR_PARSE,
                       "found '%.40s', expected value, use, grad, sum or weights and a format",
                       text);
    if (!hu_part_is_per_use((hu_tensor_part)part) && tensor->part[part].count > 0)
        return hu_fail(HU_ERR_PARSE, "found '%.40s' a second time", text);
    hu_status st = hu_quantizer_parse(format, HU_ROUND_NEAREST_EVEN, &quantizer);
    return st == HU_OK ? add_format(&tensor->part[part], &quantizer) : st;
}

/* All parts behind the colon, separated by semicolons. */
static hu_status read_parts(const char *text, hu_precision_tensor *tensor) {
    char part[2 * HU_QUANTIZER_BYTES];
    hu_status st = HU_OK;
    while (*text && st == HU_OK) {
        text += strspn(text, " ");
        size_t length = strcspn(text, ";");
        if (length >= sizeof part)
            return hu_fail(HU_ERR_PARSE, "found %zu characters, expected a format", length);
        memcpy(part, text, length);
        part[length] = '\0';
        st = read_part(part, tensor);
        text += length + (text[length] == ';');
    }
    return st;
}

static void free_tensor(hu_precision_tensor *tensor) {
    hu_free(tensor->name);
    hu_free(tensor->origin);
    for (int p = 0; p < HU_PARTS; p++) hu_free(tensor->part[p].list);
}

hu_status hu_precision_add_tensor(hu_precision *precision, const char *text, const char *origin) {
    hu_status st = HU_OK;
    hu_precision_tensor tensor = {0};
    void *array = precision->tensors;
    const char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return hu_fail(
            HU_ERR_PARSE,
            "%s: tensor '%.60s': expected 'NAME: value F; grad F', or use F, sum F or weights F",
            origin, text);
    HU_TRY(hu_strndup(text, (size_t)(colon - text), &tensor.name));
    st = read_parts(colon + 1, &tensor);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "%s: tensor '%.60s': ", origin, tensor.name));
    HU_TRY(hu_strdup(origin, &tensor.origin));
    HU_TRY(hu_realloc(&array, (precision->tensor_count + 1) * sizeof *precision->tensors));
    precision->tensors = array;
    precision->tensors[precision->tensor_count++] = tensor;
    return HU_OK;
done:
    free_tensor(&tensor);
    return st;
}

/* ---- into the table ---- */

enum { SHOWN = 3, LIST_BYTES = 1024 };

/* Names that the graph does not have: the first few in words. */
typedef struct misfits {
    uint32_t count;
    char text[LIST_BYTES];
} misfits;

/* Targets and running statistics have no rounding point. */
static bool may_round(const hu_graph *graph, hu_value_id v) {
    return v != HU_NONE && hu_is_rounded_kind(&graph->value[v]);
}

/* The first few in words, each with the nearest names; all are counted. */
static hu_status add_misfit(const hu_graph *graph, const hu_precision_tensor *tensor,
                            misfits *list) {
    char nearest[256];
    void *block;
    size_t count = 0, used = strlen(list->text);
    if (list->count++ >= SHOWN) return HU_OK;
    hu_status st = hu_alloc_array(graph->value_count, sizeof(char *), &block);
    if (st != HU_OK) return st;
    const char **names = block;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (may_round(graph, v)) names[count++] = graph->value[v].name;
    hu_nearest(tensor->name, names, count, nearest, sizeof nearest);
    hu_free(block);
    snprintf(list->text + used, sizeof list->text - used, "%s%s: '%.60s' (nearest: %s)",
             used ? ", " : "", tensor->origin, tensor->name, nearest);
    return HU_OK;
}

hu_edge *hu_part_edge(const hu_graph *graph, const hu_edge_table *edges, hu_value_id v,
                      hu_tensor_part part, uint32_t k) {
    if (part == HU_PART_VALUE) return &edges->value[v];
    if (part == HU_PART_SUM) return &edges->grad_sum[v];
    if (part == HU_PART_WEIGHTS) return &edges->grad_weights[v];
    hu_edge *of_use = part == HU_PART_USE ? edges->use : edges->grad;
    return &of_use[graph->value[v].uses[k]];
}

/* A format that stands alone is that of all uses. */
static hu_status apply_part(const hu_precision_tensor *tensor, const hu_graph *graph, hu_value_id v,
                            hu_tensor_part part, hu_edge_table *edges) {
    const hu_part_formats *formats = &tensor->part[part];
    uint32_t uses = hu_part_is_per_use(part) ? graph->value[v].use_count : 1;
    if (formats->count > 1 && formats->count != uses)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: tensor '%s', %s: found %u formats, expected one or one for each of its "
                       "%u uses",
                       tensor->origin, tensor->name, hu_part_names[part], formats->count, uses);
    for (uint32_t k = 0; formats->count > 0 && k < uses; k++)
        hu_part_edge(graph, edges, v, part, k)->quantizer =
            formats->list[formats->count > 1 ? k : 0];
    /* Only sums that are read apart have this part, be it in float32. */
    if (part == HU_PART_WEIGHTS && formats->count > 0)
        edges->has_apart = edges->grad_weights[v].is_apart = true;
    return HU_OK;
}

static hu_status apply_tensor(const hu_precision_tensor *tensor, const hu_graph *graph,
                              hu_value_id v, hu_edge_table *edges) {
    hu_status st = HU_OK;
    for (int p = 0; p < HU_PARTS && st == HU_OK; p++)
        st = apply_part(tensor, graph, v, (hu_tensor_part)p, edges);
    return st;
}

hu_status hu_resolved_apply(const hu_precision *precision, const hu_graph *graph,
                            hu_edge_table *edges) {
    hu_status st = HU_OK;
    misfits list = {0};
    for (uint32_t t = 0; t < precision->tensor_count; t++) {
        const hu_precision_tensor *tensor = &precision->tensors[t];
        hu_value_id v = hu_graph_find(graph, tensor->name);
        if (may_round(graph, v))
            HU_TRY(apply_tensor(tensor, graph, v, edges));
        else
            HU_TRY(add_misfit(graph, tensor, &list));
    }
    if (precision->low_bits[0] > 0)
        memcpy(edges->low_bits, precision->low_bits, sizeof edges->low_bits);
    if (list.count == 0) return HU_OK;
    /* One wrong name is a slip; where most are, the file is. */
    bool is_foreign = 2 * list.count > precision->tensor_count;
    return hu_fail(HU_ERR_UNKNOWN, "%s: found %u of its %u tensors nowhere: %s%s",
                   is_foreign ? "the plan is of another model" : "the plan does not fit the model",
                   list.count, precision->tensor_count, list.text,
                   list.count > SHOWN ? ", ..." : "");
done:
    return st;
}

uint64_t hu_resolved_names_hash(const hu_graph *graph) {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (hu_value_id v = 0; v < graph->value_count; v++)
        XXH64_update(&state, graph->value[v].name, strlen(graph->value[v].name) + 1);
    return XXH64_digest(&state);
}

hu_status hu_low_bits_parse(const char *text, uint32_t bits[HU_ROLE_COUNT]) {
    enum { MOST = 32 };
    int end = 0;
    unsigned b[HU_ROLE_COUNT];
    int count = sscanf(text, "%2u%n , %2u , %2u , %2u%n", &b[0], &end, &b[1], &b[2], &b[3], &end);
    bool is_known = (count == 1 || count == HU_ROLE_COUNT) && !text[end];
    for (int r = 0; r < HU_ROLE_COUNT && is_known; r++) {
        bits[r] = b[count == 1 ? 0 : r];
        is_known = bits[r] <= MOST;
    }
    if (is_known) return HU_OK;
    return hu_fail(
        HU_ERR_PARSE,
        "precision.low_bits: found '%.60s', expected a number of bits up to %d, or four: "
        "of act, act.grad, weight, weight.grad",
        text, MOST);
}
