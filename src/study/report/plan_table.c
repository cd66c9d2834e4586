#include "report/plan_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "planner/ledger.h"
#include "precision/edge_writer.h"

/* Room for "32x32x64" and for "saved 8 bit, waits". */
enum { SHAPE_BYTES = 128, FATE_BYTES = 64 };

/* One row. Formats: of the output, of the first parameter and of the gradients of both; "-" where
 * there is none. */
typedef struct layer {
    const char *name, *op;
    const hu_shape *output;
    int64_t parameters, macs;
    char activation[HU_QUANTIZER_BYTES], weight[HU_QUANTIZER_BYTES];
    char gradient[HU_QUANTIZER_BYTES], weight_gradient[HU_QUANTIZER_BYTES];
    char fate[FATE_BYTES];
} layer;

/* Views compute nothing and hold nothing. */
static bool is_row(const hu_node *node) {
    return !node->op->is_view;
}

/* Numbers of the parameters; formats of the first that is trained. */
static void describe_parameters(const hu_run *run, const hu_node *node, layer *row) {
    strcpy(row->weight, "-");
    strcpy(row->weight_gradient, "-");
    for (int p = 0; p < node->n_params; p++) {
        hu_value_id v = node->param[p];
        const hu_value_info *value = &hu_run_graph(run)->value[v];
        if (value->role != HU_VALUE_PARAMETER) continue;
        row->parameters += value->elements;
        if (row->weight[0] != '-') continue;
        hu_quantizer_print(&hu_run_edges(run)->value[v].quantizer, row->weight, HU_QUANTIZER_BYTES);
        hu_quantizer_print(hu_precision_gradient(hu_run_graph(run), hu_run_edges(run), v),
                           row->weight_gradient, HU_QUANTIZER_BYTES);
    }
}

/* "saved 8 bit, waits": what becomes of the output. */
static void print_fate(const hu_run *run, hu_value_id out, char text[FATE_BYTES]) {
    hu_output_placement fate = hu_run_placement(run, out);
    bool is_saved = fate == HU_OUTPUT_SAVED;
    snprintf(text, FATE_BYTES, "%s%s%s%s", hu_placement_name(fate), is_saved ? " " : "",
             is_saved ? hu_run_storage_name(run, out) : "",
             hu_run_needs_maximum_first(run, out) ? ", waits" : "");
}

/* The row of node `index`: what the plan says of its first output. */
static layer describe(const hu_run *run, uint32_t index) {
    const hu_node *node = &hu_run_graph(run)->node[index];
    hu_value_id out = node->out[0];
    layer row = {.name = node->name,
                 .op = node->op->name,
                 .output = &hu_run_graph(run)->value[out].shape,
                 .macs = hu_node_macs(hu_run_graph(run), node)};
    describe_parameters(run, node, &row);
    hu_quantizer_print(&hu_run_edges(run)->value[out].quantizer, row.activation,
                       HU_QUANTIZER_BYTES);
    hu_quantizer_print(hu_precision_gradient(hu_run_graph(run), hu_run_edges(run), out),
                       row.gradient, HU_QUANTIZER_BYTES);
    print_fate(run, out, row.fate);
    return row;
}

/* Null for "-". */
static json_t *format_json(const char *text) {
    return strcmp(text, "-") == 0 ? json_null() : json_string(text);
}

/* Extents of one sample. */
static json_t *shape_json(const hu_shape *shape) {
    json_t *list = json_array();
    for (int i = 0; list && i < shape->rank; i++)
        json_array_append_new(list, json_integer((json_int_t)shape->extent[i]));
    return list;
}

/* The row of --json, with who computes each pass. */
static json_t *layer_json(const hu_run *run, uint32_t index) {
    layer row = describe(run, index);
    hu_value_id out = hu_run_graph(run)->node[index].out[0];
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:s, s:s, s:o, s:o, s:s, s:s, s:b, s:b, s:s, s:s}", "name",
        row.name, "op", row.op, "output", shape_json(row.output), "parameters",
        (json_int_t)row.parameters, "macs", (json_int_t)row.macs, "activation", row.activation,
        "gradient", row.gradient, "weight", format_json(row.weight), "weight_gradient",
        format_json(row.weight_gradient), "output_is",
        hu_placement_name(hu_run_placement(run, out)), "output_storage",
        hu_run_storage_name(run, out), "waits_for_maximum", hu_run_needs_maximum_first(run, out),
        "gradient_waits_for_maximum", hu_run_gradient_needs_maximum_first(run, out), "forward_by",
        hu_run_impl(run, index, HU_FORWARD), "backward_by", hu_run_impl(run, index, HU_BACKWARD));
}

json_t *hu_plan_layers_json(const hu_run *run) {
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < hu_run_graph(run)->node_count; n++)
        if (is_row(&hu_run_graph(run)->node[n])) json_array_append_new(list, layer_json(run, n));
    return list;
}

/* A format's name up to its first parameter, with a star if there are any. */
static hu_status format_cell(hu_table *table, const char *format) {
    int length = (int)strcspn(format, ":");
    return hu_table_cell(table, "%.*s%s", length, format, format[length] ? "*" : "");
}

/* Zeros are left out, so that the eye finds what counts. */
static hu_status number_cell(hu_table *table, int64_t number) {
    char text[HU_GROUPED_BYTES];
    return hu_table_cell(table, "%s", number ? hu_grouped(number, text) : "");
}

/* The row of the table. */
static hu_status add_row(hu_table *table, const layer *row) {
    hu_status st = HU_OK;
    char shape[SHAPE_BYTES] = "";
    if (row->output) hu_shape_print(row->output, shape, sizeof shape);
    HU_TRY(hu_table_cell(table, "%s", row->name));
    HU_TRY(hu_table_cell(table, "%s", row->op));
    HU_TRY(hu_table_cell(table, "%s", shape));
    HU_TRY(number_cell(table, row->parameters));
    HU_TRY(number_cell(table, row->macs));
    HU_TRY(format_cell(table, row->activation));
    HU_TRY(format_cell(table, row->gradient));
    HU_TRY(format_cell(table, row->weight));
    HU_TRY(format_cell(table, row->weight_gradient));
    HU_TRY(hu_table_cell(table, "%s", row->fate));
done:
    return st;
}

/* The sum over one application of a network that has turns of its own. */
static hu_status add_network(hu_table *table, const hu_graph *graph, int phase) {
    char name[2 * HU_TURN_BYTES];
    snprintf(name, sizeof name, "%s, once", graph->phase[phase].name);
    layer row = {.name = name,
                 .op = "",
                 .parameters = hu_graph_phase_parameters(graph, phase),
                 .macs = hu_graph_phase_macs(graph, phase)};
    return add_row(table, &row);
}

json_t *hu_plan_networks_json(const hu_graph *graph) {
    json_t *list = graph->phase_count > 0 ? json_array() : NULL;
    for (int t = 0; list && t < graph->phase_count; t++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", graph->phase[t].name,
                                              "parameters",
                                              (json_int_t)hu_graph_phase_parameters(graph, t),
                                              "macs", (json_int_t)hu_graph_phase_macs(graph, t)));
    return list;
}

hu_status hu_plan_layers_table(const hu_run *run, hu_table **table) {
    static const char *const titles[] = {"layer", "op",         "output",   "parameters",
                                         "MACs",  "activation", "gradient", "weight",
                                         "wgrad", "output is"};
    hu_status st = HU_OK;
    layer total = {.name = "total",
                   .op = "",
                   .parameters = hu_graph_parameters(hu_run_graph(run)),
                   .macs = hu_graph_macs(hu_run_graph(run))};
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        if (!is_row(&hu_run_graph(run)->node[n])) continue;
        layer row = describe(run, n);
        HU_TRY(add_row(*table, &row));
    }
    for (int t = 0; t < hu_run_graph(run)->phase_count; t++)
        HU_TRY(add_network(*table, hu_run_graph(run), t));
    HU_TRY(add_row(*table, &total));
done:
    if (st != HU_OK) {
        hu_table_free(*table);
        *table = NULL;
    }
    return st;
}

/* Adds a starred format that is not among the notes yet; the last ones may find no room. */
static void add_note(const char *format, char *notes, size_t capacity) {
    size_t used = strlen(notes), length = strlen(format);
    if (!strchr(format, ':') || used + length + sizeof "  * \n" > capacity) return;
    for (const char *at = notes; (at = strstr(at, format)) != NULL; at++)
        if (at[length] == '\n') return;
    snprintf(notes + used, capacity - used, "  * %s\n", format);
}

const char *hu_plan_products_words(const hu_run *run, bool asked,
                                   char text[HU_PLAN_PRODUCTS_BYTES]) {
    int products = 0, found = 0;
    text[0] = '\0';
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        products += hu_run_graph(run)->node[n].op->impl != NULL;
        found += strcmp(hu_run_impl(run, n, HU_FORWARD), "winograd") == 0;
    }
    if (found > 0)
        snprintf(text, HU_PLAN_PRODUCTS_BYTES,
                 "products: Winograd's algorithm in %d of %d layers\n", found, products);
    else if (asked)
        snprintf(
            text, HU_PLAN_PRODUCTS_BYTES,
            "products: own in all layers (Winograd's algorithm is for 3x3 convolutions where "
            "all numbers, also\nbetween workers and of the optimizer, keep float32's range and "
            "16 bits, without scales or chosen accumulators)\n");
    return text;
}

void hu_plan_format_notes(const hu_run *run, char *notes, size_t capacity) {
    notes[0] = '\0';
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        if (!is_row(&hu_run_graph(run)->node[n])) continue;
        layer row = describe(run, n);
        add_note(row.activation, notes, capacity);
        add_note(row.gradient, notes, capacity);
        add_note(row.weight, notes, capacity);
        add_note(row.weight_gradient, notes, capacity);
    }
}
