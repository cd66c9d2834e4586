#include "diagnose/accumulators.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/rules.h"

static const char *text_of(const hu_keys *config, const char *key) {
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
    HU_TRY(hu_semantics_parse(text_of(config, "accumulator.semantics"), &semantics));
    HU_TRY(hu_accumulators_parse(text_of(config, "accumulator.name"), semantics, &accumulators));
    HU_TRY(read_rules(config, semantics, &accumulators));
    HU_TRY(hu_accumulators_write(&accumulators, graph, edges));
done:
    hu_accumulators_free(&accumulators);
    return st;
}

/* The product, where it has an accumulator and is computed: data want no gradient. */
static void take(const hu_tensor_order *walk, const hu_edge_table *edges, hu_made_by product,
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
            take(walk, edges, (hu_made_by){n, (hu_product_role)r}, adders);
    return st;
}

hu_status hu_adders_read(const hu_keys *config, const hu_tensor_order *walk, hu_adders *adders) {
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

void hu_adders_free(hu_adders *adders) {
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
