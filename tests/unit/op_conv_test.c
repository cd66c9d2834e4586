#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/geometry.h"
#include "op_product.h"

static hu_conv_attrs attrs(int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                           int64_t dilation, int64_t groups, bool has_bias) {
    return (hu_conv_attrs){.out_channels = out,
                           .kernel_h = kernel,
                           .kernel_w = kernel,
                           .stride_h = stride,
                           .stride_w = stride,
                           .pad_h = pad,
                           .pad_w = pad,
                           .dilation_h = dilation,
                           .dilation_w = dilation,
                           .groups = groups,
                           .has_bias = has_bias};
}

static product_case conv_case(const hu_conv_attrs *a, int64_t h, int64_t w, int64_t channels) {
    hu_shape in = {3, {h, w, channels}};
    return case_make(&hu_op_conv2d, a, in, hu_product_conv2d(a, &in));
}

static void check_conv(hu_conv_attrs a, int64_t h, int64_t w, int64_t channels) {
    product_case c = conv_case(&a, h, w, channels);
    check_case(&c);
    case_free(&c);
}

static void dense_kernels_equal_the_reference(void **state) {
    (void)state;
    check_conv(attrs(16, 3, 1, 1, 1, 1, false), 8, 8, 16);
    check_conv(attrs(32, 3, 1, 1, 1, 1, true), 9, 7, 16);
    check_conv(attrs(16, 3, 1, 1, 1, 1, false), 12, 12, 3);
    check_conv(attrs(16, 3, 2, 1, 1, 1, false), 8, 8, 1);
    check_conv(attrs(64, 3, 1, 1, 1, 1, false), 4, 4, 64);
}

static void strides_and_dilations_equal_the_reference(void **state) {
    (void)state;
    check_conv(attrs(32, 3, 2, 1, 1, 1, false), 8, 8, 16);
    check_conv(attrs(32, 1, 2, 0, 1, 1, false), 9, 9, 16);
    check_conv(attrs(8, 5, 1, 4, 2, 1, true), 10, 9, 8);
    check_conv(attrs(12, 3, 3, 0, 2, 1, true), 11, 14, 5);
    hu_conv_attrs oblong = attrs(24, 3, 1, 1, 1, 1, true);
    oblong.kernel_w = 1;
    oblong.pad_w = 0;
    oblong.stride_h = 2;
    check_conv(oblong, 9, 6, 16);
}

static void odd_channels_equal_the_reference(void **state) {
    (void)state;
    check_conv(attrs(24, 1, 1, 0, 1, 1, false), 6, 6, 58);
    check_conv(attrs(58, 3, 1, 1, 1, 1, true), 5, 5, 24);
    check_conv(attrs(10, 1, 1, 0, 1, 1, true), 4, 4, 13);
    check_conv(attrs(7, 3, 1, 2, 1, 1, false), 6, 6, 5);
    check_conv(attrs(1, 2, 1, 0, 1, 1, true), 3, 3, 1);
    check_conv(attrs(4, 1, 2, 0, 1, 1, false), 12, 12, 3);
    check_conv(attrs(5, 1, 3, 0, 1, 1, true), 24, 24, 7);
}

static void groups_equal_the_reference(void **state) {
    (void)state;
    check_conv(attrs(32, 3, 1, 1, 1, 2, true), 6, 6, 16);
    check_conv(attrs(24, 3, 2, 1, 1, 3, false), 8, 8, 12);
    check_conv(attrs(12, 1, 1, 0, 1, 3, false), 5, 5, 6);
    check_conv(attrs(16, 3, 1, 1, 1, 16, true), 6, 6, 16);
    check_conv(attrs(58, 3, 2, 1, 1, 58, false), 8, 8, 58);
    check_conv(attrs(24, 5, 1, 2, 1, 24, false), 7, 7, 24);
    check_conv(attrs(10, 3, 1, 1, 1, 5, true), 6, 6, 5);
}

/* Padding beyond the kernel: whole windows of zeros. */
static void wide_padding_equals_the_reference(void **state) {
    (void)state;
    check_conv(attrs(8, 1, 1, 2, 1, 1, true), 4, 4, 8);
    check_conv(attrs(8, 3, 2, 4, 1, 1, false), 5, 5, 3);
}

static void first_layers_need_no_data_gradient(void **state) {
    (void)state;
    hu_conv_attrs a = attrs(16, 3, 1, 1, 1, 1, true);
    product_case c = conv_case(&a, 8, 8, 3);
    const bool need_din[] = {false};
    hu_node_info info = case_info(&c, need_din, SAMPLES, 1);
    run_result whole = run_case(&c, SAMPLES, 1), r = {.chunks = 1};
    void *node;
    r.dw = zeroed((size_t)hu_product_weights(&c.product), sizeof(float));
    r.db = zeroed((size_t)c.product.out_c, sizeof(float));
    assert_int_equal(c.op->create(&info, &node), HU_OK);
    assert_int_equal(c.op->workspace_bytes(&info, node, HU_BACKWARD), 0);
    run_pass(&c, &info, node, HU_BACKWARD, &r);
    assert_same_floats(r.dw, whole.dw, hu_product_weights(&c.product));
    assert_same_floats(r.db, whole.db, c.product.out_c);
    c.op->release(node);
    result_free(&r);
    result_free(&whole);
    case_free(&c);
}

static void ordinary_layers_avoid_reference_implementations(void **state) {
    (void)state;
    hu_conv_attrs a = attrs(16, 3, 1, 1, 1, 1, false);
    product_case c = conv_case(&a, 32, 32, 16);
    const bool need_din[] = {true};
    hu_node_info info = case_info(&c, need_din, 16, 1);
    void *node;
    omp_set_num_threads(2);
    info.engine = HU_ENGINE_ONEDNN;
    assert_int_equal(c.op->create(&info, &node), HU_OK);
    assert_int_equal(omp_get_max_threads(), 2);
    const char *forward = c.op->impl(&info, node, HU_FORWARD);
    const char *backward = c.op->impl(&info, node, HU_BACKWARD);
    assert_true(strlen(forward) > 0 && strncmp(forward, "ref", 3) != 0);
    assert_true(strlen(backward) > 0 && strncmp(backward, "ref", 3) != 0);
    assert_true(c.op->macs(&info) == 32 * 32 * 16 * 9 * 16);
    c.op->release(node);
    case_free(&c);
}

static void failing_allocations_leave_nothing(void **state) {
    (void)state;
    hu_conv_attrs a = attrs(16, 3, 1, 1, 1, 1, true);
    product_case c = conv_case(&a, 8, 8, 16);
    check_allocation_failures(&c);
    case_free(&c);
}

static void wrong_attributes_are_named(void **state) {
    (void)state;
    const hu_shape image = {3, {8, 8, 6}}, flat = {1, {64}};
    const struct {
        hu_conv_attrs a;
        const hu_shape *in;
        const char *message;
    } wrong[] = {
        {attrs(8, 3, 1, 1, 1, 1, false), &flat, "expected 3"},
        {attrs(8, 3, 1, 1, 1, 4, false), &image, "4 groups for 6 input and 8 output"},
        {attrs(8, 3, 1, 1, 1, 0, false), &image, "0 groups"},
        {attrs(0, 3, 1, 1, 1, 1, false), &image, "0 output channels"},
        {attrs(8, 0, 1, 1, 1, 1, false), &image, "kernel 0"},
        {attrs(8, 3, 0, 1, 1, 1, false), &image, "stride 0"},
        {attrs(8, 3, 1, -1, 1, 1, false), &image, "pad -1"},
        {attrs(8, 3, 1, 1, 0, 1, false), &image, "dilation 0"},
        {attrs(8, 3, 1, 1, 5, 1, false), &image, "window of 11"},
        {attrs(8, INT64_MAX, 1, 1, 1, 1, false), &image, "kernel 9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hu_shape out[HU_MAX_OUTPUTS];
        int n_out;
        assert_int_equal(hu_op_conv2d.shape(&wrong[i].a, 1, wrong[i].in, &n_out, out),
                         HU_ERR_SHAPE);
        if (!strstr(hu_last_error(), wrong[i].message)) fail_msg("%s", hu_last_error());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_kernels_equal_the_reference),
        cmocka_unit_test(strides_and_dilations_equal_the_reference),
        cmocka_unit_test(odd_channels_equal_the_reference),
        cmocka_unit_test(groups_equal_the_reference),
        cmocka_unit_test(wide_padding_equals_the_reference),
        cmocka_unit_test(first_layers_need_no_data_gradient),
        cmocka_unit_test(ordinary_layers_avoid_reference_implementations),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
