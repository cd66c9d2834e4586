/* Rows of sequences with lengths: turned round within them, and the last of them. */
#include "op_drive.h"

enum { BATCH = 6, CHUNK = 4, ROWS = 4, WIDE = 3 };

static const float lengths[BATCH] = {4, 0, 1, 3, 9, NAN};
static const int64_t steps[BATCH] = {4, 0, 1, 3, 4, 0};

static const float *row(const float *x, int64_t sample, int64_t t) {
    return x + (sample * ROWS + t) * WIDE;
}

static void expect_row(const float *found, const float *expected) {
    const float zeros[WIDE] = {0};
    assert_memory_equal(found, expected ? expected : zeros, sizeof zeros);
}

static void rows_turn_round_within_their_length(void **unused) {
    (void)unused;
    const hu_shape in[2] = {DRIVE_SHAPE(ROWS, WIDE), {.rank = 0}};
    for (int n_in = 1; n_in <= 2; n_in++) {
        drive d;
        drive_open(&d, &hu_op_reverse, NULL, n_in, in, BATCH, CHUNK);
        d.need_din[1] = false;
        if (n_in == 2) memcpy(d.in[1], lengths, sizeof lengths);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t s = 0; s < BATCH; s++) {
            int64_t length = n_in == 2 ? steps[s] : ROWS;
            for (int64_t t = 0; t < ROWS; t++) {
                bool counts = t < length;
                expect_row(row(d.out[0], s, t), counts ? row(d.in[0], s, length - 1 - t) : NULL);
                expect_row(row(d.din[0], s, t), counts ? row(d.dout[0], s, length - 1 - t) : NULL);
            }
        }
        drive_close(&d);
    }
}

static void the_last_row_is_the_start_where_there_is_none(void **unused) {
    (void)unused;
    const hu_shape in[3] = {DRIVE_SHAPE(ROWS, WIDE), DRIVE_SHAPE(WIDE), {.rank = 0}};
    for (int n_in = 2; n_in <= 3; n_in++) {
        drive d;
        drive_open(&d, &hu_op_last_row, NULL, n_in, in, BATCH, CHUNK);
        d.need_din[2] = false;
        if (n_in == 3) memcpy(d.in[2], lengths, sizeof lengths);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t s = 0; s < BATCH; s++) {
            int64_t length = n_in == 3 ? steps[s] : ROWS;
            const float *start = d.in[1] + s * WIDE, *dy = d.dout[0] + s * WIDE;
            expect_row(d.out[0] + s * WIDE, length ? row(d.in[0], s, length - 1) : start);
            expect_row(d.din[1] + s * WIDE, length ? NULL : dy);
            for (int64_t t = 0; t < ROWS; t++)
                expect_row(row(d.din[0], s, t), t == length - 1 ? dy : NULL);
        }
        drive_close(&d);
    }
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    const hu_shape in[3] = {DRIVE_SHAPE(ROWS, WIDE), DRIVE_SHAPE(ROWS), DRIVE_SHAPE(2)};
    const hu_shape fits[3] = {in[0], DRIVE_SHAPE(WIDE), in[2]};
    hu_shape out;
    int n;
    assert_int_equal(hu_op_last_row.shape(NULL, 2, in, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_last_row.shape(NULL, 2, fits, &n, &out), HU_OK);
    assert_true(hu_shape_equal(&out, &fits[1]));
    assert_int_equal(hu_op_last_row.shape(NULL, 3, fits, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_reverse.shape(NULL, 2, in, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "the lengths have 4 elements, expected 1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_turn_round_within_their_length),
        cmocka_unit_test(the_last_row_is_the_start_where_there_is_none),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
