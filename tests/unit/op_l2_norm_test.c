/* l2_norm against its definition in double, and what half precision could not add. */
#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 3, CHUNK = 2, PLACES = 4, C = 9 };
static const hu_l2_norm_attrs usual = {.scale = 20.0f, .epsilon = 1e-10f};

static void open_norm(drive *d) {
    hu_shape in = DRIVE_SHAPE(2, 2, C);
    drive_open(d, &hu_op_l2_norm, &usual, 1, &in, BATCH, CHUNK);
}

static double length(const float *x) {
    double sum = 0;
    for (int c = 0; c < C; c++) sum += (double)x[c] * (double)x[c];
    return sqrt(sum + (double)usual.epsilon);
}

static void near(double found, double expected, double scale) {
    if (!(fabs(found - expected) <= 1e-6 * scale + 1e-12))
        fail_msg("found %.9g, expected %.17g", found, expected);
}

static void numbers_are_the_definition(void **unused) {
    (void)unused;
    drive d;
    double weights[C] = {0};
    open_norm(&d);
    drive_forward(&d);
    drive_backward(&d);
    for (int p = 0; p < BATCH * PLACES; p++) {
        const float *x = d.in[0] + p * C, *dy = d.dout[0] + p * C;
        double n = length(x), along = 0;
        for (int c = 0; c < C; c++) along += (double)(d.param[0][c] * dy[c]) * (double)x[c];
        for (int c = 0; c < C; c++) {
            double g = (double)d.param[0][c];
            near((double)d.out[0][p * C + c], g * (double)x[c] / n, fabs(g));
            near((double)d.din[0][p * C + c],
                 (g * (double)dy[c] - (double)x[c] * along / (n * n)) / n, 40 / n);
            weights[c] += (double)dy[c] * (double)x[c] / n;
        }
    }
    for (int c = 0; c < C; c++) near((double)d.dparam[0][c], weights[c], 1);
    drive_close(&d);
}

static void large_and_zero_places_stay_finite(void **unused) {
    (void)unused;
    drive d;
    open_norm(&d);
    for (int c = 0; c < C; c++) d.in[0][c] = 3e38f, d.in[0][C + c] = 0.0f, d.param[0][c] = 20.0f;
    drive_forward(&d);
    for (int c = 0; c < C; c++) {
        near((double)d.out[0][c], 20.0 / sqrt(C), 20);
        assert_true(d.out[0][C + c] == 0.0f);
    }
    drive_close(&d);
}

static void lengths_that_may_be_zero_are_refused(void **unused) {
    (void)unused;
    hu_shape in = DRIVE_SHAPE(2, C), out;
    hu_l2_norm_attrs none = {.scale = 1.0f, .epsilon = 0.0f};
    int n;
    assert_int_equal(hu_op_l2_norm.shape(&none, 1, &in, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_l2_norm.shape(&usual, 1, &in, &n, &out), HU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_definition),
        cmocka_unit_test(large_and_zero_places_stay_finite),
        cmocka_unit_test(lengths_that_may_be_zero_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
