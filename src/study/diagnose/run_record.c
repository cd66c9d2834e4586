#include "diagnose/run_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"
#include "precision/rules.h"
#include "runlog/graph_json.h"
#include "runlog/history.h"

/* ---- Accumulators ---- */

static const char *config_text(const hu_keys *config, const char *key) {
    const hu_keys *node = hu_keys_find(config, key);
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : "";
}

static hu_status read_rules(const hu_keys *config, hu_semantics semantics,
                            hu_accumulators *accumulators) {
    hu_status st = HU_OK;
    const hu_keys *rules = hu_keys_find(config, "accumulator.rules");
    bool is_list = rules && hu_keys_kind_of(rules) == HU_KEYS_LIST;
    for (size_t i = 0; is_list && i < hu_keys_count(rules); i++)
        HU_TRY(
            hu_accumulators_add_rule(accumulators, hu_keys_value(hu_keys_at(rules, i)), semantics));
done:
    return st;
}

/* The choice of every product as an edge table. */
static hu_status write_table(const hu_keys *config, const hu_graph *graph, hu_edge_table *edges) {
    hu_status st = HU_OK;
    hu_accumulators accumulators = {0};
    hu_semantics semantics;
    HU_TRY(hu_semantics_parse(config_text(config, "accumulator.semantics"), &semantics));
    HU_TRY(
        hu_accumulators_parse(config_text(config, "accumulator.name"), semantics, &accumulators));
    HU_TRY(read_rules(config, semantics, &accumulators));
    HU_TRY(hu_accumulators_write(&accumulators, graph, edges));
done:
    hu_accumulators_free(&accumulators);
    return st;
}

/* The product, where it has an accumulator and is computed: data want no gradient. */
static void take_adder(const hu_tensor_order *walk, const hu_edge_table *edges, hu_made_by product,
                       hu_adders *adders) {
    const hu_graph *graph = walk->graph;
    const hu_accumulation *accumulation = &edges->products[product.node].accumulation;
    hu_tensor makes = hu_product_makes(&graph->node[product.node], product.role);
    if (!accumulation->chosen[product.role] || walk->place[makes.kind][makes.value] == HU_NONE)
        return;
    hu_adder *adder = &adders->adder[adders->count++];
    *adder = (hu_adder){.product = product, .accumulator = accumulation->accumulator[product.role]};
    hu_product_name(graph, product, adder->name);
    hu_accumulator_print(&adder->accumulator, adder->text, sizeof adder->text);
}

static hu_status take_all(const hu_tensor_order *walk, const hu_edge_table *edges,
                          hu_adders *adders) {
    const hu_graph *graph = walk->graph;
    size_t most = (size_t)graph->node_count * HU_PRODUCT_ROLES;
    hu_status st = HU_NEW_ARRAY(&adders->adder, most + 1);
    for (uint32_t n = 0; n < graph->node_count && st == HU_OK; n++)
        for (int r = 0; r < HU_PRODUCT_ROLES && graph->node[n].op->is_product; r++)
            take_adder(walk, edges, (hu_made_by){n, (hu_product_role)r}, adders);
    return st;
}

/* Reads the keys accumulator.*; config NULL, or keys that are none: there are no adders. Owner
 * frees with adders_free, after a failure too. HU_ERR_MEMORY. */
static hu_status adders_read(const hu_keys *config, const hu_tensor_order *walk,
                             hu_adders *adders) {
    hu_status st = HU_OK;
    hu_edge_table edges = {0};
    *adders = (hu_adders){0};
    if (!config) return HU_OK;
    HU_TRY(hu_edge_table_create(walk->graph, &edges));
    st = write_table(config, walk->graph, &edges);
    if (st == HU_OK)
        st = take_all(walk, &edges, adders);
    else if (st != HU_ERR_MEMORY)
        st = HU_OK;
done:
    hu_edge_table_free(&edges);
    return st;
}

static void adders_free(hu_adders *adders) {
    hu_free(adders->adder);
    *adders = (hu_adders){0};
}

const hu_adder *hu_adder_named(const hu_adders *adders, const char *product) {
    for (uint32_t a = 0; a < adders->count; a++)
        if (strcmp(adders->adder[a].name, product) == 0) return &adders->adder[a];
    return NULL;
}

/* The sums of FMACS are float32's; MACS rounds its products alone. */
bool hu_adder_may_exceed(const hu_accumulator *accumulator) {
    enum { FLOAT32_EMAX = 127 };
    return accumulator->mac != HU_MAC_FMACS && accumulator->format.overflow != HU_OVERFLOW_SAT &&
           hu_format_limits_of(&accumulator->format).emax < FLOAT32_EMAX;
}

bool hu_adder_may_vanish(const hu_accumulator *accumulator) {
    return accumulator->mac != HU_MAC_FMACS;
}

/* ---- The formats that stats and why try on the histograms of a run ---- */

/* One format of the list, without the blanks around it. */
static hu_status add(const char *text, size_t length, hu_candidates *candidates) {
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    if (candidates->count == HU_CANDIDATES_MOST)
        return hu_fail(HU_ERR_LIMIT, "format=: found more than %d formats", HU_CANDIDATES_MOST);
    if (length >= HU_CANDIDATE_BYTES)
        return hu_fail(HU_ERR_PARSE, "format=: '%.40s...' is longer than %d characters", text,
                       HU_CANDIDATE_BYTES - 1);
    char *name = candidates->name[candidates->count];
    memcpy(name, text, length);
    name[length] = '\0';
    hu_status st = hu_format_parse(name, &candidates->format[candidates->count]);
    if (st != HU_OK) return hu_fail_within(st, "format=: ");
    candidates->count++;
    return HU_OK;
}

/* Reads format names separated by commas (those inside of brackets belong to the names). Errors of
 * hu_format_parse; HU_ERR_LIMIT. */
static hu_status hu_candidates_parse(const char *text, hu_candidates *candidates) {
    hu_status st = HU_OK;
    const char *begin = text;
    int depth = 0;
    *candidates = (hu_candidates){0};
    for (const char *c = text;; c++) {
        depth += (*c == '(') - (*c == ')');
        if (*c && (*c != ',' || depth > 0)) continue;
        HU_TRY(add(begin, (size_t)(c - begin), candidates));
        if (!*c) break;
        begin = c + 1;
    }
done:
    return st;
}

/* ---- opened ---- */

/* A run folder opened to be explained: its records, its graph, the formats that
 * are tried on its histograms. */

/* Only advice needs it: without it the story can be told. */
static hu_status read_config(hu_run_record *run) {
    char *path = NULL;
    hu_status st = hu_path_join(run->folder, "config.resolved.yaml", &path);
    if (st == HU_OK) st = hu_yaml_read(path, &run->config);
    if (st != HU_OK) run->config = NULL;
    hu_free(path);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_run_record_read(const char *folder, const char *formats, hu_run_record *run) {
    hu_status st = HU_OK;
    *run = (hu_run_record){.folder = folder};
    HU_TRY(hu_history_read_bounded(folder, &run->history));
    HU_TRY(hu_graph_read(folder, &run->graph));
    HU_TRY(hu_candidates_parse(formats, &run->candidates));
    HU_TRY(hu_history_walk(run->history, run->graph, &run->walk));
    HU_TRY(read_config(run));
    HU_TRY(adders_read(run->config, &run->walk, &run->adders));
done:
    return st;
}

void hu_run_record_close(hu_run_record *run) {
    adders_free(&run->adders);
    hu_tensor_order_free(&run->walk);
    hu_keys_free(run->config);
    hu_graph_free(run->graph);
    hu_history_free(run->history);
    *run = (hu_run_record){0};
}

/* ---- Tensors, a line each ---- */

/* Sums over all records that have the tensor. */
static void take_records(const hu_history *history, uint32_t number, hu_tensor_table_row *tensor) {
    *tensor = (hu_tensor_table_row){.name = history->tensors.name[number]};
    hu_round_counts_clear(&tensor->counts);
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count; i++) {
            if (row->tensor[i].tensor != number) continue;
            hu_round_counts_add(&tensor->counts, &row->tensor[i].counts);
            tensor->format = history->formats.name[row->tensor[i].format];
        }
    }
}

hu_status hu_tensor_table_create(const hu_run_record *run, const char *glob,
                                 hu_tensor_table_row **tensor, uint32_t *count) {
    hu_status st = HU_OK;
    char name[HU_TENSOR_NAME_BYTES];
    *count = 0;
    HU_TRY(HU_NEW_ARRAY(tensor, (size_t)run->walk.count + 1));
    for (uint32_t i = 0; i < run->walk.count; i++) {
        hu_tensor_name(run->graph, run->walk.tensor[i], name);
        uint32_t number = hu_names_find(&run->history->tensors, name);
        if (number == HU_NAMES_NONE || !hu_glob_match(glob, name)) continue;
        take_records(run->history, number, &(*tensor)[*count]);
        *count += (*tensor)[*count].counts.elements > 0;
    }
    if (*count == 0)
        st = hu_fail(HU_ERR_UNKNOWN, "%s has counts of no tensor that '%.100s' names", run->folder,
                     glob);
done:
    if (st != HU_OK) {
        hu_free(*tensor);
        *tensor = NULL;
    }
    return st;
}

static double share(uint64_t count, const hu_round_counts *of) {
    return of->elements ? (double)count / (double)of->elements : 0.0;
}

/* "2^-20 .. 2^3"; "-": no nonzero finite number. */
static const char *exponents_of(const hu_round_counts *c, char text[48]) {
    if (c->max_exponent == HU_NO_EXPONENT)
        snprintf(text, 48, "-");
    else if (c->min_exponent == HU_NO_EXPONENT)
        snprintf(text, 48, "up to 2^%d", c->max_exponent);
    else
        snprintf(text, 48, "2^%d .. 2^%d", c->min_exponent, c->max_exponent);
    return text;
}

hu_status hu_tensor_table_table(const hu_tensor_table_row *tensor, uint32_t count,
                                hu_table **table) {
    static const char *const titles[] = {"tensor",     "format", "became zero %",
                                         "overflow %", "NaN %",  "magnitudes"};
    hu_status st = HU_OK;
    char text[48];
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (uint32_t i = 0; i < count; i++) {
        const hu_round_counts *c = &tensor[i].counts;
        HU_TRY(hu_table_cell(*table, "%s", tensor[i].name));
        HU_TRY(hu_table_cell(*table, "%s", tensor[i].format));
        HU_TRY(hu_table_cell(*table, "%.3g", 100.0 * share(c->underflow, c)));
        HU_TRY(hu_table_cell(*table, "%.3g", 100.0 * share(c->overflow, c)));
        HU_TRY(hu_table_cell(*table, "%.3g", 100.0 * share(c->nan, c)));
        HU_TRY(hu_table_cell(*table, "%s", exponents_of(c, text)));
    }
done:
    return st;
}

static json_t *exponent_json(int32_t exponent) {
    return exponent == HU_NO_EXPONENT ? json_null() : json_integer(exponent);
}

json_t *hu_tensor_table_json(const hu_tensor_table_row *tensor, uint32_t count) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const hu_round_counts *c = &tensor[i].counts;
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "tensor",
                                              tensor[i].name, "format", tensor[i].format,
                                              "elements", (json_int_t)c->elements, "underflow",
                                              hu_json_number(share(c->underflow, c)), "overflow",
                                              hu_json_number(share(c->overflow, c)), "nan",
                                              hu_json_number(share(c->nan, c)), "max_exponent",
                                              exponent_json(c->max_exponent), "min_exponent",
                                              exponent_json(c->min_exponent)));
    }
    return list;
}
