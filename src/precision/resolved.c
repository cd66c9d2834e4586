/* Reading the tensors of a resolved plan, and writing them into the edge table. */
#include "precision/resolved.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/nearest.h"

/* ---- text ---- */

/* Each use has its own entry once there is more than one. */
static hu_status add_grad(hu_precision_tensor *tensor, const hu_quantizer *quantizer) {
    void *array = tensor->grad;
    hu_status st = hu_realloc(&array, (tensor->grad_count + 1) * sizeof *tensor->grad);
    if (st != HU_OK) return st;
    tensor->grad = array;
    tensor->grad[tensor->grad_count++] = *quantizer;
    return HU_OK;
}

/* "value F", "grad F" or "sum F". */
static hu_status read_part(const char *part, hu_precision_tensor *tensor) {
    hu_quantizer quantizer;
    size_t word = strcspn(part, " ");
    const char *format = part + word + strspn(part + word, " ");
    bool is_value = word == 5 && memcmp(part, "value", word) == 0;
    bool is_grad = word == 4 && memcmp(part, "grad", word) == 0;
    bool is_sum = word == 3 && memcmp(part, "sum", word) == 0;
    if (!is_value && !is_grad && !is_sum)
        return hu_fail(HU_ERR_PARSE, "found '%.40s', expected 'value F', 'grad F' or 'sum F'",
                       part);
    hu_quantizer *target = is_sum ? &tensor->sum : &tensor->value;
    if (!is_grad && hu_quantizer_rounds(target))
        return hu_fail(HU_ERR_PARSE, "found '%.40s' a second time", part);
    hu_status st = hu_quantizer_parse(format, HU_ROUND_NEAREST_EVEN, &quantizer);
    if (st != HU_OK) return st;
    if (is_grad) return add_grad(tensor, &quantizer);
    *target = quantizer;
    return HU_OK;
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
    hu_free(tensor->grad);
}

hu_status hu_precision_add_tensor(hu_precision *precision, const char *text) {
    hu_status st = HU_OK;
    hu_precision_tensor tensor = {0};
    void *array = precision->tensors;
    const char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return hu_fail(HU_ERR_PARSE, "tensor '%.60s': expected 'NAME: value F; grad F; sum F'",
                       text);
    HU_TRY(hu_strndup(text, (size_t)(colon - text), &tensor.name));
    st = read_parts(colon + 1, &tensor);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "tensor '%.60s': ", tensor.name));
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
static hu_status add_misfit(const hu_graph *graph, const char *name, misfits *list) {
    char nearest[256];
    void *block;
    size_t count = 0, used = strlen(list->text);
    if (list->count++ >= SHOWN) return HU_OK;
    hu_status st = hu_alloc_array(graph->value_count, sizeof(char *), &block);
    if (st != HU_OK) return st;
    const char **names = block;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (may_round(graph, v)) names[count++] = graph->value[v].name;
    hu_nearest(name, names, count, nearest, sizeof nearest);
    hu_free(block);
    snprintf(list->text + used, sizeof list->text - used, "%s'%.60s' (nearest: %s)",
             used ? ", " : "", name, nearest);
    return HU_OK;
}

/* A gradient text that stands alone is that of all uses. */
static hu_status apply_tensor(const hu_precision_tensor *tensor, const hu_graph *graph,
                              hu_value_id v, hu_edge_table *edges) {
    const hu_value_info *value = &graph->value[v];
    if (tensor->grad_count > 1 && tensor->grad_count != value->use_count)
        return hu_fail(HU_ERR_ARGUMENT,
                       "tensor '%s': found %u gradients, expected one or one for each of its %u "
                       "uses",
                       tensor->name, tensor->grad_count, value->use_count);
    edges->value[v].quantizer = tensor->value;
    edges->grad_sum[v].quantizer = tensor->sum;
    for (uint32_t k = 0; tensor->grad_count > 0 && k < value->use_count; k++)
        edges->grad[value->uses[k]].quantizer = tensor->grad[tensor->grad_count > 1 ? k : 0];
    return HU_OK;
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
            HU_TRY(add_misfit(graph, tensor->name, &list));
    }
    if (precision->low_bits > 0) edges->low_bits = precision->low_bits;
    if (list.count == 0) return HU_OK;
    return hu_fail(
        HU_ERR_UNKNOWN, "the plan is of another model: found %u of its %u tensors nowhere: %s%s",
        list.count, precision->tensor_count, list.text, list.count > SHOWN ? ", ..." : "");
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
