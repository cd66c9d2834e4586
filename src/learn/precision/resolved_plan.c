#include "precision/internal.h"
#include "precision/precision.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- resolved ---- */

/* A plan by tensor names: the edge table as text, and back.
 *
 * A resolved plan says of every tensor that has a rounding point how it is rounded, so that it
 * needs neither the scheme nor the assignment that chose so, and holds for every model whose
 * tensors have these names. docs/reference/plan.schema.json describes the file;
 * src/study/config/plan_file.c turns one into keys.
 */

/* "value", "use", "grad", "sum", "weights". */
extern const char *const hu_part_names[HU_PARTS];

/* ---- text ---- */

const char *const hu_part_names[HU_PARTS] = {"value", "use", "grad", "sum", "weights"};

/* Whether a part has a record for every use of the value. */
static bool hu_part_is_per_use(hu_tensor_part part) {
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

/* All parts after the colon, separated by semicolons. */
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

/* The record of a part in the table; k: number of the use, 0 for the others. */
static hu_edge *hu_part_edge(const hu_graph *graph, const hu_edge_table *edges, hu_value_id v,
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

/* ---- The edge table as the tree of a plan file ---- */

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

void hu_resolved_text(const hu_quantizer *quantizer, char *text, size_t capacity) {
    hu_quantizer_print(quantizer, text, (uint32_t)capacity);
    if (quantizer->rounding == HU_ROUND_NEAREST_EVEN) return;
    size_t used = strlen(text);
    snprintf(text + used, capacity - used, " %s", hu_rounding_name(quantizer->rounding));
}

static hu_status put_quantizer(hu_keys *map, const char *name, const hu_quantizer *quantizer) {
    char text[TEXT_BYTES];
    if (!hu_quantizer_rounds(quantizer)) return HU_OK;
    hu_resolved_text(quantizer, text, sizeof text);
    return put(map, name, "%s", text);
}

/* ---- tensors ---- */

static bool same_text(const hu_quantizer *a, const hu_quantizer *b) {
    char one[TEXT_BYTES], other[TEXT_BYTES];
    hu_resolved_text(a, one, sizeof one);
    hu_resolved_text(b, other, sizeof other);
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
        hu_resolved_text(quantizer, text, sizeof text);
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

static hu_status put_accumulator(hu_keys *map, const char *name, const hu_accumulator *sum) {
    char text[TEXT_BYTES];
    hu_status st = hu_accumulator_print(sum, text, sizeof text);
    return st == HU_OK ? put(map, name, "%s", text) : st;
}

/* "x", "w" or "dy": what stands after the product. */
static const char *operand_word(hu_operand_place operand) {
    return strchr(hu_operand_name(operand), '.') + 1;
}

/* The accumulator alone, or a map of it and the operands that are rounded. */
static hu_status put_role(hu_keys *map, const hu_node_products *products, hu_product_role role) {
    hu_status st = HU_OK;
    hu_keys *parts = NULL;
    const hu_accumulation *sums = &products->accumulation;
    const char *name = hu_product_role_name(role);
    const int first = 2 * (int)role;
    HU_TRY(new_map(&parts));
    for (int o = first; o < first + 2; o++)
        HU_TRY(put_quantizer(parts, operand_word((hu_operand_place)o),
                             &products->operands.quantizer[o]));
    if (hu_keys_count(parts) == 0) {
        if (sums->chosen[role]) st = put_accumulator(map, name, &sums->accumulator[role]);
        goto done;
    }
    if (sums->chosen[role]) HU_TRY(put_accumulator(parts, "accumulator", &sums->accumulator[role]));
    return hu_keys_put(map, name, parts);
done:
    hu_keys_free(parts);
    return st;
}

/* By layer and product, as accumulator.rules and operand.rules name them. */
static hu_status put_product(hu_keys *products, const hu_graph *graph, const hu_node *node,
                             const hu_node_products *of) {
    hu_status st = HU_OK;
    hu_keys *map = NULL;
    char layer[HU_NAME_BYTES];
    HU_TRY(new_map(&map));
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) HU_TRY(put_role(map, of, (hu_product_role)r));
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
        HU_TRY(put_product(products, graph, &graph->node[n], &edges->products[n]));
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
    if (facts->precision->scaling != HU_SCALING_NONE)
        HU_TRY(put(*tree, "scaling", "%s", hu_scaling_name(facts->precision->scaling)));
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
