/* The layers LSTM, LSTM with projection and GRU, in two directions, against their definition in
 * double: losses, and gradients of all parameters by differences of the definition. */
#include <stdio.h>

#include "engine/run.h"
#include "model/internal.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 5, STEPS = 4, IN = 3, HIDDEN = 4, CLASSES = 3, MOST = 256 };

typedef struct layer {
    bool is_gru, is_reversed;
    int64_t projection;
} layer;

typedef struct net {
    layer layer;
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id out; /* the rows of the layer */
} net;

/* What the layers start as: drawn numbers, zeros that are loaded, or none that are given. */
static enum { START_DRAWN, START_ZERO, START_NONE } starts;

static const float lengths[BATCH] = {4, 0, 1, 3, 4};

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static int64_t wide(const layer *l) {
    return l->projection ? l->projection : HIDDEN;
}

/* ---- the network ---- */

static hu_value_id apply(hu_builder *b, const hu_op *op, const char *name, int n_in,
                         const hu_value_id *in) {
    return hu_build_node(b, op, name, NULL, NULL, n_in, in);
}

static hu_value_id declare_layer(hu_builder *b, const layer *l, hu_value_id x, hu_value_id length,
                                 hu_recurrent_state start) {
    const hu_recurrent_form form = {.layer = "rnn",
                                    .suffix = l->is_reversed ? "_l0_reverse" : "_l0",
                                    .hidden = HIDDEN,
                                    .projection = l->projection,
                                    .lengths = length};
    const hu_value_id turned[2] = {x, length};
    if (l->is_reversed) x = apply(b, &hu_op_reverse, "turned", 2, turned);
    hu_value_id rows =
        l->is_gru ? hu_build_gru(b, &form, x, start) : hu_build_lstm(b, &form, x, start, NULL);
    const hu_value_id back[2] = {rows, length};
    return l->is_reversed ? apply(b, &hu_op_reverse, "back", 2, back) : rows;
}

static void declare(net *n, const layer *l, bool splits_bias) {
    const hu_shape rows = {2, {STEPS, IN}}, hidden = {1, {wide(l)}}, cell = {1, {HIDDEN}};
    const hu_shape scalar = {0, {0}};
    const hu_linear_attrs head = {.out_features = CLASSES, .weight_init = {HU_INIT_NORMAL, 0.5f}};
    hu_value_id x, in[3], length;
    hu_recurrent_state start;
    *n = (net){.layer = *l};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "x", &rows, &x));
    must(hu_graph_input(n->graph, "h0", &hidden, &start.hidden));
    must(hu_graph_input(n->graph, "c0", &cell, &start.cell));
    must(hu_graph_target(n->graph, "label", &scalar, &in[1]));
    must(hu_graph_target(n->graph, "length", &scalar, &length));
    hu_builder b = {.graph = n->graph, .splits_bias = splits_bias};
    n->out = declare_layer(&b, l, x, length, start);
    const hu_value_id last[3] = {n->out, start.hidden, length};
    hu_value_id both[2] = {apply(&b, &hu_op_flatten, "flat", 1, &n->out),
                           apply(&b, &hu_op_last_row, "last", 3, last)};
    hu_value_id all = apply(&b, &hu_op_concat, "all", 2, both);
    all = hu_build_node(&b, &hu_op_linear, "head", NULL, &head, 1, &all);
    in[0] = apply(&b, &hu_op_log_softmax, "lsm", 1, &all);
    (void)apply(&b, &hu_op_nll, "loss", 2, in);
    must(b.status);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
}

/* Loaded numbers: x, h0, c0, label, length. */
static float loaded(uint32_t field, int64_t index) {
    const hu_random_key key = {5, 1 + field, 0};
    if (field > 0 && starts != START_DRAWN) return 0;
    return hu_random_normal(&key, (uint64_t)index);
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const net *n = context;
    const int64_t elements[] = {STEPS * IN, wide(&n->layer), HIDDEN};
    for (int64_t i = 0; field < 3 && i < count * elements[field]; i++)
        rows[i] = loaded(field, first * elements[field] + i);
    for (int64_t s = 0; field == 3 && s < count; s++) rows[s] = (float)((first + s) % CLASSES);
    for (int64_t s = 0; field == 4 && s < count; s++) rows[s] = lengths[first + s];
}

static double run_step(net *n) {
    const hu_run_options options = {.batch = BATCH, .chunk = 2, .threads = 2, .fuse = true};
    hu_pass_options pass = {.training = true, .samples = BATCH, .seed_gradient = 1.0f};
    hu_pass_result result;
    hu_source source = {n, fill};
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    return result.loss_sum;
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* ---- the definition ---- */

static const float *weight(const net *n, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "rnn.%s_l0%s", name, n->layer.is_reversed ? "_reverse" : "");
    hu_value_id v = hu_graph_find(n->graph, full);
    if (v == HU_NONE) fail_msg("no parameter is called %s", full);
    return hu_weights_of(&n->weights, v);
}

/* y = w x + b */
static void affine(int64_t out, int64_t in, const float *w, const float *b, const double *x,
                   double *y) {
    for (int64_t o = 0; o < out; o++) {
        y[o] = b ? b[o] : 0;
        for (int64_t i = 0; i < in; i++) y[o] += (double)w[o * in + i] * x[i];
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void lstm_step(const net *n, const double *a, const double *b, double *h, double *c) {
    double m[HIDDEN];
    for (int64_t u = 0; u < HIDDEN; u++) {
        double gate[4];
        for (int k = 0; k < 4; k++) gate[k] = a[k * HIDDEN + u] + b[k * HIDDEN + u];
        c[u] = sigmoid(gate[1]) * c[u] + sigmoid(gate[0]) * tanh(gate[2]);
        m[u] = sigmoid(gate[3]) * tanh(c[u]);
    }
    if (n->layer.projection)
        affine(n->layer.projection, HIDDEN, weight(n, "weight_hr"), NULL, m, h);
    else
        memcpy(h, m, sizeof m);
}

static void gru_step(const double *a, const double *b, double *h) {
    for (int64_t u = 0; u < HIDDEN; u++) {
        double r = sigmoid(a[u] + b[u]), z = sigmoid(a[HIDDEN + u] + b[HIDDEN + u]);
        double candidate = tanh(a[2 * HIDDEN + u] + r * b[2 * HIDDEN + u]);
        h[u] = (1 - z) * candidate + z * h[u];
    }
}

/* The rows of a sample, all after each other, and the last. */
static void rows_of(const net *n, int64_t s, double *all) {
    int64_t parts = n->layer.is_gru ? 3 : 4, out = wide(&n->layer), length = (int64_t)lengths[s];
    double h[HIDDEN], c[HIDDEN], x[IN], a[4 * HIDDEN], b[4 * HIDDEN];
    for (int64_t i = 0; i < (STEPS + 1) * out; i++) all[i] = 0;
    for (int64_t u = 0; u < out; u++) h[u] = loaded(1, s * out + u);
    for (int64_t u = 0; u < HIDDEN; u++) c[u] = loaded(2, s * HIDDEN + u);
    for (int64_t k = 0; k < length; k++) {
        int64_t t = n->layer.is_reversed ? length - 1 - k : k;
        for (int64_t i = 0; i < IN; i++) x[i] = loaded(0, (s * STEPS + t) * IN + i);
        affine(parts * HIDDEN, IN, weight(n, "weight_ih"), weight(n, "bias_ih"), x, a);
        affine(parts * HIDDEN, out, weight(n, "weight_hh"), weight(n, "bias_hh"), h, b);
        if (n->layer.is_gru)
            gru_step(a, b, h);
        else
            lstm_step(n, a, b, h, c);
        memcpy(all + t * out, h, (size_t)out * sizeof *h);
    }
    /* The row at the length; reversed, that is not the last that was computed. */
    for (int64_t u = 0; u < out; u++)
        all[STEPS * out + u] = length ? all[(length - 1) * out + u] : loaded(1, s * out + u);
}

static double loss_of(const net *n) {
    double total = 0;
    int64_t out = (STEPS + 1) * wide(&n->layer);
    const float *head = hu_weights_of(&n->weights, hu_graph_find(n->graph, "head.weight"));
    for (int64_t s = 0; s < BATCH; s++) {
        double all[(STEPS + 1) * HIDDEN], score[CLASSES], sum = 0;
        rows_of(n, s, all);
        affine(CLASSES, out, head, NULL, all, score);
        for (int k = 0; k < CLASSES; k++) sum += exp(score[k]);
        total += log(sum) - score[s % CLASSES];
    }
    return total;
}

/* ---- comparison ---- */

static void check_parameter(net *n, hu_value_id v) {
    static float scratch[MOST];
    const hu_value_info *value = &n->graph->value[v];
    const float *found = hu_run_param_grad(n->run, v, 0, value->elements, scratch);
    float *w = hu_weights_of(&n->weights, v);
    for (int64_t i = 0; i < value->elements; i++) {
        float old = w[i], up = old + 1e-3f, down = old - 1e-3f;
        w[i] = up;
        double high = loss_of(n);
        w[i] = down;
        double low = loss_of(n);
        w[i] = old;
        double expected = (high - low) / ((double)up - down);
        if (fabs(found[i] - expected) > 2e-6 * (1 + fabs(expected)))
            fail_msg("%s, element %lld: gradient %.8g, difference %.8g", value->name, (long long)i,
                     (double)found[i], expected);
    }
}

static const layer layers[] = {
    {false, false, 0}, {false, true, 0}, {false, false, 3}, {true, false, 0}, {true, true, 0}};
enum { LAYERS = sizeof layers / sizeof *layers };

static void layers_are_their_definitions(void **state) {
    (void)state;
    for (int k = 0; k < LAYERS; k++) {
        net n;
        declare(&n, &layers[k], false);
        double found = run_step(&n), expected = loss_of(&n);
        assert_true(fabs(found - expected) < 1e-6 * expected);
        int parameters = 0;
        for (hu_value_id v = 0; v < n.graph->value_count; v++) {
            if (n.graph->value[v].role != HU_VALUE_PARAMETER) continue;
            check_parameter(&n, v);
            parameters++;
        }
        assert_int_equal(parameters, layers[k].projection ? 6 : 5);
        drop(&n);
    }
}

/* A scheme that rounds before the bias has nodes for it; without rounding it computes nearly the
 * same. */
static void biases_may_be_nodes(void **state) {
    (void)state;
    for (int k = 0; k < LAYERS; k++) {
        net n, split;
        declare(&n, &layers[k], false);
        declare(&split, &layers[k], true);
        assert_true(hu_graph_parameters(n.graph) == hu_graph_parameters(split.graph));
        double found = run_step(&split), expected = run_step(&n);
        assert_true(fabs(found - expected) < 1e-6 * expected);
        for (hu_value_id v = 0; v < split.graph->value_count; v++)
            if (split.graph->value[v].role == HU_VALUE_PARAMETER) check_parameter(&split, v);
        drop(&n);
        drop(&split);
    }
}

/* Both ways are the two layers beside each other, from zeros. */
static void both_ways_are_two_layers(void **state) {
    (void)state;
    const hu_shape rows = {2, {STEPS, IN}}, scalar = {0, {0}};
    const hu_recurrent_form form = {.layer = "rnn", .suffix = "_l0", .hidden = HIDDEN};
    for (int kind = 0; kind < 2; kind++)
        for (int has_lengths = 0; has_lengths < 2; has_lengths++) {
            hu_graph *graph;
            hu_value_id x, length;
            must(hu_graph_create(&graph));
            must(hu_graph_input(graph, "x", &rows, &x));
            must(hu_graph_target(graph, "length", &scalar, &length));
            hu_builder b = {.graph = graph};
            hu_recurrent_form both = form;
            both.lengths = has_lengths ? length : HU_NONE;
            hu_value_id out = hu_build_both_ways(&b, &both, (hu_recurrent_kind)kind, x);
            must(b.status);
            const hu_shape expected = {2, {STEPS, 2 * HIDDEN}};
            assert_true(hu_shape_equal(&graph->value[out].shape, &expected));
            const hu_node *concat = &graph->node[graph->value[out].producer];
            const char *const made[] = {"rnn_l0.hidden.out", "rnn_l0_reverse.back.out"};
            for (int i = 0; i < 2; i++)
                assert_string_equal(graph->value[concat->in[i]].name, made[i]);
            const char *const zeros[] = {"rnn_l0.hidden.start.out",
                                         "rnn_l0_reverse.hidden.start.out"};
            for (int i = 0; i < 2; i++) {
                hu_value_id start = hu_graph_find(graph, zeros[i]);
                assert_true(start != HU_NONE && graph->value[start].role == HU_VALUE_FACT);
            }
            assert_true(hu_graph_find(graph, "rnn.weight_hh_l0_reverse") != HU_NONE);
            /* Two products each, once for every step. */
            int64_t parts = kind == HU_RECURRENT_GRU ? 3 : 4;
            assert_true(hu_graph_macs(graph) == 2 * STEPS * parts * HIDDEN * (IN + HIDDEN));
            hu_graph_free(graph);
        }
}

/* A layer without a start begins as one that is given zeros: its numbers, and its gradients. */
static void a_layer_starts_as_zeros(void **state) {
    (void)state;
    for (int k = 0; k < LAYERS; k++) {
        double loss[2];
        for (int is_given = 0; is_given < 2; is_given++) {
            net n;
            starts = is_given ? START_ZERO : START_NONE;
            declare(&n, &layers[k], false);
            loss[is_given] = run_step(&n);
            drop(&n);
        }
        starts = START_DRAWN;
        assert_true(loss[0] == loss[1] && loss[0] > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_their_definitions),
        cmocka_unit_test(biases_may_be_nodes),
        cmocka_unit_test(both_ways_are_two_layers),
        cmocka_unit_test(a_layer_starts_as_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
