#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/attributes.h"
#include "op_product.h"

static product_case linear_case(const hu_linear_attrs *a, hu_shape in) {
    return case_make(&hu_op_linear, a, in, hu_product_linear(a, &in));
}

static void check_linear(int64_t out, bool has_bias, hu_shape in) {
    hu_linear_attrs a = {.out_features = out, .has_bias = has_bias};
    product_case c = linear_case(&a, in);
    check_case(&c);
    case_free(&c);
}

static void vectors_equal_the_reference(void **state) {
    (void)state;
    check_linear(10, true, (hu_shape){1, {64}});
    check_linear(10, false, (hu_shape){1, {64}});
    check_linear(100, true, (hu_shape){1, {33}});
    check_linear(1, true, (hu_shape){1, {1}});
    check_linear(7, false, (hu_shape){1, {513}});
    check_linear(256, true, (hu_shape){1, {128}});
}

static void images_are_read_as_vectors(void **state) {
    (void)state;
    check_linear(20, true, (hu_shape){3, {7, 5, 3}});
    check_linear(32, false, (hu_shape){3, {4, 4, 16}});
    check_linear(3, true, (hu_shape){0, {0}});
}

/* Every row has the same weights: the bits of a 1x1 convolution on [rows, 1, C]. */
static void check_rows(int64_t out, bool has_bias, hu_shape in) {
    int64_t inputs = in.extent[in.rank - 1], rows = hu_shape_elements(&in) / inputs;
    hu_linear_attrs a = {.out_features = out, .has_bias = has_bias, .rows = true};
    hu_conv_attrs conv = {.out_channels = out,
                          .kernel_h = 1,
                          .kernel_w = 1,
                          .stride_h = 1,
                          .stride_w = 1,
                          .dilation_h = 1,
                          .dilation_w = 1,
                          .groups = 1,
                          .has_bias = has_bias};
    hu_shape image = {3, {rows, 1, inputs}};
    product_case c = linear_case(&a, in);
    product_case other = case_make(&hu_op_conv2d, &conv, image, hu_product_conv2d(&conv, &image));
    assert_true(c.out.rank == in.rank && c.out.extent[in.rank - 1] == out);
    assert_true(c.param[0].extent[0] == out && c.param[0].extent[1] == inputs);
    check_case(&c);
    for (int engine = HU_ENGINE_OWN; engine <= (int)last_engine(); engine++) {
        c.engine = other.engine = (hu_product_engine)engine;
        run_result found = run_case(&c, 3, 2), expected = run_case(&other, 3, 1);
        assert_same_floats(found.y, expected.y, SAMPLES * hu_product_out(&c.product));
        assert_same_floats(found.dx, expected.dx, SAMPLES * hu_product_in(&c.product));
        assert_same_floats(found.dw, expected.dw, found.chunks * out * inputs);
        assert_same_floats(found.db, expected.db, found.chunks * out);
        result_free(&found);
        result_free(&expected);
    }
    case_free(&c);
    case_free(&other);
}

static void rows_share_their_weights(void **state) {
    (void)state;
    check_rows(10, true, (hu_shape){2, {5, 64}});
    check_rows(33, false, (hu_shape){2, {7, 12}});
    check_rows(6, true, (hu_shape){3, {4, 3, 5}});
    check_rows(40, true, (hu_shape){2, {300, 24}});
    check_rows(9, false, (hu_shape){1, {31}});
    check_rows(1, true, (hu_shape){2, {1, 1}});
}

/* The weight gradients of a transposed case become those of its plain one, chunk by chunk. */
static void turn_gradients(const product_case *plain, run_result *r) {
    int64_t in = plain->product.in_c, out = plain->product.out_c;
    float *turned = zeroed((size_t)(r->chunks * in * out), sizeof *turned);
    for (int64_t i = 0; i < r->chunks; i++)
        transpose(in, out, r->dw + i * in * out, turned + i * in * out);
    hu_free(r->dw);
    r->dw = turned;
}

/* Right numbers; y and dx have the same terms in the same order as the plain layer's. */
static void check_transposed(const product_case *plain, const product_case *c, bool same_bits) {
    const hu_product *p = &plain->product;
    for (int64_t chunk = 3; chunk <= SAMPLES; chunk += 5) {
        run_result expected = run_case(plain, chunk, 1), found = run_case(c, chunk, 2);
        turn_gradients(plain, &found);
        compare_with_reference(plain, &found, chunk);
        if (same_bits && !p->has_bias)
            assert_same_floats(found.y, expected.y, SAMPLES * hu_product_out(p));
        if (same_bits) assert_same_floats(found.dx, expected.dx, SAMPLES * hu_product_in(p));
        if (same_bits) assert_same_floats(found.db, expected.db, found.chunks * p->out_c);
        result_free(&expected);
        result_free(&found);
    }
    product_case added = *c;
    added.adds = true;
    run_result sum = run_case(&added, 3, 1);
    turn_gradients(plain, &sum);
    sum.chunks = 1;
    compare_with_reference(plain, &sum, SAMPLES);
    result_free(&sum);
}

static void transposed_weights_give_the_same_layer(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{64, 10}, {33, 100}, {1, 1}, {513, 7}, {16, 256}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        hu_linear_attrs a = {.out_features = sizes[i / 2][1], .has_bias = i % 2}, t = a;
        t.transposed = true;
        product_case plain = linear_case(&a, (hu_shape){1, {sizes[i / 2][0]}});
        product_case c = case_transposed(&plain, &t);
        check_transposed(&plain, &c, true);
        c.engine = last_engine();
        check_transposed(&plain, &c, false);
        hu_free(c.w);
        case_free(&plain);
    }
}

/* The same of rows: [T, in] -> [T, out] with weights [in, out]. */
static void transposed_weights_give_the_same_rows(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{5, 64, 10}, {7, 33, 40}, {1, 1, 1}, {3, 16, 96}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int64_t *size = sizes[i / 2];
        hu_linear_attrs a = {.out_features = size[2], .has_bias = i % 2, .rows = true}, t = a;
        t.transposed = true;
        product_case plain = linear_case(&a, (hu_shape){2, {size[0], size[1]}});
        product_case c = case_transposed(&plain, &t);
        check_transposed(&plain, &c, true);
        hu_free(c.w);
        case_free(&plain);
    }
}

static void failing_allocations_leave_nothing(void **state) {
    (void)state;
    hu_linear_attrs a = {.out_features = 10, .has_bias = true};
    product_case c = linear_case(&a, (hu_shape){1, {64}});
    check_allocation_failures(&c);
    case_free(&c);
}

static void wrong_attributes_are_named(void **state) {
    (void)state;
    hu_linear_attrs none = {.out_features = 0}, huge = {.out_features = INT64_MAX};
    hu_shape in = {1, {64}}, out[HU_MAX_OUTPUTS];
    int n_out;
    assert_int_equal(hu_op_linear.shape(&none, 1, &in, &n_out, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "0 output features"));
    assert_int_equal(hu_op_linear.shape(&huge, 1, &in, &n_out, out), HU_ERR_SHAPE);
    hu_linear_attrs rows = {.out_features = 3, .rows = true};
    hu_shape scalar = {0, {0}};
    assert_int_equal(hu_op_linear.shape(&rows, 1, &scalar, &n_out, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "at least 1 extents"));
    rows.out_features = INT64_MAX / 32;
    assert_int_equal(hu_op_linear.shape(&rows, 1, &in, &n_out, out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_equal_the_reference),
        cmocka_unit_test(images_are_read_as_vectors),
        cmocka_unit_test(rows_share_their_weights),
        cmocka_unit_test(transposed_weights_give_the_same_layer),
        cmocka_unit_test(transposed_weights_give_the_same_rows),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
