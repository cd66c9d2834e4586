/* conv1d by the plain reference in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/attributes.h"
#include "op_drive.h"
#include "op_product.h"

static hu_conv1d_attrs attrs(int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                             int64_t dilation, int64_t groups, bool has_bias) {
    return (hu_conv1d_attrs){.out_channels = out,
                             .kernel = kernel,
                             .stride = stride,
                             .pad = pad,
                             .dilation = dilation,
                             .groups = groups,
                             .has_bias = has_bias};
}

static product_case rows_case(const hu_conv1d_attrs *a, int64_t rows, int64_t channels) {
    hu_shape in = {2, {rows, channels}};
    return case_make(&hu_op_conv1d, a, in, hu_product_conv1d(a, &in));
}

/* The weights, and the extent of the output by the textbook's formula. */
static void check_rows(hu_conv1d_attrs a, int64_t rows, int64_t channels) {
    product_case c = rows_case(&a, rows, channels);
    const hu_shape weight = {3, {a.out_channels, a.kernel, channels / a.groups}};
    int64_t window = (a.kernel - 1) * a.dilation + 1;
    assert_true(hu_shape_equal(&c.param[0], &weight));
    assert_int_equal(c.out.rank, 2);
    assert_int_equal(c.out.extent[0], (rows + 2 * a.pad + a.more - window) / a.stride + 1);
    assert_int_equal(c.out.extent[1], a.out_channels);
    check_case(&c);
    case_free(&c);
}

static void rows_equal_the_reference(void **state) {
    (void)state;
    check_rows(attrs(16, 3, 1, 1, 1, 1, false), 20, 8);
    check_rows(attrs(5, 1, 1, 0, 1, 1, true), 7, 11);
    check_rows(attrs(12, 5, 2, 2, 1, 1, true), 31, 6);
    check_rows(attrs(7, 3, 1, 4, 4, 1, false), 16, 5);
    check_rows(attrs(4, 11, 4, 0, 1, 1, true), 120, 1);
}

static void groups_equal_the_reference(void **state) {
    (void)state;
    check_rows(attrs(12, 3, 1, 1, 1, 3, true), 10, 6);
    check_rows(attrs(8, 5, 2, 2, 1, 2, false), 17, 24);
    check_rows(attrs(9, 7, 1, 3, 1, 9, true), 25, 9);
}

/* Causal ones: all of the padding stands before the rows. */
static void uneven_padding_equals_the_reference(void **state) {
    (void)state;
    hu_conv1d_attrs causal = attrs(6, 3, 1, 4, 2, 1, true), after = attrs(6, 4, 1, 1, 1, 2, false);
    causal.more = -4;
    after.more = 1;
    check_rows(causal, 12, 4);
    check_rows(after, 9, 8);
}

/* A kernel of one row is a linear layer of rows, bit for bit. */
static void one_row_is_a_linear_layer(void **state) {
    (void)state;
    const hu_conv1d_attrs a = attrs(10, 1, 1, 0, 1, 1, true);
    const hu_linear_attrs linear = {.out_features = 10, .rows = true, .has_bias = true};
    product_case c = rows_case(&a, 13, 7), l = c;
    l.op = &hu_op_linear;
    l.attrs = &linear;
    l.product = hu_product_linear(&linear, &c.in);
    l.param[0] = (hu_shape){2, {10, 7}};
    run_result one = run_case(&c, 3, 2), other = run_case(&l, 3, 1);
    assert_same_floats(one.y, other.y, SAMPLES * 13 * 10);
    assert_same_floats(one.dx, other.dx, SAMPLES * 13 * 7);
    assert_same_floats(one.dw, other.dw, one.chunks * 10 * 7);
    assert_same_floats(one.db, other.db, one.chunks * 10);
    result_free(&one);
    result_free(&other);
    case_free(&c);
}

/* A transposed layer has the bits of one over images of one column; its outputs are as many as the
 * stride makes of the rows. */
static void transposed_rows_are_a_column(void **state) {
    (void)state;
    const hu_conv1d_attrs cases[] = {
        {.out_channels = 6, .kernel = 4, .stride = 2, .pad = 1, .dilation = 1, .groups = 1},
        {.out_channels = 4,
         .kernel = 3,
         .stride = 3,
         .dilation = 2,
         .groups = 2,
         .has_bias = true,
         .extra = 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hu_conv1d_attrs a = cases[i];
        a.transposed = true;
        const hu_conv_attrs image = {.out_channels = a.out_channels,
                                     .kernel_h = a.kernel,
                                     .kernel_w = 1,
                                     .stride_h = a.stride,
                                     .stride_w = 1,
                                     .pad_h = a.pad,
                                     .dilation_h = a.dilation,
                                     .dilation_w = 1,
                                     .groups = a.groups,
                                     .has_bias = a.has_bias,
                                     .transposed = true,
                                     .extra_h = a.extra};
        const hu_shape rows = {2, {5, 8}}, column = {3, {5, 1, 8}};
        const hu_shape weight = {3, {8, a.kernel, a.out_channels / a.groups}};
        drive d, e;
        drive_open(&d, &hu_op_conv1d, &a, 1, &rows, 5, 2);
        drive_open(&e, &hu_op_conv2d, &image, 1, &column, 5, 2);
        assert_true(hu_shape_equal(&d.param_shape[0], &weight));
        assert_int_equal(d.out_shape[0].extent[0],
                         4 * a.stride - 2 * a.pad + (a.kernel - 1) * a.dilation + 1 + a.extra);
        drive_forward(&d);
        drive_forward(&e);
        drive_backward(&d);
        drive_backward(&e);
        assert_same_floats(d.out[0], e.out[0], drive_out_elements(&e, 0));
        assert_same_floats(d.din[0], e.din[0], drive_in_elements(&e, 0));
        for (int p = 0; p < d.info.n_params; p++)
            assert_same_floats(d.dparam[p], e.dparam[p], drive_param_elements(&e, p));
        drive_close(&d);
        drive_close(&e);
    }
}

static void failing_allocations_leave_nothing(void **state) {
    (void)state;
    hu_conv1d_attrs a = attrs(16, 3, 1, 1, 1, 1, true);
    product_case c = rows_case(&a, 12, 16);
    check_allocation_failures(&c);
    case_free(&c);
}

static void usual_weights_are_those_of_images(void **state) {
    (void)state;
    const hu_shape rows = {2, {9, 4}}, image = {3, {9, 9, 4}};
    hu_conv1d_attrs a = {0};
    hu_conv_attrs b = {0};
    assert_int_equal(hu_op_read_attributes(&hu_op_conv1d, "out=8 kernel=9", &rows, &a), HU_OK);
    assert_int_equal(hu_op_read_attributes(&hu_op_conv2d, "out=8 kernel=3", &image, &b), HU_OK);
    assert_true(a.weight_init.kind == HU_INIT_NORMAL && a.weight_init.scale == b.weight_init.scale);
    assert_true(a.stride == 1 && a.dilation == 1 && a.groups == 1 && a.has_bias && a.pad == 0);
}

static void refuses(hu_conv1d_attrs a, const hu_shape *in, const char *message) {
    hu_shape out;
    int n;
    assert_int_equal(hu_op_conv1d.shape(&a, 1, in, &n, &out), HU_ERR_SHAPE);
    if (!strstr(hu_last_error(), message)) fail_msg("no '%s' in: %s", message, hu_last_error());
}

static void wrong_attributes_are_named(void **state) {
    (void)state;
    const hu_shape rows = {2, {8, 6}}, image = {3, {8, 8, 6}};
    refuses(attrs(8, 3, 1, 1, 1, 1, false), &image, "conv1d: the input is 8x8x6, expected 2");
    refuses(attrs(8, 3, 1, 1, 1, 4, false), &rows, "conv1d: 4 groups for 6 input and 8 output");
    refuses(attrs(8, 0, 1, 1, 1, 1, false), &rows, "conv1d: along T kernel 0");
    refuses(attrs(8, 3, 0, 1, 1, 1, false), &rows, "stride 0");
    refuses(attrs(8, 3, 1, 0, 5, 1, false), &rows, "conv1d: extent 8 along T");
    hu_conv1d_attrs uneven = attrs(8, 3, 1, 1, 1, 1, false);
    uneven.more = -2;
    refuses(uneven, &rows, "more -2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_equal_the_reference),
        cmocka_unit_test(groups_equal_the_reference),
        cmocka_unit_test(uneven_padding_equals_the_reference),
        cmocka_unit_test(one_row_is_a_linear_layer),
        cmocka_unit_test(transposed_rows_are_a_column),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(usual_weights_are_those_of_images),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
