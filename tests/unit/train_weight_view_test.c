/* How weights stand in files of torch: channels first, wherever numbers of an image are a vector.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model_of.h"
#include "op/attributes.h"
#include "op/op.h"
#include "says.h"
#include "train/weights.h"

/* A side of a weight that is an image: [places, channels] here, [channels, places] in the file. */
typedef struct side {
    int64_t places, channels;
} side;

/* Number in the file of element [p, c] of a side. */
static int64_t there_of(side s, int64_t here) {
    return here % s.channels * s.places + here / s.channels;
}

/* Every element where the definition has it, and back again. */
static void check(const hu_graph *graph, const char *name, side row, side column) {
    hu_value_id v = hu_graph_find(graph, name);
    hu_weight_views *views;
    hu_weight_view view;
    assert_int_not_equal(v, HU_NONE);
    assert_int_equal(hu_weight_views_create(graph, HU_WEIGHTS_TORCH, &views), HU_OK);
    if (hu_weight_view_create(views, v, &view) != HU_OK) fail_msg("%s", hu_last_error());
    int64_t rows = row.places * row.channels, columns = column.places * column.channels;
    assert_int_equal(view.rows, rows);
    assert_int_equal(view.columns, columns);
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
    hu_weight_view_free(&view);
    hu_weight_views_free(views);
}

static void layers_that_read_or_make_images_are_turned(void **state) {
    (void)state;
    const hu_shape image = {3, {8, 12, 2}};
    hu_graph *graph = model_of("cvae-s", 1, &image, 10);
    check(graph, "conv2.weight", (side){16, 1}, (side){9, 16});
    check(graph, "deconv4.weight", (side){16, 1}, (side){9, 2});
    check(graph, "fc.weight", (side){64, 1}, (side){24, 16});
    check(graph, "dfc1.weight", (side){64, 1}, (side){8, 1});
    check(graph, "dfc2.weight", (side){24, 16}, (side){64, 1});
    check(graph, "dfc2.bias", (side){24, 16}, (side){1, 1});
    check(graph, "deconv1.bias", (side){16, 1}, (side){1, 1});
    hu_graph_free(graph);
}

/* A tied weight is read where the encoder reads an image; the decoder's bias makes one. */
static void tied_layers_are_turned_as_their_first(void **state) {
    (void)state;
    const hu_shape image = {3, {4, 5, 3}};
    hu_graph *graph = model_of("autoencoder-tied", 1, &image, 10);
    check(graph, "encode1.weight", (side){128, 1}, (side){20, 3});
    check(graph, "decode1.bias", (side){20, 3}, (side){1, 1});
    hu_graph_free(graph);
    graph = model_of("autoencoder", 1, &image, 10);
    check(graph, "decode1.weight", (side){20, 3}, (side){128, 1});
    hu_graph_free(graph);
}

/* ---- networks of one's own ---- */

typedef struct net {
    hu_graph *graph;
    hu_value_id value; /* the one made last */
} net;

static net begin(const hu_shape *image) {
    net n;
    assert_int_equal(hu_graph_create(&n.graph), HU_OK);
    assert_int_equal(hu_graph_input(n.graph, "input", image, &n.value), HU_OK);
    return n;
}

static hu_value_id apply_two(net *n, const hu_op *op, const char *name, const char *text, int n_in,
                             const hu_value_id *in) {
    enum { MOST = 512 };
    _Alignas(16) char attrs[MOST] = {0};
    hu_value_id out[HU_MAX_OUTPUTS];
    assert_true(op->attrs_bytes <= MOST);
    if (hu_attributes_read(op->attributes, text, attrs) != HU_OK) fail_msg("%s", hu_last_error());
    if (hu_graph_apply(n->graph, op, name, NULL, attrs, n_in, in, out) != HU_OK)
        fail_msg("%s", hu_last_error());
    return n->value = out[0];
}

static hu_value_id apply(net *n, const hu_op *op, const char *name, const char *text) {
    return apply_two(n, op, name, text, 1, &n->value);
}

static void end(net *n) {
    const hu_shape scalar = {.rank = 0};
    hu_value_id in[2] = {n->value};
    assert_int_equal(hu_graph_target(n->graph, "label", &scalar, &in[1]), HU_OK);
    apply_two(n, &hu_op_softmax_cross_entropy, "loss", "", 2, in);
    assert_int_equal(hu_graph_finish(n->graph), HU_OK);
}

/* A layer of rows reads channels alone, of images too. */
static void rows_are_not_turned(void **state) {
    (void)state;
    const hu_linear_attrs linear = {.out_features = 6, .rows = true};
    const hu_shape image = {3, {4, 5, 3}};
    net n = begin(&image);
    assert_int_equal(
        hu_graph_apply(n.graph, &hu_op_linear, "rows", NULL, &linear, 1, &n.value, &n.value),
        HU_OK);
    apply(&n, &hu_op_global_avg_pool, "mean", "");
    apply(&n, &hu_op_flatten, "flat", "");
    apply(&n, &hu_op_linear, "fc", "out=4");
    end(&n);
    check(n.graph, "rows.weight", (side){6, 1}, (side){3, 1});
    check(n.graph, "fc.weight", (side){4, 1}, (side){6, 1});
    hu_graph_free(n.graph);
}

/* What is done to a flattened image number by number keeps its order up to the next product. */
static void a_flattened_image_is_turned_wherever_it_goes(void **state) {
    (void)state;
    const hu_shape image = {3, {4, 5, 3}};
    const side flat = {20, 3}, one = {1, 1};
    net n = begin(&image);
    apply(&n, &hu_op_flatten, "flat", "");
    apply(&n, &hu_op_layer_norm, "ln", "");
    apply(&n, &hu_op_relu, "relu", "");
    apply(&n, &hu_op_dropout, "drop", "probability=0.5");
    apply(&n, &hu_op_linear, "fc1", "out=12");
    apply(&n, &hu_op_batch_norm, "bn2", "");
    apply(&n, &hu_op_linear, "fc2", "out=4");
    end(&n);
    check(n.graph, "ln.weight", flat, one);
    check(n.graph, "ln.bias", flat, one);
    check(n.graph, "fc1.weight", (side){12, 1}, flat);
    check(n.graph, "fc1.bias", (side){12, 1}, one);
    check(n.graph, "bn2.running_var", (side){12, 1}, one);
    check(n.graph, "fc2.weight", (side){4, 1}, (side){12, 1});
    hu_graph_free(n.graph);
}

/* reshape to [n] and to [1, 1, n] are flatten; a vector that becomes an image is turned up to the
 * product that makes it. */
static void reshape_is_turned_both_ways(void **state) {
    (void)state;
    const hu_shape image = {3, {2, 2, 3}};
    const side flat = {4, 3}, seen = {6, 2}, one = {1, 1};
    net n = begin(&image);
    apply(&n, &hu_op_reshape, "flat", "shape=1x1x12");
    apply(&n, &hu_op_conv2d, "conv1", "out=8 kernel=1");
    apply(&n, &hu_op_conv2d, "conv2", "out=12 kernel=3 pad=1");
    apply(&n, &hu_op_batch_norm, "bn", "");
    apply(&n, &hu_op_relu, "relu", "");
    apply(&n, &hu_op_reshape, "map", "shape=2x3x2");
    apply(&n, &hu_op_conv2d, "conv3", "out=5 kernel=3 pad=1");
    apply(&n, &hu_op_linear, "fc", "out=4");
    end(&n);
    check(n.graph, "conv1.weight", (side){8, 1}, flat);
    check(n.graph, "conv2.weight", seen, (side){9, 8});
    check(n.graph, "conv2.bias", seen, one);
    check(n.graph, "bn.running_mean", seen, one);
    check(n.graph, "conv3.weight", (side){5, 1}, (side){9, 2});
    check(n.graph, "fc.weight", (side){4, 1}, (side){6, 5});
    hu_graph_free(n.graph);
}

/* Kernels of rows have their channels first, too. */
static void kernels_of_rows_are_turned(void **state) {
    (void)state;
    const hu_shape sequence = {2, {6, 4}}, wanted = {3, {5, 4, 3}};
    net n = begin(&sequence);
    apply(&n, &hu_op_conv1d, "conv", "out=5 kernel=3");
    apply(&n, &hu_op_mean, "mean", "");
    apply(&n, &hu_op_linear, "fc", "out=4");
    end(&n);
    hu_weight_views *views;
    hu_weight_view view;
    assert_int_equal(hu_weight_views_create(n.graph, HU_WEIGHTS_TORCH, &views), HU_OK);
    hu_value_id v = hu_graph_find(n.graph, "conv.weight");
    assert_int_equal(hu_weight_view_create(views, v, &view), HU_OK);
    assert_true(hu_shape_equal(&view.shape, &wanted));
    assert_true(view.rows == 5 && view.columns == 12 && !view.row);
    for (int64_t c = 0; c < 4; c++)
        for (int64_t k = 0; k < 3; k++) assert_int_equal(view.column[c * 3 + k], k * 4 + c);
    hu_weight_view_free(&view);
    hu_weight_views_free(views);
    hu_graph_free(n.graph);
}

/* Two flattened images after each other: no single [places, channels], but an order. */
static void joined_vectors_are_turned_part_by_part(void **state) {
    (void)state;
    const hu_shape image = {3, {2, 2, 2}};
    net n = begin(&image);
    hu_value_id input = n.value, parts[2];
    parts[0] = apply(&n, &hu_op_flatten, "one", "");
    n.value = input;
    apply(&n, &hu_op_global_avg_pool, "mean", "");
    parts[1] = apply(&n, &hu_op_flatten, "two", "");
    apply_two(&n, &hu_op_concat, "both", "", 2, parts);
    apply(&n, &hu_op_linear, "fc", "out=1");
    apply(&n, &hu_op_linear, "last", "out=4");
    end(&n);
    hu_weight_views *views;
    hu_weight_view view;
    static const int64_t expected[10] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 9};
    assert_int_equal(hu_weight_views_create(n.graph, HU_WEIGHTS_TORCH, &views), HU_OK);
    hu_value_id v = hu_graph_find(n.graph, "fc.weight");
    assert_int_equal(hu_weight_view_create(views, v, &view), HU_OK);
    assert_memory_equal(view.column, expected, sizeof expected);
    hu_weight_view_free(&view);
    hu_weight_views_free(views);
    hu_graph_free(n.graph);
}

/* What no order of weights can say is refused, where a weight would have to say it. */
static void an_image_beside_a_vector_is_refused(void **state) {
    (void)state;
    const hu_shape image = {3, {2, 2, 3}};
    net n = begin(&image);
    hu_value_id input = n.value, parts[2];
    parts[0] = apply(&n, &hu_op_flatten, "flat", "");
    n.value = input;
    apply(&n, &hu_op_conv2d, "conv", "out=12 kernel=2");
    parts[1] = apply(&n, &hu_op_max_pool, "pool", "kernel=1 stride=1");
    parts[1] = apply(&n, &hu_op_flatten, "point", "");
    apply_two(&n, &hu_op_add, "sum", "", 2, parts);
    apply(&n, &hu_op_linear, "fc", "out=4");
    end(&n);
    hu_weight_views *views;
    hu_weight_view view;
    hu_value_id v = hu_graph_find(n.graph, "fc.weight");
    assert_int_equal(hu_weight_views_create(n.graph, HU_WEIGHTS_TORCH, &views), HU_OK);
    says(hu_weight_view_create(views, v, &view), HU_ERR_UNSUPPORTED, "layout=halfulp");
    hu_weight_view_free(&view);
    hu_weight_views_free(views);
    assert_int_equal(hu_weight_views_create(n.graph, HU_WEIGHTS_HALFULP, &views), HU_OK);
    assert_int_equal(hu_weight_view_create(views, v, &view), HU_OK);
    assert_null(view.column);
    hu_weight_views_free(views);
    hu_graph_free(n.graph);
}

/* All models of the table can be written for torch. */
static void every_model_has_an_order(void **state) {
    (void)state;
    for (int m = 0; m < hu_model_count; m++) {
        const hu_model *model = &hu_model_table[m];
        const hu_shape image = image_for(model);
        hu_weight_views *views;
        hu_weight_view view;
        hu_graph *graph = model_of(model->name, 0.25, &image, 10);
        assert_int_equal(hu_weight_views_create(graph, HU_WEIGHTS_TORCH, &views), HU_OK);
        for (hu_value_id v = 0; v < graph->value_count; v++) {
            hu_value_role role = graph->value[v].role;
            if (role != HU_VALUE_PARAMETER && role != HU_VALUE_BUFFER) continue;
            if (hu_weight_view_create(views, v, &view) != HU_OK)
                fail_msg("%s: %s", model->name, hu_last_error());
            hu_weight_view_free(&view);
        }
        hu_weight_views_free(views);
        hu_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_that_read_or_make_images_are_turned),
        cmocka_unit_test(tied_layers_are_turned_as_their_first),
        cmocka_unit_test(rows_are_not_turned),
        cmocka_unit_test(a_flattened_image_is_turned_wherever_it_goes),
        cmocka_unit_test(reshape_is_turned_both_ways),
        cmocka_unit_test(kernels_of_rows_are_turned),
        cmocka_unit_test(joined_vectors_are_turned_part_by_part),
        cmocka_unit_test(an_image_beside_a_vector_is_refused),
        cmocka_unit_test(every_model_has_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
