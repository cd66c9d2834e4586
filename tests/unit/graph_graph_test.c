/* Declaring graphs: names, shapes, consumers, gradients, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "graph/edge.h"
#include "op/attributes.h"

static const hu_shape image = {3, {4, 6, 2}}, scalar = {0, {0}};
static const hu_linear_attrs to_three = {.out_features = 3};
static const hu_bias_attrs zero_bias = {{HU_INIT_CONSTANT, 0}};

typedef struct fixture {
    hu_graph *graph;
    hu_value_id input, label, out[HU_MAX_OUTPUTS];
} fixture;

static void open_graph(fixture *f) {
    assert_int_equal(hu_graph_create(&f->graph), HU_OK);
    assert_int_equal(hu_graph_input(f->graph, "input", &image, &f->input), HU_OK);
    assert_int_equal(hu_graph_target(f->graph, "label", &scalar, &f->label), HU_OK);
}

static hu_value_id apply(fixture *f, const hu_op *op, const char *name, const void *attrs, int n_in,
                         const hu_value_id *in) {
    if (hu_graph_apply(f->graph, op, name, NULL, attrs, n_in, in, f->out) != HU_OK)
        fail_msg("%s", hu_last_error());
    return f->out[0];
}

static void finish_with_loss(fixture *f, hu_value_id logits) {
    hu_value_id in[2] = {apply(f, &hu_op_log_softmax, "lsm", NULL, 1, &logits), f->label};
    apply(f, &hu_op_nll, "loss", NULL, 2, in);
    assert_int_equal(hu_graph_finish(f->graph), HU_OK);
}

static void test_names_and_shapes(void **state) {
    (void)state;
    fixture f;
    open_graph(&f);
    hu_split_attrs halves = {.first = 1};
    apply(&f, &hu_op_split, "parts", &halves, 1, &f.input);
    hu_value_id left = f.out[0], right = f.out[1];
    hu_value_id joined = apply(&f, &hu_op_concat, "join", NULL, 2, (hu_value_id[]){right, left});
    const hu_position_attrs position = {.init = {HU_INIT_CONSTANT, 0}};
    joined = apply(&f, &hu_op_position, "pos", &position, 1, &joined);
    hu_status st =
        hu_graph_apply(f.graph, &hu_op_linear, "fc.product", "fc", &to_three, 1, &joined, f.out);
    assert_int_equal(st, HU_OK);
    hu_value_id logits = apply(&f, &hu_op_bias, "fc", &zero_bias, 1, &f.out[0]);
    finish_with_loss(&f, logits);
    assert_int_equal(hu_graph_find(f.graph, "parts.out0"), left);
    assert_int_equal(hu_graph_find(f.graph, "parts.out1"), right);
    assert_int_equal(hu_graph_find(f.graph, "pos.out"), joined);
    assert_true(hu_graph_find(f.graph, "join.out") != HU_NONE);
    /* A parameter without a suffix is called as its node. */
    assert_int_equal(f.graph->value[hu_graph_find(f.graph, "pos")].role, HU_VALUE_PARAMETER);
    assert_true(hu_graph_find(f.graph, "pos.") == HU_NONE);
    assert_int_equal(hu_graph_find(f.graph, "parts.out"), HU_NONE);
    hu_value_id weight = hu_graph_find(f.graph, "fc.weight");
    assert_int_not_equal(weight, HU_NONE);
    assert_int_not_equal(hu_graph_find(f.graph, "fc.bias"), HU_NONE);
    const hu_value_info *value = f.graph->value;
    assert_int_equal(value[left].elements, 4 * 6 * 1);
    assert_int_equal(value[left].output, 0);
    assert_int_equal(value[right].output, 1);
    assert_int_equal(value[weight].elements, 3 * 48);
    assert_int_equal(value[weight].role, HU_VALUE_PARAMETER);
    assert_int_equal(f.graph->loss_count, 1);
    assert_int_equal(f.graph->loss[0].node, f.graph->node_count - 1);
    assert_int_equal(hu_graph_parameters(f.graph), 3 * 48 + 3 + 48);
    assert_int_equal(hu_graph_macs(f.graph), 3 * 48);
    hu_graph_free(f.graph);
}

/* A value's uses stand in the order in which its consumers were declared, twice if read twice. */
static void test_uses_in_consumer_order(void **state) {
    (void)state;
    fixture f;
    open_graph(&f);
    hu_value_id a = apply(&f, &hu_op_linear, "a", &to_three, 1, &f.input);
    hu_value_id b = apply(&f, &hu_op_relu, "b", NULL, 1, &a);
    hu_value_id c = apply(&f, &hu_op_add, "c", NULL, 3, (hu_value_id[]){b, a, a});
    finish_with_loss(&f, c);
    const hu_value_info *value = &f.graph->value[a];
    static const struct {
        const char *node;
        int index;
    } expected[] = {{"b", 0}, {"c", 1}, {"c", 2}};
    assert_int_equal(value->use_count, 3);
    for (uint32_t k = 0; k < 3; k++) {
        const hu_use *use = &f.graph->use[value->uses[k]];
        assert_int_equal(use->value, a);
        assert_string_equal(f.graph->node[use->node].name, expected[k].node);
        assert_int_equal(use->index, expected[k].index);
        assert_int_equal(f.graph->node[use->node].first_use + (uint32_t)use->index, value->uses[k]);
    }
    hu_graph_free(f.graph);
}

static void test_needs_grad(void **state) {
    (void)state;
    fixture f;
    open_graph(&f);
    hu_value_id fixed = apply(&f, &hu_op_relu, "fixed", NULL, 1, &f.input);
    hu_batch_norm_attrs norm = {1e-5f, 0.1f};
    hu_value_id trained = apply(&f, &hu_op_batch_norm, "bn", &norm, 1, &fixed);
    hu_value_id both = apply(&f, &hu_op_add, "both", NULL, 2, (hu_value_id[]){fixed, trained});
    finish_with_loss(&f, apply(&f, &hu_op_linear, "fc", &to_three, 1, &both));
    const hu_value_info *value = f.graph->value;
    const hu_node *node = f.graph->node;
    assert_false(value[f.input].needs_grad);
    assert_false(value[f.label].needs_grad);
    assert_false(value[fixed].needs_grad);
    assert_true(value[trained].needs_grad);
    assert_true(value[both].needs_grad);
    assert_true(value[hu_graph_find(f.graph, "bn.weight")].needs_grad);
    assert_false(value[hu_graph_find(f.graph, "bn.running_mean")].needs_grad);
    assert_int_equal(value[hu_graph_find(f.graph, "bn.running_var")].role, HU_VALUE_BUFFER);
    assert_false(node[0].needs_backward);
    assert_true(node[1].needs_backward);
    assert_false(node[1].need_din[0]);
    assert_false(node[2].need_din[0]);
    assert_true(node[2].need_din[1]);
    const hu_node *loss = &node[f.graph->loss[0].node];
    assert_true(loss->need_din[0]);
    assert_false(loss->need_din[1]);
    hu_graph_free(f.graph);
}

static void refuse(fixture *f, hu_status expected, const char *part, const char *other,
                   hu_status found) {
    (void)f;
    assert_int_equal(found, expected);
    if (!strstr(hu_last_error(), part) || !strstr(hu_last_error(), other))
        fail_msg("'%s' lacks '%s' or '%s'", hu_last_error(), part, other);
}

static void test_errors_name_the_node(void **state) {
    (void)state;
    fixture f;
    char name[2 * HU_NAME_BYTES];
    open_graph(&f);
    hu_graph *g = f.graph;
    hu_value_id small = apply(&f, &hu_op_linear, "small", &to_three, 1, &f.input), out[8];
    hu_value_id pair[2] = {small, f.input}, none = HU_NONE;
    refuse(&f, HU_ERR_SHAPE, "node 'sum' (add)", "found 3 and 4x6x2",
           hu_graph_apply(g, &hu_op_add, "sum", NULL, NULL, 2, pair, out));
    refuse(&f, HU_ERR_SHAPE, "node 'one' (add_row)", "at least 2",
           hu_graph_apply(g, &hu_op_add_row, "one", NULL, NULL, 1, pair, out));
    refuse(&f, HU_ERR_ARGUMENT, "node 'one' (add)", "found 1 value, expected two values",
           hu_graph_apply(g, &hu_op_add, "one", NULL, NULL, 1, pair, out));
    refuse(&f, HU_ERR_SHAPE, "node 'two' (relu)", "at most 1",
           hu_graph_apply(g, &hu_op_relu, "two", NULL, NULL, 2, pair, out));
    refuse(&f, HU_ERR_ARGUMENT, "node 'lost' (relu)", "no value",
           hu_graph_apply(g, &hu_op_relu, "lost", NULL, NULL, 1, &none, out));
    refuse(&f, HU_ERR_ARGUMENT, "node 'small' (relu)", "'small.out'",
           hu_graph_apply(g, &hu_op_relu, "small", NULL, NULL, 1, &small, out));
    memset(name, 'x', sizeof name);
    name[HU_NAME_BYTES - 4] = '\0';
    refuse(&f, HU_ERR_LIMIT, "longer than", "xxx",
           hu_graph_apply(g, &hu_op_relu, name, NULL, NULL, 1, &small, out));
    refuse(&f, HU_ERR_ARGUMENT, "two values", "'input'",
           hu_graph_input(g, "input", &image, &f.input));
    hu_graph_free(g);
}

static void test_finish_needs_a_loss(void **state) {
    (void)state;
    fixture f;
    open_graph(&f);
    hu_value_id logits = apply(&f, &hu_op_linear, "fc", &to_three, 1, &f.input);
    assert_int_equal(hu_graph_finish(f.graph), HU_ERR_ARGUMENT);
    finish_with_loss(&f, logits);
    assert_int_equal(hu_graph_finish(f.graph), HU_ERR_ARGUMENT);
    hu_graph_free(f.graph);
}

/* Whichever allocation fails: an error, and nothing is left over. */
static void test_no_memory(void **state) {
    (void)state;
    uint64_t live = hu_memory_count().live_blocks;
    for (uint64_t nth = 1;; nth++) {
        hu_graph *graph = NULL;
        hu_value_id input = HU_NONE, label = HU_NONE, out[8] = {HU_NONE};
        hu_memory_fail_at(nth);
        hu_status st = hu_graph_create(&graph);
        if (st == HU_OK) st = hu_graph_input(graph, "input", &image, &input);
        if (st == HU_OK) st = hu_graph_target(graph, "label", &scalar, &label);
        if (st == HU_OK)
            st = hu_graph_apply(graph, &hu_op_linear, "fc", NULL, &to_three, 1, &input, out);
        hu_value_id in[2] = {out[0], label};
        if (st == HU_OK) st = hu_graph_apply(graph, &hu_op_nll, "loss", NULL, NULL, 2, in, out);
        if (st == HU_OK) st = hu_graph_finish(graph);
        hu_edge_table edges = {0};
        if (st == HU_OK) st = hu_edge_table_create(graph, &edges);
        hu_memory_fail_at(0);
        hu_edge_table_free(&edges);
        hu_graph_free(graph);
        assert_int_equal(hu_memory_count().live_blocks, live);
        if (st == HU_OK) break;
        assert_int_equal(st, HU_ERR_MEMORY);
    }
}

/* As many as an unrolled model has; a search along the list would take minutes. */
static void test_many_names(void **state) {
    (void)state;
    enum { MANY = 100000 };
    fixture f;
    char name[32];
    hu_value_id id;
    open_graph(&f);
    uint32_t first = f.graph->value_count;
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "layer%u.out", i);
        assert_int_equal(hu_graph_input(f.graph, name, &scalar, &id), HU_OK);
        assert_int_equal(id, first + i);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "layer%u.out", i);
        assert_int_equal(hu_graph_find(f.graph, name), first + i);
    }
    assert_int_equal(hu_graph_find(f.graph, "layer100000.out"), HU_NONE);
    assert_int_equal(hu_graph_find(f.graph, ""), HU_NONE);
    assert_int_equal(hu_graph_input(f.graph, "layer7.out", &scalar, &id), HU_ERR_ARGUMENT);
    hu_graph_free(f.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_shapes),    cmocka_unit_test(test_uses_in_consumer_order),
        cmocka_unit_test(test_needs_grad),          cmocka_unit_test(test_errors_name_the_node),
        cmocka_unit_test(test_finish_needs_a_loss), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
