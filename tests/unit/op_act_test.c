/* relu and add on every ISA, bit by bit; leaky_relu and clipped_relu; the saved outputs of sigmoid
 * and tanh; gelu. */
#include "op_drive.h"

#include "op/attributes.h"

#include "base/cpu.h"

static const float special[] = {0.0f, -0.0f,     1.0f,      -1.0f,      NAN,      INFINITY,
                                -NAN, -INFINITY, 0x1p-149f, -0x1p-149f, 0x1p127f, -0x1p127f};
enum { SPECIALS = sizeof special / sizeof special[0], BATCH = 5, CHUNK = 2 };

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void relu_keeps_positive_and_nan(void **unused) {
    (void)unused;
    for (int isa = 0; isa < HU_ISA_COUNT; isa++)
        for (int64_t n = 1; n <= 40; n++) {
            drive d;
            hu_shape in = DRIVE_SHAPE(n);
            hu_cpu_set_isa((hu_isa)isa);
            drive_open(&d, &hu_op_relu, NULL, 1, &in, BATCH, CHUNK);
            for (int64_t i = 0; i < BATCH * n; i++) d.in[0][i] = special[i * 5 % SPECIALS];
            for (int64_t i = 0; i < BATCH * n; i++) d.dout[0][i] = special[i % SPECIALS];
            drive_forward(&d);
            drive_backward(&d);
            for (int64_t i = 0; i < BATCH * n; i++) {
                float x = d.in[0][i];
                bool keep = x > 0 || isnan(x);
                int bit = d.mask[i / n * ((n + 7) / 8) + i % n / 8] >> (i % n % 8) & 1;
                assert_true((bit == 1) == keep);
                assert_int_equal(bits_of(d.out[0][i]), keep ? bits_of(x) : 0);
                assert_int_equal(bits_of(d.din[0][i]), keep ? bits_of(d.dout[0][i]) : 0);
            }
            drive_close(&d);
        }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

static void add_is_left_to_right_on_every_isa(void **unused) {
    (void)unused;
    for (int isa = 0; isa < HU_ISA_COUNT; isa++) {
        drive d;
        hu_shape in[3] = {DRIVE_SHAPE(19), DRIVE_SHAPE(19), DRIVE_SHAPE(19)};
        hu_cpu_set_isa((hu_isa)isa);
        drive_open(&d, &hu_op_add, NULL, 3, in, BATCH, CHUNK);
        drive_forward(&d);
        for (int64_t i = 0; i < BATCH * 19; i++) {
            float first = d.in[0][i] + d.in[1][i];
            assert_int_equal(bits_of(d.out[0][i]), bits_of(first + d.in[2][i]));
        }
        drive_close(&d);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* The backward pass must read the output it was given, rounded or not. */
static void sigmoid_backward_uses_the_stored_output(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(6);
    drive_open(&d, &hu_op_sigmoid, NULL, 1, &in, BATCH, CHUNK);
    d.in[0][0] = INFINITY;
    d.in[0][1] = -INFINITY;
    d.in[0][2] = NAN;
    drive_forward(&d);
    assert_true(d.out[0][0] == 1 && d.out[0][1] == 0 && isnan(d.out[0][2]));
    for (int64_t i = 3; i < BATCH * 6; i++)
        assert_true(fabs((double)d.out[0][i] - 1 / (1 + exp(-(double)d.in[0][i]))) < 6e-8);
    for (int64_t i = 0; i < BATCH * 6; i++) d.out[0][i] = 0.25f;
    drive_backward(&d);
    for (int64_t i = 0; i < BATCH * 6; i++) assert_true(d.din[0][i] == d.dout[0][i] * 0.1875f);
    drive_close(&d);
}

/* One product in float32 of negative numbers; NaN and -0 pass; the bits decide in the backward
 * pass. */
static void leaky_relu_keeps_positive_and_scales_negative(void **unused) {
    (void)unused;
    drive d;
    const hu_leaky_relu_attrs attrs = {.slope = 0.3f}, wrong = {.slope = NAN};
    hu_shape in = DRIVE_SHAPE(13), out;
    int n;
    assert_int_equal(hu_op_leaky_relu.shape(&wrong, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    drive_open(&d, &hu_op_leaky_relu, &attrs, 1, &in, BATCH, CHUNK);
    d.in[0][0] = NAN;
    d.in[0][1] = -0.0f;
    d.in[0][2] = -INFINITY;
    d.in[0][3] = INFINITY;
    drive_forward(&d);
    drive_backward(&d);
    assert_true(isnan(d.out[0][0]) && d.out[0][2] == -INFINITY && d.out[0][3] == INFINITY);
    assert_true(d.out[0][1] == 0 && signbit(d.out[0][1]));
    for (int64_t i = 1; i < BATCH * 13; i++) {
        float x = d.in[0][i], dy = d.dout[0][i];
        assert_int_equal(bits_of(d.out[0][i]), bits_of(x > 0 ? x : 0.3f * x));
        assert_int_equal(bits_of(d.din[0][i]), bits_of(x > 0 ? dy : 0.3f * dy));
    }
    drive_close(&d);
}

static void tanh_backward_uses_the_stored_output(void **unused) {
    (void)unused;
    drive d;
    hu_shape in = DRIVE_SHAPE(6);
    drive_open(&d, &hu_op_tanh, NULL, 1, &in, BATCH, CHUNK);
    d.in[0][0] = INFINITY;
    d.in[0][1] = -INFINITY;
    d.in[0][2] = NAN;
    drive_forward(&d);
    assert_true(d.out[0][0] == 1 && d.out[0][1] == -1 && isnan(d.out[0][2]));
    for (int64_t i = 3; i < BATCH * 6; i++)
        assert_int_equal(bits_of(d.out[0][i]), bits_of((float)tanh((double)d.in[0][i])));
    for (int64_t i = 0; i < BATCH * 6; i++) d.out[0][i] = 0.5f;
    drive_backward(&d);
    for (int64_t i = 0; i < BATCH * 6; i++) assert_true(d.din[0][i] == d.dout[0][i] * 0.75f);
    drive_close(&d);
}

/* 0, the number or the limit; gradients go where the number was kept; NaN passes. */
static void clipped_relu_keeps_what_lies_between(void **unused) {
    (void)unused;
    const hu_clipped_relu_attrs attrs = {.limit = 1.5f}, none = {.limit = 0};
    for (int64_t n = 1; n <= 19; n++) {
        drive d;
        hu_shape in = DRIVE_SHAPE(n), out;
        int n_out;
        assert_int_equal(hu_op_clipped_relu.shape(&none, 1, &in, &n_out, &out), HU_ERR_ARGUMENT);
        drive_open(&d, &hu_op_clipped_relu, &attrs, 1, &in, BATCH, CHUNK);
        for (int64_t i = 0; i < BATCH * n; i++) d.in[0][i] = special[i * 5 % SPECIALS] * 1.5f;
        for (int64_t i = 0; i < BATCH * n; i += 4) d.in[0][i] = 0.5f * (float)(i % 5);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t i = 0; i < BATCH * n; i++) {
            float x = d.in[0][i], y = x <= 0 ? 0.0f : x >= 1.5f ? 1.5f : x;
            bool keep = isnan(x) || (x > 0 && x < 1.5f);
            assert_int_equal(bits_of(d.out[0][i]), bits_of(y));
            assert_int_equal(bits_of(d.din[0][i]), keep ? bits_of(d.dout[0][i]) : 0);
        }
        drive_close(&d);
    }
}

/* Known numbers of the definition, and the slope of the stored input. */
static void check_gelu(const hu_gelu_attrs *attrs, const double *expected) {
    static const float x[] = {1.0f, -3.0f, 0.0f, -0.0f, 40.0f, -60.0f, NAN, INFINITY};
    drive d;
    hu_shape in = DRIVE_SHAPE(8);
    drive_open(&d, &hu_op_gelu, attrs, 1, &in, BATCH, CHUNK);
    memcpy(d.in[0], x, sizeof x);
    drive_forward(&d);
    for (int i = 0; i < 2; i++) assert_int_equal(bits_of(d.out[0][i]), bits_of((float)expected[i]));
    assert_true(d.out[0][2] == 0 && !signbit(d.out[0][2]) && signbit(d.out[0][3]));
    assert_true(d.out[0][4] == 40 && d.out[0][5] == 0 && signbit(d.out[0][5]));
    assert_true(isnan(d.out[0][6]) && d.out[0][7] == INFINITY);
    for (int i = 0; i < 8; i++) d.in[0][i] = 0; /* as a format may have left it */
    drive_backward(&d);
    for (int i = 0; i < 8; i++) assert_true(d.din[0][i] == d.dout[0][i] * 0.5f);
    drive_close(&d);
}

static void gelu_has_its_known_numbers_in_both_forms(void **unused) {
    (void)unused;
    static const double by_erf[] = {0.84134474606854293, -0.0040496940948993551};
    static const double by_tanh[] = {0.84119199060827681, -0.0036373920817729943};
    const hu_gelu_attrs tanh_form = {.by_tanh = true};
    check_gelu(NULL, by_erf);
    check_gelu(&tanh_form, by_tanh);
}

/* Along the first extent: the rows of each sample, one part after the other. */
static void rows_are_joined_and_parted(void **unused) {
    (void)unused;
    enum { D = 3, FIRST = 2, SECOND = 4, ROWS = FIRST + SECOND };
    const hu_concat_attrs rows = {.rows = true};
    const hu_split_attrs apart = {.first = FIRST, .rows = true};
    hu_shape in[2] = {DRIVE_SHAPE(FIRST, D), DRIVE_SHAPE(SECOND, D)}, whole = DRIVE_SHAPE(ROWS, D);
    drive join, part;
    drive_open(&join, &hu_op_concat, &rows, 2, in, BATCH, CHUNK);
    drive_open(&part, &hu_op_split, &apart, 1, &whole, BATCH, CHUNK);
    assert_true(hu_shape_equal(&join.out_shape[0], &whole));
    assert_true(hu_shape_equal(&part.out_shape[0], &in[0]));
    assert_true(hu_shape_equal(&part.out_shape[1], &in[1]));
    drive_forward(&join);
    for (int s = 0; s < BATCH; s++)
        for (int i = 0; i < ROWS * D; i++)
            assert_true(join.out[0][s * ROWS * D + i] ==
                        (i < FIRST * D ? join.in[0][s * FIRST * D + i]
                                       : join.in[1][s * SECOND * D + i - FIRST * D]));
    /* What is joined is parted again, in both directions. */
    memcpy(part.in[0], join.out[0], BATCH * ROWS * D * sizeof(float));
    drive_forward(&part);
    assert_memory_equal(part.out[0], join.in[0], BATCH * FIRST * D * sizeof(float));
    assert_memory_equal(part.out[1], join.in[1], BATCH * SECOND * D * sizeof(float));
    drive_backward(&part);
    memcpy(join.dout[0], part.din[0], BATCH * ROWS * D * sizeof(float));
    drive_backward(&join);
    assert_memory_equal(join.din[0], part.dout[0], BATCH * FIRST * D * sizeof(float));
    assert_memory_equal(join.din[1], part.dout[1], BATCH * SECOND * D * sizeof(float));
    drive_close(&join);
    drive_close(&part);
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    hu_shape in[2] = {DRIVE_SHAPE(4, 3), DRIVE_SHAPE(4, 2)}, other[2] = {in[0], DRIVE_SHAPE(5, 3)};
    hu_shape out[2], scalar = {.rank = 0};
    const hu_concat_attrs rows = {.rows = true};
    hu_split_attrs all_rows = {.first = 4, .rows = true};
    hu_split_attrs whole = {.first = 3}, none = {.first = 0}, one = {.first = 1};
    int n;
    assert_int_equal(hu_op_add.shape(NULL, 2, in, &n, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "4x2"));
    assert_int_equal(hu_op_mul.shape(NULL, 2, in, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_concat.shape(NULL, 2, in, &n, out), HU_OK);
    assert_int_equal(out[0].extent[1], 5);
    assert_int_equal(hu_op_concat.shape(NULL, 2, other, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_concat.shape(&rows, 2, other, &n, out), HU_OK);
    assert_int_equal(out[0].extent[0], 9);
    assert_int_equal(hu_op_concat.shape(&rows, 2, in, &n, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "first extent"));
    assert_int_equal(hu_op_split.shape(&all_rows, 1, in, &n, out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "4 of 4 rows"));
    assert_int_equal(hu_op_split.shape(&whole, 1, in, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_split.shape(&none, 1, in, &n, out), HU_ERR_ARGUMENT);
    assert_int_equal(hu_op_split.shape(&one, 1, in, &n, out), HU_OK);
    assert_true(n == 2 && out[0].extent[1] == 1 && out[1].extent[1] == 2);
    assert_int_equal(hu_op_bias.shape(&one, 1, &scalar, &n, out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relu_keeps_positive_and_nan),
        cmocka_unit_test(add_is_left_to_right_on_every_isa),
        cmocka_unit_test(sigmoid_backward_uses_the_stored_output),
        cmocka_unit_test(leaky_relu_keeps_positive_and_scales_negative),
        cmocka_unit_test(tanh_backward_uses_the_stored_output),
        cmocka_unit_test(clipped_relu_keeps_what_lies_between),
        cmocka_unit_test(gelu_has_its_known_numbers_in_both_forms),
        cmocka_unit_test(rows_are_joined_and_parted),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
