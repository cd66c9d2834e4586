/* BERT: parameters, multiply-accumulates and extents of its three sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model_of.h"

static void expect_extents(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected)) fail_msg("shape of '%s'", name);
}

/* Tables of words, positions and segments, blocks with norms after their sums, the layer of the
 * first token, and two heads; multiply-accumulates of all tokens, and of the places that are asked
 * about. */
static void check_bert(const char *name, int64_t words, int64_t width, int64_t blocks,
                       int64_t places, int64_t parameters, int64_t macs) {
    enum { T = 8 };
    const int64_t square = width * width, block = 12 * square, pairs = 2 * T * T * width;
    const int64_t of_block = block + 13 * width;
    const int64_t encoder = (words + places + 2 + 2) * width + blocks * of_block + square + width;
    const int64_t heads = square + 3 * width + words + 2 * width + 2;
    const hu_shape unread = {3, {32, 32, 3}};
    hu_graph *graph = model_of(name, 1, &unread, words);
    assert_int_equal(hu_graph_parameters(graph), parameters);
    assert_int_equal(encoder + heads, parameters);
    assert_int_equal(hu_graph_macs(graph), blocks * (T * block + pairs) +
                                               T * (square + width * words) + square + 2 * width);
    if (macs) assert_int_equal(blocks * (128 * block + 2 * 128 * 128 * width), macs);
    expect_extents(graph, "position.weight", (hu_shape){2, {places, width}});
    expect_extents(graph, "nsp.weight", (hu_shape){2, {2, width}});
    assert_int_equal(graph->value[hu_graph_find(graph, "word.weight")].use_count, 2);
    assert_int_equal(graph->loss_count, 2);
    hu_graph_free(graph);
}

static void sizes_are_those_of_the_paper(void **state) {
    (void)state;
    check_bert("bert-tiny-s", 7270, 128, 2, 64, 1376616, 0);
    check_bert("bert-tiny", 30522, 128, 2, 512, 4433468, 58720256);
    check_bert("bert-base", 30522, 768, 12, 512, 110106428, 11173625856);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_those_of_the_paper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
