#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_equal_the_reference),
        cmocka_unit_test(images_are_read_as_vectors),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
