/* Batch norm: statistics against a two-pass double computation, bits across ISAs, eval, commit. */
#include "op_drive.h"

#include "base/cpu.h"
#include "op/attributes.h"

static const hu_batch_norm_attrs attrs = {.epsilon = 1e-5f, .momentum = 0.1f};
static const int64_t channel_counts[] = {1, 2, 3, 7, 8, 13, 16, 17, 24, 32, 33, 58, 100, 116, 520};
enum { COUNTS = sizeof channel_counts / sizeof channel_counts[0], BATCH = 13, CHUNK = 5 };

static void open_norm(drive *d, int64_t channels, float offset) {
    hu_shape in = DRIVE_SHAPE(9, 7, channels);
    drive_open(d, &hu_op_batch_norm, &attrs, 1, &in, BATCH, CHUNK);
    for (int64_t i = 0; i < drive_in_elements(d, 0); i++)
        d->in[0][i] = offset * (float)(i % channels + 1) + d->in[0][i];
}

/* Mean and biased variance of a channel, two passes in double. */
static void exact(const drive *d, int64_t c, double *mean, double *variance) {
    int64_t channels = d->in_shape[0].extent[2], n = drive_in_elements(d, 0) / channels;
    double sum = 0, square = 0;
    for (int64_t r = 0; r < n; r++) sum += (double)d->in[0][r * channels + c];
    *mean = sum / (double)n;
    for (int64_t r = 0; r < n; r++) {
        double e = (double)d->in[0][r * channels + c] - *mean;
        square += e * e;
    }
    *variance = square / (double)n;
}

static void statistics_are_accurate(void **unused) {
    (void)unused;
    for (int k = 0; k < COUNTS; k++)
        for (int o = 0; o < 2; o++) {
            drive d;
            double mean, variance;
            int64_t channels = channel_counts[k];
            open_norm(&d, channels, o ? 3.0f : 0.0f);
            drive_forward(&d);
            assert_true(d.stats[0] == (double)(BATCH * 63));
            for (int64_t c = 0; c < channels; c++) {
                exact(&d, c, &mean, &variance);
                assert_true(fabs(d.stats[1 + c] - mean) < 1e-6 * sqrt(variance) + 1e-9);
                assert_true(fabs(d.stats[1 + channels + c] / variance - 1) < 1e-5);
            }
            drive_close(&d);
        }
}

/* A mean of 3,000 standard deviations and an outlier as first element, where sums of squares fail.
 */
static void far_means_and_outliers_keep_the_variance(void **unused) {
    (void)unused;
    drive d;
    double mean, variance;
    open_norm(&d, 3, 3000.0f);
    d.in[0][0] = -3000.0f;
    drive_forward(&d);
    for (int64_t c = 0; c < 3; c++) {
        exact(&d, c, &mean, &variance);
        assert_true(fabs(d.stats[1 + c] / mean - 1) < 1e-6);
        assert_true(fabs(d.stats[4 + c] / variance - 1) < 1e-5);
    }
    drive_close(&d);
}

static void output_is_the_formula(void **unused) {
    (void)unused;
    drive d;
    double mean, variance;
    open_norm(&d, 17, 2.0f);
    drive_forward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
        int64_t c = i % 17;
        if (i < 17) assert_true(isfinite(d.out[0][i]));
        if (i % 331) continue;
        exact(&d, c, &mean, &variance);
        double y = ((double)d.in[0][i] - mean) / sqrt(variance + 1e-5) * (double)d.param[0][c] +
                   (double)d.param[1][c];
        assert_true(fabs((double)d.out[0][i] - y) < 1e-5 * (1 + fabs(y)));
    }
    drive_close(&d);
}

static void all_isas_give_the_same_bits(void **unused) {
    (void)unused;
    for (int k = 0; k < COUNTS; k++) {
        drive d[HU_ISA_COUNT];
        for (int isa = 0; isa < HU_ISA_COUNT; isa++) {
            hu_cpu_set_isa((hu_isa)isa);
            open_norm(&d[isa], channel_counts[k], 1.0f);
            drive_forward(&d[isa]);
            drive_backward(&d[isa]);
        }
        size_t bytes = (size_t)drive_in_elements(&d[0], 0) * sizeof(float);
        size_t wide = (size_t)channel_counts[k] * sizeof(float);
        for (int isa = 1; isa < HU_ISA_COUNT; isa++) {
            assert_memory_equal(d[0].out[0], d[isa].out[0], bytes);
            assert_memory_equal(d[0].din[0], d[isa].din[0], bytes);
            for (int p = 0; p < 2; p++) assert_memory_equal(d[0].dparam[p], d[isa].dparam[p], wide);
        }
        for (int isa = 0; isa < HU_ISA_COUNT; isa++) drive_close(&d[isa]);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* dx from the definition, everything in double. */
static void input_gradient_is_the_formula(void **unused) {
    (void)unused;
    drive d;
    const int64_t channels = 13, n = BATCH * 63;
    open_norm(&d, channels, 2.0f);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t c = 0; c < channels; c++) {
        double mean, variance, sum = 0, product = 0;
        exact(&d, c, &mean, &variance);
        double invstd = 1 / sqrt(variance + 1e-5);
        for (int64_t i = c; i < n * channels; i += channels) {
            sum += (double)d.dout[0][i];
            product += (double)d.dout[0][i] * ((double)d.in[0][i] - mean) * invstd;
        }
        assert_true(fabs((double)d.dparam[0][c] - product) < 1e-4);
        assert_true(fabs((double)d.dparam[1][c] - sum) < 1e-4);
        for (int64_t i = c; i < n * channels; i += 41 * channels) {
            double xhat = ((double)d.in[0][i] - mean) * invstd;
            double dx = (double)d.param[0][c] * invstd *
                        ((double)d.dout[0][i] - sum / (double)n - xhat * product / (double)n);
            assert_true(fabs((double)d.din[0][i] - dx) < 2e-6 * (1 + fabs(dx)));
        }
    }
    drive_close(&d);
}

static void commit_blends_unbiased_variance(void **unused) {
    (void)unused;
    drive d;
    double mean, variance, n = BATCH * 63;
    open_norm(&d, 3, 1.0f);
    drive_forward(&d);
    drive_commit(&d);
    for (int64_t c = 0; c < 3; c++) {
        exact(&d, c, &mean, &variance);
        assert_true(fabs((double)d.param[2][c] - 0.1 * mean) < 1e-6);
        assert_true(fabs((double)d.param[3][c] - (0.9 + 0.1 * variance * n / (n - 1))) < 1e-6);
    }
    drive_close(&d);
}

static void eval_uses_running_statistics(void **unused) {
    (void)unused;
    drive d;
    open_norm(&d, 4, 1.0f);
    d.training = false;
    for (int c = 0; c < 4; c++) {
        d.param[2][c] = (float)c;
        d.param[3][c] = 4.0f;
    }
    drive_forward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
        int64_t c = i % 4;
        double y = ((double)d.in[0][i] - (double)c) / sqrt(4.0 + 1e-5) * (double)d.param[0][c] +
                   (double)d.param[1][c];
        assert_true(fabs((double)d.out[0][i] - y) < 1e-5);
    }
    drive_close(&d);
}

static void one_nan_spoils_its_channel_only(void **unused) {
    (void)unused;
    drive d;
    open_norm(&d, 3, 0);
    d.in[0][100 * 3 + 1] = NAN;
    drive_forward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
        assert_true(isnan(d.out[0][i]) == (i % 3 == 1));
    drive_close(&d);
}

static void bad_attributes_fail(void **unused) {
    (void)unused;
    hu_batch_norm_attrs bad = {.epsilon = 0, .momentum = 0.1f};
    hu_shape in = DRIVE_SHAPE(4, 4, 2), scalar = {.rank = 0}, out;
    int n;
    assert_int_equal(hu_op_batch_norm.shape(&bad, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    assert_int_equal(hu_op_batch_norm.shape(&attrs, 1, &scalar, &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_accurate),
        cmocka_unit_test(far_means_and_outliers_keep_the_variance),
        cmocka_unit_test(output_is_the_formula),
        cmocka_unit_test(all_isas_give_the_same_bits),
        cmocka_unit_test(input_gradient_is_the_formula),
        cmocka_unit_test(commit_blends_unbiased_variance),
        cmocka_unit_test(eval_uses_running_statistics),
        cmocka_unit_test(one_nan_spoils_its_channel_only),
        cmocka_unit_test(bad_attributes_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
