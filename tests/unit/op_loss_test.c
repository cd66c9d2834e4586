/* log_softmax and nll: values, rounded output in the backward pass, counting, wrong labels. */
#include "op_drive.h"

enum { CLASSES = 10, BATCH = 9, CHUNK = 4 };

static void open_nll(drive *d) {
    hu_shape in[2] = {DRIVE_SHAPE(CLASSES), {.rank = 0}};
    drive_open(d, &hu_op_nll, NULL, 2, in, BATCH, CHUNK);
    d->need_din[1] = false;
    for (int s = 0; s < BATCH; s++) {
        d->in[1][s] = (float)s;
        for (int c = 0; c < CLASSES; c++) d->in[0][s * CLASSES + c] = -1.0f - (float)c;
    }
}

static void log_softmax_is_accurate_and_safe(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(CLASSES);
    drive_open(&d, &hu_op_log_softmax, NULL, 1, &in, BATCH, CHUNK);
    for (int c = 0; c < CLASSES; c++) d.in[0][c] = 1e4f * (float)c;
    d.in[0][CLASSES + 3] = NAN;
    drive_forward(&d);
    for (int s = 0; s < BATCH; s++) {
        const float *x = d.in[0] + s * CLASSES, *y = d.out[0] + s * CLASSES;
        double most = -INFINITY, sum = 0;
        for (int c = 0; c < CLASSES; c++) most = fmax(most, (double)x[c]);
        for (int c = 0; c < CLASSES; c++) sum += exp((double)x[c] - most);
        for (int c = 0; c < CLASSES; c++) {
            double expected = (double)x[c] - most - log(sum);
            if (s == 1)
                assert_true(isnan(y[c]));
            else
                assert_true(fabs((double)y[c] - expected) <= 6e-8 * fabs(expected));
        }
    }
    drive_close(&d);
}

/* dx = dy - exp(y) * sum(dy) with whatever y was stored. */
static void log_softmax_backward_uses_the_stored_output(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(CLASSES);
    drive_open(&d, &hu_op_log_softmax, NULL, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    for (int i = 0; i < BATCH * CLASSES; i++) d.out[0][i] = -2.0f;
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) sum += (double)d.dout[0][s * CLASSES + c];
        for (int c = 0; c < CLASSES; c++) {
            double dx = (double)d.dout[0][s * CLASSES + c] - exp(-2.0) * sum;
            assert_true(fabs((double)d.din[0][s * CLASSES + c] - dx) < 1e-6);
        }
    }
    drive_close(&d);
}

static void nll_sums_and_counts(void **unused) {
    (void)unused;
    drive d;
    open_nll(&d);
    float *x = d.in[0];
    x[1 * CLASSES + 1] = -1.0f; /* sample 1: a tie of entries 0 and 1, the first wins: wrong */
    x[2 * CLASSES + 2] = -0.5f; /* sample 2: right */
    x[3 * CLASSES + 3] = 0.0f;  /* sample 3: right but for a NaN */
    x[3 * CLASSES + 9] = NAN;
    drive_forward(&d);
    double sum = 0;
    for (int s = 0; s < BATCH; s++) {
        assert_true(d.out[0][s] == -x[s * CLASSES + s]);
        sum += (double)d.out[0][s];
    }
    assert_true(d.stats[HU_NLL_LOSS_SUM] == sum);
    assert_true(d.stats[HU_NLL_CORRECT] == 2); /* samples 0 and 2 */
    d.training = false;
    drive_forward(&d);
    assert_true(d.stats[HU_NLL_CORRECT] == 2);
    drive_backward(&d);
    for (int i = 0; i < BATCH * CLASSES; i++)
        assert_true(d.din[0][i] == (i % CLASSES == i / CLASSES ? -d.dout[0][i / CLASSES] : 0));
    drive_close(&d);
}

static void labels_that_are_no_class_give_nan(void **unused) {
    (void)unused;
    static const float bad[] = {-1, CLASSES, 0.5f, NAN, INFINITY, 1e30f};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        drive d;
        open_nll(&d);
        d.in[1][5] = bad[k];
        drive_forward(&d);
        drive_backward(&d);
        assert_true(isnan(d.out[0][5]) && isnan(d.stats[HU_NLL_LOSS_SUM]));
        assert_true(d.out[0][4] == 5.0f);
        for (int c = 0; c < CLASSES; c++) assert_true(d.din[0][5 * CLASSES + c] == 0);
        drive_close(&d);
    }
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    hu_shape in[2] = {DRIVE_SHAPE(CLASSES), DRIVE_SHAPE(2)},
             flat[2] = {DRIVE_SHAPE(2, 5), {.rank = 0}};
    hu_shape out;
    int n;
    assert_int_equal(hu_op_nll.shape(NULL, 2, in, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_nll.shape(NULL, 2, flat, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_log_softmax.shape(NULL, 1, &flat[1], &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_softmax_is_accurate_and_safe),
        cmocka_unit_test(log_softmax_backward_uses_the_stored_output),
        cmocka_unit_test(nll_sums_and_counts),
        cmocka_unit_test(labels_that_are_no_class_give_nan),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
