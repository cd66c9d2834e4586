/* roi_pool beside a plain version that asks of every place whether it lies in a bin. */
#include "op_drive.h"

#include "op/attributes.h"

enum { H = 6, W = 9, C = 3, R = 5, BATCH = 5, CHUNK = 2, ROWS = 2, COLUMNS = 3 };
static const hu_roi_pool_attrs attrs = {ROWS, COLUMNS, 0.25f};

/* Inside; on halves of places; one place; partly, and wholly outside. Samples shift them. */
static void fill(drive *d) {
    static const float regions[R][4] = {
        {3, 5, 26, 20}, {2, 2, 30, 10}, {12, 8, 12, 8}, {-9, -7, 9, 50}, {60, 60, 90, 80}};
    d->need_din[1] = false;
    for (int r = 0; r < BATCH * R; r++)
        for (int k = 0; k < 4; k++) d->in[1][4 * r + k] = regions[r % R][k] + (float)(r / R);
}

static void open_pool(drive *d) {
    hu_shape in[2] = {DRIVE_SHAPE(H, W, C), DRIVE_SHAPE(R, 4)};
    drive_open(d, &hu_op_roi_pool, &attrs, 2, in, BATCH, CHUNK);
    fill(d);
}

/* Is place p of the map in bin `bin` of a side from low to high pixels? */
static bool is_in(int p, int bin, int bins, float low, float high) {
    double first = round((double)low / 4), length = round((double)high / 4) - first + 1;
    if (length < 1) length = 1;
    return p >= first + floor(bin * length / bins) && p < first + ceil((bin + 1) * length / bins);
}

/* The place that a bin takes of a channel, -1: none. */
static int plain(const float *map, const float *region, int i, int j, int c) {
    int best = -1;
    for (int p = 0; p < H * W; p++)
        if (is_in(p / W, i, ROWS, region[1], region[3]) &&
            is_in(p % W, j, COLUMNS, region[0], region[2]) &&
            (best < 0 || map[p * C + c] > map[best]))
            best = p * C + c;
    return best;
}

static void numbers_and_gradients_are_the_plain_ones(void **unused) {
    (void)unused;
    drive d;
    int empty = 0;
    open_pool(&d);
    for (int i = 0; i < BATCH * H * W * C; i += 7) d.in[0][i] = 1.0f; /* equal largest ones */
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++) {
        float expected[H * W * C] = {0};
        const float *map = d.in[0] + s * H * W * C;
        for (int n = 0; n < R * ROWS * COLUMNS * C; n++) {
            int at = s * R * ROWS * COLUMNS * C + n, bin = n / C % (ROWS * COLUMNS);
            const float *region = d.in[1] + 4 * (s * R + n / (ROWS * COLUMNS * C));
            int from = plain(map, region, bin / COLUMNS, bin % COLUMNS, n % C);
            empty += from < 0;
            assert_true(d.out[0][at] == (from < 0 ? 0.0f : map[from]));
            if (from >= 0) expected[from] += d.dout[0][at];
        }
        assert_memory_equal(d.din[0] + s * H * W * C, expected, sizeof expected);
    }
    assert_true(empty > 0);
    drive_close(&d);
}

static void impossible_regions_are_refused(void **unused) {
    (void)unused;
    hu_shape in[2] = {DRIVE_SHAPE(H, W, C), DRIVE_SHAPE(R, 4)}, out;
    hu_shape flat[2] = {DRIVE_SHAPE(H, W), DRIVE_SHAPE(R, 4)};
    hu_shape five[2] = {DRIVE_SHAPE(H, W, C), DRIVE_SHAPE(R, 5)};
    hu_roi_pool_attrs none = {0, 7, 0.25f}, zero = {7, 7, 0.0f};
    int n;
    assert_int_equal(hu_op_roi_pool.shape(&attrs, 2, in, &n, &out), HU_OK);
    assert_int_equal(hu_op_roi_pool.shape(&attrs, 2, flat, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_roi_pool.shape(&attrs, 2, five, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_roi_pool.shape(&none, 2, in, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_roi_pool.shape(&zero, 2, in, &n, &out), HU_ERR_SHAPE);
}

/* Coordinates that are none lie outside, and a NaN of the map passes on. */
static void numbers_that_are_none(void **unused) {
    (void)unused;
    drive d;
    open_pool(&d);
    for (int k = 0; k < 4; k++) d.in[1][k] = k == 0 ? NAN : k == 1 ? -INFINITY : 1e30f;
    for (int c = 0; c < C; c++) d.in[0][(H * W + W * 2 + 3) * C + c] = NAN;
    drive_forward(&d);
    int found = 0;
    for (int n = 0; n < ROWS * COLUMNS * C; n++) {
        found += isnan(d.out[0][R * ROWS * COLUMNS * C + n]);
        assert_true(isfinite(d.out[0][n]));
    }
    assert_true(found > 0);
    drive_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_gradients_are_the_plain_ones),
        cmocka_unit_test(impossible_regions_are_refused),
        cmocka_unit_test(numbers_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
