#include "report/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "planner/planner.h"
#include "render/chart.h"
#include "render/html.h"
#include "render/table.h"
#include "report/internal.h"

/* Room for "32x32x64". */
enum { SHAPE_BYTES = 128 };

bool hu_plan_is_row(const hu_node *node) {
    return !node->op->is_view;
}

/* Numbers of the parameters; formats of the first that is trained. */
static void describe_parameters(const hu_run *run, const hu_node *node, hu_plan_layer *row) {
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
static void print_fate(const hu_run *run, hu_value_id out, char text[HU_FATE_BYTES]) {
    hu_output_placement fate = hu_run_placement(run, out);
    bool is_saved = fate == HU_OUTPUT_SAVED;
    snprintf(text, HU_FATE_BYTES, "%s%s%s%s", hu_placement_name(fate), is_saved ? " " : "",
             is_saved ? hu_run_storage_name(run, out) : "",
             hu_run_needs_maximum_first(run, out) ? ", waits" : "");
}

hu_plan_layer hu_plan_layer_of(const hu_run *run, uint32_t index) {
    const hu_node *node = &hu_run_graph(run)->node[index];
    hu_value_id out = node->out[0];
    hu_plan_layer row = {.name = node->name,
                         .op = node->op->name,
                         .output = &hu_run_graph(run)->value[out].shape,
                         .macs = hu_node_macs(hu_run_graph(run), node),
                         .is_scaled = hu_run_edges(run)->factors.any,
                         .made = (double)hu_run_edges(run)->factors.made[out],
                         .held = hu_run_edges(run)->factors.held[out]};
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

json_t *hu_plan_shape_json(const hu_shape *shape) {
    json_t *list = json_array();
    for (int i = 0; list && i < shape->rank; i++)
        json_array_append_new(list, json_integer((json_int_t)shape->extent[i]));
    return list;
}

static json_t *numbers_json(int count, const float *numbers) {
    json_t *list = json_array();
    for (int i = 0; list && i < count; i++)
        json_array_append_new(list, hu_json_number((double)numbers[i]));
    return list;
}

/* The fixed factors of a node, and of its parameters (graph/edge.h, hu_factors). */
static json_t *factors_json(const hu_run *run, const hu_node *node) {
    const hu_graph *graph = hu_run_graph(run);
    const hu_factors *factors = &hu_run_edges(run)->factors;
    json_t *parameters = json_object();
    for (int j = 0; j < node->n_params; j++) {
        hu_value_id v = node->param[j];
        uint32_t use = node->first_use + (uint32_t)(node->n_in + j);
        if (graph->value[v].role != HU_VALUE_PARAMETER) continue;
        json_object_set_new(parameters, graph->value[v].name,
                            json_pack("{s:o, s:o, s:o}", "gradient",
                                      hu_json_number((double)factors->given[use]), "held",
                                      hu_json_number(factors->held[v]), "start",
                                      hu_json_number(factors->start[v])));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "output",
                     hu_json_number((double)factors->made[node->out[0]]), "inputs",
                     numbers_json(node->n_in, factors->read + node->first_use), "input_gradients",
                     numbers_json(node->n_in, factors->given + node->first_use), "held",
                     hu_json_number(factors->held[node->out[0]]), "parameters", parameters);
}

json_t *hu_plan_layer_json(const hu_run *run, uint32_t index) {
    hu_plan_layer row = hu_plan_layer_of(run, index);
    const hu_node *node = &hu_run_graph(run)->node[index];
    hu_value_id out = node->out[0];
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:s, s:s, s:o, s:o, s:s, s:s, s:b, s:b, s:s, s:s}", "name",
        row.name, "op", row.op, "output", hu_plan_shape_json(row.output), "parameters",
        (json_int_t)row.parameters, "macs", (json_int_t)row.macs, "activation", row.activation,
        "gradient", row.gradient, "weight", format_json(row.weight), "weight_gradient",
        format_json(row.weight_gradient), "output_is",
        hu_placement_name(hu_run_placement(run, out)), "output_storage",
        hu_run_storage_name(run, out), "waits_for_maximum", hu_run_needs_maximum_first(run, out),
        "gradient_waits_for_maximum", hu_run_gradient_needs_maximum_first(run, out), "forward_by",
        hu_run_impl(run, index, HU_FORWARD), "backward_by", hu_run_impl(run, index, HU_BACKWARD));
    if (object && row.is_scaled) json_object_set_new(object, "factors", factors_json(run, node));
    json_t *operands = hu_plan_operands_json(run, index);
    if (object && operands) json_object_set(object, "operands", operands);
    json_decref(operands);
    return object;
}

json_t *hu_plan_layers_json(const hu_run *run) {
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < hu_run_graph(run)->node_count; n++)
        if (hu_plan_is_row(&hu_run_graph(run)->node[n]))
            json_array_append_new(list, hu_plan_layer_json(run, n));
    return list;
}

hu_status hu_plan_format_cell(hu_table *table, const char *format) {
    int length = (int)strcspn(format, ":");
    return hu_table_cell(table, "%.*s%s", length, format, format[length] ? "*" : "");
}

hu_status hu_plan_number_cell(hu_table *table, int64_t number) {
    char text[HU_GROUPED_BYTES];
    return hu_table_cell(table, "%s", number ? hu_grouped(number, text) : "");
}

static hu_status factor_cell(hu_table *table, const hu_plan_layer *row, double factor) {
    return row->is_scaled ? hu_table_cell(table, "%.4g", factor) : hu_table_cell(table, "%s", "");
}

/* The row of the table. is_scaled: it has columns of factors. */
static hu_status add_row(hu_table *table, const hu_plan_layer *row, bool is_scaled) {
    hu_status st = HU_OK;
    char shape[SHAPE_BYTES] = "";
    if (row->output) hu_shape_print(row->output, shape, sizeof shape);
    HU_TRY(hu_table_cell(table, "%s", row->name));
    HU_TRY(hu_table_cell(table, "%s", row->op));
    HU_TRY(hu_table_cell(table, "%s", shape));
    HU_TRY(hu_plan_number_cell(table, row->parameters));
    HU_TRY(hu_plan_number_cell(table, row->macs));
    HU_TRY(hu_plan_format_cell(table, row->activation));
    HU_TRY(hu_plan_format_cell(table, row->gradient));
    HU_TRY(hu_plan_format_cell(table, row->weight));
    HU_TRY(hu_plan_format_cell(table, row->weight_gradient));
    HU_TRY(hu_table_cell(table, "%s", row->fate));
    if (!is_scaled) return HU_OK;
    HU_TRY(factor_cell(table, row, row->made));
    HU_TRY(factor_cell(table, row, row->held));
done:
    return st;
}

/* The sum over one application of a network that has turns of its own. */
static hu_status add_network(hu_table *table, const hu_graph *graph, int phase) {
    char name[2 * HU_TURN_BYTES];
    snprintf(name, sizeof name, "%s, once", graph->phase[phase].name);
    hu_plan_layer row = {.name = name,
                         .op = "",
                         .parameters = hu_graph_phase_parameters(graph, phase),
                         .macs = hu_graph_phase_macs(graph, phase)};
    return add_row(table, &row, false); /* networks that learn in turns have no factors */
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
                                         "wgrad", "output is",  "factor",   "times"};
    enum { FACTORS = 2 };
    hu_status st = HU_OK;
    bool is_scaled = hu_run_edges(run)->factors.any;
    hu_plan_layer total = {.name = "total",
                           .op = "",
                           .parameters = hu_graph_parameters(hu_run_graph(run)),
                           .macs = hu_graph_macs(hu_run_graph(run))};
    HU_TRY(
        hu_table_create(titles, sizeof titles / sizeof *titles - (is_scaled ? 0 : FACTORS), table));
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        if (!hu_plan_is_row(&hu_run_graph(run)->node[n])) continue;
        hu_plan_layer row = hu_plan_layer_of(run, n);
        HU_TRY(add_row(*table, &row, is_scaled));
    }
    for (int t = 0; t < hu_run_graph(run)->phase_count; t++)
        HU_TRY(add_network(*table, hu_run_graph(run), t));
    HU_TRY(add_row(*table, &total, is_scaled));
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

void hu_plan_format_notes(const hu_run *run, bool gradients, char *notes, size_t capacity) {
    notes[0] = '\0';
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++) {
        if (!hu_plan_is_row(&hu_run_graph(run)->node[n])) continue;
        hu_plan_layer row = hu_plan_layer_of(run, n);
        add_note(row.activation, notes, capacity);
        if (gradients) add_note(row.gradient, notes, capacity);
        add_note(row.weight, notes, capacity);
        if (gradients) add_note(row.weight_gradient, notes, capacity);
    }
}

/* ---- Memory ---- */

/* The ledger of a planned training, with packed (or dense) and with float32
 * storage. */

json_t *hu_plan_memory_json(const json_t *packed, const json_t *plain, const char *storage) {
    json_t *roles = json_object();
    const char *role;
    json_t *bytes;
    json_object_foreach((json_t *)packed, role, bytes) json_object_set_new(
        roles, role,
        json_pack("{s:O, s:O}", storage, bytes, "float32", json_object_get(plain, role)));
    return roles;
}

/* As MiB. Sizes are far below 2^53, so that doubles hold them exactly. */
static double mebibytes(const json_t *ledger, const char *role) {
    return (double)json_integer_value(json_object_get(ledger, role)) / 1048576.0;
}

/* Bytes of a role in both storages, and their ratio where the second is more than 0.00. */
static hu_status put_row(hu_table *table, const json_t *packed, const json_t *plain,
                         const char *role) {
    const double shown = 0.005;
    hu_status st = HU_OK;
    double one = mebibytes(packed, role), two = mebibytes(plain, role);
    HU_TRY(hu_table_cell(table, "%s", role));
    HU_TRY(hu_table_cell(table, "%.2f", one));
    HU_TRY(hu_table_cell(table, "%.2f", two));
    if (two >= shown)
        HU_TRY(hu_table_cell(table, "%.3f", one / two));
    else
        HU_TRY(hu_table_cell(table, "-"));
done:
    return st;
}

/* A product reads float32: a chunk has at least one sample, so large pictures need much of it. */
static void explain(const json_t *packed, const json_t *plain) {
    if (mebibytes(packed, "total") <= mebibytes(plain, "total") &&
        mebibytes(packed, "scratch") <= 2 * mebibytes(plain, "scratch"))
        return;
    puts("scratch: every thread unpacks what it reads of a chunk, and packs what it makes, in room "
         "of its own; float32 storage\nis read where it lies. Fewer threads=, a smaller run.chunk= "
         "(another result) or storage=float32 (the same one) need less.");
}

hu_status hu_plan_memory_print(json_t *packed, const json_t *plain, const char *storage) {
    const char *const titles[] = {"memory in MiB", storage, "float32", "ratio"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char *text = NULL;
    const char *role;
    json_t *bytes;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    json_object_foreach(packed, role, bytes) HU_TRY(put_row(table, packed, plain, role));
    HU_TRY(hu_table_print(table, &text));
    printf("\n%sarena: the roles above it where it is fullest; saved: what waits for the backward "
           "pass\n",
           text);
    explain(packed, plain);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}

/* ---- memory ---- */

/* Memory by role: the arena at its fullest, masters, optimizer and workers. */

enum { MAX_ROLES = 16 };

/* Entries of the ledger that are sums of others. */
static bool is_sum(const char *role) {
    return strcmp(role, "arena") == 0 || strcmp(role, "saved") == 0 || strcmp(role, "total") == 0;
}

/* Names of the roles that take memory in any run. */
static size_t list_roles(const hu_report *report, const char **roles) {
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) {
        json_t *ledger = json_object_get(report->run[i].result, "ledger_bytes");
        for (void *at = json_object_iter(ledger); at; at = json_object_iter_next(ledger, at)) {
            const char *role = json_object_iter_key(at);
            bool is_known = is_sum(role) || json_number_value(json_object_iter_value(at)) <= 0.0;
            for (size_t r = 0; r < count; r++) is_known = is_known || strcmp(roles[r], role) == 0;
            if (!is_known && count < MAX_ROLES) roles[count++] = role;
        }
    }
    return count;
}

/* A bar for each precision, of its first seed. */
static hu_status draw(hu_page *page, const hu_report *report, const char *const *roles,
                      size_t parts) {
    hu_chart_bar *bars = NULL;
    double(*numbers)[MAX_ROLES] = NULL;
    size_t count = 0;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&bars, (size_t)report->precisions));
    HU_TRY(HU_NEW_ARRAY(&numbers, (size_t)report->precisions));
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        const json_t *ledger = json_object_get(run->result, "ledger_bytes");
        if (!run->is_first || !ledger) continue;
        double *part = numbers[count];
        for (size_t r = 0; r < parts; r++) {
            double bytes = hu_json_real(ledger, roles[r]);
            part[r] = bytes > 0.0 ? bytes / 1048576.0 : 0.0;
        }
        bars[count++] = (hu_chart_bar){run->name, part};
    }
    hu_chart_bars(page, bars, count, roles, parts, "MiB");
done:
    hu_free(bars);
    hu_free(numbers);
    return st;
}

void hu_report_memory(hu_page *page, const hu_report *report) {
    const char *roles[MAX_ROLES];
    hu_legend_item item[MAX_ROLES];
    size_t parts = list_roles(report, roles);
    if (parts == 0) return;
    hu_html_section(page, "memory", "Memory by role",
                    "The arena at its fullest moment by what lies in it, and masters, optimizer "
                    "and the gradients of several workers with what travels between them, at the "
                    "end of the training; the ledger that is checked against the allocator.");
    for (size_t r = 0; r < parts; r++) item[r] = (hu_legend_item){roles[r], (int)r};
    hu_legend_draw(page, item, parts, HU_LEGEND_AREAS);
    hu_html_panels(page);
    hu_html_panel(page, NULL);
    hu_status st = draw(page, report, roles, parts);
    hu_html_panel_end(page);
    hu_html_panels_end(page);
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    hu_html_section_end(page);
}
