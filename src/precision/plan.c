/* Rounding points of the schemes, and rules by name and role. */
#include "precision/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"

static const char *const role_names[] = {"act", "act.grad", "weight", "weight.grad"};

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

static const hu_op *producer_op(const hu_graph *graph, hu_value_id v) {
    uint32_t producer = graph->value[v].producer;
    return producer == HU_NONE ? NULL : graph->node[producer].op;
}

/* A product whose only reader adds the bias: inside one layer, not a tensor of its own for most
 * schemes. */
static bool is_inner_product(const hu_graph *graph, hu_value_id v) {
    const hu_op *op = producer_op(graph, v);
    const hu_value_info *value = &graph->value[v];
    return op && op->is_product && value->use_count == 1 &&
           graph->node[graph->use[value->uses[0]].node].op == &hu_op_bias;
}

static bool is_loss_part(const hu_graph *graph, hu_value_id v) {
    const hu_op *op = producer_op(graph, v);
    return op == &hu_op_nll || op == &hu_op_log_softmax;
}

/* Is this activation a rounding point of the scheme? Views, labels and running statistics never
 * are. */
static bool rounds_value(hu_scheme scheme, const hu_graph *graph, hu_value_id v) {
    const hu_op *op = producer_op(graph, v);
    bool is_number = v != graph->label && graph->value[v].role != HU_VALUE_BUFFER;
    if (!is_number || (op && op->is_view)) return false;
    if (scheme != HU_SCHEME_POPESCU && is_inner_product(graph, v)) return false;
    return scheme == HU_SCHEME_LEE || !is_loss_part(graph, v);
}

/* Views hold the numbers of their input, labels are no numbers, an inner product that is not
 * rounded is part of its layer: none of them is a tensor of the assignment. */
static bool is_tensor(const hu_graph *graph, const hu_edge_table *edges, hu_value_id v) {
    const hu_op *op = producer_op(graph, v);
    if (graph->value[v].role == HU_VALUE_BUFFER || v == graph->label) return false;
    if (op && op->is_view) return false;
    return !is_inner_product(graph, v) || hu_quantizer_rounds(&edges->value[v].quantizer);
}

/* Lee et al.: forward formats without infinities saturate, backward ones signal by an infinity;
 * other schemes keep the format's own rule, but a saturating backward format signals where loss
 * scaling listens. */
static hu_quantizer in_direction(const hu_quantizer *quantizer, bool backward, bool signals) {
    hu_quantizer result = *quantizer;
    if (backward && signals && result.kind == HU_QUANTIZER_FLOAT &&
        result.format.overflow == HU_OVERFLOW_SAT)
        result.format.overflow = HU_OVERFLOW_INF;
    return result;
}

static void write_points(const hu_precision *precision, const hu_graph *graph, bool signals,
                         hu_edge_table *edges) {
    hu_quantizer act = precision->role[HU_ROLE_ACT], weight = precision->role[HU_ROLE_WEIGHT];
    hu_quantizer grad = in_direction(&precision->role[HU_ROLE_ACT_GRAD], true, signals);
    hu_quantizer wgrad = in_direction(&precision->role[HU_ROLE_WEIGHT_GRAD], true, signals);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_value_role role = graph->value[v].role;
        if (role == HU_VALUE_PARAMETER) edges->value[v].quantizer = weight;
        if (role == HU_VALUE_PARAMETER || role == HU_VALUE_BUFFER) continue;
        if (!rounds_value(precision->scheme, graph, v)) continue;
        edges->value[v].quantizer = act;
        if (precision->scheme != HU_SCHEME_LEE) edges->grad_sum[v].quantizer = grad;
    }
    for (uint32_t u = 0; u < graph->use_count; u++) {
        hu_value_id v = graph->use[u].value;
        if (graph->value[v].role == HU_VALUE_PARAMETER)
            edges->grad[u].quantizer = wgrad;
        else if (rounds_value(precision->scheme, graph, v))
            edges->grad[u].quantizer = grad;
    }
}

/* Does the pattern mean this tensor, by role or by name? */
static bool matches(const char *pattern, hu_role role, const char *name) {
    return strcmp(pattern, role_names[role]) == 0 || hu_glob_match(pattern, name);
}

/* A pattern that stands for many tensors moves formats, not rounding points; a tensor that is named
 * in full is rounded wherever it is. */
static bool may_round(const hu_precision *precision, const hu_precision_rule *rule,
                      const hu_graph *graph, hu_value_id v, const char *name) {
    if (graph->value[v].role == HU_VALUE_PARAMETER || strcmp(rule->pattern, name) == 0) return true;
    return rounds_value(precision->scheme, graph, v);
}

static uint32_t apply_to_value(const hu_precision *precision, const hu_precision_rule *rule,
                               const hu_graph *graph, hu_value_id v, bool signals,
                               hu_edge_table *edges) {
    const hu_value_info *value = &graph->value[v];
    bool is_param = value->role == HU_VALUE_PARAMETER;
    char grad_name[1024];
    uint32_t matched = 0;
    if (value->role == HU_VALUE_BUFFER || v == graph->label) return 0;
    snprintf(grad_name, sizeof grad_name, "%s.grad", value->name);
    if (matches(rule->pattern, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value->name)) {
        if (may_round(precision, rule, graph, v, value->name))
            edges->value[v].quantizer = rule->quantizer;
        matched++;
    }
    hu_quantizer grad = in_direction(&rule->quantizer, true, signals);
    if (!matches(rule->pattern, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, grad_name))
        return matched;
    if (!may_round(precision, rule, graph, v, grad_name)) return matched + 1;
    for (uint32_t k = 0; k < value->use_count; k++) edges->grad[value->uses[k]].quantizer = grad;
    bool sums = precision->scheme != HU_SCHEME_LEE && !is_param;
    if (sums && rounds_value(precision->scheme, graph, v)) edges->grad_sum[v].quantizer = grad;
    return matched + 1;
}

static hu_status no_match(const hu_precision_rule *rule, const hu_graph *graph) {
    char nearest[512];
    void *names;
    size_t count = 0;
    hu_status st = hu_alloc_array(graph->value_count + HU_ROLE_COUNT, sizeof(char *), &names);
    if (st != HU_OK) return st;
    for (int r = 0; r < HU_ROLE_COUNT; r++) ((const char **)names)[count++] = role_names[r];
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role != HU_VALUE_BUFFER && v != graph->label)
            ((const char **)names)[count++] = graph->value[v].name;
    hu_nearest(rule->pattern, names, count, nearest, sizeof nearest);
    hu_free(names);
    return hu_fail(HU_ERR_UNKNOWN, "rule '%s' matches no tensor; nearest names: %s", rule->text,
                   nearest);
}

hu_status hu_precision_write(const hu_precision *precision, const hu_graph *graph, bool signals,
                             hu_edge_table *edges) {
    write_points(precision, graph, signals, edges);
    for (uint32_t r = 0; r < precision->rule_count; r++) {
        const hu_precision_rule *rule = &precision->rules[r];
        uint32_t matched = 0;
        for (hu_value_id v = 0; v < graph->value_count; v++)
            matched += apply_to_value(precision, rule, graph, v, signals, edges);
        if (matched == 0) return no_match(rule, graph);
    }
    return HU_OK;
}

static bool is_low(const hu_quantizer *quantizer) {
    return hu_quantizer_rounds(quantizer) && hu_format_bits(&quantizer->format) <= 8;
}

/* Elements of a tensor for a batch; its gradient has as many. */
static int64_t tensor_elements(const hu_value_info *value, int64_t batch) {
    return value->elements * (value->role == HU_VALUE_PARAMETER ? 1 : batch);
}

int64_t hu_precision_tensor_elements(const hu_graph *graph, const hu_edge_table *edges,
                                     int64_t batch) {
    int64_t all = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (is_tensor(graph, edges, v)) all += 2 * tensor_elements(&graph->value[v], batch);
    return all;
}

const hu_quantizer *hu_precision_gradient(const hu_graph *graph, const hu_edge_table *edges,
                                          hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    return value->use_count ? &edges->grad[value->uses[0]].quantizer : &edges->value[v].quantizer;
}

/* Bits of one row (a sample, or a parameter) in its format; a scale of a block has 8. */
static int64_t row_bits(const hu_value_info *value, const hu_quantizer *quantizer) {
    enum { FLOAT32_BITS = 32, SCALE_BITS = 8 };
    if (!hu_quantizer_rounds(quantizer)) return FLOAT32_BITS * value->elements;
    int64_t bits = (int64_t)hu_format_bits(&quantizer->format) * value->elements;
    if (quantizer->kind != HU_QUANTIZER_BLOCK) return bits;
    int64_t line = value->shape.rank ? value->shape.extent[value->shape.rank - 1] : 1;
    int64_t blocks = (line + quantizer->block->length - 1) / quantizer->block->length;
    return bits + SCALE_BITS * blocks * (value->elements / line);
}

int64_t hu_precision_aggregate_bits(const hu_graph *graph, const hu_edge_table *edges,
                                    int64_t batch) {
    int64_t bits = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (!is_tensor(graph, edges, v)) continue;
        int64_t rows = value->role == HU_VALUE_PARAMETER ? 1 : batch;
        bits += rows * (row_bits(value, &edges->value[v].quantizer) +
                        row_bits(value, hu_precision_gradient(graph, edges, v)));
    }
    return bits;
}

double hu_precision_low_ratio(const hu_graph *graph, const hu_edge_table *edges, int64_t batch) {
    int64_t low = 0, all = hu_precision_tensor_elements(graph, edges, batch);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (!is_tensor(graph, edges, v)) continue;
        int64_t elements = tensor_elements(&graph->value[v], batch);
        low += is_low(&edges->value[v].quantizer) ? elements : 0;
        low += is_low(hu_precision_gradient(graph, edges, v)) ? elements : 0;
    }
    return all > 0 ? (double)low / (double)all : 0.0;
}
