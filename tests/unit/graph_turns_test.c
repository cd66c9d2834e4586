/* Graphs whose losses are minimised in turns: who belongs to which, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "graph/graph.h"
#include "op/attributes.h"

static const hu_linear_attrs to_four = {.out_features = 4};

static hu_value_id apply(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, hu_value_id in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    if (hu_graph_apply(graph, op, name, prefix, attrs, 1, &in, out) != HU_OK)
        fail_msg("%s", hu_last_error());
    return out[0];
}

static hu_value_id shared(hu_graph *graph, const char *name, const char *weight, hu_value_id in) {
    hu_value_id out[HU_MAX_OUTPUTS], of = hu_graph_find(graph, weight);
    if (hu_graph_share(graph, &hu_op_linear, name, &to_four, 1, &in, &of, out) != HU_OK)
        fail_msg("%s", hu_last_error());
    return out[0];
}

static void loss(hu_graph *graph, const char *name, hu_value_id in) {
    const hu_toward_attrs attrs = {1.0f};
    hu_value_id out = apply(graph, &hu_op_bce_toward, name, NULL, &attrs, in);
    assert_int_equal(hu_graph_loss(graph, out, 1.0f, HU_PER_SAMPLE), HU_OK);
}

static void says(hu_status st, const char *words) {
    assert_int_equal(st, HU_ERR_ARGUMENT);
    if (!strstr(hu_last_error(), words)) fail_msg("no '%s' in: %s", words, hu_last_error());
}

/* x -> a -> made; b(x) and b(made) in the turn of b, b(made) again in that of a. again: applied a
 * third time, else the second application serves both. */
static hu_graph *networks(bool again) {
    const hu_shape four = {1, {4}};
    hu_graph *graph;
    hu_value_id x;
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "x", &four, &x), HU_OK);
    hu_value_id made = apply(graph, &hu_op_linear, "a.fc", NULL, &to_four, x);
    hu_value_id real = apply(graph, &hu_op_linear, "real", "b.fc", &to_four, x);
    hu_value_id fake = shared(graph, "fake", "b.fc.weight", made);
    hu_value_id third = again ? shared(graph, "again", "b.fc.weight", made) : fake;
    assert_int_equal(hu_graph_phase(graph, "b"), HU_OK);
    loss(graph, "real.loss", real);
    loss(graph, "fake.loss", fake);
    assert_int_equal(hu_graph_phase(graph, "a"), HU_OK);
    loss(graph, "again.loss", third);
    return graph;
}

static const hu_node *node_of(const hu_graph *graph, const char *name) {
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->node[n].name, name) == 0) return &graph->node[n];
    fail_msg("no node %s", name);
    return NULL;
}

static void gradients_go_through_a_node_in_one_phase(void **state) {
    (void)state;
    hu_graph *graph = networks(true);
    assert_int_equal(hu_graph_finish(graph), HU_OK);
    const hu_node *a = node_of(graph, "a.fc"), *real = node_of(graph, "real");
    const hu_node *fake = node_of(graph, "fake"), *again = node_of(graph, "again");
    assert_int_equal(a->phases, 3);
    assert_int_equal(real->phases, 1);
    assert_int_equal(fake->phases, 1);
    assert_int_equal(again->phases, 2);
    assert_true(a->learns_in == 1 && real->learns_in == 0 && again->learns_in == 1);
    assert_true(real->need_dparam[0] && fake->need_dparam[0] && a->need_dparam[0]);
    assert_false(again->need_dparam[0]); /* b does not learn in the turn of a */
    assert_true(again->need_din[0]);
    assert_false(fake->need_din[0] || real->need_din[0]); /* nor a in that of b */
    hu_value_id weight = hu_graph_find(graph, "b.fc.weight");
    hu_value_id made = hu_graph_find(graph, "a.fc.out");
    assert_int_equal(hu_contribution_count(graph, weight), 2);
    assert_int_equal(hu_contribution_count(graph, made), 1);
    assert_int_equal(graph->use[hu_contribution_use(graph, made, 0)].node, again - graph->node);
    assert_int_equal(graph->value[weight].phase, 0);
    /* What a pass runs: all together, the turn of b, that of a, in which x is read again. */
    hu_value_id x = hu_graph_find(graph, "x");
    assert_true(hu_node_runs(again, 0) && !hu_node_runs(again, 1) && hu_node_runs(again, 2));
    assert_true(hu_node_learns(real, 1) && !hu_node_learns(real, 2) && !hu_node_learns(a, 1));
    assert_true(hu_node_repeats(a, 2) && !hu_node_repeats(a, 1) && !hu_node_repeats(again, 2));
    assert_true(hu_value_is_read(graph, x, 2) && hu_value_repeats(graph, x, 2));
    assert_int_equal(hu_graph_parameters(graph), 32);
    assert_int_equal(hu_graph_macs(graph), 32);
    hu_graph_free(graph);
}

static void what_has_no_one_phase_is_refused(void **state) {
    (void)state;
    hu_graph *graph = networks(false);
    says(hu_graph_finish(graph), "node 'fake': found gradients of the turns 'b' and 'a'");
    hu_graph_free(graph);
    graph = networks(true);
    apply(graph, &hu_op_linear, "c.fc", NULL, &to_four, 0);
    says(hu_graph_finish(graph), "'c.fc.weight' belongs to none of the turns");
    hu_graph_free(graph);
    graph = networks(true);
    apply(graph, &hu_op_linear, "b.more", NULL, &to_four, 0);
    says(hu_graph_finish(graph), "'b.more.weight': no loss of the turn 'b' has a gradient by it");
    says(hu_graph_phase(graph, ""), "found 0 characters");
    says(hu_graph_phase(graph, "a name of many letters"), "found 22 characters");
    assert_int_equal(hu_graph_phase(graph, "third"), HU_ERR_LIMIT);
    hu_graph_free(graph);
}

static void phases_come_before_their_losses(void **state) {
    (void)state;
    const hu_shape four = {1, {4}};
    hu_graph *graph;
    hu_value_id x;
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "x", &four, &x), HU_OK);
    loss(graph, "loss", apply(graph, &hu_op_linear, "a.fc", NULL, &to_four, x));
    says(hu_graph_phase(graph, "a"), "found a loss that belongs to no turn");
    hu_graph_free(graph);
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_phase(graph, "a"), HU_OK);
    says(hu_graph_phase(graph, "a"), "two turns are called 'a'");
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_go_through_a_node_in_one_phase),
        cmocka_unit_test(what_has_no_one_phase_is_refused),
        cmocka_unit_test(phases_come_before_their_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
