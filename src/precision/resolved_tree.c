/* The edge table as the tree of a plan file. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "precision/resolved.h"

enum { TEXT_BYTES = 2 * HU_QUANTIZER_BYTES };

static const char origin[] = "plan";

static hu_status new_map(hu_keys **map) {
    return hu_keys_create(HU_KEYS_MAP, NULL, origin, map);
}

static hu_status put(hu_keys *map, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static hu_status put(hu_keys *map, const char *name, const char *format, ...) {
    char text[TEXT_BYTES];
    hu_keys *node;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, origin, &node);
    return st == HU_OK ? hu_keys_put(map, name, node) : st;
}

/* FORMAT, and the rounding mode unless it is the usual one. */
static void print_quantizer(const hu_quantizer *quantizer, char text[TEXT_BYTES]) {
    hu_quantizer_print(quantizer, text, HU_QUANTIZER_BYTES);
    if (quantizer->rounding == HU_ROUND_NEAREST_EVEN) return;
    size_t used = strlen(text);
    snprintf(text + used, TEXT_BYTES - used, " %s", hu_rounding_name(quantizer->rounding));
}

static hu_status put_quantizer(hu_keys *map, const char *name, const hu_quantizer *quantizer) {
    char text[TEXT_BYTES];
    if (!hu_quantizer_rounds(quantizer)) return HU_OK;
    print_quantizer(quantizer, text);
    return put(map, name, "%s", text);
}

/* ---- tensors ---- */

static bool same_text(const hu_quantizer *a, const hu_quantizer *b) {
    char one[TEXT_BYTES], other[TEXT_BYTES];
    print_quantizer(a, one);
    print_quantizer(b, other);
    return strcmp(one, other) == 0;
}

/* One text for all uses; a list where they differ. float32 is written in a list only. */
static hu_status put_part(hu_keys *map, const hu_graph *graph, const hu_edge_table *edges,
                          hu_value_id v, hu_tensor_part part) {
    hu_status st = HU_OK;
    hu_keys *list = NULL, *item;
    char text[TEXT_BYTES];
    uint32_t uses = hu_part_is_per_use(part) ? graph->value[v].use_count : 1;
    bool same = true;
    if (uses == 0) return HU_OK;
    const hu_quantizer *first = &hu_part_edge(graph, edges, v, part, 0)->quantizer;
    for (uint32_t k = 1; k < uses; k++)
        same = same && same_text(first, &hu_part_edge(graph, edges, v, part, k)->quantizer);
    if (part == HU_PART_WEIGHTS && !edges->grad_weights[v].is_apart) return HU_OK;
    if (part == HU_PART_WEIGHTS && !hu_quantizer_rounds(first))
        return put(map, hu_part_names[part], "fp32");
    if (same) return put_quantizer(map, hu_part_names[part], first);
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, origin, &list));
    for (uint32_t k = 0; k < uses; k++) {
        const hu_quantizer *quantizer = &hu_part_edge(graph, edges, v, part, k)->quantizer;
        print_quantizer(quantizer, text);
        HU_TRY(hu_keys_create(HU_KEYS_TEXT, hu_quantizer_rounds(quantizer) ? text : "fp32", origin,
                              &item));
        HU_TRY(hu_keys_append(list, item));
    }
    return hu_keys_put(map, hu_part_names[part], list);
done:
    hu_keys_free(list);
    return st;
}

/* Nothing is written of a tensor that is float32 everywhere. */
static hu_status put_tensor(hu_keys *tensors, const hu_graph *graph, const hu_edge_table *edges,
                            hu_value_id v) {
    hu_status st = HU_OK;
    hu_keys *map = NULL;
    HU_TRY(new_map(&map));
    for (int p = 0; p < HU_PARTS; p++) HU_TRY(put_part(map, graph, edges, v, (hu_tensor_part)p));
    if (hu_keys_count(map) == 0) goto done;
    return hu_keys_put(tensors, graph->value[v].name, map);
done:
    hu_keys_free(map);
    return st;
}

static hu_status put_tensors(hu_keys *tree, const hu_graph *graph, const hu_edge_table *edges) {
    hu_status st = HU_OK;
    hu_keys *tensors = NULL;
    HU_TRY(new_map(&tensors));
    for (hu_value_id v = 0; v < graph->value_count; v++)
        HU_TRY(put_tensor(tensors, graph, edges, v));
    return hu_keys_put(tree, "tensors", tensors);
done:
    hu_keys_free(tensors);
    return st;
}

/* ---- products ---- */

/* By layer and product, as accumulator.rules names them. */
static hu_status put_product(hu_keys *products, const hu_graph *graph, const hu_node *node,
                             const hu_accumulation *accumulation) {
    hu_status st = HU_OK;
    hu_keys *map = NULL;
    char layer[HU_NAME_BYTES], text[TEXT_BYTES];
    HU_TRY(new_map(&map));
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        if (!accumulation->chosen[r]) continue;
        HU_TRY(hu_accumulator_print(&accumulation->accumulator[r], text, sizeof text));
        HU_TRY(put(map, hu_product_role_name((hu_product_role)r), "%s", text));
    }
    if (hu_keys_count(map) == 0) goto done;
    hu_graph_layer_name(graph, node, layer);
    return hu_keys_put(products, layer, map);
done:
    hu_keys_free(map);
    return st;
}

/* All products have the semantics of the key accumulator.semantics. */
static hu_status put_semantics(hu_keys *tree, const hu_graph *graph, const hu_edge_table *edges) {
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            const hu_accumulation *accumulation = &edges->products[n].accumulation;
            if (!accumulation->chosen[r]) continue;
            return put(tree, "semantics", "%s",
                       hu_semantics_name(accumulation->accumulator[r].semantics));
        }
    return HU_OK;
}

static hu_status put_products(hu_keys *tree, const hu_graph *graph, const hu_edge_table *edges) {
    hu_status st = HU_OK;
    hu_keys *products = NULL;
    HU_TRY(put_semantics(tree, graph, edges));
    HU_TRY(new_map(&products));
    for (uint32_t n = 0; n < graph->node_count; n++)
        HU_TRY(put_product(products, graph, &graph->node[n], &edges->products[n].accumulation));
    if (hu_keys_count(products) == 0) goto done;
    return hu_keys_put(tree, "products", products);
done:
    hu_keys_free(products);
    return st;
}

/* ---- the rest ---- */

/* The hash tells a reader at once that a plan was made for other names. */
static hu_status put_model(hu_keys *tree, const hu_plan_facts *facts, const hu_graph *graph) {
    hu_status st = HU_OK;
    hu_keys *map = NULL;
    HU_TRY(new_map(&map));
    HU_TRY(put(map, "name", "%s", facts->model));
    HU_TRY(put(map, "width", "%.17g", facts->width));
    HU_TRY(put(map, "parameters", "%lld", (long long)hu_graph_parameters(graph)));
    HU_TRY(put(map, "names", "xxh64:%016llx", (unsigned long long)hu_resolved_names_hash(graph)));
    return hu_keys_put(tree, "model", map);
done:
    hu_keys_free(map);
    return st;
}

/* Where promoted tensors go; those that were promoted already are in the table. */
static hu_status put_promotion(hu_keys *tree, const hu_precision *precision) {
    hu_status st = HU_OK;
    hu_keys *map = NULL, *to = NULL;
    if (!precision->promotes) return HU_OK;
    HU_TRY(new_map(&to));
    HU_TRY(put_quantizer(to, "act", &precision->high[HU_ROLE_ACT]));
    HU_TRY(put_quantizer(to, "weight", &precision->high[HU_ROLE_WEIGHT]));
    HU_TRY(new_map(&map));
    HU_TRY(put(map, "at", "%.17g", precision->promote_at));
    st = hu_keys_put(map, "to", to);
    to = NULL;
    HU_TRY(st);
    return hu_keys_put(tree, "promotion", map);
done:
    hu_keys_free(map);
    hu_keys_free(to);
    return st;
}

/* For people: a reader leaves it out. */
static hu_status put_evidence(hu_keys *tree, const hu_plan_facts *facts) {
    hu_status st = HU_OK;
    hu_keys *map = NULL;
    HU_TRY(new_map(&map));
    HU_TRY(put(map, "halfulp", "%s", HALFULP_VERSION));
    HU_TRY(put(map, "precision", "%s", facts->precision->name));
    HU_TRY(put(map, "step", "%lld", (long long)facts->step));
    return hu_keys_put(tree, "evidence", map);
done:
    hu_keys_free(map);
    return st;
}

static hu_status put_scaler(hu_keys *tree, const hu_plan_facts *facts) {
    hu_keys *copy;
    hu_status st = hu_keys_copy(facts->scaler, &copy);
    return st == HU_OK ? hu_keys_put(tree, "scaler", copy) : st;
}

/* One number where all roles have the same. */
static hu_status put_low_bits(hu_keys *tree, const uint32_t *bits) {
    bool is_one = bits[0] == bits[1] && bits[0] == bits[2] && bits[0] == bits[3];
    if (is_one) return put(tree, "low_bits", "%u", bits[0]);
    return put(tree, "low_bits", "%u, %u, %u, %u", bits[0], bits[1], bits[2], bits[3]);
}

hu_status hu_resolved_tree(const hu_plan_facts *facts, const hu_graph *graph,
                           const hu_edge_table *edges, hu_keys **tree) {
    hu_status st = HU_OK;
    HU_TRY(new_map(tree));
    HU_TRY(put(*tree, "halfulp_plan", "%d", HU_RESOLVED_VERSION));
    HU_TRY(put_model(*tree, facts, graph));
    HU_TRY(put(*tree, "scheme", "%s", hu_scheme_name(facts->precision->scheme)));
    HU_TRY(put(*tree, "master", "%s", facts->keep_masters ? "on" : "off"));
    HU_TRY(put(*tree, "eval", "%s", facts->eval_masters ? "master" : "rounded"));
    HU_TRY(put_low_bits(*tree, edges->low_bits));
    HU_TRY(put_scaler(*tree, facts));
    HU_TRY(put_tensors(*tree, graph, edges));
    HU_TRY(put_products(*tree, graph, edges));
    HU_TRY(put_promotion(*tree, facts->precision));
    HU_TRY(put_evidence(*tree, facts));
done:
    if (st != HU_OK) {
        hu_keys_free(*tree);
        *tree = NULL;
    }
    return st;
}
