#include "precision/unit_scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"

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

/* ---- rules ---- */

/* What is known of the numbers of a value when the training begins; their root mean square is 1. */
typedef struct numbers {
    double terms;  /* the sum of so many terms of size 1: see add_up */
    double mean;   /* of all */
    double offset; /* root mean square of the means of channels, beside that */
} numbers;

/* Of a product, of a norm. */
static const numbers centred = {.terms = 1};

/* What an op does to sizes: root mean squares, of inputs of size 1 and, backward, of gradients of
 * the output of size 1; before any factor. Absent numbers count as zeros. */
typedef struct sizes {
    numbers in;      /* given: of input 0 */
    double made;     /* 1 over the size of the output: the factor of the output */
    numbers out;     /* after its factor */
    double given[2]; /* of the gradient of input 0, of any other input */
} sizes;

typedef void rule_fn(const hu_node *node, sizes *s);

static double elements_in(const hu_node *node, int i) {
    return (double)hu_shape_elements(&node->shapes[i]);
}

static double elements_out(const hu_node *node) {
    double sum = 0;
    for (int i = 0; i < node->n_out; i++)
        sum += (double)hu_shape_elements(&node->shapes[node->n_in + i]);
    return sum;
}

static double elements_param(const hu_node *node, int j) {
    return (double)hu_shape_elements(&node->shapes[node->n_in + node->n_out + j]);
}

static double extent(const hu_shape *shape, int from_end) {
    return (double)shape->extent[shape->rank - 1 - from_end];
}

/* Rows that have size 1 before and after. */
static void keep(const hu_node *node, sizes *s) {
    (void)node, (void)s;
}

/* What is far from its mean is divided by less. */
static void centre(double mean, double offset, sizes *s) {
    const double least = 1.0 / 16;
    double left = 1 - mean * mean - offset * offset;
    s->given[0] = 1 / sqrt(left > least ? left : least);
}

static void norm_channels(const hu_node *node, sizes *s) {
    (void)node;
    centre(s->in.mean, s->in.offset, s);
}

static void norm_rows(const hu_node *node, sizes *s) {
    (void)node;
    centre(s->in.mean, 0, s);
}

/* The same numbers at other places. */
static void keep_sum(const hu_node *node, sizes *s) {
    (void)node;
    s->out = s->in;
}

/* Each output is one of the inputs; those that are not taken have gradient zero. */
static void take(const hu_node *node, sizes *s) {
    s->given[0] = sqrt(elements_out(node) / elements_in(node, 0));
    keep_sum(node, s);
}

/* Means of windows, which are correlated in pictures: forward as if all were equal. */
static void average(const hu_node *node, double taps, sizes *s) {
    s->given[0] = sqrt(elements_out(node) / (taps * elements_in(node, 0)));
    keep_sum(node, s);
}

static void average_windows(const hu_node *node, sizes *s) {
    const hu_pool_attrs *a = node->attrs;
    average(node, (double)(a->kernel_h * a->kernel_w), s);
}

static void average_rows(const hu_node *node, sizes *s) {
    const hu_pool1d_attrs *a = node->attrs;
    average(node, (double)a->kernel, s);
}

static void average_all(const hu_node *node, sizes *s) {
    average(node, elements_in(node, 0) / elements_out(node), s);
}

static void sum_all(const hu_node *node, sizes *s) {
    s->made = sqrt(elements_out(node) / elements_in(node, 0));
}

/* Terms of an output, of an input's gradient: products of independent numbers of size 1. */
static void multiply(const hu_node *node, sizes *s) {
    const hu_node_info info = hu_graph_node_info(node, 1, 1);
    double macs = (double)node->op->macs(&info);
    s->made = sqrt(elements_out(node) / macs);
    s->given[0] = sqrt(macs / elements_in(node, 0));
    s->out.offset = sqrt(s->in.mean * s->in.mean + s->in.offset * s->in.offset);
}

static void look_up(const hu_node *node, sizes *s) {
    const hu_embedding_attrs *a = node->attrs;
    double factor = fabs((double)a->factor);
    if (factor > 0) s->made = 1 / factor;
}

static void scale(const hu_node *node, sizes *s) {
    const hu_scale_attrs *a = node->attrs;
    double factor = fabs((double)a->factor);
    if (factor > 0) s->made = 1 / factor;
    s->given[0] = factor;
    keep_sum(node, s);
}

/* Additions: forward, hu_unit_scaling_write gives each input its factor. */
static void stretch(const hu_node *node, sizes *s) {
    for (int i = 0; i < 2 && i < node->n_in; i++)
        s->given[i] = sqrt(elements_out(node) / elements_in(node, i));
}

/* ---- activations, of a normal law ---- */

enum { HALF = 2 };

/* x below 0 times slope, x normal with the mean of the input and mean square 1: integrals of the
 * part above 0. */
static void rectify(double slope, sizes *s) {
    const double pi = acos(-1.0), m = s->in.mean, deviation = sqrt(1 - m * m), at = m / deviation;
    double above = erfc(-at / sqrt(2.0)) / HALF, density = exp(-at * at / HALF) / sqrt(2 * pi);
    double mean = m * above + deviation * density, squares = above + m * deviation * density;
    double size = sqrt(squares + slope * slope * (1 - squares));
    s->made = 1 / size;
    s->out = (numbers){s->in.terms, (mean + slope * (m - mean)) / size, 0};
    s->given[0] = sqrt(above + slope * slope * (1 - above));
}

static void relu(const hu_node *node, sizes *s) {
    (void)node;
    rectify(0, s);
}

static void leaky_relu(const hu_node *node, sizes *s) {
    const hu_leaky_relu_attrs *a = node->attrs;
    rectify((double)a->slope, s);
}

static void set_activation(double size, double slope, sizes *s) {
    s->made = 1 / size;
    s->given[0] = slope;
}

/* Root mean squares of f(x) and f'(x), x of the standard normal law, by numerical integration on
 * 2,000,001 places of [-12, 12]. */
static void gelu(const hu_node *node, sizes *s) {
    (void)node;
    set_activation(0.6520901, 0.6751673, s);
}
static void silu(const hu_node *node, sizes *s) {
    (void)node;
    set_activation(0.5964693, 0.6160214, s);
}
static void hard_swish(const hu_node *node, sizes *s) {
    (void)node;
    set_activation(0.5758189, 0.5987750, s);
}

/* Bounded ones stay: their backward part reads what they made. */
static void tanh_of(const hu_node *node, sizes *s) {
    (void)node;
    s->given[0] = 0.6814711;
}
static void sigmoid(const hu_node *node, sizes *s) {
    (void)node;
    s->given[0] = 0.2117457;
}

static void hard_sigmoid(const hu_node *node, sizes *s) {
    (void)node;
    s->given[0] = 0.1664415;
}

/* ---- attention ---- */

/* Rows t see `seen` keys each; shares of scores of size 1 have squares that sum to about e/seen of
 * many keys, and to 1 of one. Mean over the rows. */
static double squares_of_shares(double rows, double keys, bool is_causal) {
    const double e = exp(1.0);
    double sum = 0;
    for (double t = 0; t < rows; t++) {
        double seen = is_causal && t + 1 < keys ? t + 1 : keys;
        sum += 1 / (1 + (seen - 1) / e);
    }
    return sum / rows;
}

static double rows_of(const hu_shape *pairs) {
    return extent(pairs, 1);
}

/* rows [T, heads d], keys [S, heads d] -> pairs [heads, T, S], times `factor`. */
static void scores(const hu_node *node, sizes *s) {
    const hu_scores_attrs *a = node->attrs;
    const hu_shape *pairs = &node->shapes[node->n_in];
    double factor = fabs((double)a->factor), depth = extent(&node->shapes[0], 0) / (double)a->heads;
    s->made = 1 / (factor * sqrt(depth));
    s->given[0] = factor * sqrt(extent(pairs, 0));
    s->given[1] = factor * sqrt(rows_of(pairs));
}

/* Shares lie between 0 and 1 and stay so. */
static void shares(const hu_node *node, sizes *s) {
    const hu_attention_mask_attrs *a = node->attrs;
    const hu_shape *pairs = &node->shapes[node->n_in];
    double keys = extent(pairs, 0);
    s->given[0] = sqrt(squares_of_shares(rows_of(pairs), keys, a && a->is_causal) / keys);
}

/* pairs [heads, T, S], keys' numbers [S, heads d] -> [T, heads d]. Numbers of different keys are
 * anything between independent, then a mean of them has the root of `squares`, and the same, then
 * 1: the geometric middle is wrong by the fourth root at most. Likewise backward, of rows. */
static void context(const hu_node *node, sizes *s) {
    const hu_attention_mask_attrs *a = node->attrs;
    const hu_shape *pairs = &node->shapes[0];
    double rows = rows_of(pairs), keys = extent(pairs, 0);
    double squares = squares_of_shares(rows, keys, a && a->is_causal);
    s->made = 1 / sqrt(sqrt(squares));
    s->given[0] = sqrt(extent(&node->shapes[1], 0) / extent(pairs, 2));
    s->given[1] = sqrt(sqrt(rows * squares / keys) * (rows / keys));
}

static void softmax(const hu_node *node, sizes *s) {
    double keys = extent(&node->shapes[0], 0);
    s->given[0] = sqrt(squares_of_shares(1, keys, false) / keys);
}

/* ---- losses: of the gradient of one unit ---- */

/* p - y of V classes, p near 1/V: sqrt(V - 1) / V (section 4.3 of the paper). */
static double of_classes(double classes) {
    return classes > 1 ? sqrt(classes - 1) / classes : 1;
}

static void cross_entropy(const hu_node *node, sizes *s) {
    s->given[0] = of_classes(extent(&node->shapes[0], 0));
}

static void log_softmax(const hu_node *node, sizes *s) {
    double classes = extent(&node->shapes[0], 0);
    s->given[0] = of_classes(classes) * sqrt(classes);
}

static void nll(const hu_node *node, sizes *s) {
    s->given[0] = 1 / sqrt(extent(&node->shapes[0], 0));
}

/* Of differences of two numbers of size 1, and of signs. */
static void element_loss(const hu_node *node, double size, sizes *s) {
    const hu_element_loss_attrs *a = node->attrs;
    s->given[0] = a && a->sums ? size : size / elements_in(node, 0);
}

static void mse(const hu_node *node, sizes *s) {
    element_loss(node, 2 * sqrt(2.0), s);
}
static void l1(const hu_node *node, sizes *s) {
    element_loss(node, 1, s);
}
static void bce(const hu_node *node, sizes *s) {
    element_loss(node, 1.0 / HALF, s);
}

/* ---- the list ---- */

/* X(operation, rule). Operations that are not listed have factor 1. */
#define RULE_LIST(X)                                                                               \
    X(conv2d, multiply)                                                                            \
    X(conv1d, multiply)                                                                            \
    X(linear, multiply)                                                                            \
    X(embedding, look_up)                                                                          \
    X(bias, keep_sum)                                                                              \
    X(batch_norm, norm_channels)                                                                   \
    X(range_norm, norm_channels)                                                                   \
    X(layer_norm, norm_rows)                                                                       \
    X(group_norm, norm_channels)                                                                   \
    X(instance_norm, norm_channels)                                                                \
    X(rms_norm, keep)                                                                              \
    X(relu, relu)                                                                                  \
    X(leaky_relu, leaky_relu)                                                                      \
    X(clipped_relu, relu)                                                                          \
    X(gelu, gelu)                                                                                  \
    X(silu, silu)                                                                                  \
    X(hard_swish, hard_swish)                                                                      \
    X(tanh, tanh_of)                                                                               \
    X(sigmoid, sigmoid)                                                                            \
    X(scale, scale)                                                                                \
    X(add, stretch)                                                                                \
    X(sub, stretch)                                                                                \
    X(mul, stretch)                                                                                \
    X(concat, keep)                                                                                \
    X(split, keep_sum)                                                                             \
    X(slice, take)                                                                                 \
    X(pad, keep_sum)                                                                               \
    X(interleave, keep)                                                                            \
    X(position, keep)                                                                              \
    X(sinusoid, keep)                                                                              \
    X(rotary, keep_sum)                                                                            \
    X(class_token, keep)                                                                           \
    X(pick, take)                                                                                  \
    X(pick_rows, take)                                                                             \
    X(max_pool, take)                                                                              \
    X(max_pool1d, take)                                                                            \
    X(reduce_max, take)                                                                            \
    X(avg_pool, average_windows)                                                                   \
    X(avg_pool1d, average_rows)                                                                    \
    X(adaptive_avg_pool, average_all)                                                              \
    X(reduce_mean, average_all)                                                                    \
    X(global_avg_pool, average_all)                                                                \
    X(reduce_sum, sum_all)                                                                         \
    X(nearest, take)                                                                               \
    X(pixel_shuffle, keep_sum)                                                                     \
    X(flatten, keep_sum)                                                                           \
    X(reshape, keep_sum)                                                                           \
    X(transpose, keep_sum)                                                                         \
    X(dropout, keep_sum)                                                                           \
    X(drop_path, keep_sum)                                                                         \
    X(zeros, keep)                                                                                 \
    X(constant, keep)                                                                              \
    X(ids, keep)                                                                                   \
    X(carried, keep)                                                                               \
    X(reverse, keep_sum)                                                                           \
    X(last_row, take)                                                                              \
    X(hard_sigmoid, hard_sigmoid)                                                                  \
    X(ctc_loss, cross_entropy)                                                                     \
    X(normal, keep)                                                                                \
    X(length, keep)                                                                                \
    X(attention_scores, scores)                                                                    \
    X(attention_weights, shares)                                                                   \
    X(attention_context, context)                                                                  \
    X(softmax, softmax)                                                                            \
    X(log_softmax, log_softmax)                                                                    \
    X(nll, nll)                                                                                    \
    X(softmax_cross_entropy, cross_entropy)                                                        \
    X(mixed_cross_entropy, cross_entropy)                                                          \
    X(mse, mse)                                                                                    \
    X(l1, l1)                                                                                      \
    X(bce, bce)

static const struct {
    const hu_op *op;
    rule_fn *rule;
} rules[] = {
#define RULE_ROW(op, rule) {&hu_op_##op, rule},
    RULE_LIST(RULE_ROW)
#undef RULE_ROW
};
enum { RULE_COUNT = sizeof rules / sizeof *rules };

static rule_fn *rule_of(const hu_op *op) {
    for (int i = 0; i < RULE_COUNT; i++)
        if (rules[i].op == op) return rules[i].rule;
    return NULL;
}

static sizes sizes_of(const hu_node *node, numbers in) {
    sizes s = {.in = in, .made = 1, .out = centred, .given = {1, 1}};
    if (node->loop == HU_NONE && rule_of(node->op)) rule_of(node->op)(node, &s);
    return s;
}

/* Steps of a loop stay as they are, and so do products of rows that are picked: their weights keep
 * the size that they start with. */
static bool has_rule(const hu_node *node) {
    return node->loop == HU_NONE && rule_of(node->op) != NULL;
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
        bool is_first = graph->node[n].loop == HU_NONE && !rule_of(op);
        for (uint32_t m = 0; m < n && is_first; m++)
            is_first = graph->node[m].op != op || graph->node[m].loop != HU_NONE;
        if (is_first) add_word(op->name, text, capacity);
    }
}

/* ---- forward ---- */

typedef struct scaler {
    const hu_graph *graph;
    double batch;
    numbers *value; /* [value_count] */
    hu_factors *factors;
    double of_loops; /* what values that loops read or make hold; 0: not known yet */
} scaler;

static sizes sizes_at(const scaler *at, const hu_node *node) {
    return sizes_of(node, node->n_in > 0 ? at->value[node->in[0]] : centred);
}

static bool is_sum(const hu_node *node) {
    bool adds = node->op == &hu_op_add || node->op == &hu_op_sub;
    return adds && node->n_in > 1 && node->loop == HU_NONE;
}

/* In a residual stack the skip is the sum of all earlier terms, and each keeps its weight: with t^2
 * = terms(branch) / terms(skip) these are the paper's factors t/sqrt(1+t^2) and 1/sqrt(1+t^2). */
static numbers add_up(scaler *at, const hu_node *node) {
    numbers sum = {0};
    double squares = 0;
    for (int i = 0; i < node->n_in; i++) sum.terms += at->value[node->in[i]].terms;
    for (int i = 0; i < node->n_in; i++) {
        const numbers *term = &at->value[node->in[i]];
        double factor = sqrt(term->terms / sum.terms);
        at->factors->read[node->first_use + (uint32_t)i] = (float)factor;
        sum.mean += (i > 0 && node->op == &hu_op_sub ? -factor : factor) * term->mean;
        squares += factor * factor * term->offset * term->offset;
    }
    sum.offset = sqrt(squares);
    return sum;
}

/* The last layer, of whose output nobody knows but a loss, and whose weights are its own. It makes
 * scores that are small at first, 1/sqrt(fan in), as in u-muP, section 2.2 and table 2. */
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
        const sizes s = sizes_at(at, node);
        numbers made = is_sum(node) ? add_up(at, node) : s.out;
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
    double terms = is_weight ? (double)node->op->macs(&info) : elements_out(node);
    return sqrt(at->batch * terms / elements_param(node, j));
}

/* What a use brings, were the gradient held once: its size, and its factor. The gradient that
 * arrives at a loss is the true one; others have size 1. */
typedef struct contribution {
    double size, factor;
} contribution;

static contribution contribution_of(const scaler *at, const hu_use *use) {
    const hu_node *node = &at->graph->node[use->node];
    const sizes s = sizes_at(at, node);
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

/* Weights of products and tables of words are drawn with a deviation of 1; what a product adds
 * inside is multiplied by its factor, too. All others stay as they are. A last layer has the steps
 * that its output had without the second root in its factor. */
static void write_start(const scaler *at, hu_value_id v) {
    const hu_value_info *value = &at->graph->value[v];
    const hu_use *use = &at->graph->use[value->uses[0]];
    const hu_node *node = &at->graph->node[use->node];
    const sizes s = sizes_at(at, node);
    double start = deviation(&value->init);
    bool can = node->op->is_product || node->op == &hu_op_embedding;
    for (uint32_t k = 0; k < value->use_count; k++)
        can = can && has_rule(&at->graph->node[at->graph->use[value->uses[k]].node]);
    if (!can) return;
    bool is_weight = use->index == node->n_in, is_drawn = is_weight && start > 0;
    double last = is_last(at->graph, node) ? s.made : 1;
    double inside = node->op->is_product ? s.made * last : 1;
    at->factors->drawn[v] = is_drawn ? start : is_weight ? 1 : inside;
    at->factors->start[v] = is_drawn ? start * last : inside;
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
    for (hu_value_id v = 0; v < graph->value_count; v++) at.value[v] = centred;
    write_forward(&at);
    write_backward(&at);
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER && graph->value[v].use_count > 0)
            write_start(&at, v);
    edges->factors.any = true;
    hu_free(at.value);
    return HU_OK;
}
