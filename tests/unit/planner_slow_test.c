/* Who computes a node: names, and the warning where that is slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "engine/internal.h"
#include "op/attributes.h"
#include "planner/planner.h"
#include "product/onednn.h"

enum { SLOW_FORWARD = 1, SLOW_BACKWARD = 2 };

static int slow;

static const char *chosen_impl(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    (void)state;
    if (pass == HU_FORWARD) return slow & SLOW_FORWARD ? "ref:any" : "jit:avx2";
    return slow & SLOW_BACKWARD ? "ref_convolution" : "jit:avx2";
}

typedef struct planned {
    hu_op conv;
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
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

/* conv -> global pooling -> log-softmax -> loss; the conv's record is a copy. */
static void plan(planned *p, int64_t groups, hu_product_engine engine) {
    const hu_conv_attrs conv = {.out_channels = 4,
                                .kernel_h = 3,
                                .kernel_w = 3,
                                .stride_h = 1,
                                .stride_w = 1,
                                .pad_h = 1,
                                .pad_w = 1,
                                .dilation_h = 1,
                                .dilation_w = 1,
                                .groups = groups,
                                .weight_init = {HU_INIT_NORMAL, 0.1f}};
    const hu_shape image = {3, {4, 4, 4}}, label = {0, {0}};
    const hu_run_options options = {.batch = 2, .chunk = 2, .threads = 1, .products = engine};
    hu_value_id in[2];
    must(hu_graph_create(&p->graph));
    must(hu_graph_input(p->graph, "input", &image, &in[0]));
    must(hu_graph_target(p->graph, "label", &label, &in[1]));
    in[0] = apply(p, &p->conv, "layer2.0.conv1", &conv, 1, in);
    in[0] = apply(p, &hu_op_global_avg_pool, "pool", NULL, 1, in);
    in[0] = apply(p, &hu_op_flatten, "flat", NULL, 1, in);
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

static void a_slow_pass_is_said_once(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "layer2.0.conv1: oneDNN runs this product with its slow reference implementation: forward "
        "'ref:any'",
        "layer2.0.conv1: oneDNN runs this product with its slow reference implementation: backward "
        "'ref_convolution'",
        "layer2.0.conv1: oneDNN runs this product with its slow reference implementation: forward "
        "'ref:any', backward 'ref_convolution'"};
    char text[HU_SLOW_BYTES];
    planned p = {.conv = hu_op_conv2d};
    p.conv.impl = chosen_impl;
    plan(&p, 1, HU_ENGINE_OWN);
    for (slow = 0; slow < 4; slow++) {
        assert_int_equal(hu_run_is_slow(p.run, 0, text), slow != 0);
        assert_string_equal(text, texts[slow]);
    }
    for (uint32_t n = 1; n < p.graph->node_count; n++) {
        assert_false(hu_run_is_slow(p.run, n, text));
        assert_string_equal(text, "");
        assert_string_equal(hu_run_impl(p.run, n, HU_FORWARD), "");
    }
    drop(&p);
}

/* oneDNN where it was asked for, kernel/conv else, also where there are groups. */
static void a_product_tells_who_computes_it(void **state) {
    (void)state;
    planned p = {.conv = hu_op_conv2d};
    plan(&p, 2, HU_ENGINE_OWN);
    assert_string_equal(hu_run_impl(p.run, 0, HU_FORWARD), "");
    assert_string_equal(hu_run_impl(p.run, 0, HU_BACKWARD), "");
    drop(&p);
    if (!hu_dnn_is_there()) return;
    plan(&p, 2, HU_ENGINE_ONEDNN);
    assert_true(strlen(hu_run_impl(p.run, 0, HU_FORWARD)) > 0);
    assert_true(strlen(hu_run_impl(p.run, 0, HU_BACKWARD)) > 0);
    p.edges.products[0].accumulation.chosen[HU_PRODUCT_FORWARD] = true;
    assert_string_equal(hu_run_impl(p.run, 0, HU_FORWARD), "");
    drop(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_pass_is_said_once),
        cmocka_unit_test(a_product_tells_who_computes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
