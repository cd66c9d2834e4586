/* Local response normalisation against its definition in double, and known answers. */
#include <stdlib.h>

#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 3, CHUNK = 2, PLACES = 4, C = 9 };
static const hu_local_norm_attrs caffe = {.size = 5, .alpha = 1e-4f, .beta = 0.75f, .k = 1.0f};

static void open_norm(drive *d, const hu_local_norm_attrs *a) {
    hu_shape in = DRIVE_SHAPE(2, 2, C);
    drive_open(d, &hu_op_local_norm, a, 1, &in, BATCH, CHUNK);
}

/* s of channel c of one place; channels that are not there are zeros. */
static double scale(const hu_local_norm_attrs *a, const float *x, int64_t c) {
    double sum = 0;
    for (int64_t i = c - a->size / 2; i <= c + a->size / 2; i++)
        if (i >= 0 && i < C) sum += (double)x[i] * (double)x[i];
    return (double)a->k + (double)a->alpha * sum / (double)a->size;
}

static void assert_near(float found, double expected) {
    if (!(fabs((double)found - expected) <= 6.1e-8 * fabs(expected) + 1e-12))
        fail_msg("found %.9g, expected %.17g", (double)found, expected);
}

/* Both formulas with pow of libm: what differs is the last rounding. */
static void numbers_are_the_definition(void **unused) {
    (void)unused;
    static const hu_local_norm_attrs forms[] = {{5, 1e-4f, 0.75f, 1.0f},
                                                {5, 3.0f, 0.75f, 2.0f},
                                                {1, 0.5f, 1.0f, 1.0f},
                                                {3, 2.0f, 0.3f, 0.5f},
                                                {25, 1.0f, 0.75f, 1.0f}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        const hu_local_norm_attrs *a = &forms[f];
        double b = (double)a->beta, factor = 2 * (double)a->alpha * b / (double)a->size;
        drive d;
        open_norm(&d, a);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t p = 0; p < BATCH * PLACES; p++) {
            const float *x = d.in[0] + p * C, *dy = d.dout[0] + p * C;
            for (int64_t c = 0; c < C; c++) {
                double s = scale(a, x, c), sum = 0;
                assert_near(d.out[0][p * C + c], (double)x[c] * pow(s, -b));
                for (int64_t i = 0; i < C; i++)
                    if (llabs(i - c) <= a->size / 2)
                        sum += (double)dy[i] * (double)x[i] * pow(scale(a, x, i), -b - 1);
                double expected = (double)dy[c] * pow(s, -b) - factor * (double)x[c] * sum;
                if (fabs((double)d.din[0][p * C + c] - expected) > 1e-6 * (1 + fabs(expected)))
                    fail_msg("form %zu: %.9g, expected %.17g", f, (double)d.din[0][p * C + c],
                             expected);
            }
        }
        drive_close(&d);
    }
}

/* Five ones: the middle is 1.0001^-0.75, the ends see three of them, divided by five. */
static void known_answers(void **unused) {
    (void)unused;
    hu_shape in = DRIVE_SHAPE(5);
    drive d;
    drive_open(&d, &hu_op_local_norm, &caffe, 1, &in, 1, 1);
    for (int i = 0; i < 5; i++) d.in[0][i] = 1.0f;
    drive_forward(&d);
    assert_near(d.out[0][2], 0.9999250065622813);
    assert_near(d.out[0][0], pow(1.00006, -0.75));
    d.in[0][1] = 3e38f;
    d.in[0][4] = NAN;
    drive_forward(&d);
    assert_true(d.out[0][1] > 0.0f && d.out[0][0] == 0.0f && isnan(d.out[0][4]));
    drive_close(&d);
}

static void impossible_windows_are_refused(void **unused) {
    (void)unused;
    static const hu_local_norm_attrs bad[] = {{0, 1.0f, 0.75f, 1.0f},
                                              {4, 1.0f, 0.75f, 1.0f},
                                              {5, -1.0f, 0.75f, 1.0f},
                                              {5, 1.0f, 0.75f, 0.0f},
                                              {5, 1.0f, NAN, 1.0f}};
    hu_shape in = DRIVE_SHAPE(2, 2, C), out;
    int n;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hu_op_local_norm.shape(&bad[i], 1, &in, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_local_norm.shape(&caffe, 1, &in, &n, &out), HU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_definition),
        cmocka_unit_test(known_answers),
        cmocka_unit_test(impossible_windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
