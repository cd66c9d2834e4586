/* The fixed factors of a network whose numbers are near 1 (precision/unit_scaling.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "model_of.h"
#include "precision/unit_scaling.h"

enum { BATCH = 128, CLASSES = 10 };

typedef struct scaled {
    hu_graph *graph;
    hu_edge_table edges;
} scaled;

static hu_status open_scaled(scaled *s, const char *model) {
    const hu_model *found;
    assert_int_equal(hu_model_find(model, &found), HU_OK);
    hu_shape image = image_for(found);
    s->graph = model_of(model, 1, &image, CLASSES);
    assert_int_equal(hu_edge_table_create(s->graph, &s->edges), HU_OK);
    return hu_unit_scaling_write(s->graph, BATCH, &s->edges);
}

static void make_scaled(scaled *s, const char *model) {
    if (open_scaled(s, model) != HU_OK) fail_msg("%s: %s", model, hu_last_error());
    assert_true(s->edges.factors.any);
}

static void close_scaled(scaled *s) {
    hu_edge_table_free(&s->edges);
    hu_graph_free(s->graph);
}

static void near(const char *what, double found, double expected) {
    if (!(fabs(found - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%s: found %.9g, expected %.9g", what, found, expected);
}

static hu_value_id find(const scaled *s, const char *name) {
    hu_value_id v = hu_graph_find(s->graph, name);
    if (v == HU_NONE) fail_msg("no tensor '%s'", name);
    return v;
}

static const hu_node *producer(const scaled *s, const char *name) {
    return &s->graph->node[s->graph->value[find(s, name)].producer];
}

static void makes(const scaled *s, const char *name, double expected) {
    near(name, (double)s->edges.factors.made[find(s, name)], expected);
}

static void reads(const scaled *s, const char *name, int i, double expected) {
    const hu_node *node = producer(s, name);
    near(name, (double)s->edges.factors.read[node->first_use + (uint32_t)i], expected);
}

static void starts(const scaled *s, const char *name, double expected) {
    near(name, s->edges.factors.start[find(s, name)], expected);
}

/* Layers of width 16, 32, 64 on pictures of 32 x 32: by hand. */
static void layers(void **state) {
    (void)state;
    scaled s;
    make_scaled(&s, "cnn-s");
    makes(&s, "conv1.out", 1 / sqrt(27.0));
    makes(&s, "conv2.out", 1 / sqrt(9.0 * 16));
    makes(&s, "pool1.out", 1);
    makes(&s, "bn1.out", 1);
    makes(&s, "relu1.out", sqrt(2.0));
    makes(&s, "fc.product.out", 1 / 64.0); /* the last layer */
    starts(&s, "conv1.weight", 1 / sqrt(27.0));
    starts(&s, "fc.bias", 1);
    starts(&s, "fc.weight", 1 / 64.0);
    near("drawn", s.edges.factors.drawn[find(&s, "conv1.weight")], (double)sqrtf(2.0f / (9 * 16)));
    starts(&s, "bn1.weight", 1);
    close_scaled(&s);
}

/* The gradient of the sum of losses times V / sqrt(V - 1), as in the paper; rows of weights. */
static void gradients(void **state) {
    (void)state;
    scaled s;
    make_scaled(&s, "cnn-s");
    const double *held = s.edges.factors.held;
    double logits = BATCH * CLASSES / sqrt(CLASSES - 1.0);
    near("logits", held[find(&s, "fc.out")], logits);
    near("their weights", held[find(&s, "fc.weight")], 64 * logits / sqrt((double)BATCH));
    near("their bias", held[find(&s, "fc.bias")], logits / sqrt((double)BATCH));
    near("what they read", held[find(&s, "pool.out")], 64 * logits / sqrt((double)CLASSES));
    /* One of four places gets the gradient of a 2 x 2 maximum. */
    near("pool", held[find(&s, "conv1.out")], 2 * held[find(&s, "pool1.out")]);
    close_scaled(&s);
}

/* All terms of a residual stack keep their weight; what comes from a norm is one. */
static void residuals(void **state) {
    (void)state;
    scaled s;
    make_scaled(&s, "resnet20");
    for (int i = 0; i < 2; i++) reads(&s, "layer1.0.add.out", i, sqrt(0.5));
    reads(&s, "layer1.1.add.out", 0, sqrt(1.0 / 3)); /* the branch */
    reads(&s, "layer1.1.add.out", 1, sqrt(2.0 / 3));
    reads(&s, "layer1.2.add.out", 1, sqrt(3.0 / 4));
    for (int i = 0; i < 2; i++) reads(&s, "layer2.0.add.out", i, sqrt(0.5));
    makes(&s, "layer1.0.relu1.out", sqrt(2.0));
    float later = s.edges.factors.made[find(&s, "layer1.0.relu2.out")];
    assert_true(later > 1.0f && later < 1.2f); /* half of what it reads is above zero already */
    close_scaled(&s);
}

static void attention(void **state) {
    (void)state;
    scaled s;
    make_scaled(&s, "deit-s");
    double rows = 65, squares = 1 / (1 + (rows - 1) / exp(1.0));
    makes(&s, "blocks.0.attn.context.out", pow(squares, -0.25));
    makes(&s, "blocks.0.act.out", 1 / 0.6520901);
    starts(&s, "blocks.0.fc1.weight", 1 / 8.0);
    starts(&s, "patch.bias", 1 / sqrt(48.0)); /* added inside, before the factor */
    reads(&s, "blocks.3.add2.out", 0, sqrt(8.0 / 9));
    close_scaled(&s);
}

static bool is_usable(double factor) {
    return factor > 0 && isfinite(factor) && factor < 0x1p100;
}

/* Whatever a value holds, contributions are factor of the output x held(input) / held(output):
 * what arrives at a parameter is a multiple of its gradient. */
static void multiples(const scaled *s, const char *model) {
    const hu_factors *factors = &s->edges.factors;
    for (hu_value_id v = 0; v < s->graph->value_count; v++)
        if (!is_usable((double)factors->made[v]) || !is_usable(factors->held[v]) ||
            !is_usable(factors->start[v]))
            fail_msg("%s: %s: %g %g %g", model, s->graph->value[v].name, (double)factors->made[v],
                     factors->held[v], factors->start[v]);
    for (uint32_t u = 0; u < s->graph->use_count; u++) {
        const hu_use *use = &s->graph->use[u];
        const hu_node *node = &s->graph->node[use->node];
        if (!hu_use_has_gradient(s->graph, u)) continue;
        for (int o = 0; o < node->n_out; o++)
            near(node->name, (double)factors->given[u],
                 (double)factors->made[node->out[o]] * (double)factors->read[u] *
                     factors->held[use->value] / factors->held[node->out[o]]);
    }
}

/* Every model has factors, but those that learn in turns. */
static void models(void **state) {
    (void)state;
    int scalable = 0;
    for (int m = 0; m < hu_model_count; m++) {
        const char *model = hu_model_table[m].name;
        scaled s;
        if (open_scaled(&s, model) == HU_OK)
            scalable++, multiples(&s, model);
        else if (s.graph->phase_count == 0)
            fail_msg("%s: %s", model, hu_last_error());
        close_scaled(&s);
    }
    assert_true(scalable > hu_model_count - 3);
}

/* All that a loop reads and makes holds one multiple, and its weights start as ever. */
static void loops(void **state) {
    (void)state;
    scaled s;
    make_scaled(&s, "lstm-lm");
    double held = s.edges.factors.held[find(&s, "lstm.weight_hh_l0")];
    assert_true(held > 1);
    for (uint32_t n = 0; n < s.graph->node_count; n++) {
        const hu_node *node = &s.graph->node[n];
        if (node->loop == HU_NONE) continue;
        for (int i = 0; i < node->n_in; i++)
            if (node->need_din[i]) {
                near(node->name, s.edges.factors.held[node->in[i]], held);
                near(node->name, (double)s.edges.factors.given[node->first_use + (uint32_t)i], 1);
            }
    }
    starts(&s, "lstm.weight_hh_l0", 1);
    assert_true(s.edges.factors.start[find(&s, "lstm.weight_ih_l0")] < 0.5);
    const double *drawn = s.edges.factors.drawn;
    near("table", s.edges.factors.start[find(&s, "emb.weight")], drawn[find(&s, "emb.weight")]);
    close_scaled(&s);
}

static void refused(void **state) {
    (void)state;
    scaled s;
    assert_int_equal(open_scaled(&s, "dcgan"), HU_ERR_ARGUMENT);
    if (!strstr(hu_last_error(), "networks that learn in turns")) fail_msg("%s", hu_last_error());
    assert_false(s.edges.factors.any);
    close_scaled(&s);
}

static void without_rule(void **state) {
    (void)state;
    char text[256];
    scaled s;
    make_scaled(&s, "resnet20");
    hu_unit_scaling_without_rule(s.graph, text, sizeof text);
    assert_string_equal(text, "");
    close_scaled(&s);
    make_scaled(&s, "alexnet");
    hu_unit_scaling_without_rule(s.graph, text, sizeof text);
    assert_string_equal(text, "local_norm");
    hu_unit_scaling_without_rule(s.graph, text, 5);
    assert_int_equal(strlen(text), 4);
    close_scaled(&s);
    make_scaled(&s, "lstm-lm");
    hu_unit_scaling_without_rule(s.graph, text, sizeof text);
    if (!strstr(text, "recurrent layers")) fail_msg("%s", text);
    close_scaled(&s);
}

static void words(void **state) {
    (void)state;
    hu_scaling scaling;
    for (int i = 0; i < HU_SCALING_COUNT; i++) {
        assert_int_equal(hu_scaling_parse(hu_scaling_name((hu_scaling)i), &scaling), HU_OK);
        assert_int_equal((int)scaling, i);
    }
    assert_int_equal(hu_scaling_parse("units", &scaling), HU_ERR_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers),    cmocka_unit_test(gradients), cmocka_unit_test(residuals),
        cmocka_unit_test(attention), cmocka_unit_test(models),    cmocka_unit_test(refused),
        cmocka_unit_test(words),     cmocka_unit_test(loops),     cmocka_unit_test(without_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
