/* Networks of texts and sounds in the sizes in which they were published: parameters, products and
 * extents. Their weights are never drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "model_of.h"

static void check_extents(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("there is no '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected))
        fail_msg("'%s' has another shape", name);
}

/* Ten seconds of sound. Convolutions 14,432 and 236,544, their norms 128; three gates of
 * (1,312 + 2,560) and twice (2,560 + 2,560) inputs and two biases; a row convolution of 21 x 2,560;
 * 2,560 x 2,561 and 29 x 2,561. Products: convolutions of 500 x 81 and 500 x 41 places, the rest
 * of 500 rows. */
static void deepspeech2_english(void **state) {
    (void)state;
    const int64_t recurrent = 7680 * (1312 + 2560) + 2 * 7680 * (2560 + 2560), ahead = 21 * 2560;
    const int64_t dense = 2560 * 2560 + 2560 * 29;
    hu_graph *graph = model_of("deepspeech2", 1, &(hu_shape){3, {1000, 161, 1}}, 29);
    assert_int_equal(hu_graph_parameters(graph), 115361533);
    assert_int_equal(hu_graph_macs(graph),
                     INT64_C(500) * (81 * 14432 + 41 * 236544) + 500 * (recurrent + ahead + dense));
    check_extents(graph, "clamp1.out", (hu_shape){3, {500, 81, 32}});
    check_extents(graph, "rows.out", (hu_shape){2, {500, 1312}});
    check_extents(graph, "gru.weight_ih_l0", (hu_shape){2, {7680, 1312}});
    check_extents(graph, "gru.weight_hh_l2", (hu_shape){2, {7680, 2560}});
    check_extents(graph, "ahead.weight", (hu_shape){2, {21, 2560}});
    check_extents(graph, "fc2.out", (hu_shape){2, {500, 29}});
    assert_int_equal(hu_graph_find(graph, "gru.weight_ih_l0_reverse"), HU_NONE);
    hu_graph_free(graph);
}

static void deepspeech2_mandarin(void **state) {
    (void)state;
    hu_graph *graph = model_of("deepspeech2-mandarin", 1, &(hu_shape){3, {1000, 161, 1}}, 6000);
    assert_int_equal(hu_graph_parameters(graph), 203117104);
    check_extents(graph, "gru.weight_ih_l1", (hu_shape){2, {10080, 3360}});
    check_extents(graph, "fc.weight", (hu_shape){2, {6000, 3360}});
    hu_graph_free(graph);
}

/* Windows of 3,072 of 267,744 words. Tables of 20,000 x 1,024, 40,000 x 256 and 207,744 x 64, their
 * products with 1,024, two scores of bands, and 16 blocks of 12,596,224, which multiply all but
 * their biases and norms; every table and product is used twice, but for the first product and
 * table on all rows once. */
static void transformer_lm(void **state) {
    (void)state;
    const int64_t tables = INT64_C(20000) * 1024 + 40000 * 256 + 207744 * 64;
    const int64_t products = 1024 * (1024 + 256 + 64), block = 4 * 1024 * 1024 + 2 * 1024 * 4096;
    const hu_shape any = {3, {32, 32, 3}};
    hu_graph *graph = model_of("transformer-lm", 1, &any, 267744);
    assert_int_equal(tables, 44015616);
    assert_int_equal(products, 1376256);
    assert_int_equal(hu_graph_parameters(graph), 246933504);
    assert_int_equal(hu_graph_parameters(graph),
                     INT64_C(16) * 12596224 + tables + products + 2 * 1024);
    const int64_t row = 16 * block + 2 * products + tables + 2 * 1024;
    const int64_t pairs = 8 * 8; /* of places, in scores and in contexts */
    assert_int_equal(16 * block, 201326592);
    assert_int_equal(hu_graph_macs(graph), 8 * row + 16 * 2 * pairs * 1024);
    check_extents(graph, "emb.1.weight", (hu_shape){2, {40000, 256}});
    check_extents(graph, "emb.2.proj.weight", (hu_shape){2, {1024, 64}});
    check_extents(graph, "head.out", (hu_shape){2, {8, 20002}});
    check_extents(graph, "tail.2.out", (hu_shape){2, {8, 207744}});
    check_extents(graph, "law.out", (hu_shape){2, {8, 267744}});
    assert_int_equal(graph->value[hu_graph_find(graph, "emb.2.weight")].use_count, 2);
    assert_int_equal(hu_graph_find(graph, "scores.out"), HU_NONE);
    hu_graph_free(graph);
    graph = model_of("transformer-lm", 1, &any, 20000); /* all of them in the first band */
    check_extents(graph, "head.words.out", (hu_shape){2, {8, 20000}});
    assert_int_equal(hu_graph_find(graph, "law.out"), HU_NONE);
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepspeech2_english),
        cmocka_unit_test(deepspeech2_mandarin),
        cmocka_unit_test(transformer_lm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
