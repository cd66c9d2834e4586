#include "precision/rules.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- What a tensor is for, as far as formats care ---- */

const char *const hu_role_names[HU_ROLE_COUNT] = {"act", "act.grad", "weight", "weight.grad"};

const hu_role_key hu_role_keys[HU_ROLE_COUNT] = {{"w=", HU_ROLE_WEIGHT},
                                                 {"act=", HU_ROLE_ACT},
                                                 {"grad=", HU_ROLE_ACT_GRAD},
                                                 {"wgrad=", HU_ROLE_WEIGHT_GRAD}};

/* Linear in practice: only the last star is ever taken up again. */
bool hu_glob_match(const char *pattern, const char *name) {
    const char *star = NULL, *resume = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

/* ---- rule ---- */

/* "PATTERN: CHOICE": what rules about tensors and rules about products share. */

hu_status hu_rule_read(const char *text, const char *form, hu_rule *rule, const char **choice) {
    hu_status st = HU_OK;
    *rule = (hu_rule){0};
    text += strspn(text, " ");
    /* Formats have colons of their own ("e4m3:ovf=sat"), patterns have none: the first one parts.
     */
    const char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return hu_fail(HU_ERR_PARSE, "rule '%s': expected '%s'", text, form);
    size_t length = (size_t)(colon - text);
    while (text[length - 1] == ' ') length--;
    *choice = colon + 1 + strspn(colon + 1, " ");
    HU_TRY(hu_strdup(text, &rule->text));
    HU_TRY(hu_strndup(text, length, &rule->pattern));
done:
    if (st != HU_OK) hu_rule_free(rule);
    return st;
}

void hu_rule_free(hu_rule *rule) {
    hu_free(rule->text);
    hu_free(rule->pattern);
    *rule = (hu_rule){0};
}

/* Names that rules may give, in one block. */
static hu_status list_names(const hu_rule_layers *layers, const hu_graph *graph, char ***names,
                            size_t *count) {
    enum { BYTES = 2 * HU_NAME_BYTES };
    size_t per_layer = 1;
    while (layers->part((int)per_layer - 1)) per_layer++;
    size_t most = (size_t)graph->node_count * per_layer;
    void *block;
    hu_status st = hu_alloc_array(most, sizeof(char *) + BYTES, &block);
    *names = block;
    *count = 0;
    if (st != HU_OK) return st;
    char *text = (char *)(*names + most);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        char layer[HU_NAME_BYTES];
        if (!layers->has(&graph->node[n])) continue;
        hu_graph_layer_name(graph, &graph->node[n], layer);
        for (size_t i = 0; i < per_layer; i++, text += BYTES) {
            const char *part = i ? layers->part((int)i - 1) : "";
            snprintf(text, BYTES, "%s%s%s", layer, i ? "." : "", part);
            (*names)[(*count)++] = text;
        }
    }
    return HU_OK;
}

hu_status hu_rule_layers_nearest(const hu_rule_layers *layers, const hu_graph *graph,
                                 const char *pattern, char *nearest, size_t capacity) {
    char **names;
    size_t count;
    hu_status st = list_names(layers, graph, &names, &count);
    if (st != HU_OK) return st;
    hu_nearest(pattern, (const char *const *)names, count, nearest, capacity);
    hu_free(names);
    return HU_OK;
}

/* ---- accumulate ---- */

/* Which product gets which accumulator: one for all, and rules by layer.
 */

static hu_status parse_choice(const char *text, hu_semantics semantics, bool *chosen,
                              hu_accumulator *accumulator) {
    *accumulator = (hu_accumulator){0};
    *chosen = strcasecmp(text, "fp32") != 0;
    if (!*chosen) return HU_OK;
    hu_status st = hu_accumulator_parse(text, accumulator);
    accumulator->semantics = semantics;
    if (st == HU_ERR_UNKNOWN && !strchr(text, ':')) /* of fp32 the modes' list knows nothing */
        return hu_fail_within(st, "found neither fp32 nor an accumulator: ");
    return st;
}

hu_status hu_accumulators_parse(const char *text, hu_semantics semantics,
                                hu_accumulators *accumulators) {
    bool chosen;
    hu_accumulator accumulator;
    hu_status st = parse_choice(text, semantics, &chosen, &accumulator);
    if (st != HU_OK) return st;
    accumulators->chosen = chosen;
    accumulators->accumulator = accumulator;
    return HU_OK;
}

hu_status hu_accumulators_add_rule(hu_accumulators *accumulators, const char *text,
                                   hu_semantics semantics) {
    hu_status st = HU_OK;
    hu_accumulator_rule rule = {0};
    const char *choice;
    HU_TRY(hu_rule_read(text, "LAYER: ACCUMULATOR", &rule.words, &choice));
    st = parse_choice(choice, semantics, &rule.chosen, &rule.accumulator);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "rule '%s': ", rule.words.text));
    void *array = accumulators->rules;
    HU_TRY(hu_realloc(&array, (accumulators->rule_count + 1) * sizeof *accumulators->rules));
    accumulators->rules = array;
    accumulators->rules[accumulators->rule_count++] = rule;
    return HU_OK;
done:
    hu_rule_free(&rule.words);
    return st;
}

hu_status hu_semantics_parse(const char *text, hu_semantics *semantics) {
    *semantics = HU_SEMANTICS_EXACT;
    for (int i = 0; i < HU_SEMANTICS_COUNT; i++)
        if (strcmp(text, hu_semantics_name((hu_semantics)i)) == 0) {
            *semantics = (hu_semantics)i;
            return HU_OK;
        }
    return hu_fail(HU_ERR_UNKNOWN, "semantics '%s', expected exact, f32fma or cpd", text);
}

/* One accumulator for the three products of a layer. */
static void set_all(bool chosen, const hu_accumulator *accumulator, hu_accumulation *to) {
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        to->chosen[r] = chosen;
        to->accumulator[r] = *accumulator;
    }
}

/* Products of one layer that the rule took. */
static uint32_t apply_rule(const hu_accumulator_rule *rule, const hu_graph *graph,
                           const hu_node *node, hu_accumulation *to) {
    char layer[HU_NAME_BYTES], product[2 * HU_NAME_BYTES];
    uint32_t matched = 0;
    hu_graph_layer_name(graph, node, layer);
    bool whole = hu_glob_match(rule->words.pattern, layer);
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        snprintf(product, sizeof product, "%s.%s", layer, hu_product_role_name((hu_product_role)r));
        if (!whole && !hu_glob_match(rule->words.pattern, product)) continue;
        to->chosen[r] = rule->chosen;
        to->accumulator[r] = rule->accumulator;
        matched++;
    }
    return matched;
}

static bool is_product(const hu_node *node) {
    return node->op->is_product;
}

static const char *role_part(int number) {
    return number < HU_PRODUCT_ROLES ? hu_product_role_name((hu_product_role)number) : NULL;
}

static hu_status no_match(const hu_accumulator_rule *rule, const hu_graph *graph) {
    static const hu_rule_layers products = {is_product, role_part};
    char nearest[512];
    hu_status st =
        hu_rule_layers_nearest(&products, graph, rule->words.pattern, nearest, sizeof nearest);
    if (st != HU_OK) return st;
    return hu_fail(HU_ERR_UNKNOWN, "rule '%s' matches no layer with a product; nearest names: %s",
                   rule->words.text, nearest);
}

/* The choice for all first, then rule after rule: later ones win. */
hu_status hu_accumulators_write(const hu_accumulators *accumulators, const hu_graph *graph,
                                hu_edge_table *edges) {
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op->is_product)
            set_all(accumulators->chosen, &accumulators->accumulator,
                    &edges->products[n].accumulation);
    for (uint32_t r = 0; r < accumulators->rule_count; r++) {
        uint32_t matched = 0;
        for (uint32_t n = 0; n < graph->node_count; n++)
            if (graph->node[n].op->is_product)
                matched += apply_rule(&accumulators->rules[r], graph, &graph->node[n],
                                      &edges->products[n].accumulation);
        if (matched == 0) return no_match(&accumulators->rules[r], graph);
    }
    return HU_OK;
}

/* Counting slows a step down and changes no bit, so that it is done now and then only. */
bool hu_accumulators_count(const hu_accumulators *accumulators, int64_t step) {
    bool any = accumulators->chosen || accumulators->rule_count > 0;
    return any && accumulators->count_every > 0 && step % accumulators->count_every == 0;
}

void hu_accumulators_free(hu_accumulators *accumulators) {
    for (uint32_t r = 0; r < accumulators->rule_count; r++)
        hu_rule_free(&accumulators->rules[r].words);
    hu_free(accumulators->rules);
    accumulators->rules = NULL;
    accumulators->rule_count = 0;
}
