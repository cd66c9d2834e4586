/* Channels in turns: what the channel shuffle of a concatenation gives, forward and backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "op_drive.h"

enum { BATCH = 5, CHUNK = 2, MOST_PARTS = 3 };

/* Channel c of the concatenation of `parts` groups goes where [groups, C] transposed has it. */
static int64_t shuffled(int64_t c, int64_t parts, int64_t channels) {
    return c % channels * parts + c / channels;
}

static void check(int parts, hu_shape part) {
    drive d;
    hu_shape in[MOST_PARTS];
    int64_t channels = part.extent[part.rank - 1];
    for (int i = 0; i < parts; i++) in[i] = part;
    drive_open(&d, &hu_op_interleave, NULL, parts, in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    int64_t rows = drive_in_elements(&d, 0) / channels;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < parts * channels; c++) {
            int64_t at = r * parts * channels + shuffled(c, parts, channels);
            int64_t from = r * channels + c % channels;
            assert_true(d.out[0][at] == d.in[c / channels][from]);
            assert_true(d.din[c / channels][from] == d.dout[0][at]);
        }
    drive_close(&d);
}

static void channels_are_shuffled(void **unused) {
    (void)unused;
    check(1, (hu_shape)DRIVE_SHAPE(3));
    check(2, (hu_shape)DRIVE_SHAPE(1));
    check(2, (hu_shape)DRIVE_SHAPE(3, 3, 14));
    check(2, (hu_shape)DRIVE_SHAPE(2, 3, 29));
    check(3, (hu_shape)DRIVE_SHAPE(4, 5));
}

/* One part that needs no gradient leaves the other's as it is. */
static void one_gradient_is_enough(void **unused) {
    (void)unused;
    drive d;
    hu_shape in[2] = {DRIVE_SHAPE(2, 3), DRIVE_SHAPE(2, 3)};
    drive_open(&d, &hu_op_interleave, NULL, 2, in, BATCH, CHUNK);
    d.need_din[0] = false;
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 1); i++)
        assert_true(d.din[1][i] == d.dout[0][2 * i + 1]);
    drive_close(&d);
}

static void parts_must_be_alike(void **unused) {
    (void)unused;
    hu_shape in[2] = {DRIVE_SHAPE(4, 3), DRIVE_SHAPE(4, 2)}, out[1], scalar = {.rank = 0};
    hu_shape wide = {2, {2, INT64_MAX / 2}}, pair[2] = {wide, wide};
    int n;
    assert_int_equal(hu_op_interleave.shape(NULL, 2, in, &n, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "4x2"));
    assert_int_equal(hu_op_interleave.shape(NULL, 1, &scalar, &n, out), HU_ERR_SHAPE);
    assert_int_not_equal(hu_op_interleave.shape(NULL, 2, pair, &n, out), HU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_shuffled),
        cmocka_unit_test(one_gradient_is_enough),
        cmocka_unit_test(parts_must_be_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
