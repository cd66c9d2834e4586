/* nearest, pixel_shuffle and bilinear against their definitions, written once more in plain loops;
 * the exact adjoint: <y, A x> = <A' y, x>; shapes that are refused. */
#include "op_drive.h"

#include "op/attributes.h"

enum { BATCH = 5, CHUNK = 2 };

static float pixel(const float *image, const hu_shape *shape, int64_t y, int64_t x, int64_t c) {
    return image[(y * shape->extent[1] + x) * shape->extent[2] + c];
}

static void nearest_repeats_pixels(void **unused) {
    (void)unused;
    const hu_enlarge_attrs attrs = {3, 2};
    drive d;
    hu_shape in = DRIVE_SHAPE(2, 3, 5);
    drive_open(&d, &hu_op_nearest, &attrs, 1, &in, BATCH, CHUNK);
    const hu_shape *out = &d.out_shape[0];
    assert_true(out->extent[0] == 6 && out->extent[1] == 6 && out->extent[2] == 5);
    drive_forward(&d);
    for (int64_t s = 0; s < BATCH; s++) {
        const float *from = d.in[0] + s * hu_shape_elements(&in);
        const float *to = d.out[0] + s * hu_shape_elements(out);
        for (int64_t y = 0; y < 6; y++)
            for (int64_t x = 0; x < 6; x++)
                for (int64_t c = 0; c < 5; c++)
                    assert_true(pixel(to, out, y, x, c) == pixel(from, &in, y / 3, x / 2, c));
    }
    drive_close(&d);
}

/* Six targets per source, added in float32 by rows. */
static void nearest_adds_its_targets_by_rows(void **unused) {
    (void)unused;
    const hu_enlarge_attrs attrs = {3, 2};
    drive d;
    hu_shape in = DRIVE_SHAPE(2, 3, 5);
    drive_open(&d, &hu_op_nearest, &attrs, 1, &in, BATCH, CHUNK);
    const hu_shape *out = &d.out_shape[0];
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t y = 0; y < 2; y++)
            for (int64_t x = 0; x < 3; x++) {
                const float *dy = d.dout[0] + s * hu_shape_elements(out);
                float sum = 0;
                for (int64_t k = 0; k < 6; k++)
                    sum += pixel(dy, out, 3 * y + k / 2, 2 * x + k % 2, 4);
                assert_true(sum == pixel(d.din[0] + s * hu_shape_elements(&in), &in, y, x, 4));
            }
    drive_close(&d);
}

/* y[h s + a, w s + b, c] = x[h, w, c s^2 + a s + b], and back. */
static void pixel_shuffle_makes_pixels_of_channels(void **unused) {
    (void)unused;
    const hu_enlarge_attrs attrs = {2, 3};
    drive d;
    hu_shape in = DRIVE_SHAPE(3, 2, 12);
    drive_open(&d, &hu_op_pixel_shuffle, &attrs, 1, &in, BATCH, CHUNK);
    const hu_shape *out = &d.out_shape[0];
    assert_true(out->extent[0] == 6 && out->extent[1] == 6 && out->extent[2] == 2);
    drive_forward(&d);
    memcpy(d.dout[0], d.out[0], (size_t)drive_out_elements(&d, 0) * sizeof(float));
    drive_backward(&d);
    assert_memory_equal(d.din[0], d.in[0], (size_t)drive_in_elements(&d, 0) * sizeof(float));
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t y = 0; y < 6; y++)
            for (int64_t x = 0; x < 6; x++)
                for (int64_t c = 0; c < 2; c++) {
                    int64_t channel = c * 6 + y % 2 * 3 + x % 3;
                    float from = pixel(d.in[0] + s * 72, &in, y / 2, x / 3, channel);
                    assert_true(pixel(d.out[0] + s * 72, out, y, x, c) == from);
                }
    drive_close(&d);
}

/* The place of a target between sources, straight from the definition. */
static double source_of(int64_t i, int64_t from, int64_t to, bool aligns) {
    if (aligns) return to > 1 ? (double)(i * (from - 1)) / (double)(to - 1) : 0;
    double u = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    return u > 0 ? u : 0;
}

static double expected(const float *x, const hu_shape *in, double u, double v, int64_t c) {
    int64_t y0 = (int64_t)u, x0 = (int64_t)v;
    int64_t y1 = y0 + 1 < in->extent[0] ? y0 + 1 : y0, x1 = x0 + 1 < in->extent[1] ? x0 + 1 : x0;
    double ly = u - (double)y0, lx = v - (double)x0;
    return (1 - ly) *
               ((1 - lx) * (double)pixel(x, in, y0, x0, c) + lx * (double)pixel(x, in, y0, x1, c)) +
           ly * ((1 - lx) * (double)pixel(x, in, y1, x0, c) + lx * (double)pixel(x, in, y1, x1, c));
}

static void check_bilinear(hu_shape in, hu_bilinear_attrs attrs) {
    drive d;
    drive_open(&d, &hu_op_bilinear, &attrs, 1, &in, BATCH, CHUNK);
    const hu_shape *out = &d.out_shape[0];
    drive_forward(&d);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t y = 0; y < attrs.out_h; y++)
            for (int64_t x = 0; x < attrs.out_w; x++)
                for (int64_t c = 0; c < in.extent[2]; c++) {
                    double u = source_of(y, in.extent[0], attrs.out_h, attrs.aligns);
                    double v = source_of(x, in.extent[1], attrs.out_w, attrs.aligns);
                    const float *image = d.in[0] + s * hu_shape_elements(&in);
                    double found =
                        (double)pixel(d.out[0] + s * hu_shape_elements(out), out, y, x, c);
                    assert_true(fabs(found - expected(image, &in, u, v, c)) < 2e-6);
                }
    drive_backward(&d);
    double left = 0, right = 0;
    for (int64_t i = 0; i < drive_out_elements(&d, 0); i++)
        left += (double)d.out[0][i] * (double)d.dout[0][i];
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
        right += (double)d.in[0][i] * (double)d.din[0][i];
    assert_true(fabs(left - right) < 1e-4);
    drive_close(&d);
}

static void bilinear_is_its_definition(void **unused) {
    (void)unused;
    const int64_t from[][2] = {{1, 1}, {2, 3}, {5, 4}, {7, 16}},
                  to[][2] = {{1, 1}, {4, 3}, {9, 64}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++)
            for (int aligns = 0; aligns < 2; aligns++)
                check_bilinear(DRIVE_SHAPE(from[i][0], from[i][1], 3),
                               (hu_bilinear_attrs){to[j][0], to[j][1], aligns != 0});
}

/* At its own size an image stays as it is. */
static void bilinear_at_the_same_size_is_the_identity(void **unused) {
    (void)unused;
    for (int aligns = 0; aligns < 2; aligns++) {
        const hu_bilinear_attrs attrs = {4, 6, aligns != 0};
        drive d;
        hu_shape in = DRIVE_SHAPE(4, 6, 2);
        drive_open(&d, &hu_op_bilinear, &attrs, 1, &in, BATCH, CHUNK);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
            assert_true(d.out[0][i] == d.in[0][i] && d.din[0][i] == d.dout[0][i]);
        drive_close(&d);
    }
}

static void sizes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    const hu_enlarge_attrs none = {0, 2}, huge = {INT64_MAX, 2}, two = {2, 2};
    const hu_bilinear_attrs empty = {0, 3, false};
    hu_shape image = DRIVE_SHAPE(4, 3, 6), vector = DRIVE_SHAPE(4), out;
    int n;
    assert_int_equal(hu_op_nearest.shape(&none, 1, &image, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_nearest.shape(&huge, 1, &image, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_nearest.shape(&two, 1, &vector, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_pixel_shuffle.shape(&two, 1, &image, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "6 channels cannot be shared among 2x2 pixels"));
    assert_int_equal(hu_op_bilinear.shape(&empty, 1, &image, &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_repeats_pixels),
        cmocka_unit_test(nearest_adds_its_targets_by_rows),
        cmocka_unit_test(pixel_shuffle_makes_pixels_of_channels),
        cmocka_unit_test(bilinear_is_its_definition),
        cmocka_unit_test(bilinear_at_the_same_size_is_the_identity),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
