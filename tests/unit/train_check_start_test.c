/* Weights by formula: of layer norms, tables of places and biases; all else is tested by runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "op/attributes.h"
#include "train/trainer.h"

static float number(const char *name, uint32_t i) {
    return hu_formula_number(hu_formula_hash(HU_FORMULA_HASH_START, name), i);
}

/* Elements i of the parameter are offset + t / divisor. */
static void starts_as(const hu_graph *graph, const char *name, float offset, float divisor) {
    float x[12];
    hu_value_id v = hu_graph_find(graph, name);
    assert_true(v != HU_NONE && graph->value[v].elements <= 12);
    hu_check_start_fill(graph, v, &graph->value[v].shape, "", x);
    for (int64_t i = 0; i < graph->value[v].elements; i++)
        assert_true(x[i] == offset + number(name, (uint32_t)i) / divisor);
}

static void layer_norms_and_positions_start_by_the_formula(void **state) {
    (void)state;
    const hu_layer_norm_attrs norm = {.epsilon = 1e-5f};
    const hu_position_attrs position = {0};
    const hu_shape rows = {2, {3, 4}}, scalar = {.rank = 0};
    hu_graph *graph;
    hu_value_id in, value[2];
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "input", &rows, &in), HU_OK);
    assert_int_equal(hu_graph_target(graph, "label", &scalar, &value[1]), HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_layer_norm, "emb", NULL, &norm, 1, &in, value),
                     HU_OK);
    assert_int_equal(
        hu_graph_apply(graph, &hu_op_position, "places", "x.pos", &position, 1, value, value),
        HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_mean, "mean", NULL, NULL, 1, value, value),
                     HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_nll, "loss", NULL, NULL, 2, value, &in), HU_OK);
    assert_int_equal(hu_graph_finish(graph), HU_OK);
    assert_true(number("emb.weight", 0) == 0.5160802602767944f);
    starts_as(graph, "emb.weight", 1.0f, 16.0f);
    starts_as(graph, "emb.bias", 0.0f, 16.0f);
    starts_as(graph, "x.pos", 0.0f, 8.0f);
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norms_and_positions_start_by_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
