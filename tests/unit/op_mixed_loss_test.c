/* Cross entropy of samples mixed of two: beside plain sums, beside the loss of one class, and in
 * evaluations. */
#include "op_drive.h"

#include "op/attributes.h"

enum { CLASSES = 7, BATCH = 9, CHUNK = 4 };
static const hu_row_loss_attrs smoothed = {.ignores = true, .ignored = -1.0f, .smoothing = 0.1f};

static void open_mixed(drive *d, const hu_row_loss_attrs *attrs) {
    hu_shape in[3] = {DRIVE_SHAPE(CLASSES), {.rank = 0}, DRIVE_SHAPE(2)};
    drive_open(d, &hu_op_mixed_cross_entropy, attrs, 3, in, BATCH, CHUNK);
    d->need_din[1] = d->need_din[2] = false;
    for (int s = 0; s < BATCH; s++) {
        d->in[1][s] = (float)(s % CLASSES);
        d->in[2][2 * s] = (float)((3 * s + 1) % CLASSES);
        d->in[2][2 * s + 1] = (float)s / 8.0f;
    }
}

/* -log of the share of class c. */
static double token_loss(const float *x, int c) {
    double sum = 0.0;
    for (int k = 0; k < CLASSES; k++) sum += exp((double)x[k]);
    return log(sum) - (double)x[c];
}

static void losses_are_weighted(void **unused) {
    (void)unused;
    drive d;
    open_mixed(&d, &smoothed);
    d.in[1][5] = -1.0f; /* of no class: not counted */
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++) {
        const float *x = d.in[0] + s * CLASSES, *dx = d.din[0] + s * CLASSES;
        double w = (double)d.in[2][2 * s + 1], loss = 0.0, smooth = (double)0.1f;
        for (int c = 0; c < CLASSES; c++) {
            double wanted = (1.0 - w) * (c == s % CLASSES) + w * (c == (3 * s + 1) % CLASSES);
            wanted = (1.0 - smooth) * wanted + smooth / CLASSES;
            loss += wanted * token_loss(x, c);
            double slope = (double)d.dout[0][s] * (exp(-token_loss(x, c)) - wanted);
            assert_true(fabs((double)dx[c] - (s == 5 ? 0.0 : slope)) <
                        1e-6 * fabs((double)d.dout[0][s]) + 1e-9);
        }
        assert_true(fabs((double)d.out[0][s] - (s == 5 ? 0.0 : loss)) < 1e-6 * loss + 1e-9);
    }
    drive_close(&d);
}

/* With nothing mixed in it is softmax_cross_entropy, to the bit; likewise in evaluations. */
static void one_class_is_the_usual_loss(void **unused) {
    (void)unused;
    for (int training = 0; training < 2; training++) {
        drive a, b;
        hu_shape in[2] = {DRIVE_SHAPE(CLASSES), {.rank = 0}};
        open_mixed(&a, &smoothed);
        drive_open(&b, &hu_op_softmax_cross_entropy, &smoothed, 2, in, BATCH, CHUNK);
        a.training = b.training = training;
        for (int s = 0; s < BATCH; s++) {
            b.in[1][s] = a.in[1][s];
            if (training) a.in[2][2 * s + 1] = 0.0f;
            memcpy(b.in[0] + s * CLASSES, a.in[0] + s * CLASSES, CLASSES * sizeof(float));
        }
        drive_forward(&a);
        drive_forward(&b);
        assert_memory_equal(a.out[0], b.out[0], BATCH * sizeof(float));
        drive_close(&a);
        drive_close(&b);
    }
}

static void no_class_is_no_loss(void **unused) {
    (void)unused;
    drive d;
    open_mixed(&d, NULL);
    d.in[1][1] = 7.0f;
    d.in[2][2 * 2] = -1.0f;
    drive_forward(&d);
    assert_true(isnan(d.out[0][1]) && isnan(d.out[0][2]) && isfinite(d.out[0][3]));
    drive_close(&d);
}

static void shapes_are_checked(void **unused) {
    (void)unused;
    hu_shape in[3] = {DRIVE_SHAPE(CLASSES), {.rank = 0}, DRIVE_SHAPE(3)}, out;
    int n;
    assert_int_equal(hu_op_mixed_cross_entropy.shape(NULL, 3, in, &n, &out), HU_ERR_SHAPE);
    in[2].extent[0] = 2;
    assert_int_equal(hu_op_mixed_cross_entropy.shape(NULL, 3, in, &n, &out), HU_OK);
    assert_int_equal(out.rank, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_weighted),
        cmocka_unit_test(one_class_is_the_usual_loss),
        cmocka_unit_test(no_class_is_no_loss),
        cmocka_unit_test(shapes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
