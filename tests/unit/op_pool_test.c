/* Pooling against its definition, ties, padding and NaN. */
#include "op/attributes.h"
#include "op_drive.h"

enum { H = 5, W = 4, C = 3, BATCH = 3, CHUNK = 2 };
static const hu_pool_attrs windows[] = {
    {2, 2, 2, 2, 0, 0, 0, 0, false, false}, {3, 3, 2, 2, 1, 1, 0, 0, false, true},
    {3, 3, 1, 1, 2, 2, 0, 0, false, false}, {1, 1, 1, 1, 0, 0, 0, 0, false, false},
    {5, 4, 1, 1, 0, 0, 0, 0, false, false}, {2, 3, 3, 1, 1, 0, 0, 0, false, false},
    {3, 2, 2, 2, 1, 1, 1, -1, false, true}, {3, 3, 2, 2, 0, 0, 0, 0, true, false},
    {2, 3, 2, 3, 1, 1, 0, 0, true, true},   {3, 3, 3, 2, 1, 0, -1, 2, true, true}};
enum { WINDOWS = sizeof windows / sizeof windows[0] };

static void open_pool(drive *d, const hu_op *op, const hu_pool_attrs *a) {
    hu_shape in = DRIVE_SHAPE(H, W, C);
    drive_open(d, op, a, 1, &in, BATCH, CHUNK);
}

static float input(const drive *d, int64_t n, int64_t h, int64_t w, int64_t c) {
    return d->in[0][((n * H + h) * W + w) * C + c];
}

static bool inside(int64_t h, int64_t w) {
    return h >= 0 && h < H && w >= 0 && w < W;
}

/* Windows one by one: all that end in the padded image; with ceil the first that does not, too, if
 * it begins before the padding after. */
static int64_t places(int64_t extent, int64_t kernel, int64_t stride, int64_t pad, int64_t more,
                      bool ceil) {
    int64_t count = 0, end = extent + pad + more;
    while (count * stride - pad + kernel <= end) count++;
    bool is_short = ceil && (count - 1) * stride - pad + kernel < end;
    return count + (is_short && count * stride - pad < extent);
}

/* torch.nn.functional, sizes of (H, kernel, stride, pad) in ceil mode. */
static void ceil_mode_is_that_of_other_frameworks(void **unused) {
    (void)unused;
    static const int64_t sizes[][5] = {{112, 3, 2, 0, 56}, {75, 2, 2, 0, 38}, {2, 3, 2, 0, 1},
                                       {6, 2, 3, 1, 3},    {7, 2, 3, 1, 3},   {4, 1, 3, 0, 2},
                                       {5, 2, 4, 1, 2},    {3, 2, 4, 1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *z = sizes[i];
        hu_pool_attrs a = {z[1], z[1], z[2], z[2], z[3], z[3], 0, 0, true, false};
        hu_shape in = DRIVE_SHAPE(z[0], z[0], 1), out;
        int n;
        assert_int_equal(hu_op_max_pool.shape(&a, 1, &in, &n, &out), HU_OK);
        if (out.extent[0] != z[4]) fail_msg("size %zu: %lld", i, (long long)out.extent[0]);
    }
}

static void outputs_are_the_definition(void **unused) {
    (void)unused;
    for (int k = 0; k < WINDOWS; k++) {
        const hu_pool_attrs *a = &windows[k];
        drive most, mean;
        open_pool(&most, &hu_op_max_pool, a);
        open_pool(&mean, &hu_op_avg_pool, a);
        drive_forward(&most);
        drive_forward(&mean);
        int64_t oh = most.out_shape[0].extent[0], ow = most.out_shape[0].extent[1];
        assert_int_equal(oh, places(H, a->kernel_h, a->stride_h, a->pad_h, a->more_h, a->ceil));
        assert_int_equal(ow, places(W, a->kernel_w, a->stride_w, a->pad_w, a->more_w, a->ceil));
        for (int64_t i = 0; i < drive_out_elements(&most, 0); i++) {
            int64_t c = i % C, w0 = i / C % ow * a->stride_w - a->pad_w;
            int64_t h0 = i / C / ow % oh * a->stride_h - a->pad_h, n = i / C / ow / oh, taps = 0;
            float best = -INFINITY;
            double sum = 0;
            for (int64_t h = h0; h < h0 + a->kernel_h; h++)
                for (int64_t w = w0; w < w0 + a->kernel_w; w++) {
                    taps += a->counts_padding && h < H + a->pad_h + a->more_h &&
                            w < W + a->pad_w + a->more_w;
                    if (!inside(h, w)) continue;
                    best = fmaxf(best, input(&most, n, h, w, c));
                    sum += (double)input(&most, n, h, w, c);
                    taps += !a->counts_padding;
                }
            assert_true(most.out[0][i] == best);
            assert_true(fabs((double)mean.out[0][i] - sum / (double)taps) < 1e-6);
        }
        drive_close(&most);
        drive_close(&mean);
    }
}

static void ties_go_to_the_first_tap(void **unused) {
    (void)unused;
    drive d;
    open_pool(&d, &hu_op_max_pool, &windows[0]);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) d.in[0][i] = 1;
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
        int64_t w = i / C % W, h = i / C / W % H, n = i / C / W / H;
        bool first = h % 2 == 0 && w % 2 == 0 && h < 4;
        float expected = first ? d.dout[0][((n * 2 + h / 2) * 2 + w / 2) * C + i % C] : 0;
        assert_true(d.din[0][i] == expected);
    }
    drive_close(&d);
}

static void nan_wins_and_takes_the_gradient(void **unused) {
    (void)unused;
    for (int at = 0; at < 4; at++) {
        drive d;
        int64_t place = ((at / 2) * W + at % 2) * C + 1;
        open_pool(&d, &hu_op_max_pool, &windows[0]);
        d.in[0][place] = NAN;
        d.in[0][C * (W + 1) + 2] = INFINITY;
        drive_forward(&d);
        drive_backward(&d);
        assert_true(isnan(d.out[0][1]) && d.out[0][2] == INFINITY && !isnan(d.out[0][0]));
        assert_true(d.din[0][place] == d.dout[0][1]);
        drive_close(&d);
    }
    drive a;
    open_pool(&a, &hu_op_avg_pool, &windows[0]);
    a.in[0][1] = NAN;
    drive_forward(&a);
    assert_true(isnan(a.out[0][1]) && !isnan(a.out[0][0]));
    drive_close(&a);
}

static void means_over_pixels(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(H, W, C), out;
    int n;
    drive_open(&d, &hu_op_mean, NULL, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * C; i++) {
        double sum = 0;
        for (int64_t p = 0; p < H * W; p++) sum += (double)d.in[0][(i / C * H * W + p) * C + i % C];
        assert_true(d.out[0][i] == (float)(sum / (H * W)));
    }
    drive_close(&d);
    assert_int_equal(hu_op_mean.shape(NULL, 1, &in, &n, &out), HU_OK);
    assert_true(out.rank == 1 && out.extent[0] == C);
    assert_int_equal(hu_op_global_avg_pool.shape(NULL, 1, &in, &n, &out), HU_OK);
    assert_true(out.rank == 3 && hu_shape_elements(&out) == C);
}

/* Output i of m is the mean of places floor(i H / m) .. ceil((i + 1) H / m) - 1. */
static void adaptive_windows_cover_the_image(void **unused) {
    (void)unused;
    static const hu_adaptive_pool_attrs sizes[] = {{1, 1}, {2, 3}, {5, 4}, {3, 1}, {7, 6}};
    hu_shape in = DRIVE_SHAPE(H, W, C);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t oh = sizes[k].out_h, ow = sizes[k].out_w;
        drive d;
        drive_open(&d, &hu_op_adaptive_avg_pool, &sizes[k], 1, &in, BATCH, CHUNK);
        drive_forward(&d);
        for (int64_t i = 0; i < drive_out_elements(&d, 0); i++) {
            int64_t c = i % C, x = i / C % ow, y = i / C / ow % oh, n = i / C / ow / oh, taps = 0;
            double sum = 0;
            for (int64_t h = 0; h < H; h++)
                for (int64_t w = 0; w < W; w++) {
                    bool in_row = (h + 1) * oh > y * H && h * oh < (y + 1) * H;
                    if (!in_row || (w + 1) * ow <= x * W || w * ow >= (x + 1) * W) continue;
                    sum += (double)input(&d, n, h, w, c);
                    taps++;
                }
            assert_true(d.out[0][i] == (float)(sum / (double)taps));
        }
        drive_close(&d);
    }
}

static void refuse_adaptive(hu_adaptive_pool_attrs attrs, hu_shape in, const char *expected) {
    hu_shape out;
    int n;
    assert_int_equal(hu_op_adaptive_avg_pool.shape(&attrs, 1, &in, &n, &out), HU_ERR_SHAPE);
    assert_string_equal(hu_last_error(), expected);
}

/* Which of the four numbers is wrong, how it is found and what would do. */
static void impossible_adaptive_windows_are_refused(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(H, W, C);
    refuse_adaptive((hu_adaptive_pool_attrs){0, 3}, in,
                    "adaptive_avg_pool: out: found 0 rows, expected 1 to 1048576");
    refuse_adaptive((hu_adaptive_pool_attrs){3, 1048577}, in,
                    "adaptive_avg_pool: out: found 1048577 columns, expected 1 to 1048576");
    refuse_adaptive((hu_adaptive_pool_attrs){3, 3}, DRIVE_SHAPE(0, W, C),
                    "adaptive_avg_pool: input: found 0 rows, expected 1 to 8796093022206");
    refuse_adaptive((hu_adaptive_pool_attrs){3, 3}, DRIVE_SHAPE(H, INT64_C(1) << 43, C),
                    "adaptive_avg_pool: input: found 8796093022208 columns, expected 1 to "
                    "8796093022206");
    refuse_adaptive((hu_adaptive_pool_attrs){3, 3}, DRIVE_SHAPE(C),
                    "adaptive_avg_pool: the input is 3, expected 3 extents");
}

static void impossible_windows_are_refused(void **unused) {
    (void)unused;
    static const hu_pool_attrs bad[] = {
        {0, 2, 2, 2, 0, 0, 0, 0, false, false},  {2, 2, 0, 2, 0, 0, 0, 0, false, false},
        {2, 2, 2, 2, 2, 0, 0, 0, false, false},  {2, 2, 2, 2, -1, 0, 0, 0, false, false},
        {6, 2, 1, 1, 0, 0, 0, 0, false, false},  {2, 2, 2, 2, 0, 0, 2, 0, false, false},
        {2, 2, 2, 2, 1, 0, -2, 0, false, false}, {8, 2, 2, 2, 0, 0, 0, 0, true, false}};
    hu_pool_attrs large = {17, 16, 1, 1, 0, 0, 0, 0, false, false};
    hu_shape in = DRIVE_SHAPE(H, W, C), flat = DRIVE_SHAPE(H), wide = DRIVE_SHAPE(40, 40, 1), out;
    int n;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(hu_op_max_pool.shape(&bad[i], 1, &in, &n, &out), HU_ERR_SHAPE);
        assert_int_equal(hu_op_avg_pool.shape(&bad[i], 1, &in, &n, &out), HU_ERR_SHAPE);
    }
    assert_int_equal(hu_op_max_pool.shape(&windows[0], 1, &flat, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_max_pool.shape(&large, 1, &wide, &n, &out), HU_ERR_UNSUPPORTED);
    assert_int_equal(hu_op_avg_pool.shape(&large, 1, &wide, &n, &out), HU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_the_definition),
        cmocka_unit_test(ties_go_to_the_first_tap),
        cmocka_unit_test(nan_wins_and_takes_the_gradient),
        cmocka_unit_test(means_over_pixels),
        cmocka_unit_test(ceil_mode_is_that_of_other_frameworks),
        cmocka_unit_test(adaptive_windows_cover_the_image),
        cmocka_unit_test(impossible_adaptive_windows_are_refused),
        cmocka_unit_test(impossible_windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
