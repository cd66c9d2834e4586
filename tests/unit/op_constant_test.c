/* constant and ids: every sample has the numbers of the buffer, whatever the chunks, and nobody
 * learns; what they refuse. */
#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 5, NUMBERS = 12 };

static void every_sample_has_the_numbers(void **unused) {
    (void)unused;
    static const hu_op *const ops[] = {&hu_op_constant, &hu_op_ids};
    const hu_constant_attrs attrs = {.shape = DRIVE_SHAPE(3, 4)};
    for (int k = 0; k < 2; k++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk++) {
            drive d;
            drive_open(&d, ops[k], &attrs, 0, NULL, BATCH, chunk);
            assert_int_equal(d.info.n_params, 1);
            assert_false(d.decl[0].trained);
            assert_string_equal(d.decl[0].suffix, "");
            assert_true(hu_shape_equal(&d.out_shape[0], &attrs.shape));
            for (int i = 0; i < NUMBERS; i++) d.param[0][i] = 0.3f * (float)i - 1.0f;
            drive_forward(&d);
            for (int s = 0; s < BATCH; s++)
                assert_memory_equal(d.out[0] + s * NUMBERS, d.param[0], NUMBERS * sizeof(float));
            drive_close(&d);
        }
}

/* Ids are facts: no format rounds them. A constant is a value like others, without a gradient. */
static void ids_alone_are_facts(void **unused) {
    (void)unused;
    assert_true(hu_op_ids.makes_facts);
    assert_false(hu_op_constant.makes_facts);
    assert_null(hu_op_ids.backward);
    assert_null(hu_op_constant.backward);
}

static void a_shape_is_needed(void **unused) {
    (void)unused;
    const hu_constant_attrs none = {.shape = {.rank = 0}}, empty = {.shape = DRIVE_SHAPE(3, 0)};
    hu_shape out[HU_MAX_OUTPUTS];
    int n_out;
    assert_int_equal(hu_op_constant.shape(&none, 0, NULL, &n_out, out), HU_ERR_SHAPE);
    assert_string_equal(hu_last_error(), "found no shape=, expected extents as 7x7x16");
    assert_int_equal(hu_op_ids.shape(&empty, 0, NULL, &n_out, out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_has_the_numbers),
        cmocka_unit_test(ids_alone_are_facts),
        cmocka_unit_test(a_shape_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
