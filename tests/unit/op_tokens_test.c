/* position, class_token, pick and sinusoid: numbers, gradients in their order, shapes. */
#include "op/attributes.h"

#include "op_drive.h"

enum { BATCH = 7, CHUNK = 3, T = 4, D = 6 };
static const hu_position_attrs zero = {.init = {HU_INIT_CONSTANT, 0}};

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void near(float found, double expected) {
    if (!(fabs((double)found - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("found %.9g, expected %.17g", (double)found, expected);
}

static void position_adds_the_same_to_every_sample(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(T, D);
    drive_open(&d, &hu_op_position, &zero, 1, &in, BATCH, CHUNK);
    assert_true(hu_shape_equal(&d.param_shape[0], &in));
    drive_forward(&d);
    drive_backward(&d);
    for (int i = 0; i < T * D; i++) {
        double sum = 0;
        for (int s = 0; s < BATCH; s++) {
            int at = s * T * D + i;
            assert_int_equal(bits_of(d.out[0][at]), bits_of(d.in[0][at] + d.param[0][i]));
            assert_int_equal(bits_of(d.din[0][at]), bits_of(d.dout[0][at]));
            sum += (double)d.dout[0][at];
        }
        near(d.dparam[0][i], sum);
    }
    drive_close(&d);
}

static void class_token_stands_in_front(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(T, D);
    drive_open(&d, &hu_op_class_token, &zero, 1, &in, BATCH, CHUNK);
    assert_true(d.param_shape[0].extent[0] == 1 && d.param_shape[0].extent[1] == D);
    assert_true(d.out_shape[0].extent[0] == T + 1 && d.out_shape[0].extent[1] == D);
    drive_forward(&d);
    drive_backward(&d);
    double sum[D] = {0};
    for (int s = 0; s < BATCH; s++) {
        int from = s * T * D, to = s * (T + 1) * D;
        assert_memory_equal(d.out[0] + to, d.param[0], D * sizeof(float));
        assert_memory_equal(d.out[0] + to + D, d.in[0] + from, T * D * sizeof(float));
        assert_memory_equal(d.din[0] + from, d.dout[0] + to + D, T * D * sizeof(float));
        for (int c = 0; c < D; c++) sum[c] += (double)d.dout[0][to + c];
    }
    for (int c = 0; c < D; c++) near(d.dparam[0][c], sum[c]);
    drive_close(&d);
}

/* Sample s picks this row, -1: none. */
/* The same numbers in shapes that begin with an extent of 1. */
static void parameters_for_batches_have_one_extent_more(void **unused) {
    (void)unused;
    const hu_class_token_attrs token = {.for_batches = true};
    const hu_position_attrs position = {.for_batches = true};
    const struct {
        const hu_op *op;
        const void *attrs;
        hu_shape expected;
    } rows[] = {{&hu_op_position, &position, {3, {1, T, D}}},
                {&hu_op_class_token, &token, {3, {1, 1, D}}}};
    const hu_shape in = DRIVE_SHAPE(T, D), deep = {8, {1, 2, 1, 2, 1, 2, 1, 2}};
    hu_param_decl list[HU_MAX_PARAMS];
    int count;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i].op->params(rows[i].attrs, &in, list, &count), HU_OK);
        assert_true(count == 1 && hu_shape_equal(&list[0].shape, &rows[i].expected));
        assert_int_equal(rows[i].op->params(rows[i].attrs, &deep, list, &count), HU_ERR_SHAPE);
    }
}

static void check_picks(const hu_pick_attrs *attrs, int n_in, const float *lengths,
                        const int *rows) {
    drive d;
    hu_shape in[2] = {DRIVE_SHAPE(T, D), DRIVE_SHAPE(1)};
    drive_open(&d, &hu_op_pick, attrs, n_in, in, BATCH, CHUNK);
    if (lengths) memcpy(d.in[1], lengths, BATCH * sizeof *lengths);
    if (lengths) d.need_din[1] = false;
    assert_true(d.out_shape[0].rank == 1 && d.out_shape[0].extent[0] == D);
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++)
        for (int i = 0; i < T * D; i++) {
            int at = s * T * D + i, c = i % D;
            bool is_picked = i / D == rows[s];
            float dy = d.dout[0][s * D + c];
            assert_int_equal(bits_of(d.din[0][at]), is_picked ? bits_of(dy) : 0);
            if (is_picked)
                assert_int_equal(bits_of(d.out[0][s * D + c]), bits_of(d.in[0][at]));
            else if (rows[s] < 0)
                assert_int_equal(bits_of(d.out[0][s * D + c]), 0);
        }
    drive_close(&d);
}

static void pick_takes_the_first_or_the_last_row_there_is(void **unused) {
    (void)unused;
    static const float lengths[BATCH] = {4, 1, 0, 3, 9, NAN, 2};
    static const int first[BATCH] = {0}, last[BATCH] = {3, 3, 3, 3, 3, 3, 3};
    static const int first_there[BATCH] = {0, 0, -1, 0, 0, -1, 0};
    static const int last_there[BATCH] = {3, 0, -1, 2, 3, -1, 1};
    const hu_pick_attrs at_end = {.last = true};
    check_picks(NULL, 1, NULL, first);
    check_picks(&at_end, 1, NULL, last);
    check_picks(NULL, 2, lengths, first_there);
    check_picks(&at_end, 2, lengths, last_there);
}

/* A table of more rows than samples have: the first ones are added, the others have no gradient,
 * also where chunks add to that of others. */
static void position_takes_the_first_rows_of_a_longer_table(void **unused) {
    (void)unused;
    enum { ROWS = T + 2 };
    const hu_position_attrs attrs = {.rows = ROWS};
    const hu_shape table = DRIVE_SHAPE(ROWS, D), in = DRIVE_SHAPE(T, D);
    drive d;
    drive_open(&d, &hu_op_position, &attrs, 1, &in, BATCH, CHUNK);
    assert_true(hu_shape_equal(&d.param_shape[0], &table));
    drive_forward(&d);
    drive_backward(&d);
    for (int i = 0; i < BATCH * T * D; i++)
        assert_int_equal(bits_of(d.out[0][i]), bits_of(d.in[0][i] + d.param[0][i % (T * D)]));
    for (int i = T * D; i < ROWS * D; i++) assert_int_equal(bits_of(d.dparam[0][i]), 0);
    drive_close(&d);
}

/* The last place names the row of the first one: their gradients are added. */
static void pick_rows_takes_the_rows_at_places(void **unused) {
    (void)unused;
    enum { PLACES = 6 };
    static const float places[PLACES] = {2, -1, T, 0.5f, NAN, 2};
    drive d;
    hu_shape in[2] = {DRIVE_SHAPE(T, D), DRIVE_SHAPE(PLACES)};
    drive_open(&d, &hu_op_pick_rows, NULL, 2, in, BATCH, CHUNK);
    d.need_din[1] = false;
    for (int s = 0; s < BATCH; s++) memcpy(d.in[1] + s * PLACES, places, sizeof places);
    assert_true(d.out_shape[0].extent[0] == PLACES && d.out_shape[0].extent[1] == D);
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++)
        for (int i = 0; i < PLACES * D; i++) {
            float y = d.out[0][s * PLACES * D + i], x = d.in[0][(s * T + 2) * D + i % D];
            assert_int_equal(bits_of(y), places[i / D] == 2 ? bits_of(x) : 0);
        }
    for (int s = 0; s < BATCH; s++)
        for (int i = 0; i < T * D; i++) {
            const float *dy = d.dout[0] + s * PLACES * D + i % D;
            float sum = i / D == 2 ? dy[0] + dy[(PLACES - 1) * D] : 0.0f;
            assert_int_equal(bits_of(d.din[0][s * T * D + i]), bits_of(sum));
        }
    drive_close(&d);
}

/* Places of rows 1 and 2 of 128 numbers, by hand. */
static void sinusoids_have_their_known_numbers(void **unused) {
    (void)unused;
    enum { WIDTH = 128, ROWS = 3 };
    drive d;
    hu_shape in = DRIVE_SHAPE(ROWS, WIDTH);
    drive_open(&d, &hu_op_sinusoid, NULL, 1, &in, 2, 1);
    memset(d.in[0], 0, ROWS * WIDTH * sizeof(float));
    drive_forward(&d);
    drive_backward(&d);
    const float *row = d.out[0] + WIDTH, *next = row + WIDTH;
    assert_int_equal(bits_of(row[0]), bits_of(0.8414709848078965f));
    assert_int_equal(bits_of(row[63]), bits_of(9.9999999833333333e-05f));
    assert_int_equal(bits_of(row[64]), bits_of(0.5403023058681398f));
    near(next[1], 0.9876725451);
    for (int c = 0; c < WIDTH; c++) assert_true(d.out[0][c] == (c < WIDTH / 2 ? 0.0f : 1.0f));
    /* The second sample, which is not zero, has the same added in double. */
    for (int c = 0; c < WIDTH; c++) {
        double angle = 2 * exp(-(c % 64) * log(10000) / 63);
        double wave = c < 64 ? sin(angle) : cos(angle);
        near(d.out[0][5 * WIDTH + c], (double)d.in[0][5 * WIDTH + c] + wave);
    }
    assert_memory_equal(d.din[0], d.dout[0], 2 * ROWS * WIDTH * sizeof(float));
    drive_close(&d);
}

static void refuses(const hu_op *op, int n_in, const hu_shape *in, const char *why) {
    hu_shape out;
    int n;
    assert_int_equal(op->shape(NULL, n_in, in, &n, &out), HU_ERR_SHAPE);
    if (!strstr(hu_last_error(), why)) fail_msg("%s", hu_last_error());
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    hu_shape scalar = {.rank = 0}, row = DRIVE_SHAPE(D), odd = DRIVE_SHAPE(T, 5);
    hu_shape pair = DRIVE_SHAPE(T, 2), image = DRIVE_SHAPE(2, 2, 8);
    hu_shape out;
    int n;
    hu_shape many = DRIVE_SHAPE((1 << 20) + 1, 4), two[2] = {DRIVE_SHAPE(T, D), DRIVE_SHAPE(2)};
    refuses(&hu_op_position, 1, &scalar, "at least 1 extents");
    refuses(&hu_op_class_token, 1, &row, "at least 2 extents");
    refuses(&hu_op_pick, 1, &scalar, "at least 1 extents");
    refuses(&hu_op_pick_rows, 2, (hu_shape[]){row, odd}, "places of rank 2");
    const hu_position_attrs few = {.rows = T - 1};
    assert_int_equal(hu_op_position.shape(&few, 1, &odd, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "found 4 rows, expected at most 3"));
    refuses(&hu_op_pick, 2, two, "the lengths have 2 elements");
    refuses(&hu_op_sinusoid, 1, &odd, "rows of 5 numbers");
    refuses(&hu_op_sinusoid, 1, &pair, "rows of 2 numbers");
    refuses(&hu_op_sinusoid, 1, &image, "2 extents");
    refuses(&hu_op_sinusoid, 1, &many, "1048577 rows");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_adds_the_same_to_every_sample),
        cmocka_unit_test(class_token_stands_in_front),
        cmocka_unit_test(parameters_for_batches_have_one_extent_more),
        cmocka_unit_test(pick_takes_the_first_or_the_last_row_there_is),
        cmocka_unit_test(position_takes_the_first_rows_of_a_longer_table),
        cmocka_unit_test(pick_rows_takes_the_rows_at_places),
        cmocka_unit_test(sinusoids_have_their_known_numbers),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
