/* max_pool1d and avg_pool1d bit for bit from their definition; means of all rows. */
#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 5, CHANNELS = 3, MOST = 64 };

static void same(float found, float expected) {
    assert_memory_equal(&found, &expected, sizeof found);
}

/* Row t of the window of output row o, which may lie in the padding. */
static int64_t row_of(const hu_pool1d_attrs *a, int64_t o, int64_t t) {
    return o * a->stride - a->pad + t;
}

static void check_max(const hu_pool1d_attrs *a, int64_t rows, int64_t outputs) {
    const hu_shape in = DRIVE_SHAPE(rows, CHANNELS), out = DRIVE_SHAPE(outputs, CHANNELS);
    drive d;
    drive_open(&d, &hu_op_max_pool1d, a, 1, &in, BATCH, 2);
    assert_true(hu_shape_equal(&d.out_shape[0], &out));
    d.in[0][4] = NAN;
    d.in[0][rows * CHANNELS] = d.in[0][(rows + 1) * CHANNELS] = 9; /* the first of two counts */
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t c = 0; c < CHANNELS; c++) {
            const float *x = d.in[0] + s * rows * CHANNELS + c;
            float dx[MOST] = {0};
            for (int64_t o = 0; o < outputs; o++) {
                int64_t best = -1, at = (s * outputs + o) * CHANNELS + c;
                for (int64_t t = 0; t < a->kernel; t++) {
                    int64_t r = row_of(a, o, t);
                    if (r < 0 || r >= rows) continue;
                    bool is_first = best < 0;
                    if (is_first ||
                        (!isnan(x[best * CHANNELS]) && !(x[r * CHANNELS] <= x[best * CHANNELS])))
                        best = r;
                }
                same(d.out[0][at], x[best * CHANNELS]);
                dx[best] += d.dout[0][at];
            }
            for (int64_t r = 0; r < rows; r++) same(d.din[0][(s * rows + r) * CHANNELS + c], dx[r]);
        }
    drive_close(&d);
}

/* Rows of the window that a mean divides by: what a window of ceil reads after the padding never
 * counts. */
static int64_t taps_of(const hu_pool1d_attrs *a, int64_t rows, int64_t o) {
    int64_t taps = 0;
    for (int64_t t = 0; t < a->kernel; t++) {
        int64_t r = row_of(a, o, t);
        taps += a->counts_padding ? r < rows + a->pad + a->more : r >= 0 && r < rows;
    }
    return taps;
}

static void check_avg(const hu_pool1d_attrs *a, int64_t rows, int64_t outputs) {
    const hu_shape in = DRIVE_SHAPE(rows, CHANNELS), out = DRIVE_SHAPE(outputs, CHANNELS);
    drive d;
    drive_open(&d, &hu_op_avg_pool1d, a, 1, &in, BATCH, 3);
    assert_true(hu_shape_equal(&d.out_shape[0], &out));
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t c = 0; c < CHANNELS; c++) {
            float dx[MOST] = {0};
            for (int64_t o = 0; o < outputs; o++) {
                int64_t at = (s * outputs + o) * CHANNELS + c;
                float sum = 0, taps = (float)taps_of(a, rows, o);
                for (int64_t t = 0; t < a->kernel; t++) {
                    int64_t r = row_of(a, o, t);
                    if (r < 0 || r >= rows) continue;
                    sum += d.in[0][(s * rows + r) * CHANNELS + c];
                    dx[r] += d.dout[0][at] / taps;
                }
                same(d.out[0][at], sum / taps);
            }
            for (int64_t r = 0; r < rows; r++) same(d.din[0][(s * rows + r) * CHANNELS + c], dx[r]);
        }
    drive_close(&d);
}

static void windows_are_the_definition(void **unused) {
    (void)unused;
    const struct {
        hu_pool1d_attrs attrs;
        int64_t rows, outputs;
    } cases[] = {
        {{2, 2, 0, 0, false, false}, 8, 4},  {{2, 2, 0, 0, false, false}, 9, 4},
        {{3, 2, 1, 0, false, false}, 9, 5},  {{3, 2, 1, 0, false, true}, 10, 5},
        {{3, 2, 0, 0, true, true}, 8, 4},    {{5, 1, 4, -4, false, false}, 12, 12},
        {{5, 1, 2, 1, false, true}, 12, 13}, {{20, 3, 0, 0, false, false}, 26, 3},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_max(&cases[k].attrs, cases[k].rows, cases[k].outputs);
        check_avg(&cases[k].attrs, cases[k].rows, cases[k].outputs);
    }
}

/* Of images and of rows, means of all places keep extents of 1. */
static void all_rows_have_one_mean(void **unused) {
    (void)unused;
    const hu_shape rows = DRIVE_SHAPE(6, 4), flat = DRIVE_SHAPE(4), mean = DRIVE_SHAPE(1, 4);
    hu_shape out;
    int n;
    drive d;
    drive_open(&d, &hu_op_global_avg_pool, NULL, 1, &rows, BATCH, 2);
    assert_true(hu_shape_equal(&d.out_shape[0], &mean));
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * 4; i++) {
        double sum = 0;
        for (int64_t r = 0; r < 6; r++) sum += (double)d.in[0][(i / 4 * 6 + r) * 4 + i % 4];
        same(d.out[0][i], (float)(sum / 6));
    }
    drive_close(&d);
    assert_int_equal(hu_op_global_avg_pool.shape(NULL, 1, &flat, &n, &out), HU_ERR_SHAPE);
}

static void refuses(const hu_op *op, hu_pool1d_attrs a, const hu_shape *in, hu_status status,
                    const char *word) {
    hu_shape out;
    int n;
    assert_int_equal(op->shape(&a, 1, in, &n, &out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void wrong_attributes_are_named(void **unused) {
    (void)unused;
    const hu_shape rows = DRIVE_SHAPE(300, 4), image = DRIVE_SHAPE(8, 8, 4);
    const hu_pool1d_attrs pairs = {2, 2, 0, 0, false, false}, wide = {257, 1, 0, 0, false, false};
    hu_pool1d_attrs usual = {0};
    refuses(&hu_op_max_pool1d, pairs, &image, HU_ERR_SHAPE, "max_pool1d: the input is 8x8x4");
    refuses(&hu_op_avg_pool1d, pairs, &image, HU_ERR_SHAPE, "expected 2 extents");
    refuses(&hu_op_max_pool1d, wide, &rows, HU_ERR_UNSUPPORTED, "kernel 257, expected at most 256");
    refuses(&hu_op_avg_pool1d, (hu_pool1d_attrs){2, 2, 2, 0, false, false}, &rows, HU_ERR_SHAPE,
            "avg_pool1d: kernel 2, stride 2, pad 2");
    refuses(&hu_op_max_pool1d, (hu_pool1d_attrs){256, 1, 0, -1, false, false}, &rows, HU_ERR_SHAPE,
            "more -1");
    assert_int_equal(hu_op_read_attributes(&hu_op_max_pool1d, "kernel=3", &rows, &usual), HU_OK);
    assert_true(usual.stride == 3 && usual.pad == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_the_definition),
        cmocka_unit_test(all_rows_have_one_mean),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
