/* seq2seq-s and seq2seq: sizes, names, and which lengths are read where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model_of.h"
#include "says.h"

static hu_graph *build(const char *name, int64_t source_words, int64_t words) {
    const hu_dataset data = sentences(source_words, words);
    hu_task_choice choice;
    hu_graph *graph;
    hu_model_options options = {.name = name, .width = 1.0, .choice = &choice};
    assert_int_equal(hu_model_choose(name, NULL, NULL, &data, &choice), HU_OK);
    if (hu_model_build(&options, &graph) != HU_OK) fail_msg("%s", hu_last_error());
    return graph;
}

static void check_extents(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("there is no '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected))
        fail_msg("'%s' has another shape", name);
}

/* With the words of Multi30k from English to French. */
static void sizes_are_as_published(void **state) {
    (void)state;
    hu_graph *graph = build("seq2seq-s", 5898, 6434);
    assert_int_equal(hu_graph_parameters(graph), 2969762);
    check_extents(graph, "src.weight", (hu_shape){2, {5898, 128}});
    check_extents(graph, "tgt.weight", (hu_shape){2, {6434, 128}});
    check_extents(graph, "enc.weight_ih_l0", (hu_shape){2, {512, 128}});
    check_extents(graph, "dec.bias_hh_l1", (hu_shape){1, {512}});
    check_extents(graph, "comb.weight", (hu_shape){2, {128, 256}});
    check_extents(graph, "out.bias", (hu_shape){1, {6434}});
    check_extents(graph, "enc.cell_l1.out", (hu_shape){1, {128}});
    check_extents(graph, "attn.scores.out", (hu_shape){3, {1, 8, 6}});
    check_extents(graph, "attn.context.out", (hu_shape){2, {8, 128}});
    /* Two products of every cell, the two of attention, comb and out. */
    int64_t cells = 2 * (6 + 8) * 2 * 512 * 128, attention = 2 * 8 * 6 * 128;
    assert_int_equal(hu_graph_macs(graph), cells + attention + 8 * (256 * 128 + 128 * 6434));
    hu_graph_free(graph);
}

/* Of TensorFlow's tutorial, with the words of Micikevicius et al. 2018. */
static void large_sizes_are_as_published(void **state) {
    (void)state;
    const hu_dataset data = sentences(100000, 40000);
    for (int64_t layers = 3; layers <= 5; layers += 2) {
        hu_task_choice choice;
        hu_graph *graph;
        hu_model_options options = {.name = "seq2seq", .width = 1.0, .choice = &choice};
        options.sizes.chosen[HU_SIZE_LAYERS] = layers;
        assert_int_equal(hu_model_choose("seq2seq", NULL, NULL, &data, &choice), HU_OK);
        assert_int_equal(hu_model_build(&options, &graph), HU_OK);
        assert_int_equal(hu_graph_parameters(graph), layers == 3 ? 241011776 : 274582592);
        check_extents(graph, "in.weight", (hu_shape){2, {1024, 2048}});
        check_extents(graph, "attn.v.weight", (hu_shape){2, {1, 1024}});
        check_extents(graph, "attn.sum.out", (hu_shape){3, {8, 6, 1024}});
        check_extents(graph, "attn.context.out", (hu_shape){3, {8, 1, 1024}});
        hu_graph_free(graph);
    }
}

/* Name of input i of a node. */
static const char *input_of(const hu_graph *graph, const char *node, int i) {
    hu_value_id out = hu_graph_find(graph, node);
    if (out == HU_NONE) fail_msg("there is no '%s'", node);
    return graph->value[graph->node[graph->value[out].producer].in[i]].name;
}

/* The encoder takes the steps of the sentence, the decoder those of the translation, which begins
 * where the sentence has ended, layer by layer; attention sees the words of the sentence alone. */
static void lengths_are_those_of_either_side(void **state) {
    (void)state;
    hu_graph *graph = build("seq2seq-s", 9, 7);
    assert_int_equal(graph->loop_count, 4);
    for (uint32_t k = 0; k < 4; k++)
        assert_string_equal(graph->value[graph->loop[k].lengths].name,
                            k < 2 ? "source_length" : "target_length");
    assert_string_equal(input_of(graph, "enc.cell_l0.out", 0), "enc_l0.cell.out");
    assert_string_equal(input_of(graph, "enc.cell_l0.out", 1), "source_length");
    assert_string_equal(input_of(graph, "dec_l1.hidden.previous.out", 1), "enc.hidden_l1.out");
    assert_string_equal(input_of(graph, "dec_l1.cell.previous.out", 1), "enc.cell_l1.out");
    assert_string_equal(input_of(graph, "attn.scores.out", 0), "dec_l1.hidden.out");
    assert_string_equal(input_of(graph, "attn.scores.out", 1), "enc_l1.hidden.out");
    assert_string_equal(input_of(graph, "attn.weights.out", 1), "source_length");
    assert_string_equal(input_of(graph, "attn.context.out", 2), "source_length");
    assert_string_equal(input_of(graph, "joined.out", 0), "attn.context.out");
    hu_graph_free(graph);
}

static void another_task_is_refused(void **state) {
    (void)state;
    hu_dataset data = {.name = NULL};
    hu_task_choice choice;
    hu_graph *graph;
    hu_model_options options = {.name = "seq2seq-s", .width = 1.0, .choice = &choice};
    hu_dataset_set_images(&data, 32, 32, 1, 10);
    says(hu_model_choose("seq2seq-s", NULL, NULL, &data, &choice), HU_ERR_ARGUMENT,
         "needs a field 'source'");
    assert_int_equal(hu_model_choose("seq2seq-s", &hu_task_classify, NULL, &data, &choice), HU_OK);
    says(hu_model_build(&options, &graph), HU_ERR_ARGUMENT,
         "found no sentences with translations, expected the task translate");
}

/* Words of the translation that is read and of that which is wanted are the same. */
static void other_fields_are_refused(void **state) {
    (void)state;
    hu_task_choice choice;
    hu_dataset data = sentences(9, 7);
    data.field[2].classes = 8;
    says(hu_model_choose("seq2seq-s", NULL, NULL, &data, &choice), HU_ERR_ARGUMENT,
         "9, 7 and 8 different words");
    data = sentences(9, 7);
    data.field[1].extent[0] = 5;
    says(hu_model_choose("seq2seq-s", NULL, NULL, &data, &choice), HU_ERR_ARGUMENT,
         "a token and a target at each place");
    data = sentences(9, 7);
    data.field[4].rank = 1;
    says(hu_model_choose("seq2seq-s", NULL, NULL, &data, &choice), HU_ERR_ARGUMENT,
         "numbers of words");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_as_published), cmocka_unit_test(large_sizes_are_as_published),
        cmocka_unit_test(lengths_are_those_of_either_side),
        cmocka_unit_test(another_task_is_refused), cmocka_unit_test(other_fields_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
