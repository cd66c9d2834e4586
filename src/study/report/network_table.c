#include "base/error.h"
#include "model/network_fold.h"
#include "planner/planner.h"
#include "report/internal.h"
#include "report/plan.h"

/* Room for "32x32x64". */
enum { SHAPE_BYTES = 128 };

/* Bytes of all outputs of a node, and of its parameters as it reads them. */
static uint64_t output_bytes(const hu_run *run, const hu_node *node) {
    uint64_t bytes = 0;
    for (int o = 0; o < node->n_out; o++) bytes += hu_run_stored_bytes(run, node->out[o]);
    return bytes;
}

static uint64_t weight_bytes(const hu_run *run, const hu_node *node) {
    uint64_t bytes = 0;
    for (int p = 0; p < node->n_params; p++)
        if (hu_run_graph(run)->value[node->param[p]].role == HU_VALUE_PARAMETER)
            bytes += hu_run_stored_bytes(run, node->param[p]);
    return bytes;
}

uint64_t hu_network_weight_bytes(const hu_run *run) {
    const hu_graph *graph = hu_run_graph(run);
    uint64_t bytes = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER) bytes += hu_run_stored_bytes(run, v);
    return bytes;
}

/* ---- For people ---- */

static hu_status shape_cell(hu_table *table, const hu_shape *shape) {
    char text[SHAPE_BYTES] = "";
    if (shape) hu_shape_print(shape, text, sizeof text);
    return hu_table_cell(table, "%s", text);
}

/* What a task loads has neither parameters nor work. */
static hu_status add_input(hu_table *table, const hu_run *run, hu_value_id v) {
    hu_status st = HU_OK;
    const hu_value_info *value = &hu_run_graph(run)->value[v];
    char format[HU_QUANTIZER_BYTES];
    hu_quantizer_print(&hu_run_edges(run)->value[v].quantizer, format, sizeof format);
    bool is_saved = hu_run_value_saved(run, v) > 0;
    HU_TRY(hu_table_cell(table, "%s", value->name));
    HU_TRY(hu_table_cell(table, "%s", hu_network_input_kind(value)));
    HU_TRY(shape_cell(table, &value->shape));
    HU_TRY(hu_table_cell(table, "%s", ""));
    HU_TRY(hu_table_cell(table, "%s", ""));
    HU_TRY(hu_plan_format_cell(table, format));
    HU_TRY(hu_plan_number_cell(table, (int64_t)hu_run_stored_bytes(run, v)));
    HU_TRY(hu_table_cell(table, "%s", is_saved ? "saved" : "transient"));
    HU_TRY(hu_plan_number_cell(table, (int64_t)hu_run_value_saved(run, v)));
    HU_TRY(hu_table_cell(table, "%s", "-"));
    HU_TRY(hu_table_cell(table, "%s", ""));
done:
    return st;
}

static hu_status add_layer(hu_table *table, const hu_run *run, uint32_t index) {
    hu_status st = HU_OK;
    const hu_node *node = &hu_run_graph(run)->node[index];
    hu_plan_layer row = hu_plan_layer_of(run, index);
    HU_TRY(hu_table_cell(table, "%s", row.name));
    HU_TRY(hu_table_cell(table, "%s", row.op));
    HU_TRY(shape_cell(table, row.output));
    HU_TRY(hu_plan_number_cell(table, row.parameters));
    HU_TRY(hu_plan_number_cell(table, row.macs));
    HU_TRY(hu_plan_format_cell(table, row.activation));
    HU_TRY(hu_plan_number_cell(table, (int64_t)output_bytes(run, node)));
    HU_TRY(hu_table_cell(table, "%s", row.fate));
    HU_TRY(hu_plan_number_cell(table, (int64_t)hu_run_node_saved(run, index)));
    HU_TRY(hu_plan_format_cell(table, row.weight));
    HU_TRY(hu_plan_number_cell(table, (int64_t)weight_bytes(run, node)));
done:
    return st;
}

/* What is saved of all: in the turn in which most is. */
static hu_status add_total(hu_table *table, const hu_run *run) {
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "total"));
    HU_TRY(hu_table_cell(table, "%s", ""));
    HU_TRY(hu_table_cell(table, "%s", ""));
    HU_TRY(hu_plan_number_cell(table, hu_graph_parameters(hu_run_graph(run))));
    HU_TRY(hu_plan_number_cell(table, hu_graph_macs(hu_run_graph(run))));
    for (int i = 0; i < 3; i++) HU_TRY(hu_table_cell(table, "%s", ""));
    HU_TRY(hu_plan_number_cell(table, (int64_t)hu_ledger_of(run, 0, 0).saved));
    HU_TRY(hu_table_cell(table, "%s", ""));
    HU_TRY(hu_plan_number_cell(table, (int64_t)hu_network_weight_bytes(run)));
done:
    return st;
}

hu_status hu_network_table(const hu_run *run, hu_table **table) {
    static const char *const titles[] = {"layer", "kind",       "output",      "parameters",
                                         "MACs",  "activation", "bytes",       "output is",
                                         "saved", "weight",     "weight bytes"};
    hu_status st = HU_OK;
    const hu_graph *graph = hu_run_graph(run);
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (uint32_t i = 0; i < graph->loaded_count; i++)
        HU_TRY(add_input(*table, run, graph->loaded[i]));
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (hu_plan_is_row(&graph->node[n])) HU_TRY(add_layer(*table, run, n));
    HU_TRY(add_total(*table, run));
done:
    if (st != HU_OK) {
        hu_table_free(*table);
        *table = NULL;
    }
    return st;
}

/* ---- As JSON ---- */

static void set_bytes(json_t *row, const char *key, uint64_t bytes) {
    if (row) json_object_set_new(row, key, json_integer((json_int_t)bytes));
}

json_t *hu_network_layers_json(const hu_run *run) {
    const hu_graph *graph = hu_run_graph(run);
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < graph->node_count; n++) {
        if (!hu_plan_is_row(&graph->node[n])) continue;
        json_t *row = hu_plan_layer_json(run, n);
        set_bytes(row, "output_bytes", output_bytes(run, &graph->node[n]));
        set_bytes(row, "weight_bytes", weight_bytes(run, &graph->node[n]));
        set_bytes(row, "saved_bytes", hu_run_node_saved(run, n));
        json_array_append_new(list, row);
    }
    return list;
}

json_t *hu_network_inputs_json(const hu_run *run) {
    const hu_graph *graph = hu_run_graph(run);
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < graph->loaded_count; i++) {
        hu_value_id v = graph->loaded[i];
        const hu_value_info *value = &graph->value[v];
        json_t *row =
            json_pack("{s:s, s:s, s:o}", "name", value->name, "kind", hu_network_input_kind(value),
                      "output", hu_plan_shape_json(&value->shape));
        set_bytes(row, "output_bytes", hu_run_stored_bytes(run, v));
        set_bytes(row, "saved_bytes", hu_run_value_saved(run, v));
        json_array_append_new(list, row);
    }
    return list;
}
