/* What a loop must be: closed, with states that become what it makes. */
#include "graph/graph.h"
#include "op_drive.h"

enum { WIDE = 6, MOST_STEPS = 5 };

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static void a_loop_is_declared_whole(void **state) {
    (void)state;
    const hu_shape wide = {1, {WIDE}}, rows = {2, {MOST_STEPS, WIDE}};
    hu_value_id x, start, p, other, out[HU_MAX_OUTPUTS];
    hu_graph *graph;
    must(hu_graph_create(&graph));
    must(hu_graph_input(graph, "x", &rows, &x));
    must(hu_graph_input(graph, "start", &wide, &start));
    assert_int_equal(hu_graph_state(graph, "p", start, &p), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_end_loop(graph), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_loop(graph, 0, HU_NONE), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_loop(graph, MOST_STEPS, start), HU_ERR_ARGUMENT);
    must(hu_graph_loop(graph, MOST_STEPS, HU_NONE));
    assert_int_equal(hu_graph_loop(graph, 2, HU_NONE), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_end_loop(graph), HU_ERR_ARGUMENT);
    must(hu_graph_state(graph, "p", start, &p));
    assert_int_equal(hu_graph_end_loop(graph), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_next(graph, p, x), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_next(graph, p, p), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_next(graph, x, p), HU_ERR_ARGUMENT);
    const hu_value_id in[2] = {x, p};
    must(hu_graph_apply(graph, &hu_op_add, "h", NULL, NULL, 2, in, out));
    must(hu_graph_next(graph, p, out[0]));
    assert_int_equal(hu_graph_next(graph, p, out[0]), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_state(graph, "q", out[0], &other), HU_ERR_ARGUMENT);
    assert_int_equal(hu_graph_finish(graph), HU_ERR_ARGUMENT);
    hu_graph_free(graph);
}

/* Nodes outside see the rows of all steps, parameters and products are those of one. */
static void values_have_rows_for_steps(void **state) {
    (void)state;
    const hu_shape rows = {2, {MOST_STEPS, WIDE}}, short_rows = {2, {2, WIDE}}, wide = {1, {WIDE}};
    const hu_value_id none = HU_NONE;
    hu_value_id x, start, p, other, out[HU_MAX_OUTPUTS];
    hu_graph *graph;
    must(hu_graph_create(&graph));
    must(hu_graph_input(graph, "x", &rows, &x));
    must(hu_graph_input(graph, "y", &short_rows, &other));
    must(hu_graph_input(graph, "start", &wide, &start));
    must(hu_graph_loop(graph, MOST_STEPS, none));
    must(hu_graph_state(graph, "p", start, &p));
    assert_true(hu_shape_equal(&graph->value[p].shape, &rows));
    assert_int_equal(graph->value[p].steps, MOST_STEPS);
    assert_int_equal(graph->value[start].steps, 1);
    const hu_value_id in[2] = {x, p}, wrong[2] = {other, p}, whole[2] = {start, p};
    must(hu_graph_apply(graph, &hu_op_add, "h", NULL, NULL, 2, in, out));
    assert_true(hu_shape_equal(&graph->value[out[0]].shape, &rows));
    assert_int_equal(graph->value[x].steps, MOST_STEPS);
    hu_graph_free(graph);
    for (int k = 0; k < 2; k++) {
        must(hu_graph_create(&graph));
        must(hu_graph_input(graph, "x", &rows, &x));
        must(hu_graph_input(graph, "y", &short_rows, &other));
        must(hu_graph_input(graph, "start", &wide, &start));
        must(hu_graph_loop(graph, MOST_STEPS, none));
        must(hu_graph_state(graph, "p", start, &p));
        hu_status st =
            hu_graph_apply(graph, &hu_op_add, "h", NULL, NULL, 2, k ? whole : wrong, out);
        assert_int_equal(st, HU_ERR_SHAPE);
        if (!strstr(hu_last_error(), "expected 5 steps")) fail_msg("%s", hu_last_error());
        hu_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_declared_whole),
        cmocka_unit_test(values_have_rows_for_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
