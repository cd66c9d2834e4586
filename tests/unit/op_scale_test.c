/* scale: every product is one rounding, forward and backward; special values; attributes. */
#include "op/attributes.h"
#include "op_drive.h"

enum { ELEMENTS = 37, BATCH = 5 };

static const float special[] = {0.0f,     -0.0f, INFINITY,  -INFINITY,  0x1p-149f,
                                0x1p127f, NAN,   0x1p-126f, -0x1.8p-3f, 1.0f};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* The same bits; one NaN is as good as another. */
static void same(float found, float expected) {
    if (isnan(expected))
        assert_true(isnan(found));
    else
        assert_memory_equal(&found, &expected, sizeof found);
}

static void every_number_is_multiplied_once(void **unused) {
    (void)unused;
    static const float factors[] = {0.125f, -1.0f, 0.0f, 0.1f, 0x1p100f};
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk += 2) {
            drive d;
            hu_scale_attrs attrs = {factors[f]};
            hu_shape in = DRIVE_SHAPE(ELEMENTS);
            drive_open(&d, &hu_op_scale, &attrs, 1, &in, BATCH, chunk);
            for (int i = 0; i < SPECIALS; i++) d.in[0][7 * i] = d.dout[0][5 * i] = special[i];
            drive_forward(&d);
            drive_backward(&d);
            for (int64_t i = 0; i < BATCH * ELEMENTS; i++) {
                /* The product of two float32 is exact as a double: one rounding follows. */
                same(d.out[0][i], (float)((double)d.in[0][i] * (double)factors[f]));
                same(d.din[0][i], (float)((double)d.dout[0][i] * (double)factors[f]));
            }
            drive_close(&d);
        }
}

static void a_factor_must_be_given_and_finite(void **unused) {
    (void)unused;
    hu_scale_attrs attrs = {0};
    hu_shape in = DRIVE_SHAPE(4, 3), out;
    int n;
    assert_int_equal(hu_attributes_read(hu_op_scale.attributes, "factor=0.125", &attrs), HU_OK);
    assert_true(attrs.factor == 0.125f);
    assert_int_equal(hu_op_scale.shape(&attrs, 1, &in, &n, &out), HU_OK);
    assert_true(n == 1 && hu_shape_equal(&in, &out));
    assert_int_equal(hu_attributes_read(hu_op_scale.attributes, "", &attrs), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "factor"));
    attrs.factor = INFINITY;
    assert_int_equal(hu_op_scale.shape(&attrs, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    attrs.factor = NAN;
    assert_int_equal(hu_op_scale.shape(&attrs, 1, &in, &n, &out), HU_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_multiplied_once),
        cmocka_unit_test(a_factor_must_be_given_and_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
