/* softmax along every axis, bit for bit from its definition; and as attention's weights have it. */
#include "page_sums.h"

#include "base/elementary.h"
#include "op/attributes.h"

enum { BATCH = 5, MOST = 512 };

/* The numbers of one row: n of them, `step` apart. */
static void check_row(const drive *d, int64_t at, int64_t n, int64_t step) {
    double most = (double)d->in[0][at], sum = 0, along = 0, power[MOST];
    for (int64_t i = 0; i < n; i++) most = fmax(most, (double)d->in[0][at + i * step]);
    for (int64_t i = 0; i < n; i++) {
        power[i] = hu_exp((double)d->in[0][at + i * step] - most);
        sum += power[i];
    }
    for (int64_t i = 0; i < n; i++) {
        float y = (float)(power[i] / sum);
        same_bits("y", 1, d->out[0] + at + i * step, &y);
        along += (double)y * (double)d->dout[0][at + i * step];
    }
    for (int64_t i = 0; i < n; i++) {
        double y = (double)d->out[0][at + i * step], dy = (double)d->dout[0][at + i * step];
        float dx = (float)(y * (dy - along));
        same_bits("dx", 1, d->din[0] + at + i * step, &dx);
    }
}

static void check(const hu_shape *in, int64_t told, int64_t chunk) {
    const hu_softmax_attrs attrs = {{1, {told}}};
    int axis = (int)(told < 0 ? told + in->rank : told);
    int64_t n = in->extent[axis], step = 1, rows = 0;
    drive d;
    drive_open(&d, &hu_op_softmax, &attrs, 1, in, BATCH, chunk);
    assert_true(hu_shape_equal(&d.out_shape[0], in));
    drive_forward(&d);
    drive_backward(&d);
    for (int i = axis + 1; i < in->rank; i++) step *= in->extent[i];
    /* Rows begin where the place along the axis is 0. */
    for (int64_t at = 0; at < drive_in_elements(&d, 0); at++)
        if (at / step % n == 0) {
            check_row(&d, at, n, step);
            rows++;
        }
    assert_int_equal(rows * n, drive_in_elements(&d, 0));
    drive_close(&d);
}

static void rows_of_every_axis_are_the_definition(void **unused) {
    (void)unused;
    const hu_shape shapes[] = {DRIVE_SHAPE(17), DRIVE_SHAPE(3, 70), DRIVE_SHAPE(5, 131),
                               DRIVE_SHAPE(4, 3, 9), DRIVE_SHAPE(2, 19, 2, 3)};
    for (int s = 0; s < 5; s++)
        for (int64_t axis = -shapes[s].rank; axis < shapes[s].rank; axis++)
            for (int64_t chunk = 1; chunk <= BATCH; chunk += 2) check(&shapes[s], axis, chunk);
}

/* The last axis is usual, and its bits are those of attention's weights. */
static void the_last_axis_is_that_of_attention(void **unused) {
    (void)unused;
    const hu_softmax_attrs usual = {{0, {0}}};
    const hu_attention_mask_attrs all = {false, false};
    const hu_shape in = DRIVE_SHAPE(2, 9, 33);
    drive a, b;
    drive_open(&a, &hu_op_softmax, &usual, 1, &in, BATCH, 2);
    drive_open(&b, &hu_op_attention_weights, &all, 1, &in, BATCH, 2);
    drive_forward(&a);
    drive_forward(&b);
    drive_backward(&a);
    drive_backward(&b);
    same_bits("y", drive_out_elements(&a, 0), a.out[0], b.out[0]);
    same_bits("dx", drive_in_elements(&a, 0), a.din[0], b.din[0]);
    drive_close(&a);
    drive_close(&b);
}

/* Along the first axis: a NaN fills its row, and no other. */
static void nan_fills_its_row_alone(void **unused) {
    (void)unused;
    const hu_softmax_attrs first = {{1, {0}}};
    const hu_shape in = DRIVE_SHAPE(4, 6);
    drive d;
    drive_open(&d, &hu_op_softmax, &first, 1, &in, 2, 1);
    d.in[0][6 + 5] = NAN;
    drive_forward(&d);
    for (int64_t i = 0; i < 48; i++) assert_true(isnan(d.out[0][i]) == (i < 24 && i % 6 == 5));
    drive_close(&d);
}

static void wrong_axes_are_named(void **unused) {
    (void)unused;
    const hu_softmax_attrs third = {{1, {2}}}, two = {{2, {0, 1}}}, usual = {{0, {0}}},
                           first = {{1, {-2}}};
    const hu_shape in = DRIVE_SHAPE(3, 4), scalar = {.rank = 0};
    hu_shape out;
    int n;
    assert_int_equal(hu_op_softmax.shape(&third, 1, &in, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "softmax: axis: found 2, and an input of 2 extents"));
    assert_int_equal(hu_op_softmax.shape(&two, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    assert_int_equal(hu_op_softmax.shape(&usual, 1, &scalar, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "one number without extents"));
    assert_true(hu_keeps_rows(&hu_op_softmax, &usual, 2));
    assert_false(hu_keeps_rows(&hu_op_softmax, &first, 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_axis_are_the_definition),
        cmocka_unit_test(the_last_axis_is_that_of_attention),
        cmocka_unit_test(nan_fills_its_row_alone),
        cmocka_unit_test(wrong_axes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
