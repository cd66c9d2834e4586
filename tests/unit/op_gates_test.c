/* The parts of recurrent cells: which channels are which gate, what is rounded once, and that the
 * backward passes read what is stored. */
#include "op_drive.h"

enum { BATCH = 5, CHUNK = 2, UNITS = 3 };

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void expect_near(float found, double expected) {
    assert_true(fabs(found - expected) <= 1.2e-7 * fabs(expected) + 1e-30);
}

static void lstm_gates_are_in_the_order_of_torch(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(2, 4 * UNITS);
    drive_open(&d, &hu_op_lstm_gates, NULL, 1, &in, BATCH, CHUNK);
    assert_int_equal(d.info.n_out, 4);
    drive_forward(&d);
    for (int64_t r = 0; r < 2 * BATCH; r++)
        for (int k = 0; k < 4; k++)
            for (int64_t u = 0; u < UNITS; u++) {
                double a = d.in[0][(r * 4 + k) * UNITS + u];
                expect_near(d.out[k][r * UNITS + u], k == 2 ? tanh(a) : sigmoid(a));
            }
    for (int k = 0; k < 4; k++)
        for (int64_t i = 0; i < 2 * BATCH * UNITS; i++) d.out[k][i] = 0.25f;
    drive_backward(&d);
    for (int64_t r = 0; r < 2 * BATCH; r++)
        for (int k = 0; k < 4; k++)
            for (int64_t u = 0; u < UNITS; u++)
                assert_true(d.din[0][(r * 4 + k) * UNITS + u] ==
                            d.dout[k][r * UNITS + u] * (k == 2 ? 0.9375f : 0.1875f));
    drive_close(&d);
}

/* h = n + z (h' - n), n = tanh(x_n + r h_n): the reset comes after the product. */
static void gru_parts_are_in_the_order_of_torch(void **unused) {
    (void)unused;
    drive gates, candidate;
    const hu_shape in[3] = {DRIVE_SHAPE(3 * UNITS), DRIVE_SHAPE(3 * UNITS), DRIVE_SHAPE(UNITS)};
    drive_open(&gates, &hu_op_gru_gates, NULL, 2, in, BATCH, CHUNK);
    drive_open(&candidate, &hu_op_gru_candidate, NULL, 3, in, BATCH, CHUNK);
    drive_forward(&gates);
    drive_forward(&candidate);
    for (int64_t r = 0; r < BATCH; r++)
        for (int64_t u = 0; u < UNITS; u++) {
            const float *x = gates.in[0] + r * 3 * UNITS + u, *h = gates.in[1] + r * 3 * UNITS + u;
            for (int k = 0; k < 2; k++)
                expect_near(gates.out[k][r * UNITS + u],
                            sigmoid((double)(x[k * UNITS] + h[k * UNITS])));
            x = candidate.in[0] + r * 3 * UNITS + u;
            h = candidate.in[1] + r * 3 * UNITS + u;
            double a =
                (float)(x[2 * UNITS] + (double)candidate.in[2][r * UNITS + u] * h[2 * UNITS]);
            expect_near(candidate.out[0][r * UNITS + u], tanh(a));
        }
    drive_backward(&gates);
    drive_backward(&candidate);
    for (int64_t r = 0; r < BATCH; r++)
        for (int j = 0; j < 2; j++)
            for (int64_t u = 0; u < UNITS; u++) {
                assert_true(gates.din[j][(r * 3 + 2) * UNITS + u] == 0);
                assert_true(candidate.din[j][(r * 3 + 0) * UNITS + u] == 0);
                assert_true(candidate.din[j][(r * 3 + 1) * UNITS + u] == 0);
            }
    drive_close(&gates);
    drive_close(&candidate);
}

/* Numbers whose products cancel: two roundings in float32 would leave nothing. */
static void a_sum_of_products_is_rounded_once(void **unused) {
    (void)unused;
    drive d;
    const hu_shape in[4] = {DRIVE_SHAPE(UNITS), DRIVE_SHAPE(UNITS), DRIVE_SHAPE(UNITS),
                            DRIVE_SHAPE(UNITS)};
    drive_open(&d, &hu_op_sum_of_products, NULL, 4, in, BATCH, CHUNK);
    for (int64_t i = 0; i < BATCH * UNITS; i++) {
        d.in[0][i] = d.in[1][i] = 1 + 0x1p-12f;
        d.in[2][i] = -1;
        d.in[3][i] = 1 + 0x1p-11f;
    }
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * UNITS; i++) assert_true(d.out[0][i] == 0x1p-24f);
    drive_close(&d);
    drive_open(&d, &hu_op_blend, NULL, 3, in, BATCH, CHUNK);
    for (int64_t i = 0; i < BATCH * UNITS; i++) {
        d.in[0][i] = 0x1p25f;
        d.in[1][i] = 1;
        d.in[2][i] = i % 2 ? 1.0f : 0.0f;
    }
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * UNITS; i++) assert_true(d.out[0][i] == (i % 2 ? 1 : 0x1p25f));
    drive_close(&d);
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    const hu_shape five[4] = {DRIVE_SHAPE(5), DRIVE_SHAPE(5), DRIVE_SHAPE(5), DRIVE_SHAPE(4)};
    const hu_shape mixed[3] = {DRIVE_SHAPE(6), DRIVE_SHAPE(6), DRIVE_SHAPE(3)};
    hu_shape out[HU_MAX_OUTPUTS];
    int n;
    assert_int_equal(hu_op_lstm_gates.shape(NULL, 1, five, &n, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "found 5 channels, expected a multiple of 4"));
    assert_int_equal(hu_op_gru_gates.shape(NULL, 2, five, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_gru_gates.shape(NULL, 2, mixed + 1, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_gru_candidate.shape(NULL, 3, mixed, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_sum_of_products.shape(NULL, 3, five, &n, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "expected pairs"));
    assert_int_equal(hu_op_sum_of_products.shape(NULL, 4, five, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_blend.shape(NULL, 3, five + 1, &n, out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lstm_gates_are_in_the_order_of_torch),
        cmocka_unit_test(gru_parts_are_in_the_order_of_torch),
        cmocka_unit_test(a_sum_of_products_is_rounded_once),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
