#include "precision/internal.h"
#include "precision/precision.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "precision/tensor_groups.h"

/* ---- assign ---- */

/* assignments: which tensors are kept in the low one of two candidate formats.
 *
 * A kind of assignment is one file and one line of the list. Text: NAME or NAME:ARGUMENT.
 */

const hu_assignment_kind *const hu_assignment_table[] = {
#define ASSIGNMENT_ROW(identifier) &hu_assignment_##identifier,
    HU_ASSIGNMENT_LIST(ASSIGNMENT_ROW)
#undef ASSIGNMENT_ROW
};
const int hu_assignment_count = sizeof hu_assignment_table / sizeof *hu_assignment_table;

/* The name ends at the first colon; the rest is the argument of the kind. */
hu_status hu_assignment_parse(const char *text, hu_assignment *assignment, bool *found) {
    size_t length = strcspn(text, ":");
    const char *argument = text[length] ? text + length + 1 : NULL;
    *assignment = (hu_assignment){0};
    *found = false;
    for (int k = 0; k < hu_assignment_count; k++) {
        const hu_assignment_kind *kind = hu_assignment_table[k];
        if (strlen(kind->name) != length || memcmp(kind->name, text, length) != 0) continue;
        *found = true;
        assignment->kind = kind;
        if (kind->parse) return kind->parse(argument, assignment);
        if (!argument) return HU_OK;
        return hu_fail(HU_ERR_PARSE, "found ':%s', expected '%s' alone", argument, kind->name);
    }
    return HU_OK;
}

static hu_status choose_none(const hu_assignment_task *task, hu_low_set *low) {
    (void)task, (void)low;
    return HU_OK;
}

static hu_status choose_all(const hu_assignment_task *task, hu_low_set *low) {
    for (hu_value_id v = 0; v < task->graph->value_count; v++)
        low->value[v] = low->gradient[v] = task->groups->of_value[v] != HU_NONE;
    return HU_OK;
}

const hu_assignment_kind hu_assignment_high = {
    .name = "high", .argument = "", .help = "all tensors high", .choose = choose_none};
const hu_assignment_kind hu_assignment_uniform = {
    .name = "uniform",
    .argument = "",
    .help = "all tensors low but the gradients of the parameters",
    .choose = choose_all};
const hu_assignment_kind hu_assignment_hfp8 = {
    .name = "hfp8",
    .argument = "",
    .help = "uniform by its usual name, hybrid 8 bits: other formats forward and backward",
    .choose = choose_all};

/* A low candidate that does not round is none: the tensor stays high. */
static const hu_quantizer *candidate(const hu_assignment_task *task, hu_role role, bool is_low) {
    const hu_quantizer *low = &task->low[role];
    return is_low && hu_quantizer_rounds(low) ? low : &task->high[role];
}

/* A value and its gradient move together, so that they are weighed together. */
int64_t hu_candidate_bits(const hu_assignment_task *task, hu_value_id v, bool value_low,
                          bool gradient_low) {
    const hu_value_info *value = &task->graph->value[v];
    bool is_param = value->role == HU_VALUE_PARAMETER;
    const hu_quantizer *here = candidate(task, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value_low);
    const hu_quantizer *gradient =
        candidate(task, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, gradient_low);
    return hu_tensor_bits(value, here, task->batch) + hu_tensor_bits(value, gradient, task->batch);
}

/* ---- Low what the user lists: the assignment of plan files ---- */

/* "group:5" -> 5. */
static bool reads_group(const char *item, uint64_t *group) {
    static const char word[] = "group:";
    char *end;
    if (strncmp(item, word, sizeof word - 1) != 0) return false;
    const char *digits = item + sizeof word - 1;
    *group = strtoull(digits, &end, 10);
    return *digits && strspn(digits, "0123456789") == strlen(digits);
}

static bool matches(const char *item, hu_role role, const char *name) {
    return strcmp(item, hu_role_names[role]) == 0 || hu_glob_match(item, name);
}

/* Marks what the item means; returns how many tensors that were. */
static uint32_t mark(const hu_assignment_task *task, const char *item, hu_low_set *low) {
    uint32_t matched = 0;
    uint64_t group = 0;
    bool is_group = reads_group(item, &group);
    char gradient[HU_NAME_BYTES + sizeof ".grad"];
    for (hu_value_id v = 0; v < task->graph->value_count; v++) {
        const hu_value_info *value = &task->graph->value[v];
        if (task->groups->of_value[v] == HU_NONE) continue;
        bool is_param = value->role == HU_VALUE_PARAMETER;
        bool in_group = is_group && task->groups->of_value[v] == group;
        snprintf(gradient, sizeof gradient, "%s.grad", value->name);
        bool of_value =
            in_group || matches(item, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value->name);
        bool of_gradient =
            in_group || matches(item, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, gradient);
        low->value[v] |= of_value;
        low->gradient[v] |= of_gradient;
        matched += of_value || of_gradient;
    }
    return matched;
}

/* An item that means nothing is a mistake: groups are told their range, names the nearest. */
static hu_status missing(const hu_assignment_task *task, const char *item) {
    char nearest[512];
    void *block;
    uint64_t group;
    size_t count = 0;
    if (reads_group(item, &group))
        return hu_fail(HU_ERR_UNKNOWN,
                       "precision.low_tensors: found '%s', expected group:0 to "
                       "group:%u",
                       item, (unsigned)task->groups->count - 1);
    hu_status st = hu_alloc_array(task->graph->value_count, sizeof(char *), &block);
    if (st != HU_OK) return st;
    const char **names = block;
    for (hu_value_id v = 0; v < task->graph->value_count; v++)
        if (task->groups->of_value[v] != HU_NONE) names[count++] = task->graph->value[v].name;
    hu_nearest(item, names, count, nearest, sizeof nearest);
    hu_free(block);
    return hu_fail(HU_ERR_UNKNOWN,
                   "precision.low_tensors: '%s' matches no tensor; nearest names: %s", item,
                   nearest);
}

static hu_status choose(const hu_assignment_task *task, hu_low_set *low) {
    for (uint32_t i = 0; i < task->listed_count; i++)
        if (mark(task, task->listed[i], low) == 0) return missing(task, task->listed[i]);
    return HU_OK;
}

const hu_assignment_kind hu_assignment_listed = {
    .name = "listed",
    .argument = "",
    .help = "low the tensors of precision.low_tensors: names, globs, roles or group:N",
    .choose = choose};

/* ---- assign operator ---- */

/* Low where matrix products read: FP8 training as usually done, and its variant that also keeps
 * what products write in 8 bits. Source: Lee et al., equation 2 and section 5. */

/* The tensor whose numbers v shows. */
static hu_value_id shown(const hu_graph *graph, hu_value_id v) {
    const hu_op *op = hu_producer_op(graph, v);
    while (op && op->is_view) {
        v = graph->node[graph->value[v].producer].in[0];
        op = hu_producer_op(graph, v);
    }
    return v;
}

/* The node that ends the layer of a product: its bias where that is a node of its own. */
static const hu_node *layer_end(const hu_graph *graph, const hu_node *product) {
    hu_value_id out = product->out[0];
    if (!hu_is_inner_product(graph, out)) return product;
    return &graph->node[graph->use[graph->value[out].uses[0]].node];
}

static void set_parameters(const hu_node *node, bool is_low, hu_low_set *low) {
    for (int p = 0; p < node->n_params; p++) {
        low->value[node->param[p]] = is_low;
        low->gradient[node->param[p]] = is_low;
    }
}

/* Weights of the product, and the bias where that is a node of its own. */
static void set_layer_parameters(const hu_graph *graph, const hu_node *product, bool is_low,
                                 hu_low_set *low) {
    const hu_node *end = layer_end(graph, product);
    set_parameters(product, is_low, low);
    if (end != product) set_parameters(end, is_low, low);
}

static void set_tensor(hu_value_id v, bool is_low, hu_low_set *low) {
    low->value[v] = low->gradient[v] = is_low;
}

/* Factor i of a product among its inputs, HU_NONE: it is none, or weights. */
static hu_value_id input_factor(const hu_graph *graph, const hu_node *product, int i) {
    bool is_factor = i == 0 || (i == 1 && product->n_params == 0);
    return is_factor ? shown(graph, product->in[i]) : HU_NONE;
}

/* A product reads its input and its weights, or two inputs, forward, and the gradient of its output
 * backward. */
static void set_product(const hu_graph *graph, const hu_node *product, bool with_outputs,
                        hu_low_set *low) {
    hu_value_id out = layer_end(graph, product)->out[0];
    for (int i = 0; i < product->n_in; i++) {
        hu_value_id in = input_factor(graph, product, i);
        if (in == HU_NONE) continue;
        low->value[in] = true;
        if (with_outputs) low->gradient[in] = true;
    }
    set_layer_parameters(graph, product, true, low);
    low->gradient[out] = true;
    if (with_outputs) low->value[out] = true;
}

/* The first product keeps its input, weights and output high; everything from the last product's
 * input on is high. */
static void spare_ends(const hu_graph *graph, hu_low_set *low) {
    const hu_node *first = NULL, *last = NULL;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!graph->node[n].op->is_product) continue;
        if (!first) first = &graph->node[n];
        last = &graph->node[n];
    }
    if (!first) return;
    set_tensor(shown(graph, first->in[0]), false, low);
    set_layer_parameters(graph, first, false, low);
    set_tensor(layer_end(graph, first)->out[0], false, low);
    set_tensor(shown(graph, last->in[0]), false, low);
    for (const hu_node *node = last; node < graph->node + graph->node_count; node++) {
        set_parameters(node, false, low);
        for (int i = 0; i < node->n_out; i++) set_tensor(node->out[i], false, low);
    }
}

static hu_status operator_choose(const hu_assignment_task *task, bool with_outputs,
                                 hu_low_set *low) {
    const hu_graph *graph = task->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op->is_product) set_product(graph, &graph->node[n], with_outputs, low);
    spare_ends(graph, low);
    return HU_OK;
}

static hu_status choose_inputs(const hu_assignment_task *task, hu_low_set *low) {
    return operator_choose(task, false, low);
}

static hu_status choose_both(const hu_assignment_task *task, hu_low_set *low) {
    return operator_choose(task, true, low);
}

const hu_assignment_kind hu_assignment_operator = {
    .name = "operator",
    .argument = "",
    .help = "low what matrix products read, but for the first and the last",
    .choose = choose_inputs};
const hu_assignment_kind hu_assignment_operator_out = {
    .name = "operator-out",
    .argument = "",
    .help = "low what matrix products read and write, but for the first and the last",
    .choose = choose_both};

/* ---- Demotion ---- */

/* Demotion by group: the largest groups go low first, until the low-precision ratio or the memory
 * asked for is reached. Source: Lee et al., algorithm 1. */

static const char expected[] =
    "demote:R or demote:memory=S, R and S within 0..1, then :increasing, :random or :random:SEED";

/* Decreasing is the paper's; the others are its baselines. */
static hu_status parse_order(const char *text, hu_assignment *assignment) {
    static const char random[] = "random";
    char *end;
    if (strcmp(text, "decreasing") == 0) return HU_OK;
    assignment->order = HU_GROUPS_INCREASING;
    if (strcmp(text, "increasing") == 0) return HU_OK;
    assignment->order = HU_GROUPS_RANDOM;
    if (strcmp(text, random) == 0) return HU_OK;
    bool has_seed = strncmp(text, random, sizeof random - 1) == 0 && text[sizeof random - 1] == ':';
    const char *digits = has_seed ? text + sizeof random : "";
    errno = 0;
    assignment->seed = strtoull(digits, &end, 10);
    if (*digits && errno == 0 && strspn(digits, "0123456789") == strlen(digits)) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "found the order '%s', expected %s", text, expected);
}

/* "R[:ORDER]" or "memory=S[:ORDER]". */
static hu_status parse(const char *argument, hu_assignment *assignment) {
    static const char memory[] = "memory=";
    char *end;
    if (!argument) return hu_fail(HU_ERR_PARSE, "found no ratio, expected %s", expected);
    const char *number = argument;
    if (strncmp(argument, memory, sizeof memory - 1) == 0) {
        assignment->by_memory = true;
        number += sizeof memory - 1;
    }
    assignment->target = strtod(number, &end);
    bool is_number = end != number && (*end == '\0' || *end == ':') && *number != ' ';
    char share[HU_DECIMAL_BYTES], point[HU_DECIMAL_BYTES];
    snprintf(share, sizeof share, "%.*s", (int)strcspn(number, ":"), number);
    if (hu_decimal_has_comma(share, point))
        return hu_fail(HU_ERR_PARSE, "found '%s', expected a number with a point: %s", share,
                       point);
    if (!is_number) return hu_fail(HU_ERR_PARSE, "found '%s', expected %s", argument, expected);
    if (!(assignment->target >= 0.0 && assignment->target <= 1.0))
        return hu_fail(HU_ERR_ARGUMENT, "found %g, expected a number within 0..1",
                       assignment->target);
    return *end ? parse_order(end + 1, assignment) : HU_OK;
}

/* A random order is a function of its seed alone: the same on every machine. */
static void order_groups(const hu_assignment_task *task, uint32_t *order) {
    const hu_assignment *assignment = task->assignment;
    if (assignment->order == HU_GROUPS_RANDOM) {
        hu_random_key key = {assignment->seed, hu_stream_id("demote", ""), 0};
        hu_random_permutation(&key, task->groups->count, order);
        return;
    }
    hu_groups_by_size(task->groups, assignment->order == HU_GROUPS_INCREASING, order);
}

/* Demotes a group; gives the change of all bits. */
static int64_t demote(const hu_assignment_task *task, uint32_t group, hu_low_set *low) {
    int64_t change = 0;
    for (hu_value_id v = 0; v < task->graph->value_count; v++) {
        if (task->groups->of_value[v] != group) continue;
        change -= hu_candidate_bits(task, v, low->value[v], low->gradient[v]);
        low->value[v] = low->gradient[v] = true;
        change += hu_candidate_bits(task, v, low->value[v], low->gradient[v]);
    }
    return change;
}

/* Bits of all tensors of the set with what is low so far. */
static int64_t all_bits(const hu_assignment_task *task, const hu_low_set *low) {
    int64_t bits = 0;
    for (hu_value_id v = 0; v < task->graph->value_count; v++)
        if (task->groups->of_value[v] != HU_NONE)
            bits += hu_candidate_bits(task, v, low->value[v], low->gradient[v]);
    return bits;
}

/* The ratio counts the gradients of parameters with their groups, as the released code does. */
static hu_status choose_demoted(const hu_assignment_task *task, hu_low_set *low) {
    enum { FLOAT32_BITS = 32 };
    const hu_tensor_groups *groups = task->groups;
    const hu_assignment *assignment = task->assignment;
    /* Budgets in memory are shares of what float32 would take. */
    double plain = FLOAT32_BITS * (double)groups->all, target = assignment->target;
    int64_t bits = all_bits(task, low), demoted = 0;
    void *block;
    hu_status st = hu_alloc_array(groups->count, sizeof(uint32_t), &block);
    if (st != HU_OK) return st;
    uint32_t *order = block, done = 0;
    order_groups(task, order);
    for (; done < groups->count; done++) {
        double ratio = (double)demoted / (double)groups->all;
        if (assignment->by_memory ? (double)bits <= target * plain : ratio >= target) break;
        bits += demote(task, order[done], low);
        demoted += groups->elements[order[done]];
    }
    hu_free(order);
    if (assignment->by_memory && (double)bits > target * plain)
        return hu_fail(HU_ERR_ARGUMENT,
                       "demote: found memory=%g, expected at least %.4f: the share of float32's "
                       "bits with every group low",
                       target, ceil(1e4 * (double)bits / plain) / 1e4);
    return HU_OK;
}

const hu_assignment_kind hu_assignment_demote = {
    .name = "demote",
    .argument = "R|memory=S[:increasing|:random[:SEED]]",
    .help = "largest groups low until the ratio R of the elements is low, or S of float32's bits",
    .parse = parse,
    .choose = choose_demoted};
