/* Networks that propose regions: counts by hand, names, what has no gradient, what is refused. */
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

/* faster-rcnn: VGG-16's convolutions 14,714,688; rpn 512 x 512 x 9 + 512, 512 x 18 + 18, 512 x 36 +
 * 36; 25,088 x 4,096 + 4,096, 4,096 x 4,096 + 4,096; 4,096 x 21 + 21, 4,096 x 84 + 84. MACs: the
 * trunk's maps of 600 x 1,000, 300 x 500, 150 x 250, 75 x 125 and 37 x 62 places; 37 x 62 x 512 x
 * (512 x 9 + 54); for each of 128 regions 119,537,664 of fc6 and fc7 (with their
 * biases they have 119,545,856 parameters) and 4,096 x 105.
 * faster-rcnn-s: four stages of ssd-s 119,448 weights and 672 of norms; rpn 64 x 64 x 9 + 64, 64 x
 * 18 + 18, 64 x 36 + 36; 1,024 x 128 + 128, 128 x 128 + 128, 128 x 4 + 4, 128 x 16 + 16. MACs: 120
 * x 160 x 792 + 60 x 80 x 3,456 + 30 x 40 x 23,040 + 15 x 20 x 92,160 of the trunk, 15 x 20 x (64 x
 * 64 x 9 + 64 x 54), and for each of 32 regions 1,024 x 128 + 128 x 128 + 128 x 20. */
static void counts_are_those_by_hand(void **state) {
    (void)state;
    const int64_t trunk = 183161475072, small_trunk = 15206400 + 16588800 + 27648000 + 27648000;
    const struct {
        const char *name;
        int64_t height, width, classes, parameters, macs, anchors, regions;
    } table[] = {
        {"faster-rcnn", 600, 1000, VOC_CLASSES, 137078239,
         trunk + (int64_t)37 * 62 * 512 * (512 * 9 + 54) + (int64_t)128 * (119537664 + 4096 * 105),
         37 * 62 * 9, 128},
        {"faster-rcnn-s", 120, 160, CELLS, 119448 + 672 + 40438 + 150292,
         small_trunk + 300 * (64 * 64 * 9 + 64 * 54) + 32 * (1024 * 128 + 128 * 128 + 128 * 20),
         2700, 32}};
    assert_int_equal(table[1].parameters, 310850);
    assert_int_equal(table[1].macs, 103987712);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const hu_shape image = {3, {table[i].height, table[i].width, 3}};
        hu_graph *graph = model_of(table[i].name, 1, &image, table[i].classes);
        const hu_value_info *head = &graph->value[hu_task_prediction(graph)];
        assert_int_equal(hu_graph_parameters(graph), table[i].parameters);
        assert_int_equal(hu_graph_macs(graph), table[i].macs);
        assert_int_equal(head->shape.extent[0], table[i].regions);
        assert_int_equal(head->shape.extent[1], 5 * (table[i].classes + 1));
        assert_int_equal(graph->loss_count, 2);
        for (int k = 0; k < 2; k++) assert_int_equal(graph->loss[k].normaliser, HU_PER_SAMPLE);
        const hu_node *rpn = &graph->node[graph->loss[1].node];
        const hu_box_loss_attrs *attrs = rpn->attrs;
        assert_ptr_equal(rpn->op, &hu_op_rpn_loss);
        assert_int_equal(hu_anchors_count(&attrs->anchors), table[i].anchors);
        assert_int_equal(attrs->samples, 256);
        assert_null(hu_task_anchors(graph));
        hu_graph_free(graph);
    }
}

static void check_value(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected)) fail_msg("shape of '%s'", name);
}

/* Shapes, and regions that are facts: no format may round them, and the gradient of the pooled map
 * stops there. */
static void values_have_their_names_and_roles(void **state) {
    (void)state;
    const hu_shape image = {3, {120, 160, 3}};
    hu_graph *graph = model_of("faster-rcnn-s", 1, &image, CELLS);
    hu_picture picture;
    hu_value_id regions = hu_task_regions_of(graph, &picture);
    check_value(graph, "stage4.2.1.weight", (hu_shape){1, {64}});
    check_value(graph, "rpn.conv.weight", (hu_shape){4, {64, 3, 3, 64}});
    check_value(graph, "rpn.out", (hu_shape){2, {2700, 6}});
    check_value(graph, "rois.out", (hu_shape){2, {32, 4}});
    check_value(graph, "pool.out", (hu_shape){4, {32, 4, 4, 64}});
    check_value(graph, "fc6.weight", (hu_shape){4, {128, 1, 1, 1024}});
    check_value(graph, "box.bias", (hu_shape){1, {16}});
    assert_int_equal(regions, hu_graph_find(graph, "rois.out"));
    assert_int_equal(picture.height, 120);
    assert_int_equal(picture.width, 160);
    const hu_value_info *value = &graph->value[regions];
    assert_int_equal(value->role, HU_VALUE_FACT);
    assert_false(hu_is_rounded_kind(value));
    assert_false(value->needs_grad);
    assert_false(graph->node[value->producer].needs_backward);
    for (uint32_t k = 0; k < value->use_count; k++)
        assert_false(hu_use_has_gradient(graph, value->uses[k]));
    /* What the anchors say has one reader with a gradient: their own loss. */
    assert_int_equal(hu_contribution_count(graph, hu_graph_find(graph, "rpn.out")), 1);
    /* The map has two: the layer that proposes, and the pool. */
    assert_int_equal(hu_contribution_count(graph, hu_graph_find(graph, "stage4.2.relu.out")), 2);
    hu_graph_free(graph);
}

/* The first and last anchors: for each ratio all sizes, area size^2, height over width the ratio.
 */
static void anchors_lie_where_they_should(void **state) {
    (void)state;
    const hu_shape image = {3, {120, 160, 3}};
    hu_graph *graph = model_of("faster-rcnn-s", 1, &image, CELLS);
    const hu_box_loss_attrs *attrs = graph->node[graph->loss[1].node].attrs;
    static const struct {
        int64_t index;
        double cx, cy, w, h;
    } known[] = {{0, .025, .0333333, .1060660, .0707107},
                 {3, .025, .0333333, .075, .1},
                 {11, .075, .0333333, .4242641, .2828427},
                 {2699, .975, .9666667, .2121320, .5656854}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hu_centred a = hu_anchor_at(&attrs->anchors, known[i].index);
        double off[] = {a.cx - known[i].cx, a.cy - known[i].cy, a.w - known[i].w, a.h - known[i].h};
        for (int k = 0; k < 4; k++) assert_true(off[k] < 1e-7 && off[k] > -1e-7);
    }
    hu_graph_free(graph);
}

static hu_status build_as(const char *name, const hu_task *task, const hu_loss_form *loss,
                          int64_t outputs, int64_t height, int64_t width) {
    hu_graph *graph;
    hu_task_choice choice = {.task = task,
                             .loss = loss,
                             .shapes = {.value = {{3, {height, width, 3}}, {2, {8, 5}}},
                                        .count = 2,
                                        .outputs = outputs}};
    hu_model_options options = {.name = name, .width = 1, .choice = &choice};
    hu_status st = hu_model_build(&options, &graph);
    hu_graph_free(graph);
    return st;
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    const hu_task *regions = &hu_task_detect_regions;
    const hu_loss_form *loss = &hu_loss_faster_rcnn;
    assert_int_equal(build_as("faster-rcnn-s", regions, loss, 20, 16, 16), HU_OK);
    assert_int_equal(build_as("faster-rcnn", regions, loss, 20, 16, 16), HU_OK);
    says(build_as("faster-rcnn-s", regions, loss, 20, 15, 90), HU_ERR_SHAPE,
         "expected at least 16 x 16");
    says(build_as("faster-rcnn", regions, loss, 20, 90, 15), HU_ERR_SHAPE,
         "expected at least 16 x 16");
    says(build_as("faster-rcnn-s", &hu_task_detect, &hu_loss_ssd, 8, 120, 160), HU_ERR_ARGUMENT,
         "the task detect has no loss for them, expected detect-regions");
    says(build_as("faster-rcnn-s", &hu_task_classify, &hu_loss_nll, 8, 120, 160), HU_ERR_ARGUMENT,
         "the task classify has no loss for them, expected detect-regions");
    says(build_as("ssd-s", regions, loss, 20, 120, 160), HU_ERR_SHAPE,
         "the model proposes no regions; the task detect-regions needs one that does");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_by_hand),
        cmocka_unit_test(values_have_their_names_and_roles),
        cmocka_unit_test(anchors_lie_where_they_should),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
