#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "op/attributes.h"
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

/* More padding on one side, kernels of two extents, dilation: dense, in groups and depthwise. */
static void uneven_padding_equals_the_reference(void **state) {
    (void)state;
    static const int64_t groups[] = {1, 2, 8};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        hu_conv_attrs a = attrs(groups[i] == 8 ? 8 : 12, 3, 1, 1, 1, groups[i], i % 2 == 1);
        a.more_h = 1;
        a.more_w = -1;
        check_conv(a, 7, 6, 8);
        a.stride_h = a.stride_w = 2;
        check_conv(a, 8, 9, 8);
        a.kernel_w = 7;
        a.pad_w = 3;
        a.dilation_h = 2;
        check_conv(a, 9, 8, 8);
    }
    hu_conv_attrs wide = attrs(6, 1, 1, 0, 1, 1, true);
    wide.more_h = wide.more_w = 1;
    check_conv(wide, 4, 5, 3);
}

/* Channels first .. first+channels-1 of every pixel. */
static float *slice(int64_t pixels, int64_t all, int64_t first, int64_t channels, const float *x) {
    float *some = zeroed((size_t)(pixels * channels), sizeof *some);
    for (int64_t i = 0; i < pixels; i++)
        memcpy(some + i * channels, x + i * all + first, (size_t)channels * sizeof *some);
    return some;
}

/* Group k of a case as a convolution of its own: results are those of the whole, bit for bit. */
static void check_group(const product_case *whole, const run_result *found, int64_t chunk,
                        int64_t k) {
    const hu_product *p = &whole->product;
    int64_t in = p->in_c / p->groups, out = p->out_c / p->groups;
    int64_t in_pixels = SAMPLES * p->in_h * p->in_w, out_pixels = SAMPLES * p->out_h * p->out_w;
    hu_conv_attrs alone = *(const hu_conv_attrs *)whole->attrs;
    alone.out_channels = out;
    alone.groups = 1;
    product_case c = conv_case(&alone, p->in_h, p->in_w, in);
    int64_t weights = hu_product_weights(&c.product);
    hu_free(c.x);
    hu_free(c.dy);
    c.x = slice(in_pixels, p->in_c, k * in, in, whole->x);
    c.dy = slice(out_pixels, p->out_c, k * out, out, whole->dy);
    memcpy(c.w, whole->w + k * weights, (size_t)weights * sizeof *c.w);
    memcpy(c.bias, whole->bias + k * out, (size_t)out * sizeof *c.bias);
    c.engine = whole->engine;
    run_result r = run_case(&c, chunk, 1);
    float *y = slice(out_pixels, p->out_c, k * out, out, found->y);
    float *dx = slice(in_pixels, p->in_c, k * in, in, found->dx);
    assert_same_floats(y, r.y, out_pixels * out);
    assert_same_floats(dx, r.dx, in_pixels * in);
    for (int64_t i = 0; i < r.chunks; i++) {
        assert_same_floats(found->dw + (i * p->groups + k) * weights, r.dw + i * weights, weights);
        assert_same_floats(found->db + (i * p->groups + k) * out, r.db + i * out, out);
    }
    hu_free(y);
    hu_free(dx);
    result_free(&r);
    case_free(&c);
}

/* So the order of their sums is that of kernel/conv, on every instruction set. */
static void groups_equal_convolutions_of_their_own(void **state) {
    (void)state;
    static const hu_product_engine engines[] = {HU_ENGINE_OWN, HU_ENGINE_WINOGRAD};
    for (hu_isa isa = HU_ISA_SCALAR; isa <= hu_cpu_isa_native(); isa++)
        for (int e = 0; e < 2; e++) {
            hu_conv_attrs a = attrs(24, 3, 1, 1, 1, 3, true);
            hu_cpu_set_isa(isa);
            product_case c = conv_case(&a, 7, 6, 27);
            c.engine = engines[e];
            run_result r = run_case(&c, 3, 2);
            for (int64_t k = 0; k < a.groups; k++) check_group(&c, &r, 3, k);
            result_free(&r);
            case_free(&c);
        }
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
    if (!hu_dnn_is_there()) skip();
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
    hu_conv_attrs uneven = attrs(8, 3, 1, 1, 1, 1, false);
    uneven.more_h = -2;
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
        {uneven, &image, "more -2"},
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

/* The transposed layer back from the outputs of a convolution of an image h x w. */
static hu_conv_attrs turned(const hu_conv_attrs *a, const product_case *plain) {
    hu_conv_attrs t = *a;
    const hu_product *p = &plain->product;
    t.transposed = true;
    t.out_channels = p->in_c;
    t.extra_h =
        (p->in_h + 2 * a->pad_h + a->more_h - (a->kernel_h - 1) * a->dilation_h - 1) % a->stride_h;
    t.extra_w =
        (p->in_w + 2 * a->pad_w + a->more_w - (a->kernel_w - 1) * a->dilation_w - 1) % a->stride_w;
    return t;
}

/* All three products, bit for bit, by every engine and on two threads. */
static void check_turned(hu_conv_attrs a, int64_t h, int64_t w, int64_t channels) {
    product_case plain = conv_case(&a, h, w, channels);
    hu_conv_attrs t = turned(&a, &plain);
    product_case c = case_turned(&plain, &t);
    const hu_product *p = &plain.product;
    for (int engine = HU_ENGINE_OWN; engine <= (int)last_engine(); engine++) {
        plain.engine = c.engine = (hu_product_engine)engine;
        run_result expected = run_case(&plain, 3, 1), found = run_case(&c, 3, 2);
        assert_same_floats(found.y, expected.dx, SAMPLES * hu_product_in(p));
        assert_same_floats(found.dx, expected.y, SAMPLES * hu_product_out(p));
        assert_same_floats(found.dw, expected.dw, expected.chunks * hu_product_weights(p));
        result_free(&expected);
        result_free(&found);
    }
    case_free(&plain);
}

static void transposed_layers_are_gradients_of_convolutions(void **state) {
    (void)state;
    check_turned(attrs(32, 4, 2, 1, 1, 1, false), 8, 8, 16);  /* twice the size */
    check_turned(attrs(16, 3, 2, 1, 1, 1, false), 14, 14, 9); /* the same with an extra row */
    check_turned(attrs(5, 3, 1, 1, 1, 1, false), 7, 6, 3);
    check_turned(attrs(6, 4, 1, 0, 1, 1, false), 4, 4, 10); /* out of one pixel */
    check_turned(attrs(6, 3, 2, 2, 2, 3, false), 9, 10, 6);
    check_turned(attrs(8, 3, 2, 1, 1, 8, false), 9, 8, 8);
    hu_conv_attrs uneven = attrs(4, 3, 3, 1, 1, 1, false);
    uneven.more_h = 1;
    uneven.more_w = -1;
    uneven.kernel_w = 2;
    check_turned(uneven, 8, 9, 3);
}

/* weights 1 2 3, stride 2, pad 1, extra 1; the input is the unit vector e_2 of 5. */
static void a_known_transposed_row(void **state) {
    (void)state;
    static const float expected[] = {0, 0, 0, 1, 2, 3, 0, 0, 0, 0};
    hu_conv_attrs a = {.out_channels = 1,
                       .kernel_h = 1,
                       .kernel_w = 3,
                       .stride_h = 1,
                       .stride_w = 2,
                       .pad_w = 1,
                       .dilation_h = 1,
                       .dilation_w = 1,
                       .groups = 1,
                       .transposed = true,
                       .extra_w = 1};
    const hu_shape in = {3, {1, 5, 1}};
    product_case c = case_make(&hu_op_conv2d, &a, in,
                               (hu_product){.in_h = 1,
                                            .in_w = 5,
                                            .in_c = 1,
                                            .out_h = 1,
                                            .out_w = 10,
                                            .out_c = 1,
                                            .kernel_h = 1,
                                            .kernel_w = 3,
                                            .groups = 1});
    for (int i = 0; i < 3; i++) c.w[i] = (float)(i + 1);
    for (int i = 0; i < SAMPLES * 5; i++) c.x[i] = i % 5 == 2 ? 1.0f : 0.0f;
    run_result r = run_case(&c, SAMPLES, 1);
    for (int s = 0; s < SAMPLES; s++) assert_same_floats(r.y + s * 10, expected, 10);
    result_free(&r);
    case_free(&c);
}

static void transposed_shapes_are_checked(void **state) {
    (void)state;
    hu_conv_attrs a = attrs(3, 3, 2, 1, 1, 1, false), plain = a;
    hu_shape in = {3, {4, 5, 2}}, out;
    int n_out;
    a.transposed = true;
    assert_int_equal(hu_op_conv2d.shape(&a, 1, &in, &n_out, &out), HU_OK);
    assert_true(out.extent[0] == 7 && out.extent[1] == 9 && out.extent[2] == 3);
    a.extra_w = 2;
    assert_int_equal(hu_op_conv2d.shape(&a, 1, &in, &n_out, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "along W extra 2; expected 0 or more, less than"));
    plain.extra_h = 1;
    assert_int_equal(hu_op_conv2d.shape(&plain, 1, &in, &n_out, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "only transposed layers have it"));
    a.extra_w = 0;
    a.pad_h = 6;
    assert_int_equal(hu_op_conv2d.shape(&a, 1, &in, &n_out, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "leave no output"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposed_layers_are_gradients_of_convolutions),
        cmocka_unit_test(a_known_transposed_row),
        cmocka_unit_test(transposed_shapes_are_checked),
        cmocka_unit_test(dense_kernels_equal_the_reference),
        cmocka_unit_test(strides_and_dilations_equal_the_reference),
        cmocka_unit_test(odd_channels_equal_the_reference),
        cmocka_unit_test(groups_equal_the_reference),
        cmocka_unit_test(wide_padding_equals_the_reference),
        cmocka_unit_test(uneven_padding_equals_the_reference),
        cmocka_unit_test(groups_equal_convolutions_of_their_own),
        cmocka_unit_test(first_layers_need_no_data_gradient),
        cmocka_unit_test(ordinary_layers_avoid_reference_implementations),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
