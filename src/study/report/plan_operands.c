/* What products of a planned run multiply, where that is rounded for a product alone. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/edge.h"
#include "op/operand.h"
#include "report/plan.h"
#include "tensor/quantizer.h"

static const hu_operand_formats *operands_of(const hu_run *run, uint32_t node) {
    return &hu_run_edges(run)->products[node].operands;
}

static bool has_operands(const hu_run *run, uint32_t node) {
    return hu_run_graph(run)->node[node].op->rounds_operands;
}

json_t *hu_plan_operands_json(const hu_run *run, uint32_t node) {
    char text[HU_QUANTIZER_BYTES];
    if (!has_operands(run, node) || !hu_operands_round(operands_of(run, node))) return NULL;
    json_t *object = json_object();
    for (int o = 0; object && o < HU_OPERANDS; o++) {
        const hu_quantizer *q = &operands_of(run, node)->quantizer[o];
        if (!hu_quantizer_rounds(q)) continue;
        hu_quantizer_print(q, text, sizeof text);
        json_object_set_new(object, hu_operand_name((hu_operand_place)o), json_string(text));
    }
    return object;
}

/* What is not rounded has the format that it is stored in. */
static void print_operand(const hu_run *run, uint32_t node, int operand,
                          char text[HU_QUANTIZER_BYTES]) {
    const hu_quantizer *q = &operands_of(run, node)->quantizer[operand];
    if (hu_quantizer_rounds(q))
        hu_quantizer_print(q, text, HU_QUANTIZER_BYTES);
    else
        snprintf(text, HU_QUANTIZER_BYTES, "as stored");
}

/* Layers in the order in which they run that have one format for an operand. */
typedef struct alike {
    int64_t count;
    uint32_t first, last;
} alike;

static void count_alike(const hu_run *run, int operand, const char *format, alike *found) {
    char text[HU_QUANTIZER_BYTES];
    *found = (alike){0};
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        if (!has_operands(run, n)) continue;
        print_operand(run, n, operand, text);
        if (strcmp(text, format) != 0) continue;
        if (found->count++ == 0) found->first = n;
        found->last = n;
    }
}

static hu_status add_row(const hu_run *run, int operand, const char *format, const alike *found,
                         int64_t layers, hu_table *table) {
    hu_status st;
    char first[HU_NAME_BYTES], last[HU_NAME_BYTES];
    const hu_graph *graph = hu_run_graph(run);
    hu_graph_layer_name(graph, &graph->node[found->first], first);
    hu_graph_layer_name(graph, &graph->node[found->last], last);
    const char *between = found->count > 2 ? " .. " : ", ";
    HU_TRY(hu_table_cell(table, "%s", hu_operand_name((hu_operand_place)operand)));
    HU_TRY(hu_table_cell(table, "%s", format));
    HU_TRY(hu_table_cell(table, "%lld of %lld", (long long)found->count, (long long)layers));
    st = hu_table_cell(table, "%s%s%s", first, found->count > 1 ? between : "",
                       found->count > 1 ? last : "");
done:
    return st;
}

/* The formats of one operand, in the order of the layers that begin them. */
static hu_status add_operand(const hu_run *run, int operand, int64_t layers, hu_table *table) {
    hu_status st = HU_OK;
    char format[HU_QUANTIZER_BYTES];
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        alike found;
        if (!has_operands(run, n)) continue;
        print_operand(run, n, operand, format);
        count_alike(run, operand, format, &found);
        if (found.first != n) continue;
        HU_TRY(add_row(run, operand, format, &found, layers, table));
    }
done:
    return st;
}

hu_status hu_plan_operands_table(const hu_run *run, hu_table **table) {
    static const char *const titles[] = {"operand", "format", "layers", "which"};
    hu_status st = HU_OK;
    int64_t layers = 0;
    bool any = false;
    *table = NULL;
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        if (!has_operands(run, n)) continue;
        layers++;
        any = any || hu_operands_round(operands_of(run, n));
    }
    if (!any) return HU_OK;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (int o = 0; o < HU_OPERANDS; o++) HU_TRY(add_operand(run, o, layers, *table));
done:
    if (st != HU_OK) {
        hu_table_free(*table);
        *table = NULL;
    }
    return st;
}
