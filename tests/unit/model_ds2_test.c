/* ds2-s: sizes, names, and which of its norms and lengths are where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "op/attributes.h"
#include "says.h"

enum { FRAMES = 160, BINS = 81, CLASSES = 27 };

static hu_dataset sounds(void) {
    static char name[] = "heard";
    hu_dataset made = {.name = name, .field_count = 3};
    made.field[0] = (hu_field){
        .name = "features", .type = HU_FIELD_F32, .rank = 3, .extent = {FRAMES, BINS, 1}};
    made.field[1] = (hu_field){.name = "length", .type = HU_FIELD_I32};
    made.field[2] = (hu_field){
        .name = "label", .type = HU_FIELD_I32, .rank = 1, .extent = {5}, .classes = CLASSES};
    return made;
}

static hu_graph *build(double width, bool all_rows) {
    const hu_dataset data = sounds();
    hu_task_choice choice;
    hu_graph *graph;
    hu_model_options options = {
        .name = "ds2-s", .width = width, .norms_all_rows = all_rows, .choice = &choice};
    assert_int_equal(hu_model_choose("ds2-s", NULL, NULL, &data, &choice), HU_OK);
    if (hu_model_build(&options, &graph) != HU_OK) fail_msg("%s", hu_last_error());
    return graph;
}

static void check_extents(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("there is no '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected))
        fail_msg("'%s' has another shape", name);
}

static void sizes_are_as_published(void **state) {
    (void)state;
    hu_graph *graph = build(1.0, false);
    assert_int_equal(hu_graph_parameters(graph), 177459);
    assert_int_equal(hu_graph_macs(graph), 32373120);
    check_extents(graph, "clamp1.out", (hu_shape){3, {80, 41, 8}});
    check_extents(graph, "clamp2.out", (hu_shape){3, {80, 21, 8}});
    check_extents(graph, "rows.out", (hu_shape){2, {80, 168}});
    check_extents(graph, "gru.weight_ih_l0", (hu_shape){2, {192, 168}});
    check_extents(graph, "gru.weight_hh_l1_reverse", (hu_shape){2, {192, 64}});
    check_extents(graph, "gru.weight_ih_l1", (hu_shape){2, {192, 128}});
    check_extents(graph, "fc.weight", (hu_shape){2, {27, 128}});
    check_extents(graph, "fc.out", (hu_shape){2, {80, 27}});
    hu_graph_free(graph);
    graph = build(0.5, false);
    check_extents(graph, "gru.weight_hh_l0", (hu_shape){2, {96, 32}});
    hu_graph_free(graph);
}

/* Norms read the lengths unless all rows are to take part; the loss reads those after the stride.
 */
static void lengths_are_those_behind_the_stride(void **state) {
    (void)state;
    for (int all_rows = 0; all_rows < 2; all_rows++) {
        hu_graph *graph = build(1.0, all_rows);
        int norms = 0;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const hu_node *node = &graph->node[n];
            if (node->op != &hu_op_batch_norm) continue;
            norms++;
            assert_int_equal(node->n_in, all_rows ? 1 : 2);
            if (!all_rows) assert_string_equal(graph->value[node->in[1]].name, "length2.out");
        }
        assert_int_equal(norms, 2);
        assert_string_equal(graph->value[hu_task_lengths(graph)].name, "loss.lengths.out");
        hu_graph_free(graph);
    }
}

static void another_task_is_refused(void **state) {
    (void)state;
    hu_dataset data = {.name = NULL};
    hu_task_choice choice;
    hu_graph *graph;
    hu_model_options options = {.name = "ds2-s", .width = 1.0, .choice = &choice};
    hu_dataset_set_images(&data, 32, 32, 1, 10);
    says(hu_model_choose("ds2-s", NULL, NULL, &data, &choice), HU_ERR_ARGUMENT,
         "needs a field 'features'");
    assert_int_equal(hu_model_choose("ds2-s", &hu_task_classify, NULL, &data, &choice), HU_OK);
    says(hu_model_build(&options, &graph), HU_ERR_ARGUMENT,
         "found no lengths of the samples, expected a task of sequences, like transcribe");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_as_published),
                                       cmocka_unit_test(lengths_are_those_behind_the_stride),
                                       cmocka_unit_test(another_task_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
