#include "precision/precision.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/internal.h"

bool hu_precision_can_promote(const hu_precision *precision, const hu_graph *graph,
                              const hu_edge_table *edges) {
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        bool is_param = graph->value[v].role == HU_VALUE_PARAMETER;
        const hu_quantizer *high = &precision->high[is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT];
        if (hu_is_tensor(graph, edges, v) &&
            hu_quantizer_bits(&edges->value[v].quantizer) < hu_quantizer_bits(high))
            return true;
    }
    return false;
}

/* A format with 8 bits of exponent has float32's bias or one above it, whose largest number is
 * smaller. */
bool hu_format_keeps_range(const hu_format *format) {
    enum { LEAST_BITS = 16, RANGE_BITS = 8, BIAS = 127 };
    return format->exp_bits == RANGE_BITS && format->bias == BIAS && format->subnormals &&
           hu_format_bits(format) >= LEAST_BITS;
}

bool hu_quantizer_is_unsigned(const hu_quantizer *quantizer) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || !hu_quantizer_rounds(quantizer)) return false;
    float most = (float)hu_format_limits_of(&quantizer->format).max_finite;
    return !(hu_format_round(&quantizer->format, HU_ROUND_NEAREST_EVEN, -most, 0) < 0);
}

static bool keeps_range(const hu_edge *edges, uint32_t count) {
    bool keeps = true;
    for (uint32_t i = 0; i < count && keeps; i++) {
        const hu_quantizer *q = &edges[i].quantizer;
        bool is_wide = q->kind == HU_QUANTIZER_FLOAT && q->scale == HU_SCALE_NONE &&
                       hu_format_keeps_range(&q->format);
        keeps = !hu_quantizer_rounds(q) || is_wide;
    }
    return keeps;
}

static bool has_operands(const hu_precision *precision) {
    const hu_operand_choices *operands = &precision->operands;
    bool any = hu_operands_round(&operands->formats) || operands->rule_count > 0;
    for (uint32_t p = 0; p < precision->phase_count; p++)
        any = any || has_operands(&precision->phases[p].precision);
    return any;
}

bool hu_precision_keeps_range(const hu_precision *precision, const hu_edge_table *edges) {
    const hu_accumulators *accumulators = &precision->accumulators;
    uint32_t values = edges->value_count, uses = edges->use_count;
    bool keeps = keeps_range(edges->value, values) && keeps_range(edges->use, uses) &&
                 keeps_range(edges->grad, uses) && keeps_range(edges->grad_sum, values) &&
                 keeps_range(edges->grad_weights, values);
    for (int s = 0; s < HU_STATE_SORTS; s++) keeps = keeps && keeps_range(edges->state[s], values);
    keeps = keeps && !has_operands(precision);
    bool changes = precision->phase_count > 0 || precision->bits.schedule || precision->promotes;
    return keeps && !changes && !accumulators->chosen && accumulators->rule_count == 0;
}

bool hu_precision_splits_bias(const hu_precision *precision) {
    bool splits = precision->scheme == HU_SCHEME_POPESCU;
    for (uint32_t p = 0; p < precision->phase_count && !splits; p++)
        splits = precision->phases[p].precision.scheme == HU_SCHEME_POPESCU;
    return splits;
}

/* Is this activation a rounding point of the scheme? Views, labels and running statistics never
 * are. The loss is one in Lee et al.'s alone: the others name the outputs of layers, softmax among
 * them, and keep the loss in float32. */
static bool rounds_value(hu_scheme scheme, const hu_graph *graph, hu_value_id v) {
    const hu_op *op = hu_producer_op(graph, v);
    bool is_number = hu_is_rounded_kind(&graph->value[v]);
    if (!is_number || (op && op->is_view)) return false;
    if (scheme != HU_SCHEME_POPESCU && hu_is_inner_product(graph, v)) return false;
    return scheme == HU_SCHEME_LEE || !op || !op->is_loss;
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

/* Nothing is rounded. */
static void clear_points(hu_edge_table *edges) {
    for (uint32_t v = 0; v < edges->value_count; v++) {
        edges->value[v].quantizer = edges->grad_sum[v].quantizer = (hu_quantizer){0};
        edges->grad_weights[v].quantizer = (hu_quantizer){0};
        edges->grad_weights[v].is_apart = false;
    }
    edges->has_apart = false;
    for (uint32_t u = 0; u < edges->use_count; u++)
        edges->use[u].quantizer = edges->grad[u].quantizer = (hu_quantizer){0};
}

/* True if the scheme rounds the sum of a gradient's contributions again. Of parameters, those with
 * several uses have such a sum. */
static bool rounds_sum(const hu_precision *precision, const hu_graph *graph, hu_value_id v) {
    if (precision->scheme == HU_SCHEME_LEE) return false;
    return graph->value[v].role == HU_VALUE_PARAMETER ? graph->value[v].use_count > 1
                                                      : rounds_value(precision->scheme, graph, v);
}

/* What the scheme rounds, in the format of the tensor's role; nothing else is touched. */
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
        if (rounds_sum(precision, graph, v)) edges->grad_sum[v].quantizer = grad;
    }
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER && rounds_sum(precision, graph, v))
            edges->grad_sum[v].quantizer = wgrad;
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
    return strcmp(pattern, hu_role_names[role]) == 0 || hu_glob_match(pattern, name);
}

/* A pattern that stands for many tensors moves formats, not rounding points; a tensor that is named
 * in full is rounded wherever it is. */
static bool may_round(const hu_precision *precision, const hu_precision_rule *rule,
                      const hu_graph *graph, hu_value_id v, const char *name) {
    if (graph->value[v].role == HU_VALUE_PARAMETER || strcmp(rule->words.pattern, name) == 0)
        return true;
    return rounds_value(precision->scheme, graph, v);
}

/* What a recipe rounds for products stays where a rule means all tensors of a role. */
static bool keeps_operand(const hu_precision *precision, const hu_precision_rule *rule,
                          hu_role role, hu_shared_operand operand, const hu_quantizer *now) {
    const hu_quantizer *shared = &precision->operands.shared[operand];
    return strcmp(rule->words.pattern, hu_role_names[role]) == 0 && hu_quantizer_rounds(shared) &&
           hu_quantizer_same_numbers(shared, now);
}

/* Returns how many of the value and its gradient the rule means, changed or not. */
static uint32_t apply_to_value(const hu_precision *precision, const hu_precision_rule *rule,
                               const hu_graph *graph, hu_value_id v, bool signals,
                               hu_edge_table *edges) {
    const hu_value_info *value = &graph->value[v];
    bool is_param = value->role == HU_VALUE_PARAMETER;
    char grad_name[1024];
    uint32_t matched = 0;
    if (!hu_is_rounded_kind(value)) return 0;
    snprintf(grad_name, sizeof grad_name, "%s.grad", value->name);
    if (matches(rule->words.pattern, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value->name)) {
        bool keeps = is_param && keeps_operand(precision, rule, HU_ROLE_WEIGHT, HU_SHARED_W,
                                               &edges->value[v].quantizer);
        if (may_round(precision, rule, graph, v, value->name) && !keeps)
            edges->value[v].quantizer = rule->quantizer;
        matched++;
    }
    hu_quantizer grad = in_direction(&rule->quantizer, true, signals);
    if (!matches(rule->words.pattern, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, grad_name))
        return matched;
    if (!may_round(precision, rule, graph, v, grad_name)) return matched + 1;
    for (uint32_t k = 0; k < value->use_count; k++) edges->grad[value->uses[k]].quantizer = grad;
    bool keeps = keeps_operand(precision, rule, HU_ROLE_ACT_GRAD, HU_SHARED_DY,
                               &edges->grad_sum[v].quantizer);
    if (rounds_sum(precision, graph, v) && !keeps) edges->grad_sum[v].quantizer = grad;
    return matched + 1;
}

/* Roles stand among the names: "wieght" should find "weight". */
static hu_status no_match(const hu_precision_rule *rule, const hu_graph *graph) {
    char nearest[512];
    void *names;
    size_t count = 0;
    hu_status st = hu_alloc_array(graph->value_count + HU_ROLE_COUNT, sizeof(char *), &names);
    if (st != HU_OK) return st;
    for (int r = 0; r < HU_ROLE_COUNT; r++) ((const char **)names)[count++] = hu_role_names[r];
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (hu_is_rounded_kind(&graph->value[v]))
            ((const char **)names)[count++] = graph->value[v].name;
    hu_nearest(rule->words.pattern, names, count, nearest, sizeof nearest);
    hu_free(names);
    return hu_fail(HU_ERR_UNKNOWN, "rule '%s' matches no tensor; nearest names: %s",
                   rule->words.text, nearest);
}

/* Moves one tensor, or its gradient, to the low candidate where the scheme rounds it. */
static void lower(const hu_precision *precision, const hu_graph *graph, hu_value_id v, bool signals,
                  const hu_low_set *low, hu_edge_table *edges) {
    const hu_value_info *value = &graph->value[v];
    bool is_param = value->role == HU_VALUE_PARAMETER;
    const hu_quantizer *here = &precision->low[is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT];
    const hu_quantizer *low_grad =
        &precision->low[is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD];
    if (!is_param && !rounds_value(precision->scheme, graph, v)) return;
    if (low->value[v] && hu_quantizer_rounds(here)) edges->value[v].quantizer = *here;
    if (!low->gradient[v] || !hu_quantizer_rounds(low_grad)) return;
    hu_quantizer grad = in_direction(low_grad, true, signals);
    for (uint32_t k = 0; k < value->use_count; k++) edges->grad[value->uses[k]].quantizer = grad;
    if (rounds_sum(precision, graph, v)) edges->grad_sum[v].quantizer = grad;
}

/* Low is what has no more bits than the low candidate of its role (of a role without one: than the
 * widest), and fewer than the high one: widths may differ from role to role. */
static void set_low_bits(const hu_precision *precision, hu_edge_table *edges) {
    _Static_assert((int)HU_LOW_KINDS == (int)HU_ROLE_COUNT, "one for each role");
    uint32_t widest = hu_widest_role(precision->low);
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        const hu_quantizer *low = &precision->low[r];
        uint32_t bits = hu_quantizer_rounds(low) ? hu_quantizer_bits(low) : widest;
        uint32_t high = hu_quantizer_bits(&precision->high[r]);
        edges->low_bits[r] = bits < high ? bits : high - 1;
    }
}

/* Groups are those of the table with everything high: where the scheme rounds nothing, nothing
 * can go low. */
static hu_status assign(const hu_precision *precision, const hu_graph *graph, int64_t batch,
                        bool signals, hu_edge_table *edges) {
    hu_status st = HU_OK;
    hu_tensor_groups groups = {0};
    hu_low_set low = {0};
    void *block = NULL;
    if (!precision->assignment.kind) return HU_OK;
    HU_TRY(hu_tensor_groups_create(graph, edges, batch, &groups));
    HU_TRY(hu_alloc_array(2 * (size_t)graph->value_count, sizeof(bool), &block));
    low = (hu_low_set){block, (bool *)block + graph->value_count};
    hu_assignment_task task = {.assignment = &precision->assignment,
                               .graph = graph,
                               .edges = edges,
                               .groups = &groups,
                               .high = precision->high,
                               .low = precision->low,
                               .batch = batch,
                               .listed = (const char *const *)precision->listed,
                               .listed_count = precision->listed_count};
    HU_TRY(precision->assignment.kind->choose(&task, &low));
    for (hu_value_id v = 0; v < graph->value_count; v++)
        lower(precision, graph, v, signals, &low, edges);
    set_low_bits(precision, edges);
done:
    hu_tensor_groups_free(&groups);
    hu_free(block);
    return st;
}

/* A rule, where it means a tensor that no schedule of bits writes. */
static hu_status apply(const hu_precision *precision, const hu_precision_rule *rule,
                       const hu_graph *graph, bool signals, hu_edge_table *edges) {
    uint32_t matched = 0;
    hu_status st = HU_OK;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        matched += apply_to_value(precision, rule, graph, v, signals, edges);
    if (matched == 0) return no_match(rule, graph);
    if (precision->bits.schedule) st = hu_bits_check_kept(&precision->bits, graph, edges);
    return st == HU_OK ? st : hu_fail_within(st, "rule '%s': ", rule->words.text);
}

/* What is learned of bits compares gradients of different tensors. */
static hu_status write_scaling(const hu_precision *precision, const hu_graph *graph, int64_t batch,
                               hu_edge_table *edges) {
    if (precision->scaling == HU_SCALING_NONE) return HU_OK;
    if (precision->bits.schedule && precision->bits.schedule->learned)
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.scaling: found unit with '%s', which learns bits from gradients "
                       "that are held as they are; expected none, or bits that are not learned",
                       precision->name);
    return hu_unit_scaling_write(graph, batch, edges);
}

hu_status hu_precision_write(const hu_precision *precision, const hu_graph *graph, int64_t batch,
                             bool signals, hu_edge_table *edges) {
    hu_status st;
    if (has_operands(precision)) edges->has_operands = true;
    HU_TRY(write_scaling(precision, graph, batch, edges));
    precision = hu_precision_at(precision, 0);
    clear_points(edges);
    if (precision->bits.schedule)
        HU_TRY(hu_bits_write_most(&precision->bits, graph, edges));
    else if (precision->is_resolved)
        HU_TRY(hu_resolved_apply(precision, graph, edges));
    else
        write_points(precision, graph, signals, edges);
    HU_TRY(assign(precision, graph, batch, signals, edges));
    HU_TRY(hu_operand_choices_write(&precision->operands, graph, edges));
    for (uint32_t r = 0; r < precision->rule_count; r++)
        HU_TRY(apply(precision, &precision->rules[r], graph, signals, edges));
done:
    return st;
}
