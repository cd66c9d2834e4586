/* Which elementwise nodes run in the visits of their neighbours, so that neither their output nor
 * the gradient of it is a stored tensor: those of own networks as relu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/internal.h"
#include "op/attributes.h"
#include "planner/planner.h"

typedef struct planned {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    uint32_t node; /* the one that is asked about */
    hu_value_id out;
} planned;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_value_id apply(planned *p, const hu_op *op, const char *name, const void *attrs, int n_in,
                         const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    must(hu_graph_apply(p->graph, op, name, NULL, attrs, n_in, in, out));
    return out[0];
}

static hu_value_id conv(planned *p, const char *name, hu_value_id in) {
    const hu_conv_attrs attrs = {.out_channels = 8,
                                 .kernel_h = 3,
                                 .kernel_w = 3,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .pad_h = 1,
                                 .pad_w = 1,
                                 .dilation_h = 1,
                                 .dilation_w = 1,
                                 .groups = 1,
                                 .weight_init = {HU_INIT_NORMAL, 0.1f}};
    return apply(p, &hu_op_conv2d, name, &attrs, 1, &in);
}

/* conv [-> norm] -> op -> conv -> pooling -> loss, in packed bytes. */
static void plan(planned *p, const hu_op *op, const char *text, bool has_norm) {
    static const hu_batch_norm_attrs norm = {1e-5f, 0.1f};
    union {
        double aligned;
        char bytes[512];
    } attrs = {.bytes = {0}};
    const hu_shape image = {3, {6, 6, 8}}, label = {0, {0}};
    const hu_run_options options = {
        .batch = 12, .chunk = 2, .threads = 2, .fuse = true, .recompute = 1};
    hu_value_id in[2];
    must(hu_graph_create(&p->graph));
    must(hu_graph_input(p->graph, "input", &image, &in[0]));
    must(hu_graph_target(p->graph, "label", &label, &in[1]));
    in[0] = conv(p, "conv1", in[0]);
    if (has_norm) in[0] = apply(p, &hu_op_batch_norm, "norm", &norm, 1, in);
    assert_true(op->attrs_bytes <= sizeof attrs);
    must(hu_op_read_attributes(op, text, &p->graph->value[in[0]].shape, &attrs));
    p->node = p->graph->node_count;
    p->out = in[0] = apply(p, op, "asked", &attrs, 1, in);
    in[0] = conv(p, "conv2", in[0]);
    in[0] = apply(p, &hu_op_mean, "pool", NULL, 1, in);
    in[0] = apply(p, &hu_op_log_softmax, "lsm", NULL, 1, in);
    apply(p, &hu_op_nll, "loss", NULL, 2, in);
    must(hu_graph_finish(p->graph));
    must(hu_edge_table_create(p->graph, &p->edges));
    must(hu_weights_create(p->graph, &p->weights));
    must(hu_run_create(p->graph, &p->edges, &p->weights, &options, &p->run));
}

static void drop(planned *p) {
    hu_run_free(p->run);
    hu_weights_free(&p->weights);
    hu_edge_table_free(&p->edges);
    hu_graph_free(p->graph);
}

typedef struct asked {
    const hu_op *op;
    const char *text;
} asked;

/* Without parameters: as relu, also in the backward pass. */
static const asked plain[] = {{&hu_op_relu, ""},
                              {&hu_op_silu, ""},
                              {&hu_op_hard_swish, ""},
                              {&hu_op_hard_sigmoid, ""},
                              {&hu_op_log, ""},
                              {&hu_op_pow, "exponent=3"},
                              {&hu_op_square, ""},
                              {&hu_op_abs, ""},
                              {&hu_op_neg, ""},
                              {&hu_op_clip, "low=-1 high=1"},
                              {&hu_op_add, "value=1"},
                              {&hu_op_sub, "value=1"},
                              {&hu_op_mul, "value=2"},
                              {&hu_op_div, "value=2"},
                              {&hu_op_minimum, "value=2"},
                              {&hu_op_maximum, "value=2"}};
static const asked weighed[] = {{&hu_op_add, "shape=8"},
                                {&hu_op_sub, "shape=6x6x8"},
                                {&hu_op_mul, "shape=8"},
                                {&hu_op_mul, "shape=6x1x1"},
                                {&hu_op_div, "shape=1"}};
enum { PLAIN = sizeof plain / sizeof *plain, WEIGHED = sizeof weighed / sizeof *weighed };

static void after_a_norm_nothing_is_stored(void **state) {
    (void)state;
    for (int k = 0; k < PLAIN + WEIGHED; k++) {
        const asked *a = k < PLAIN ? &plain[k] : &weighed[k - PLAIN];
        planned p;
        plan(&p, a->op, a->text, true);
        const hu_node *node = &p.graph->node[p.node];
        hu_value_id norm = node->in[0];
        if (!p.run->exec[p.node].is_lazy || !p.run->is_virtual[p.out] || !p.run->is_virtual[norm])
            fail_msg("%s %s is stored", a->op->name, a->text);
        /* conv2 follows: its visits make the gradient of the node's input at once. */
        if (k < PLAIN && p.run->exec[p.node].backward_in != p.node + 1)
            fail_msg("the gradient of %s %s is stored", a->op->name, a->text);
        drop(&p);
    }
}

/* A weight after a product: both sum their gradients in the visits of the product. */
static void after_a_product_a_weight_joins_its_visits(void **state) {
    (void)state;
    for (int k = 0; k < WEIGHED; k++) {
        planned p;
        plan(&p, weighed[k].op, weighed[k].text, false);
        const hu_exec *exec = &p.run->exec[p.node];
        uint32_t product = p.graph->value[p.graph->node[p.node].in[0]].producer;
        assert_true(exec->is_lazy && exec->is_pulled);
        assert_int_equal(exec->backward_in, product);
        drop(&p);
    }
}

/* A constant beside a value: the value need not outlive the forward pass. */
static void a_constant_saves_nothing(void **state) {
    (void)state;
    static const struct {
        asked of;
        bool saves;
    } rows[] = {{{&hu_op_mul, "value=2"}, false},    {{&hu_op_div, "value=2"}, false},
                {{&hu_op_maximum, "value=2"}, true}, {{&hu_op_mul, "shape=8"}, true},
                {{&hu_op_add, "shape=8"}, false},    {{&hu_op_div, "shape=1"}, true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        planned p;
        plan(&p, rows[r].of.op, rows[r].of.text, true);
        assert_int_equal(hu_node_saves(&p.graph->node[p.node], 0), rows[r].saves);
        drop(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_norm_nothing_is_stored),
        cmocka_unit_test(after_a_product_a_weight_joins_its_visits),
        cmocka_unit_test(a_constant_saves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
