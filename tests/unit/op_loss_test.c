/* log_softmax and the losses: values beside float64, exact order of the sums, counting, ignored and
 * wrong targets, NaN. */
#include "op_drive.h"

#include <float.h>

#include "base/elementary.h"
#include "op/attributes.h"

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
    assert_true(d.stats[HU_LOSS_SUM] == sum);
    assert_true(d.stats[HU_LOSS_METRIC] == 2); /* samples 0 and 2 */
    d.training = false;
    drive_forward(&d);
    assert_true(d.stats[HU_LOSS_METRIC] == 2);
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
        assert_true(isnan(d.out[0][5]) && isnan(d.stats[HU_LOSS_SUM]));
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

/* ---- rows ---- */

enum { ROWS = 6, FEW_CLASSES = 5, MANY_CLASSES = 300 };
static int row_classes = FEW_CLASSES;
static const float IGNORED = 255;
static const hu_row_loss_attrs ignoring = {.ignores = true, .ignored = 255};

/* Every third row of a [2, 3] map is ignored, all of sample 4, none of sample 5. */
static void open_rows(drive *d, const hu_op *op, const hu_row_loss_attrs *attrs) {
    hu_shape in[2] = {DRIVE_SHAPE(2, 3, row_classes), DRIVE_SHAPE(2, 3)};
    drive_open(d, op, attrs, 2, in, BATCH, CHUNK);
    d->need_din[1] = false;
    for (int r = 0; r < BATCH * ROWS; r++) {
        bool ignored = r / ROWS == 4 || (r / ROWS != 5 && r % 3 == 0);
        d->in[1][r] = ignored ? IGNORED : (float)(r * 3 % row_classes);
    }
}

/* The definition: rows in order, in double, one rounding per sample; then samples in order within a
 * chunk, and chunks in the tree. */
typedef struct row_sums {
    double sample[BATCH], loss, correct;
    int64_t counted;
} row_sums;

static double log_softmax_of(const float *x, int64_t c) {
    double most = -DBL_MAX, sum = 0;
    for (int k = 0; k < row_classes; k++) most = fmax(most, (double)x[k]);
    for (int k = 0; k < row_classes; k++) sum += hu_exp((double)x[k] - most);
    return (double)x[c] - most - hu_log(sum);
}

static bool is_correct(const float *x, int64_t c) {
    int64_t best = 0;
    for (int k = 1; k < row_classes; k++)
        if (x[k] > x[best]) best = k;
    return best == c;
}

static row_sums rows_by_definition(const drive *d, bool is_logits) {
    row_sums s = {.loss = 0};
    double chunk[3] = {0};
    for (int r = 0; r < BATCH * ROWS; r++) {
        const float *x = d->in[0] + r * row_classes;
        int64_t c = (int64_t)d->in[1][r];
        if (d->in[1][r] == IGNORED) continue;
        s.sample[r / ROWS] -= is_logits ? log_softmax_of(x, c) : (double)x[c];
        s.correct += is_correct(x, c);
        s.counted++;
    }
    for (int i = 0; i < BATCH; i++) chunk[i / CHUNK] += s.sample[i];
    s.loss = (chunk[0] + chunk[1]) + chunk[2];
    return s;
}

static void check_counted(const drive *d, int64_t counted, uint64_t wrong) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    assert_true(d->op->check_target(&d->info, BATCH, d->in[1], &counts) == counted);
    assert_true(counts.elements == (uint64_t)drive_in_elements(d, 1));
    assert_true(counts.nan == wrong);
}

/* Makes some rows right, and gives some of them an equal number in front of their class. */
static void plant_right_rows(const drive *d) {
    for (int r = 0; r < BATCH * ROWS; r++) {
        int class = r * 3 % row_classes;
        float *x = d->in[0] + r * row_classes;
        if (r % 4 == 1) x[class] = 9;
        if (r % 8 == 5 && class > 0) x[class - 1] = 9;
    }
}

static void check_row_loss(const hu_op *op, bool is_logits) {
    drive d;
    open_rows(&d, op, &ignoring);
    plant_right_rows(&d);
    drive_forward(&d);
    row_sums expected = rows_by_definition(&d, is_logits);
    for (int s = 0; s < BATCH; s++) assert_true(d.out[0][s] == (float)expected.sample[s]);
    assert_true(d.stats[HU_LOSS_SUM] == expected.loss);
    assert_true(d.stats[HU_LOSS_METRIC] == expected.correct);
    assert_true(d.out[0][4] == 0 && !signbit(d.out[0][4]));
    check_counted(&d, expected.counted, 0);
    drive_backward(&d);
    for (int i = 0; i < BATCH * ROWS * row_classes; i++) {
        int r = i / row_classes;
        const float *x = d.in[0] + r * row_classes;
        double dy = (double)d.dout[0][r / ROWS], target = (double)d.in[1][r] == i % row_classes;
        double softmax = is_logits ? hu_exp(log_softmax_of(x, i % row_classes)) : 0;
        bool ignored = d.in[1][r] == IGNORED;
        assert_true(d.din[0][i] == (ignored ? 0 : (float)(dy * (softmax - target))));
        if (ignored) assert_false(signbit(d.din[0][i]));
    }
    drive_close(&d);
}

static void rows_have_losses_of_their_own(void **unused) {
    (void)unused;
    check_row_loss(&hu_op_nll, false);
    check_row_loss(&hu_op_softmax_cross_entropy, true);
    row_classes = MANY_CLASSES; /* the logs of wide rows are kept for the backward pass */
    check_row_loss(&hu_op_nll, false);
    check_row_loss(&hu_op_softmax_cross_entropy, true);
    row_classes = FEW_CLASSES;
}

/* Three classes whose log-probabilities are log of 1/2, 1/4 and 1/4, the class the second one, a
 * fifth of the loss that of all: by hand. */
static void smoothed_rows_are_as_by_hand(void **unused) {
    (void)unused;
    static const hu_row_loss_attrs fifth = {.smoothing = 0.2f};
    const hu_op *const ops[] = {&hu_op_nll, &hu_op_softmax_cross_entropy};
    const hu_shape in[2] = {DRIVE_SHAPE(3), {.rank = 0}};
    const double log2 = 0.69314718055994531, share[3] = {0.5, 0.25, 0.25};
    for (int k = 0; k < 2; k++) {
        drive d;
        drive_open(&d, ops[k], &fifth, 2, in, BATCH, CHUNK);
        d.need_din[1] = false;
        for (int i = 0; i < BATCH * 3; i++) d.in[0][i] = (float)((i % 3 ? -2 : -1) * log2);
        for (int s = 0; s < BATCH; s++) d.in[1][s] = 1;
        drive_forward(&d);
        drive_backward(&d);
        double expected = 0.8 * 2 * log2 + 0.2 * (1 + 2 + 2) * log2 / 3;
        for (int i = 0; i < BATCH * 3; i++) {
            double dy = (double)d.dout[0][i / 3], target = 0.2 / 3 + (i % 3 == 1 ? 0.8 : 0);
            double slope = k ? share[i % 3] - target : -target;
            assert_true(fabs((double)d.out[0][i / 3] - expected) < 1e-6);
            assert_true(fabs((double)d.din[0][i] - dy * slope) < 1e-6 * fabs(dy));
        }
        assert_true(d.stats[HU_LOSS_METRIC] == 0);
        drive_close(&d);
    }
}

/* Ignored rows stay without loss and gradient; an evaluation counts the class alone. */
static void smoothing_is_of_counted_rows_in_training(void **unused) {
    (void)unused;
    static const hu_row_loss_attrs both = {.ignores = true, .ignored = 255, .smoothing = 0.3f};
    const hu_op *const ops[] = {&hu_op_nll, &hu_op_softmax_cross_entropy};
    for (int k = 0; k < 2; k++) {
        drive plain, d;
        open_rows(&plain, ops[k], &ignoring);
        open_rows(&d, ops[k], &both);
        drive_forward(&plain);
        drive_forward(&d);
        drive_backward(&d);
        assert_true(d.out[0][4] == 0 && d.out[0][5] != plain.out[0][5]);
        for (int i = 0; i < BATCH * ROWS * row_classes; i++)
            assert_true((d.din[0][i] == 0) == (d.in[1][i / row_classes] == IGNORED));
        d.training = plain.training = false;
        drive_forward(&plain);
        drive_forward(&d);
        assert_memory_equal(d.out[0], plain.out[0], BATCH * sizeof(float));
        drive_close(&plain);
        drive_close(&d);
    }
    const hu_row_loss_attrs wrong = {.smoothing = 1.5f};
    const hu_shape in[2] = {DRIVE_SHAPE(3), {.rank = 0}};
    hu_shape out;
    int n;
    assert_int_equal(hu_op_nll.shape(&wrong, 2, in, &n, &out), HU_ERR_ARGUMENT);
    assert_string_equal(hu_last_error(), "nll: smoothing: found 1.5, expected 0 to 1");
}

/* log_softmax and nll, unrounded between: the same loss; gradients up to the rounding between. */
static void one_op_equals_two(void **unused) {
    (void)unused;
    drive one, first, second;
    hu_shape logits = DRIVE_SHAPE(2, 3, row_classes);
    open_rows(&one, &hu_op_softmax_cross_entropy, &ignoring);
    open_rows(&second, &hu_op_nll, &ignoring);
    drive_open(&first, &hu_op_log_softmax, NULL, 1, &logits, BATCH, CHUNK);
    size_t bytes = (size_t)drive_in_elements(&one, 0) * sizeof(float);
    memcpy(one.dout[0], second.dout[0], BATCH * sizeof(float));
    drive_forward(&first);
    memcpy(second.in[0], first.out[0], bytes);
    drive_forward(&one);
    drive_forward(&second);
    drive_backward(&one);
    drive_backward(&second);
    memcpy(first.dout[0], second.din[0], bytes);
    drive_backward(&first);
    for (int s = 0; s < BATCH; s++)
        assert_true(fabsf(one.out[0][s] - second.out[0][s]) <= 4e-7f * one.out[0][s]);
    assert_true(one.stats[HU_LOSS_METRIC] == second.stats[HU_LOSS_METRIC]);
    for (int64_t i = 0; i < drive_in_elements(&one, 0); i++)
        assert_true(fabsf(one.din[0][i] - first.din[0][i]) <= 1e-6f);
    drive_close(&one);
    drive_close(&first);
    drive_close(&second);
}

/* A target that is no class makes NaN of its sample's loss, and is counted; cross-entropy gives the
 * gradient of its row NaN as well. Without an ignored value 255 is such a target. */
static void wrong_rows_are_counted(void **unused) {
    (void)unused;
    static const float bad[] = {-1, FEW_CLASSES, 0.5f, NAN, INFINITY, 1e30f};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        drive d;
        open_rows(&d, &hu_op_softmax_cross_entropy, &ignoring);
        row_sums all = rows_by_definition(&d, true);
        d.in[1][5 * ROWS + 1] = bad[k];
        drive_forward(&d);
        drive_backward(&d);
        check_counted(&d, all.counted, 1);
        assert_true(isnan(d.out[0][5]) && isnan(d.stats[HU_LOSS_SUM]));
        for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
            assert_true(!isnan(d.din[0][i]) == (i / row_classes != 5 * ROWS + 1));
        drive_close(&d);
    }
    drive d;
    open_rows(&d, &hu_op_nll, NULL);
    check_counted(&d, BATCH * ROWS, ROWS + (BATCH - 2) * 2);
    drive_close(&d);
}

static void extreme_logits_stay_finite(void **unused) {
    (void)unused;
    drive d;
    open_rows(&d, &hu_op_softmax_cross_entropy, NULL);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) d.in[0][i] = i % 2 ? 3e38f : -3e38f;
    for (int r = 0; r < BATCH * ROWS; r++) d.in[1][r] = 1;
    d.in[0][row_classes + 2] = NAN;
    drive_forward(&d);
    drive_backward(&d);
    assert_true(isnan(d.out[0][0]) && isfinite(d.stats[HU_LOSS_METRIC]));
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
        assert_true(isnan(d.din[0][i]) == (i / row_classes == 1));
    drive_close(&d);
}

/* ---- elements ---- */

enum { ELEMENTS = 14 };

static void open_elements(drive *d, const hu_op *op) {
    hu_shape in[2] = {DRIVE_SHAPE(2, 7), DRIVE_SHAPE(2, 7)};
    drive_open(d, op, NULL, 2, in, BATCH, CHUNK);
    for (int i = 0; i < BATCH * ELEMENTS; i++) {
        d->in[0][i] *= i % 5 ? 1.0f : 40.0f;
        d->in[1][i] = i % 7 == 0 ? 0 : i % 7 == 1 ? 1 : 0.5f + 0.1f * (float)(i % 5 - 2);
    }
}

static double mse_value(double x, double t) {
    return (x - t) * (x - t);
}

static double bce_value(double x, double t) {
    return fmax(x, 0) - x * t + hu_log1p(hu_exp(-fabs(x)));
}

static double mse_slope(double x, double t) {
    return 2 * (x - t);
}

static double bce_slope(double x, double t) {
    return 1 / (1 + hu_exp(-x)) - t;
}

static double right_side(double x, double t) {
    return (x > 0) == (t > 0.5);
}

/* Elements in order, in double, one rounding per sample or gradient. */
static void check_element_loss(const hu_op *op, double (*value)(double, double),
                               double (*slope)(double, double), double (*metric)(double, double)) {
    drive d;
    double chunk[3] = {0}, measured[3] = {0};
    open_elements(&d, op);
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++) {
        double sum = 0, sample = 0;
        for (int i = s * ELEMENTS; i < (s + 1) * ELEMENTS; i++) {
            double x = (double)d.in[0][i], t = (double)d.in[1][i], dy = (double)d.dout[0][s];
            sum += value(x, t);
            sample += metric(x, t);
            assert_true(d.din[0][i] == (float)(dy * slope(x, t) / ELEMENTS));
        }
        assert_true(d.out[0][s] == (float)(sum / ELEMENTS));
        chunk[s / CHUNK] += sum / ELEMENTS;
        measured[s / CHUNK] += sample;
    }
    assert_true(d.stats[HU_LOSS_SUM] == (chunk[0] + chunk[1]) + chunk[2]);
    assert_true(d.stats[HU_LOSS_METRIC] == (measured[0] + measured[1]) + measured[2]);
    check_counted(&d, BATCH, 0);
    drive_close(&d);
}

static void elements_are_averaged(void **unused) {
    (void)unused;
    check_element_loss(&hu_op_mse, mse_value, mse_slope, mse_value);
    check_element_loss(&hu_op_bce, bce_value, bce_slope, right_side);
}

/* Large logits neither overflow nor lose the small loss of the right side. */
static void bce_is_stable(void **unused) {
    (void)unused;
    drive d;
    open_elements(&d, &hu_op_bce);
    for (int i = 0; i < BATCH * ELEMENTS; i++) d.in[0][i] = d.in[1][i] = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        d.in[0][i] = i % 2 ? 1e30f : -1e30f;
        d.in[1][i] = (float)(i % 2);
        d.in[0][ELEMENTS + i] = -50;
    }
    drive_forward(&d);
    drive_backward(&d);
    assert_true(d.out[0][0] == 0);
    assert_true(d.out[0][1] == (float)hu_exp(-50));
    assert_true(d.out[0][2] == (float)hu_log(2));
    for (int i = 0; i < ELEMENTS; i++) assert_true(d.din[0][i] == 0);
    drive_close(&d);
}

static void targets_of_elements_are_checked(void **unused) {
    (void)unused;
    static const struct {
        const hu_op *op;
        float target;
    } bad[] = {{&hu_op_mse, NAN},
               {&hu_op_mse, INFINITY},
               {&hu_op_bce, -0.1f},
               {&hu_op_bce, 1.01f},
               {&hu_op_bce, NAN}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        drive d;
        open_elements(&d, bad[k].op);
        d.in[1][3 * ELEMENTS + 2] = bad[k].target;
        d.in[0][7 * ELEMENTS] = NAN;
        drive_forward(&d);
        drive_backward(&d);
        check_counted(&d, BATCH, 1);
        for (int s = 0; s < BATCH; s++) assert_true(isnan(d.out[0][s]) == (s == 3 || s == 7));
        for (int i = 0; i < BATCH * ELEMENTS; i++)
            assert_true(isnan(d.din[0][i]) == (i == 3 * ELEMENTS + 2 || i == 7 * ELEMENTS));
        drive_close(&d);
    }
}

static void loss_shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    const hu_op *const rows[] = {&hu_op_nll, &hu_op_softmax_cross_entropy};
    const hu_op *const elements[] = {&hu_op_mse, &hu_op_bce, &hu_op_l1, &hu_op_kl_normal};
    hu_shape map[2] = {DRIVE_SHAPE(4, 6, 3), DRIVE_SHAPE(6, 4)}, out;
    hu_shape scalar[2] = {{.rank = 0}, {.rank = 0}}, turned[2] = {DRIVE_SHAPE(4, 6), map[1]};
    int n;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(rows[k]->shape(NULL, 2, map, &n, &out), HU_ERR_SHAPE);
        assert_non_null(strstr(hu_last_error(), "6x4 per sample, expected one target for each row "
                                                "of 4x6x3"));
        assert_int_equal(rows[k]->shape(NULL, 2, scalar, &n, &out), HU_ERR_SHAPE);
    }
    for (int k = 0; k < 4; k++) {
        assert_int_equal(elements[k]->shape(NULL, 2, turned, &n, &out), HU_ERR_SHAPE);
        assert_non_null(strstr(hu_last_error(), "input 1 is 6x4, expected 4x6 like input 0"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_softmax_is_accurate_and_safe),
        cmocka_unit_test(log_softmax_backward_uses_the_stored_output),
        cmocka_unit_test(nll_sums_and_counts),
        cmocka_unit_test(labels_that_are_no_class_give_nan),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(rows_have_losses_of_their_own),
        cmocka_unit_test(smoothed_rows_are_as_by_hand),
        cmocka_unit_test(smoothing_is_of_counted_rows_in_training),
        cmocka_unit_test(one_op_equals_two),
        cmocka_unit_test(wrong_rows_are_counted),
        cmocka_unit_test(extreme_logits_stay_finite),
        cmocka_unit_test(elements_are_averaged),
        cmocka_unit_test(bce_is_stable),
        cmocka_unit_test(targets_of_elements_are_checked),
        cmocka_unit_test(loss_shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
