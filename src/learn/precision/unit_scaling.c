#include "precision/unit_scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/unit_rules.h"

static const char *const names[HU_SCALING_COUNT] = {"none", "unit"};

hu_status hu_scaling_parse(const char *text, hu_scaling *scaling) {
    for (int i = 0; i < HU_SCALING_COUNT; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *scaling = (hu_scaling)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "scaling '%s', expected none or unit", text);
}

const char *hu_scaling_name(hu_scaling scaling) {
    return names[scaling];
}

/* Steps of a loop stay as they are, and so do products of rows that are picked: their weights keep
 * the size that they start with. */
static bool has_rule(const hu_node *node) {
    return node->loop == HU_NONE && hu_has_unit_rule(node->op);
}

static void add_word(const char *word, char *text, size_t capacity) {
    size_t used = strlen(text);
    if (used < capacity) snprintf(text + used, capacity - used, "%s%s", used > 0 ? ", " : "", word);
}

void hu_unit_scaling_without_rule(const hu_graph *graph, char *text, size_t capacity) {
    if (capacity > 0) text[0] = '\0';
    if (graph->loop_count > 0) add_word("recurrent layers", text, capacity);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_op *op = graph->node[n].op;
        bool is_first = graph->node[n].loop == HU_NONE && !hu_has_unit_rule(op);
        for (uint32_t m = 0; m < n && is_first; m++)
            is_first = graph->node[m].op != op || graph->node[m].loop != HU_NONE;
        if (is_first) add_word(op->name, text, capacity);
    }
}

/* ---- forward ---- */

typedef struct scaler {
    const hu_graph *graph;
    double batch;
    hu_unit_numbers *value; /* [value_count] */
    hu_factors *factors;
    double of_loops; /* what values that loops read or make hold; 0: not known yet */
} scaler;

static hu_unit_sizes sizes_at(const scaler *at, const hu_node *node) {
    return hu_unit_sizes_of(node, node->n_in > 0 ? at->value[node->in[0]] : HU_UNIT_CENTRED);
}

static bool is_sum(const hu_node *node) {
    bool adds = node->op == &hu_op_add || node->op == &hu_op_sub;
    return adds && node->n_in > 1 && node->loop == HU_NONE;
}

/* In a residual stack the skip is the sum of all earlier terms, and each keeps its weight: with t^2
 * = terms(branch) / terms(skip) these are the paper's factors t/sqrt(1+t^2) and 1/sqrt(1+t^2). */
static hu_unit_numbers add_up(scaler *at, const hu_node *node) {
    hu_unit_numbers sum = {0};
    double squares = 0;
    for (int i = 0; i < node->n_in; i++) sum.terms += at->value[node->in[i]].terms;
    for (int i = 0; i < node->n_in; i++) {
        const hu_unit_numbers *term = &at->value[node->in[i]];
        double factor = sqrt(term->terms / sum.terms);
        at->factors->read[node->first_use + (uint32_t)i] = (float)factor;
        sum.mean += (i > 0 && node->op == &hu_op_sub ? -factor : factor) * term->mean;
        squares += factor * factor * term->offset * term->offset;
    }
    sum.offset = sqrt(squares);
    return sum;
}

/* The last layer, of whose output nobody knows but a loss, and whose weights are its own. It makes
 * scores that are small at first, 1/sqrt(fan in), as in u-muP (arXiv 2407.17465). */
static bool is_last(const hu_graph *graph, const hu_node *node) {
    bool last = node->op->is_product && node->n_params > 0 && has_rule(node) &&
                graph->value[node->param[0]].use_count == 1;
    for (hu_value_id v = node->out[0]; last && graph->value[v].use_count == 1;) {
        const hu_node *next = &graph->node[graph->use[graph->value[v].uses[0]].node];
        if (next->loss >= 0) return true;
        last = next->op == &hu_op_bias || next->op == &hu_op_log_softmax || next->op->is_view;
        v = next->out[0];
    }
    return false;
}

static void write_forward(scaler *at) {
    for (uint32_t n = 0; n < at->graph->node_count; n++) {
        const hu_node *node = &at->graph->node[n];
        const hu_unit_sizes s = sizes_at(at, node);
        hu_unit_numbers made = is_sum(node) ? add_up(at, node) : s.out;
        double factor = is_last(at->graph, node) ? s.made * s.made : s.made;
        for (int i = 0; i < node->n_out; i++) {
            at->factors->made[node->out[i]] = (float)factor;
            at->value[node->out[i]] = made;
        }
    }
}

/* ---- backward ---- */

/* What a loss divides the gradient of a row by. */
static double unit_of(const scaler *at, const hu_node *node) {
    const hu_loss *loss = &at->graph->loss[node->loss];
    hu_value_id target = hu_graph_loss_target(at->graph, node->loss);
    double rows = 1;
    if (loss->normaliser == HU_PER_ROW && target != HU_NONE)
        rows = (double)at->graph->value[target].elements;
    return fabs((double)loss->weight) / (at->batch * rows);
}

/* Terms that the gradient of a parameter's number sums up over the batch. */
static double size_of_parameter(const scaler *at, const hu_node *node, int j) {
    const hu_node_info info = hu_graph_node_info(node, 1, 1);
    bool is_weight = node->op->is_product && j == 0;
    double terms = is_weight ? (double)node->op->macs(&info) : hu_unit_outputs(node);
    return sqrt(at->batch * terms / hu_unit_parameters(node, j));
}

/* What a use brings, were the gradient held once: its size, and its factor. The gradient that
 * arrives at a loss is the true one; others have size 1. */
typedef struct contribution {
    double size, factor;
} contribution;

static contribution contribution_of(const scaler *at, const hu_use *use) {
    const hu_node *node = &at->graph->node[use->node];
    const hu_unit_sizes s = sizes_at(at, node);
    int i = use->index, j = use->index - node->n_in;
    bool is_input = j < 0;
    double factor = (double)at->factors->made[node->out[0]] / at->factors->held[node->out[0]];
    if (is_input) factor *= (double)at->factors->read[node->first_use + (uint32_t)i];
    double size = is_input ? s.given[i > 0] : size_of_parameter(at, node, j);
    if (node->loss >= 0) size *= unit_of(at, node);
    return (contribution){size * factor, factor};
}

static bool is_in_loop(const scaler *at, const hu_use *use) {
    return at->graph->node[use->node].loop != HU_NONE;
}

/* What v holds so that its gradient has size 1; 0: it has none. Contributions are independent:
 * their squares add up. */
static double held_by(const scaler *at, hu_value_id v) {
    const hu_value_info *value = &at->graph->value[v];
    double squares = 0;
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &at->graph->use[value->uses[k]];
        if (!hu_use_has_gradient(at->graph, value->uses[k]) || is_in_loop(at, use)) continue;
        double size = contribution_of(at, use).size;
        squares += size * size;
    }
    return squares > 0 && isfinite(squares) ? 1 / sqrt(squares) : 0;
}

/* Inside a loop no factor is but 1: all that loops read and make holds the same multiple, that of
 * the first gradient that comes to one of them. */
static bool is_of_loop(const scaler *at, hu_value_id v) {
    const hu_value_info *value = &at->graph->value[v];
    bool is = value->producer != HU_NONE && at->graph->node[value->producer].loop != HU_NONE;
    for (uint32_t k = 0; k < value->use_count; k++)
        is = is || is_in_loop(at, &at->graph->use[value->uses[k]]);
    return is;
}

static void choose_held(scaler *at, hu_value_id v) {
    double held = held_by(at, v);
    if (is_of_loop(at, v)) {
        if (at->of_loops <= 0) at->of_loops = held;
        if (at->of_loops > 0) held = at->of_loops;
    }
    if (held > 0) at->factors->held[v] = held;
}

/* The outputs of a node come from one call: what they hold is one multiple. */
static void join_outputs(const scaler *at, const hu_node *node) {
    double sum = 0;
    for (int i = 0; i < node->n_out; i++) sum += log(at->factors->held[node->out[i]]);
    for (int i = 0; node->n_out > 1 && i < node->n_out; i++)
        at->factors->held[node->out[i]] = exp(sum / node->n_out);
}

/* From the losses on: what a value holds is known when all who read it are. */
static void write_backward(scaler *at) {
    const hu_graph *graph = at->graph;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const hu_node *node = &graph->node[n];
        for (int i = 0; node->loss < 0 && i < node->n_out; i++) choose_held(at, node->out[i]);
        join_outputs(at, node);
    }
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        bool is_leaf = graph->value[v].producer == HU_NONE;
        if (is_leaf || (at->of_loops > 0 && is_of_loop(at, v))) choose_held(at, v);
    }
    for (uint32_t u = 0; u < graph->use_count; u++) {
        if (!hu_use_has_gradient(graph, u)) continue;
        double held = at->factors->held[graph->use[u].value];
        at->factors->given[u] = (float)(contribution_of(at, &graph->use[u]).factor * held);
    }
}

/* ---- parameters ---- */

/* The standard deviation that a parameter starts with; 0: it starts with one number. */
static double deviation(const hu_init *init) {
    const double of_uniform = sqrt(1.0 / 3), of_share = sqrt(1.0 / 12);
    double scale = fabs((double)init->scale);
    switch (init->kind) {
    case HU_INIT_NORMAL:
        return scale;
    case HU_INIT_UNIFORM:
        return scale * of_uniform;
    case HU_INIT_SHARE:
        return scale * of_share;
    default:
        return 0;
    }
}

/* Weights of products and tables of words are drawn with a deviation of 1. Optimizers work on what
 * is multiplied in the end: weights of a product, and what it adds inside, times the factor of its
 * output. All others stay as they are. */
static void write_start(const scaler *at, hu_value_id v) {
    const hu_value_info *value = &at->graph->value[v];
    const hu_use *use = &at->graph->use[value->uses[0]];
    const hu_node *node = &at->graph->node[use->node];
    bool is_weight = use->index == node->n_in, is_product = node->op->is_product;
    bool can = is_product || node->op == &hu_op_embedding;
    for (uint32_t k = 0; k < value->use_count; k++)
        can = can && has_rule(&at->graph->node[at->graph->use[value->uses[k]].node]);
    if (!can) return;
    double factor = is_product ? (double)at->factors->made[node->out[0]] : 1;
    double drawn = is_weight ? deviation(&value->init) : factor;
    if (drawn > 0) at->factors->drawn[v] = drawn;
    at->factors->start[v] = is_product ? factor : at->factors->drawn[v];
}

hu_status hu_unit_scaling_write(const hu_graph *graph, int64_t batch, hu_edge_table *edges) {
    scaler at = {.graph = graph, .batch = (double)batch, .factors = &edges->factors};
    hu_edge_table_unscale(edges);
    if (graph->phase_count > 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.scaling: found networks that learn in turns, expected one "
                       "network; the formats alone: precision.scaling=none");
    hu_status st = HU_NEW_ARRAY(&at.value, graph->value_count);
    if (st != HU_OK) return st;
    for (hu_value_id v = 0; v < graph->value_count; v++) at.value[v] = HU_UNIT_CENTRED;
    write_forward(&at);
    write_backward(&at);
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER && graph->value[v].use_count > 0)
            write_start(&at, v);
    edges->factors.any = true;
    hu_free(at.value);
    return HU_OK;
}
