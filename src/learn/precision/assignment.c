#include "precision/assignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
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
        bool here = in_group || matches(item, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value->name);
        bool valid =
            in_group || matches(item, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, gradient);
        low->value[v] |= here;
        low->gradient[v] |= valid;
        matched += here || valid;
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
