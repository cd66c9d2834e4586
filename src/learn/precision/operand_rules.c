#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/rules.h"

/* ---- texts ---- */

/* Owner frees rule->words. */
static hu_status read_rule(const char *text, hu_rounding usual, hu_operand_rule *rule) {
    const char *choice;
    *rule = (hu_operand_rule){0};
    hu_status st = hu_rule_read(text, "LAYER.PRODUCT.OPERAND: FORMAT", &rule->words, &choice);
    if (st != HU_OK) return st;
    st = hu_quantizer_parse(choice, usual, &rule->quantizer);
    if (st == HU_OK) st = hu_operand_check(&rule->quantizer);
    return st == HU_OK ? st : hu_fail_within(st, "rule '%s': ", rule->words.text);
}

/* "x: FORMAT", "w: FORMAT", "dy: FORMAT". */
static bool is_shared(const char *text, hu_shared_operand *operand) {
    static const char *const words[HU_SHARED_OPERANDS] = {"x:", "w:", "dy:"};
    int o = 0;
    while (o < HU_SHARED_OPERANDS && strncmp(text, words[o], strlen(words[o])) != 0) o++;
    *operand = (hu_shared_operand)o;
    return o < HU_SHARED_OPERANDS;
}

hu_status hu_operand_choices_set(hu_operand_choices *choices, const char *text) {
    hu_operand_rule rule;
    hu_shared_operand shared;
    if (is_shared(text, &shared)) {
        const char *format = strchr(text, ':') + 1;
        return hu_quantizer_parse(format + strspn(format, " "), HU_ROUND_NEAREST_EVEN,
                                  &choices->shared[shared]);
    }
    hu_status st = read_rule(text, HU_ROUND_NEAREST_EVEN, &rule);
    for (int o = 0; st == HU_OK && o < HU_OPERANDS; o++)
        if (hu_glob_match(rule.words.pattern, hu_operand_name((hu_operand_place)o)))
            choices->formats.quantizer[o] = rule.quantizer;
    hu_rule_free(&rule.words);
    return st;
}

hu_status hu_operand_choices_add_rule(hu_operand_choices *choices, hu_rounding usual,
                                      const char *text) {
    hu_status st = HU_OK;
    hu_operand_rule rule;
    void *array = choices->rules;
    HU_TRY(read_rule(text, usual, &rule));
    HU_TRY(hu_realloc(&array, (choices->rule_count + 1) * sizeof *choices->rules));
    choices->rules = array;
    choices->rules[choices->rule_count++] = rule;
    return HU_OK;
done:
    hu_rule_free(&rule.words);
    return st;
}

/* "N", all of the text. */
static bool read_count(const char *text, int64_t *count) {
    enum { MOST_DIGITS = 9 };
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > MOST_DIGITS || text[digits]) return false;
    *count = strtoll(text, NULL, 10);
    return true;
}

/* "P%", above 0 and at most 100. */
static bool read_share(const char *text, double *share) {
    const double per_cent = 100;
    char *end;
    double value = strtod(text, &end);
    *share = value / per_cent;
    return end != text && strcmp(end, "%") == 0 && value > 0 && value <= per_cent;
}

static hu_status read_high(const char *text, hu_high_layers *high) {
    static const char first[] = "first=", last[] = "last=";
    *high = (hu_high_layers){0};
    bool is_known = true;
    if (strncmp(text, first, sizeof first - 1) == 0)
        is_known = read_count(text + sizeof first - 1, &high->first);
    else if (strncmp(text, last, sizeof last - 1) == 0)
        is_known = read_count(text + sizeof last - 1, &high->last) ||
                   read_share(text + sizeof last - 1, &high->share);
    else
        return hu_strdup(text, &high->pattern);
    if (is_known) return HU_OK;
    return hu_fail(HU_ERR_PARSE,
                   "operand.high: found '%.60s', expected first=N, last=N, last=P%% or a pattern "
                   "of layers",
                   text);
}

hu_status hu_operand_choices_add_high(hu_operand_choices *choices, const char *text) {
    hu_status st = HU_OK;
    hu_high_layers high;
    void *array = choices->high;
    HU_TRY(read_high(text, &high));
    st = hu_realloc(&array, (choices->high_count + 1) * sizeof *choices->high);
    if (st != HU_OK) hu_free(high.pattern);
    HU_TRY(st);
    choices->high = array;
    choices->high[choices->high_count++] = high;
done:
    return st;
}

void hu_operand_choices_clear_high(hu_operand_choices *choices) {
    for (uint32_t i = 0; i < choices->high_count; i++) hu_free(choices->high[i].pattern);
    hu_free(choices->high);
    choices->high = NULL;
    choices->high_count = 0;
    choices->high_is_asked = true;
}

void hu_operand_choices_free(hu_operand_choices *choices) {
    for (uint32_t r = 0; r < choices->rule_count; r++) hu_rule_free(&choices->rules[r].words);
    hu_free(choices->rules);
    choices->rules = NULL;
    choices->rule_count = 0;
    hu_operand_choices_clear_high(choices);
}

/* ---- into the table ---- */

static bool has_operands(const hu_node *node) {
    return node->op->rounds_operands;
}

static int64_t count_layers(const hu_graph *graph) {
    int64_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) count += has_operands(&graph->node[n]);
    return count;
}

/* Products of a layer, then their operands. */
static const char *part_of(int number) {
    if (number < HU_PRODUCT_ROLES) return hu_product_role_name((hu_product_role)number);
    number -= HU_PRODUCT_ROLES;
    return number < HU_OPERANDS ? hu_operand_name((hu_operand_place)number) : NULL;
}

static hu_status no_match(const char *what, const char *pattern, const hu_graph *graph) {
    static const hu_rule_layers layers = {has_operands, part_of};
    char nearest[512];
    hu_status st = hu_rule_layers_nearest(&layers, graph, pattern, nearest, sizeof nearest);
    if (st != HU_OK) return st;
    return hu_fail(HU_ERR_UNKNOWN,
                   "%s '%s' matches no convolution or linear layer; nearest names: %s", what,
                   pattern, nearest);
}

/* Whether layer number i of so many, counted from 0, stays high. */
static bool is_high(const hu_high_layers *high, int64_t i, int64_t count, const char *layer) {
    if (high->pattern) return hu_glob_match(high->pattern, layer);
    int64_t last = high->share > 0 ? (int64_t)ceil(high->share * (double)count) : high->last;
    return i < high->first || i >= count - last;
}

/* The same of all that stay high. */
static bool stays_high(const hu_operand_choices *choices, int64_t i, int64_t count,
                       const char *layer) {
    bool stays = false;
    for (uint32_t h = 0; h < choices->high_count; h++)
        stays = stays || is_high(&choices->high[h], i, count, layer);
    return stays;
}

/* Operands of one layer that the rule took. */
static uint32_t apply_rule(const hu_operand_rule *rule, const hu_graph *graph, const hu_node *node,
                           hu_operand_formats *to) {
    char layer[HU_NAME_BYTES], name[2 * HU_NAME_BYTES];
    const char *pattern = rule->words.pattern;
    uint32_t matched = 0;
    hu_graph_layer_name(graph, node, layer);
    bool whole = hu_glob_match(pattern, layer);
    for (int o = 0; o < HU_OPERANDS; o++) {
        const char *role = hu_product_role_name(hu_operand_role((hu_operand_place)o));
        snprintf(name, sizeof name, "%s.%s", layer, role);
        bool is_meant = whole || hu_glob_match(pattern, name);
        snprintf(name, sizeof name, "%s.%s", layer, hu_operand_name((hu_operand_place)o));
        if (!is_meant && !hu_glob_match(pattern, name)) continue;
        to->quantizer[o] = rule->quantizer;
        matched++;
    }
    return matched;
}

/* *matched: operands that the rule took; *high: those that it would have taken of layers that the
 * user keeps high. */
static void apply_to_all(const hu_operand_choices *choices, const hu_operand_rule *rule,
                         const hu_graph *graph, hu_edge_table *edges, uint32_t *matched,
                         uint32_t *high) {
    int64_t i = 0, count = count_layers(graph);
    *matched = *high = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        char layer[HU_NAME_BYTES];
        hu_operand_formats unused = {0};
        if (!has_operands(&graph->node[n])) continue;
        hu_graph_layer_name(graph, &graph->node[n], layer);
        bool stays = choices->high_is_asked && stays_high(choices, i, count, layer);
        hu_operand_formats *to = stays ? &unused : &edges->products[n].operands;
        *(stays ? high : matched) += apply_rule(rule, graph, &graph->node[n], to);
        i++;
    }
}

/* Rules of one operand, of which plans are made, are a recipe: what the user keeps high is. */
static bool is_of_many(const hu_operand_rule *rule) {
    return strpbrk(rule->words.text, "*?[") != NULL;
}

static hu_status apply_rules(const hu_operand_choices *choices, const hu_graph *graph,
                             hu_edge_table *edges) {
    for (uint32_t r = 0; r < choices->rule_count; r++) {
        const hu_operand_rule *rule = &choices->rules[r];
        uint32_t matched, high;
        apply_to_all(choices, rule, graph, edges, &matched, &high);
        if (matched == 0 && high == 0) return no_match("operand.rules:", rule->words.text, graph);
        if (matched == 0 && is_of_many(rule))
            return hu_fail(HU_ERR_ARGUMENT,
                           "operand.rules: found '%s' for layers that operand.high keeps as they "
                           "are, expected the rule or the layer in operand.high, not both",
                           rule->words.text);
    }
    return HU_OK;
}

static hu_status clear_high(const hu_high_layers *high, const hu_graph *graph,
                            hu_edge_table *edges) {
    int64_t i = 0, count = count_layers(graph), matched = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        char layer[HU_NAME_BYTES];
        if (!has_operands(&graph->node[n])) continue;
        hu_graph_layer_name(graph, &graph->node[n], layer);
        if (!is_high(high, i++, count, layer)) continue;
        edges->products[n].operands = (hu_operand_formats){0};
        matched++;
    }
    if (high->pattern && matched == 0) return no_match("operand.high:", high->pattern, graph);
    return HU_OK;
}

/* Gives the number of layers whose operands are tensors of the table now. */
static uint32_t write_shared(const hu_operand_choices *choices, const hu_graph *graph,
                             hu_edge_table *edges) {
    int64_t i = 0, count = count_layers(graph);
    uint32_t written = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        char layer[HU_NAME_BYTES];
        if (!has_operands(node)) continue;
        hu_graph_layer_name(graph, node, layer);
        if (stays_high(choices, i++, count, layer)) continue;
        edges->use[node->first_use].quantizer = choices->shared[HU_SHARED_X];
        edges->value[node->param[0]].quantizer = choices->shared[HU_SHARED_W];
        edges->grad_sum[node->out[0]].quantizer = choices->shared[HU_SHARED_DY];
        written++;
    }
    return written;
}

static bool has_shared(const hu_operand_choices *choices) {
    bool any = false;
    for (int o = 0; o < HU_SHARED_OPERANDS; o++)
        any = any || hu_quantizer_rounds(&choices->shared[o]);
    return any;
}

/* A recipe that rounds nothing would be float32 by another name. */
static hu_status check_layers(const hu_operand_choices *choices, const hu_graph *graph,
                              const hu_edge_table *edges, uint32_t shared) {
    bool any = shared > 0 || (!hu_operands_round(&choices->formats) && !has_shared(choices));
    for (uint32_t n = 0; n < graph->node_count; n++)
        any = any || hu_operands_round(&edges->products[n].operands);
    if (any) return HU_OK;
    int64_t layers = count_layers(graph);
    if (layers == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "the precision rounds what products multiply: found no convolution or "
                       "linear layer, expected at least one");
    return hu_fail(HU_ERR_ARGUMENT,
                   "the precision rounds what products multiply: found all %lld layers among those "
                   "that stay high, expected fewer in operand.high",
                   (long long)layers);
}

/* The recipe first, then what stays high, then rule after rule: later ones win, but where the user
 * says what stays high. */
hu_status hu_operand_choices_write(const hu_operand_choices *choices, const hu_graph *graph,
                                   hu_edge_table *edges) {
    hu_status st = HU_OK;
    uint32_t shared = has_shared(choices) ? write_shared(choices, graph, edges) : 0;
    for (uint32_t n = 0; n < graph->node_count; n++)
        edges->products[n].operands =
            has_operands(&graph->node[n]) ? choices->formats : (hu_operand_formats){0};
    for (uint32_t i = 0; i < choices->high_count; i++)
        HU_TRY(clear_high(&choices->high[i], graph, edges));
    HU_TRY(apply_rules(choices, graph, edges));
    HU_TRY(check_layers(choices, graph, edges, shared));
done:
    return st;
}
