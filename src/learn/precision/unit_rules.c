#include "precision/unit_rules.h"

#include <math.h>

#include "op/attributes.h"

/* What an op does to the sizes of numbers, one function for each kind of ops
 * (precision/unit_scaling.h). */

typedef void rule_fn(const hu_node *node, hu_unit_sizes *s);

static double elements_in(const hu_node *node, int i) {
    return (double)hu_shape_elements(&node->shapes[i]);
}

double hu_unit_outputs(const hu_node *node) {
    double sum = 0;
    for (int i = 0; i < node->n_out; i++)
        sum += (double)hu_shape_elements(&node->shapes[node->n_in + i]);
    return sum;
}

double hu_unit_parameters(const hu_node *node, int j) {
    return (double)hu_shape_elements(&node->shapes[node->n_in + node->n_out + j]);
}

static double extent(const hu_shape *shape, int from_end) {
    return (double)shape->extent[shape->rank - 1 - from_end];
}

/* Rows that have size 1 before and after. */
static void keep(const hu_node *node, hu_unit_sizes *s) {
    (void)node, (void)s;
}

/* What is far from its mean is divided by less. */
static void centre(double mean, double offset, hu_unit_sizes *s) {
    const double least = 1.0 / 16;
    double left = 1 - mean * mean - offset * offset;
    s->given[0] = 1 / sqrt(left > least ? left : least);
}

static void norm_channels(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    centre(s->in.mean, s->in.offset, s);
}

static void norm_rows(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    centre(s->in.mean, 0, s);
}

/* The same hu_unit_numbers at other places. */
static void keep_sum(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    s->out = s->in;
}

/* Each output is one of the inputs; those that are not taken have gradient zero. */
static void take(const hu_node *node, hu_unit_sizes *s) {
    s->given[0] = sqrt(hu_unit_outputs(node) / elements_in(node, 0));
    keep_sum(node, s);
}

/* Means of windows, which are correlated in pictures: forward as if all were equal. */
static void average(const hu_node *node, double taps, hu_unit_sizes *s) {
    s->given[0] = sqrt(hu_unit_outputs(node) / (taps * elements_in(node, 0)));
    keep_sum(node, s);
}

static void average_windows(const hu_node *node, hu_unit_sizes *s) {
    const hu_pool_attrs *a = node->attrs;
    average(node, (double)(a->kernel_h * a->kernel_w), s);
}

static void average_rows(const hu_node *node, hu_unit_sizes *s) {
    const hu_pool1d_attrs *a = node->attrs;
    average(node, (double)a->kernel, s);
}

static void average_all(const hu_node *node, hu_unit_sizes *s) {
    average(node, elements_in(node, 0) / hu_unit_outputs(node), s);
}

static void sum_all(const hu_node *node, hu_unit_sizes *s) {
    s->made = sqrt(hu_unit_outputs(node) / elements_in(node, 0));
}

/* Terms of an output, of an input's gradient: products of independent hu_unit_numbers of size 1. */
static void multiply(const hu_node *node, hu_unit_sizes *s) {
    const hu_node_info info = hu_graph_node_info(node, 1, 1);
    double macs = (double)node->op->macs(&info);
    s->made = sqrt(hu_unit_outputs(node) / macs);
    s->given[0] = sqrt(macs / elements_in(node, 0));
    s->out.offset = sqrt(s->in.mean * s->in.mean + s->in.offset * s->in.offset);
}

static void look_up(const hu_node *node, hu_unit_sizes *s) {
    const hu_embedding_attrs *a = node->attrs;
    double factor = fabs((double)a->factor);
    if (factor > 0) s->made = 1 / factor;
}

static void scale(const hu_node *node, hu_unit_sizes *s) {
    const hu_scale_attrs *a = node->attrs;
    double factor = fabs((double)a->factor);
    if (factor > 0) s->made = 1 / factor;
    s->given[0] = factor;
    keep_sum(node, s);
}

/* Additions: forward, hu_unit_scaling_write gives each input its factor. */
static void stretch(const hu_node *node, hu_unit_sizes *s) {
    for (int i = 0; i < 2 && i < node->n_in; i++)
        s->given[i] = sqrt(hu_unit_outputs(node) / elements_in(node, i));
}

/* ---- activations, of a normal law ---- */

enum { HALF = 2 };

/* x below 0 times slope, x normal with the mean of the input and mean square 1: integrals of the
 * part above 0. */
static void rectify(double slope, hu_unit_sizes *s) {
    const double pi = acos(-1.0), m = s->in.mean, deviation = sqrt(1 - m * m), at = m / deviation;
    double above = erfc(-at / sqrt(2.0)) / HALF, density = exp(-at * at / HALF) / sqrt(2 * pi);
    double mean = m * above + deviation * density, squares = above + m * deviation * density;
    double size = sqrt(squares + slope * slope * (1 - squares));
    s->made = 1 / size;
    s->out = (hu_unit_numbers){s->in.terms, (mean + slope * (m - mean)) / size, 0};
    s->given[0] = sqrt(above + slope * slope * (1 - above));
}

static void relu(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    rectify(0, s);
}

static void leaky_relu(const hu_node *node, hu_unit_sizes *s) {
    const hu_leaky_relu_attrs *a = node->attrs;
    rectify((double)a->slope, s);
}

static void set_activation(double size, double slope, hu_unit_sizes *s) {
    s->made = 1 / size;
    s->given[0] = slope;
}

/* Root mean squares of f(x) and f'(x), x of the standard normal law, by numerical integration on
 * 2,000,001 places of [-12, 12]. */
static void gelu(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    set_activation(0.6520901, 0.6751673, s);
}
static void silu(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    set_activation(0.5964693, 0.6160214, s);
}
static void hard_swish(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    set_activation(0.5758189, 0.5987750, s);
}

/* Bounded ones stay: their backward part reads what they made. */
static void tanh_of(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    s->given[0] = 0.6814711;
}
static void sigmoid(const hu_node *node, hu_unit_sizes *s) {
    (void)node;
    s->given[0] = 0.2117457;
}

static void hard_sigmoid(const hu_node *node, hu_unit_sizes *s) {
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
static void scores(const hu_node *node, hu_unit_sizes *s) {
    const hu_scores_attrs *a = node->attrs;
    const hu_shape *pairs = &node->shapes[node->n_in];
    double factor = fabs((double)a->factor), depth = extent(&node->shapes[0], 0) / (double)a->heads;
    s->made = 1 / (factor * sqrt(depth));
    s->given[0] = factor * sqrt(extent(pairs, 0));
    s->given[1] = factor * sqrt(rows_of(pairs));
}

/* Shares lie between 0 and 1 and stay so. */
static void shares(const hu_node *node, hu_unit_sizes *s) {
    const hu_attention_mask_attrs *a = node->attrs;
    const hu_shape *pairs = &node->shapes[node->n_in];
    double keys = extent(pairs, 0);
    s->given[0] = sqrt(squares_of_shares(rows_of(pairs), keys, a && a->is_causal) / keys);
}

/* pairs [heads, T, S], keys' numbers [S, heads d] -> [T, heads d]. Numbers of different keys are
 * anything between independent, then a mean of them has the root of `squares`, and the same, then
 * 1: the geometric middle is wrong by the fourth root at most. Likewise backward, of rows. */
static void context(const hu_node *node, hu_unit_sizes *s) {
    const hu_attention_mask_attrs *a = node->attrs;
    const hu_shape *pairs = &node->shapes[0];
    double rows = rows_of(pairs), keys = extent(pairs, 0);
    double squares = squares_of_shares(rows, keys, a && a->is_causal);
    s->made = 1 / sqrt(sqrt(squares));
    s->given[0] = sqrt(extent(&node->shapes[1], 0) / extent(pairs, 2));
    s->given[1] = sqrt(sqrt(rows * squares / keys) * (rows / keys));
}

static void softmax(const hu_node *node, hu_unit_sizes *s) {
    double keys = extent(&node->shapes[0], 0);
    s->given[0] = sqrt(squares_of_shares(1, keys, false) / keys);
}

/* ---- losses: of the gradient of one unit ---- */

/* p - y of V classes, p near 1/V: sqrt(V - 1) / V, the paper's V/sqrt(V - 1). */
static double of_classes(double classes) {
    return classes > 1 ? sqrt(classes - 1) / classes : 1;
}

static void cross_entropy(const hu_node *node, hu_unit_sizes *s) {
    s->given[0] = of_classes(extent(&node->shapes[0], 0));
}

static void log_softmax(const hu_node *node, hu_unit_sizes *s) {
    double classes = extent(&node->shapes[0], 0);
    s->given[0] = of_classes(classes) * sqrt(classes);
}

static void nll(const hu_node *node, hu_unit_sizes *s) {
    s->given[0] = 1 / sqrt(extent(&node->shapes[0], 0));
}

/* Of differences of two hu_unit_numbers of size 1, and of signs. */
static void element_loss(const hu_node *node, double size, hu_unit_sizes *s) {
    const hu_element_loss_attrs *a = node->attrs;
    s->given[0] = a && a->sums ? size : size / elements_in(node, 0);
}

static void mse(const hu_node *node, hu_unit_sizes *s) {
    element_loss(node, 2 * sqrt(2.0), s);
}
static void l1(const hu_node *node, hu_unit_sizes *s) {
    element_loss(node, 1, s);
}
static void bce(const hu_node *node, hu_unit_sizes *s) {
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

bool hu_has_unit_rule(const hu_op *op) {
    return rule_of(op) != NULL;
}

hu_unit_sizes hu_unit_sizes_of(const hu_node *node, hu_unit_numbers in) {
    hu_unit_sizes s = {.in = in, .made = 1, .out = HU_UNIT_CENTRED, .given = {1, 1}};
    rule_fn *rule = node->loop == HU_NONE ? rule_of(node->op) : NULL;
    if (rule) rule(node, &s);
    return s;
}
