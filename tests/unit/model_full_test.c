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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepspeech2_english),
        cmocka_unit_test(deepspeech2_mandarin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
