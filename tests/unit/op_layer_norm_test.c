/* layer_norm against its definition in double; constant rows, rows of one number, epsilons. */
#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 5, CHUNK = 2, ROWS = 6, C = 11 };
static const hu_layer_norm_attrs usual = {.epsilon = 1e-5f};

static void near(double found, double expected, double scale) {
    if (!(fabs(found - expected) <= 2e-7 * scale + 1e-12))
        fail_msg("found %.9g, expected %.17g", found, expected);
}

/* One row [C]: xhat, and the means that dx subtracts. */
typedef struct row {
    double xhat[C], inverse, slope, product;
} row;

static row row_of(const float *x, const float *dy, const float *weight, double epsilon) {
    row r = {.inverse = 0};
    double mean = 0, variance = 0;
    for (int c = 0; c < C; c++) mean += (double)x[c] / C;
    for (int c = 0; c < C; c++) variance += pow((double)x[c] - mean, 2) / C;
    r.inverse = 1 / sqrt(variance + epsilon);
    for (int c = 0; c < C; c++) {
        double g = (double)dy[c] * (double)weight[c];
        r.xhat[c] = ((double)x[c] - mean) * r.inverse;
        r.slope += g / C;
        r.product += g * r.xhat[c] / C;
    }
    return r;
}

static void check_numbers(const hu_layer_norm_attrs *attrs) {
    drive d;
    double weight[C] = {0}, bias[C] = {0};
    hu_shape in = DRIVE_SHAPE(2, 3, C);
    drive_open(&d, &hu_op_layer_norm, attrs, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    for (int p = 0; p < BATCH * ROWS; p++) {
        const float *dy = d.dout[0] + p * C;
        row r = row_of(d.in[0] + p * C, dy, d.param[0], (double)attrs->epsilon);
        for (int c = 0; c < C; c++) {
            double g = (double)d.param[0][c], b = (double)d.param[1][c];
            double dx = r.inverse * (g * (double)dy[c] - r.slope - r.xhat[c] * r.product);
            near((double)d.out[0][p * C + c], g * r.xhat[c] + b, 4);
            near((double)d.din[0][p * C + c], dx, 8 * r.inverse);
            weight[c] += (double)dy[c] * r.xhat[c];
            bias[c] += (double)dy[c];
        }
    }
    for (int c = 0; c < C; c++) near((double)d.dparam[0][c], weight[c], 20);
    for (int c = 0; c < C; c++) near((double)d.dparam[1][c], bias[c], 20);
    drive_close(&d);
}

static void numbers_are_the_definition(void **unused) {
    (void)unused;
    const hu_layer_norm_attrs bert = {.epsilon = 1e-12f}, large = {.epsilon = 0.5f};
    check_numbers(&usual);
    check_numbers(&bert);
    check_numbers(&large);
}

/* Constant rows, and rows of one number: xhat is exactly 0, and the gradient is finite; it grows
 * with 1 / sqrt(epsilon). */
static void constant_rows_give_the_bias(void **unused) {
    (void)unused;
    static const float epsilons[] = {1e-5f, 1e-6f, 1e-12f};
    for (int k = 0; k < 6; k++) {
        const hu_layer_norm_attrs attrs = {.epsilon = epsilons[k / 2]};
        int64_t width = k % 2 ? 1 : C;
        hu_shape in = DRIVE_SHAPE(2, width);
        drive d;
        drive_open(&d, &hu_op_layer_norm, &attrs, 1, &in, BATCH, CHUNK);
        for (int64_t i = 0; i < BATCH * 2 * width; i++) d.in[0][i] = d.in[0][i / width * width];
        drive_forward(&d);
        drive_backward(&d);
        double inverse = 1 / sqrt((double)attrs.epsilon);
        for (int64_t i = 0; i < BATCH * 2 * width; i++) {
            const float *dy = d.dout[0] + i / width * width;
            double mean = 0;
            for (int64_t c = 0; c < width; c++)
                mean += (double)dy[c] * (double)d.param[0][c] / (double)width;
            double g = (double)d.dout[0][i] * (double)d.param[0][i % width];
            assert_true(d.out[0][i] == d.param[1][i % width]);
            near((double)d.din[0][i], inverse * (g - mean), inverse);
        }
        for (int64_t c = 0; c < width; c++) assert_true(d.dparam[0][c] == 0);
        drive_close(&d);
    }
}

/* A NaN stays in its row. */
static void nan_fills_its_row_alone(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(3, C);
    drive_open(&d, &hu_op_layer_norm, &usual, 1, &in, BATCH, CHUNK);
    d.in[0][C + 3] = NAN;
    d.in[0][5 * C] = INFINITY;
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * 3 * C; i++)
        assert_true(isnan(d.out[0][i]) == (i / C == 1 || i / C == 5));
    drive_close(&d);
}

static void wrong_attributes_are_named(void **unused) {
    (void)unused;
    hu_shape in = DRIVE_SHAPE(2, C), scalar = {.rank = 0}, out;
    hu_layer_norm_attrs none = {.epsilon = 0.0f}, endless = {.epsilon = INFINITY};
    int n;
    assert_int_equal(hu_op_layer_norm.shape(&none, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "epsilon 0"));
    assert_int_equal(hu_op_layer_norm.shape(&endless, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    assert_int_equal(hu_op_layer_norm.shape(&usual, 1, &scalar, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_layer_norm.shape(&usual, 1, &in, &n, &out), HU_OK);
    assert_true(hu_shape_equal(&in, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_definition),
        cmocka_unit_test(constant_rows_give_the_bias),
        cmocka_unit_test(nan_fills_its_row_alone),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
