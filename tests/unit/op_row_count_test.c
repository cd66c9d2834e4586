/* Operations on sequences of different length: what is missing has no part in anything. */
#include "op_drive.h"

#include "base/cpu.h"
#include "op/attributes.h"

enum { ROWS = 7, BINS = 3, BATCH = 9, CHUNK = 4 };

static const hu_batch_norm_attrs norm = {.epsilon = 1e-5f, .momentum = 0.1f};
static const float lengths[BATCH] = {7, 1, 0, 4, 9, 3.5f, -2, NAN, 6};
static const int valid[BATCH] = {7, 1, 0, 4, 7, 3, 0, 0, 6};

static bool is_present(int64_t i, int64_t per_row) {
    return i / per_row % ROWS < valid[i / (per_row * ROWS)];
}

static void open_norm(drive *d, int64_t channels, int64_t chunk) {
    hu_shape in[2] = {DRIVE_SHAPE(ROWS, BINS, channels), {.rank = 0}};
    drive_open(d, &hu_op_batch_norm, &norm, 2, in, BATCH, chunk);
    memcpy(d->in[1], lengths, sizeof lengths);
}

/* What is not there is NaN, in the input and in the gradient: nobody may read it. */
static void spoil(drive *d, int64_t per_row) {
    for (int64_t i = 0; i < drive_in_elements(d, 0); i++)
        if (!is_present(i, per_row)) d->in[0][i] = d->dout[0][i] = NAN;
}

/* y and dx of a channel by the definition, in double, over the rows that are present. */
static void check_channel(const drive *d, int64_t channels, int64_t c) {
    double n = 0, mean = 0, variance = 0, sum = 0, product = 0;
    int64_t per_row = BINS * channels, end = drive_in_elements(d, 0);
    for (int64_t i = c; i < end; i += channels)
        if (is_present(i, per_row)) n++, mean += (double)d->in[0][i];
    mean /= n;
    for (int64_t i = c; i < end; i += channels)
        if (is_present(i, per_row))
            variance += ((double)d->in[0][i] - mean) * ((double)d->in[0][i] - mean) / n;
    double invstd = 1 / sqrt(variance + 1e-5);
    for (int64_t i = c; i < end; i += channels)
        if (is_present(i, per_row)) {
            sum += (double)d->dout[0][i];
            product += (double)d->dout[0][i] * ((double)d->in[0][i] - mean) * invstd;
        }
    assert_true(d->stats[0] == n);
    assert_true(fabs((double)d->dparam[0][c] - product) < 1e-5);
    assert_true(fabs((double)d->dparam[1][c] - sum) < 1e-5);
    for (int64_t i = c; i < end; i += channels) {
        double hat = ((double)d->in[0][i] - mean) * invstd;
        double y = hat * (double)d->param[0][c] + (double)d->param[1][c];
        double dx =
            (double)d->param[0][c] * invstd * ((double)d->dout[0][i] - sum / n - hat * product / n);
        if (!is_present(i, per_row)) y = dx = 0;
        assert_true(fabs((double)d->out[0][i] - y) <= 2e-6 * (1 + fabs(y)));
        assert_true(fabs((double)d->din[0][i] - dx) <= 2e-6 * (1 + fabs(dx)));
        if (!is_present(i, per_row)) assert_true(d->out[0][i] == 0 && d->din[0][i] == 0);
    }
}

static void norms_count_the_rows_that_are_there(void **unused) {
    (void)unused;
    static const int64_t channels[] = {1, 5, 8, 17};
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
        drive d;
        open_norm(&d, channels[k], CHUNK);
        spoil(&d, BINS * channels[k]);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t c = 0; c < channels[k]; c++) check_channel(&d, channels[k], c);
        for (int s = 0; s < BATCH; s++) assert_true(d.din[1][s] == 0);
        drive_close(&d);
    }
}

/* Samples that are whole, one in each chunk, give the bits of a norm without lengths. */
static void whole_samples_are_those_of_a_plain_norm(void **unused) {
    (void)unused;
    enum { CHANNELS = 6 };
    drive d, plain;
    hu_shape in = DRIVE_SHAPE(ROWS, BINS, CHANNELS);
    open_norm(&d, CHANNELS, 1);
    drive_open(&plain, &hu_op_batch_norm, &norm, 1, &in, BATCH, 1);
    for (int s = 0; s < BATCH; s++) d.in[1][s] = ROWS;
    drive *both[] = {&d, &plain};
    for (int k = 0; k < 2; k++) {
        drive_forward(both[k]);
        drive_backward(both[k]);
        drive_commit(both[k]);
    }
    size_t bytes = (size_t)drive_in_elements(&d, 0) * sizeof(float);
    assert_memory_equal(d.out[0], plain.out[0], bytes);
    assert_memory_equal(d.din[0], plain.din[0], bytes);
    for (int p = 0; p < 4; p++)
        assert_memory_equal(d.param[p], plain.param[p], CHANNELS * sizeof(float));
    drive_close(&d);
    drive_close(&plain);
}

/* Forward with a relu after it: the same numbers, and bits of what is above 0. */
static void a_relu_behind_a_norm_has_zeros_too(void **unused) {
    (void)unused;
    enum { CHANNELS = 8, OF_SAMPLE = ROWS * BINS * CHANNELS };
    drive d;
    uint8_t bits[BATCH * OF_SAMPLE / 8];
    float y[BATCH * OF_SAMPLE];
    open_norm(&d, CHANNELS, BATCH);
    spoil(&d, BINS * CHANNELS);
    drive_forward(&d);
    const float *in[] = {d.in[0], d.in[1]}, *param[] = {d.param[0], d.param[1], NULL, NULL};
    float *out[] = {y};
    hu_op_call call = {.info = &d.info,
                       .training = true,
                       .count = BATCH,
                       .in = in,
                       .out = out,
                       .param = param,
                       .stats = d.stats,
                       .scratch =
                           drive_block(&d, hu_op_batch_norm.scratch_bytes(&d.info, NULL, 0))};
    memset(bits, POISON, sizeof bits);
    hu_op_batch_norm.forward_relu(&call, bits);
    for (int i = 0; i < BATCH * OF_SAMPLE; i++) {
        bool is_on = d.out[0][i] > 0;
        assert_true(y[i] == (is_on ? d.out[0][i] : 0));
        assert_true((bits[i / 8] >> i % 8 & 1) == is_on);
    }
    drive_close(&d);
}

/* A batch without a row gives zeros and leaves the running statistics alone. */
static void nothing_there_is_nothing(void **unused) {
    (void)unused;
    enum { CHANNELS = 3 };
    drive d;
    open_norm(&d, CHANNELS, CHUNK);
    memset(d.in[1], 0, sizeof lengths);
    drive_forward(&d);
    drive_backward(&d);
    drive_commit(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
        assert_true(d.out[0][i] == 0 && d.din[0][i] == 0);
    for (int c = 0; c < CHANNELS; c++) {
        assert_true(d.dparam[0][c] == 0 && d.dparam[1][c] == 0);
        assert_true(d.param[2][c] == 0 && d.param[3][c] == 1);
    }
    drive_close(&d);
}

static void all_isas_give_the_same_bits(void **unused) {
    (void)unused;
    enum { CHANNELS = 13 };
    drive d[HU_ISA_COUNT];
    for (int isa = 0; isa < HU_ISA_COUNT; isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        open_norm(&d[isa], CHANNELS, CHUNK);
        drive_forward(&d[isa]);
        drive_backward(&d[isa]);
    }
    size_t bytes = (size_t)drive_in_elements(&d[0], 0) * sizeof(float);
    for (int isa = 1; isa < HU_ISA_COUNT; isa++) {
        assert_memory_equal(d[0].out[0], d[isa].out[0], bytes);
        assert_memory_equal(d[0].din[0], d[isa].din[0], bytes);
    }
    for (int isa = 0; isa < HU_ISA_COUNT; isa++) drive_close(&d[isa]);
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* ---- row_conv ---- */

static void row_convolutions_follow_the_definition(void **unused) {
    (void)unused;
    enum { CHANNELS = 5 };
    for (int64_t context = 1; context <= 10; context += 3) { /* longer than a sample, too */
        const hu_row_conv_attrs attrs = {.context = context};
        hu_shape in[2] = {DRIVE_SHAPE(ROWS, CHANNELS), {.rank = 0}};
        drive d;
        drive_open(&d, &hu_op_row_conv, &attrs, 2, in, BATCH, CHUNK);
        memcpy(d.in[1], lengths, sizeof lengths);
        spoil(&d, CHANNELS);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
            int64_t t = i / CHANNELS % ROWS, c = i % CHANNELS,
                    left = valid[i / CHANNELS / ROWS] - t;
            double y = 0, dx = 0;
            for (int64_t k = 0; k < context && k < left; k++)
                y += (double)d.param[0][k * CHANNELS + c] * (double)d.in[0][i + k * CHANNELS];
            for (int64_t k = 0; k < context && k <= t && left > 0; k++)
                dx += (double)d.param[0][k * CHANNELS + c] * (double)d.dout[0][i - k * CHANNELS];
            assert_true(d.out[0][i] == (float)y && d.din[0][i] == (float)dx);
        }
        for (int64_t j = 0; j < context * CHANNELS; j++) {
            double dw = 0;
            for (int64_t i = j % CHANNELS; i < drive_in_elements(&d, 0); i += CHANNELS)
                if (i / CHANNELS % ROWS + j / CHANNELS < valid[i / CHANNELS / ROWS])
                    dw += (double)d.dout[0][i] * (double)d.in[0][i + j / CHANNELS * CHANNELS];
            assert_true(fabs((double)d.dparam[0][j] - dw) < 1e-5);
        }
        drive_close(&d);
    }
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    static const hu_row_conv_attrs none = {.context = 0}, two = {.context = 2};
    hu_shape in[2] = {DRIVE_SHAPE(5, 4), DRIVE_SHAPE(2)}, out[HU_MAX_OUTPUTS];
    int n;
    assert_int_equal(hu_op_row_conv.shape(&none, 1, in, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_row_conv.shape(&two, 1, in, &n, out), HU_OK);
    assert_int_equal(hu_op_row_conv.shape(&two, 2, in, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_batch_norm.shape(&norm, 2, in, &n, out), HU_ERR_SHAPE);
    in[0] = DRIVE_SHAPE(20);
    assert_int_equal(hu_op_row_conv.shape(&two, 1, in, &n, out), HU_ERR_SHAPE);
    in[1] = (hu_shape){.rank = 0};
    assert_int_equal(hu_op_batch_norm.shape(&norm, 2, in, &n, out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(norms_count_the_rows_that_are_there),
                                       cmocka_unit_test(whole_samples_are_those_of_a_plain_norm),
                                       cmocka_unit_test(a_relu_behind_a_norm_has_zeros_too),
                                       cmocka_unit_test(nothing_there_is_nothing),
                                       cmocka_unit_test(all_isas_give_the_same_bits),
                                       cmocka_unit_test(row_convolutions_follow_the_definition),
                                       cmocka_unit_test(shapes_that_do_not_fit_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
