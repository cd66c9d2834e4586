/* Networks that look for boxes: counts, anchors, names, and pictures that are too small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "model_of.h"
#include "op/attributes.h"
#include "says.h"

enum { VOC_CLASSES = 20, CELLS = 3 };

static void counts_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t height, width, classes, parameters, macs, anchors, most;
    } table[] = {{"ssd-s", 120, 160, CELLS, 307160, 103843840, 1600, 0},
                 {"ssd300", 300, 300, VOC_CLASSES, 26285486, 31373537792, 8732, 200}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const hu_shape image = {3, {table[i].height, table[i].width, 3}};
        hu_graph *graph = model_of(table[i].name, 1, &image, table[i].classes);
        const hu_value_info *head = &graph->value[hu_task_prediction(graph)];
        assert_int_equal(hu_graph_parameters(graph), table[i].parameters);
        assert_int_equal(hu_graph_macs(graph), table[i].macs);
        assert_int_equal(hu_anchors_count(hu_task_anchors(graph)), table[i].anchors);
        assert_int_equal(hu_task_anchors(graph)->most, table[i].most);
        assert_int_equal(head->shape.extent[0], table[i].anchors);
        assert_int_equal(head->shape.extent[1], table[i].classes + 1 + 4);
        assert_int_equal(graph->loss[0].normaliser, HU_PER_ROW);
        hu_graph_free(graph);
    }
}

/* In the order map, row, column, shape; numbers to six places. */
static void small_anchors_lie_where_they_should(void **state) {
    (void)state;
    static const struct {
        int64_t index;
        double cx, cy, w, h;
    } known[] = {{0, .025, .033333, .075, .1},
                 {2, .025, .033333, .106066, .070711},
                 {1200, .05, .066667, .15, .2},
                 {1599, .9, .933333, .212132, .565685}};
    const hu_shape image = {3, {120, 160, 3}};
    hu_graph *graph = model_of("ssd-s", 1, &image, CELLS);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hu_centred a = hu_anchor_at(hu_task_anchors(graph), known[i].index);
        double off[] = {a.cx - known[i].cx, a.cy - known[i].cy, a.w - known[i].w, a.h - known[i].h};
        for (int k = 0; k < 4; k++) assert_true(off[k] < 5e-7 && off[k] > -5e-7);
    }
    hu_graph_free(graph);
}

static void check_value(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected)) fail_msg("shape of '%s'", name);
}

static hu_graph *without_norms(const char *name) {
    const hu_shape image = {3, {120, 160, 3}};
    hu_graph *like = model_of(name, 1, &image, CELLS), *graph;
    hu_task_choice choice = {.task = &hu_task_detect,
                             .loss = &hu_loss_ssd_nll,
                             .shapes = {.value = {image, {2, {8, 5}}}, .count = 2, .outputs = 8}};
    hu_model_options options = {
        .name = name, .width = 1, .norm = HU_MODEL_NORM_OFF, .choice = &choice};
    hu_graph_free(like);
    if (hu_model_build(&options, &graph) != HU_OK) fail_msg("%s", hu_last_error());
    return graph;
}

/* Parameters are called and shaped as in the torch model that figures come from; without norms the
 * convolutions have biases: 16 x their channels in place of 2 x. */
static void parameters_have_their_names(void **state) {
    (void)state;
    const hu_shape image = {3, {120, 160, 3}};
    hu_graph *graph = model_of("ssd-s", 1, &image, CELLS), *plain = without_norms("ssd-s");
    check_value(graph, "stage1.0.1.bias", (hu_shape){1, {8}});
    check_value(graph, "stage4.2.1.weight", (hu_shape){1, {64}});
    check_value(graph, "extra.0.1.weight", (hu_shape){1, {32}});
    check_value(graph, "cls.2.bias", (hu_shape){1, {16}});
    check_value(graph, "box.0.bias", (hu_shape){1, {16}});
    assert_true(hu_graph_find(graph, "stage5.0.0.bias") == HU_NONE);
    check_value(plain, "stage5.0.0.bias", (hu_shape){1, {64}});
    assert_true(hu_graph_find(plain, "stage5.0.1.weight") == HU_NONE);
    check_value(plain, "log_softmax.out", (hu_shape){2, {1600, 8}});
    int64_t channels = 2 * 8 + 2 * 16 + 3 * 32 + 3 * 64 + 3 * 64 + 32 + 64;
    assert_int_equal(hu_graph_parameters(graph) - hu_graph_parameters(plain), channels);
    hu_graph_free(graph);
    hu_graph_free(plain);
}

static void the_first_map_of_ssd300_has_a_learned_length(void **state) {
    (void)state;
    const hu_shape image = {3, {300, 300, 3}};
    hu_graph *graph = model_of("ssd300", 1, &image, VOC_CLASSES);
    static const int64_t sides[] = {38, 19, 10, 5, 3, 1}, shapes[] = {4, 6, 6, 6, 4, 4};
    check_value(graph, "norm4.weight", (hu_shape){1, {512}});
    check_value(graph, "conv6.weight", (hu_shape){4, {1024, 3, 3, 512}});
    for (int m = 0; m < 6; m++) {
        const hu_anchor_map *map = &hu_task_anchors(graph)->map[m];
        assert_int_equal(map->height, sides[m]);
        assert_int_equal(map->width, sides[m]);
        assert_int_equal(map->shapes, shapes[m]);
    }
    hu_graph_free(graph);
}

static hu_status build_at(const char *name, const hu_task *task, int64_t height, int64_t width,
                          hu_model_norm norm) {
    hu_graph *graph;
    bool has_boxes = task == &hu_task_detect;
    hu_task_choice choice = {.task = task,
                             .loss = has_boxes ? &hu_loss_ssd : &hu_loss_nll,
                             .shapes = {.value = {{3, {height, width, 3}}, {.rank = 0}},
                                        .count = 2,
                                        .outputs = has_boxes ? 8 : 10}};
    hu_model_options options = {.name = name, .width = 1, .norm = norm, .choice = &choice};
    if (has_boxes) choice.shapes.value[1] = (hu_shape){2, {8, 5}};
    hu_status st = hu_model_build(&options, &graph);
    hu_graph_free(graph);
    return st;
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    assert_int_equal(build_at("ssd-s", &hu_task_detect, 16, 16, HU_MODEL_NORM_BATCH), HU_OK);
    assert_int_equal(build_at("ssd300", &hu_task_detect, 268, 268, HU_MODEL_NORM_BATCH), HU_OK);
    says(build_at("ssd-s", &hu_task_detect, 15, 100, HU_MODEL_NORM_BATCH), HU_ERR_SHAPE,
         "found pictures of 15 x 100 pixels, expected at least 16 x 16");
    says(build_at("ssd300", &hu_task_detect, 300, 267, HU_MODEL_NORM_BATCH), HU_ERR_SHAPE,
         "expected at least 268 x 268");
    says(build_at("ssd-s", &hu_task_classify, 120, 160, HU_MODEL_NORM_BATCH), HU_ERR_SHAPE,
         "'head.out': found a head of shape [1600, 10], the task classify needs [10]");
    says(build_at("cnn-s", &hu_task_detect, 120, 160, HU_MODEL_NORM_BATCH), HU_ERR_SHAPE,
         "the model has no anchors");
    says(build_at("resnet20", &hu_task_classify, 32, 32, HU_MODEL_NORM_OFF), HU_ERR_ARGUMENT,
         "model.norm: found off");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_the_published_ones),
        cmocka_unit_test(small_anchors_lie_where_they_should),
        cmocka_unit_test(parameters_have_their_names),
        cmocka_unit_test(the_first_map_of_ssd300_has_a_learned_length),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
