/* How weights stand in files of torch: channels first, on the side of a layer that is an image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model_of.h"
#include "op/geometry.h"
#include "train/weight_view.h"

/* Number in the file of element [p, c] of a side. */
static int64_t there_of(hu_weight_side side, int64_t here) {
    return here % side.channels * side.places + here / side.channels;
}

/* Sides as expected, and every element where the definition has it, and back again. */
static void check(const hu_graph *graph, const char *name, hu_weight_side row,
                  hu_weight_side column) {
    hu_value_id v = hu_graph_find(graph, name);
    hu_weight_view view = hu_weight_view_of(graph, v, HU_WEIGHTS_TORCH);
    int64_t rows = row.places * row.channels, columns = column.places * column.channels;
    assert_int_equal(view.row.places, row.places);
    assert_int_equal(view.row.channels, row.channels);
    assert_int_equal(view.column.places, column.places);
    assert_int_equal(view.column.channels, column.channels);
    assert_int_equal(graph->value[v].elements, rows * columns);
    float *here = malloc((size_t)(rows * columns) * sizeof *here);
    float *file = malloc((size_t)(rows * columns) * sizeof *file);
    for (int64_t i = 0; i < rows * columns; i++) here[i] = (float)i;
    hu_weight_turn_out(&view, here, file);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < columns; k++)
            assert_true(file[there_of(row, r) * columns + there_of(column, k)] ==
                        (float)(r * columns + k));
    hu_weight_turn_in(&view, file, here);
    for (int64_t i = 0; i < rows * columns; i++) assert_true(here[i] == (float)i);
    free(here);
    free(file);
}

static void layers_that_read_or_make_images_are_turned(void **state) {
    (void)state;
    const hu_shape image = {3, {8, 12, 2}};
    hu_graph *graph = model_of("cvae-s", 1, &image, 10);
    check(graph, "conv2.weight", (hu_weight_side){16, 1}, (hu_weight_side){9, 16});
    check(graph, "deconv4.weight", (hu_weight_side){16, 1}, (hu_weight_side){9, 2});
    check(graph, "fc.weight", (hu_weight_side){64, 1}, (hu_weight_side){24, 16});
    check(graph, "dfc1.weight", (hu_weight_side){64, 1}, (hu_weight_side){8, 1});
    check(graph, "dfc2.weight", (hu_weight_side){24, 16}, (hu_weight_side){64, 1});
    check(graph, "dfc2.bias", (hu_weight_side){24, 16}, (hu_weight_side){1, 1});
    check(graph, "deconv1.bias", (hu_weight_side){16, 1}, (hu_weight_side){1, 1});
    hu_graph_free(graph);
}

/* A tied weight is read where the encoder reads an image; the decoder's bias makes one. */
static void tied_layers_are_turned_as_their_first(void **state) {
    (void)state;
    const hu_shape image = {3, {4, 5, 3}};
    hu_graph *graph = model_of("autoencoder-tied", 1, &image, 10);
    check(graph, "encode1.weight", (hu_weight_side){128, 1}, (hu_weight_side){20, 3});
    check(graph, "decode1.bias", (hu_weight_side){20, 3}, (hu_weight_side){1, 1});
    hu_graph_free(graph);
    graph = model_of("autoencoder", 1, &image, 10);
    check(graph, "decode1.weight", (hu_weight_side){20, 3}, (hu_weight_side){128, 1});
    hu_graph_free(graph);
}

/* A layer of rows reads channels alone, of images too. */
static void rows_are_not_turned(void **state) {
    (void)state;
    const hu_linear_attrs linear = {.out_features = 6, .rows = true};
    const hu_shape image = {3, {4, 5, 3}}, scalar = {.rank = 0};
    hu_graph *graph;
    hu_value_id in, value[2];
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "input", &image, &in), HU_OK);
    assert_int_equal(hu_graph_target(graph, "label", &scalar, &value[1]), HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_linear, "rows", NULL, &linear, 1, &in, value),
                     HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_mean, "mean", NULL, NULL, 1, value, value),
                     HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_nll, "loss", NULL, NULL, 2, value, &in), HU_OK);
    assert_int_equal(hu_graph_finish(graph), HU_OK);
    check(graph, "rows.weight", (hu_weight_side){6, 1}, (hu_weight_side){3, 1});
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_that_read_or_make_images_are_turned),
        cmocka_unit_test(tied_layers_are_turned_as_their_first),
        cmocka_unit_test(rows_are_not_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
