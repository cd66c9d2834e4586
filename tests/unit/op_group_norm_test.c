/* group_norm, instance_norm and rms_norm: every bit by docs/reference/numerics/sums.md,
 * "Reductions", and the numbers by their definitions. */
#include "page_sums.h"

#include "op/attributes.h"

enum { BATCH = 7, CHUNK = 3, MOST = 256 };

/* One norm of samples [places, channels] in groups of `width` channels. */
typedef struct norm_case {
    const hu_op *op;
    const void *attrs;
    hu_shape in;
    int64_t width;
    float epsilon;
    bool affine;
} norm_case;

static const hu_group_norm_attrs three = {3, 1e-5f, true}, one = {1, 0.5f, true},
                                 plain = {2, 1e-5f, false};
static const hu_instance_norm_attrs each = {1e-5f, true}, bare = {1e-3f, false};
static const norm_case cases[] = {
    {&hu_op_group_norm, &three, {3, {3, 4, 6}}, 2, 1e-5f, true},
    {&hu_op_group_norm, &three, {2, {5, 9}}, 3, 1e-5f, true},
    {&hu_op_group_norm, &one, {2, {4, 5}}, 5, 0.5f, true},
    {&hu_op_group_norm, &plain, {3, {2, 3, 8}}, 4, 1e-5f, false},
    {&hu_op_group_norm, &plain, {1, {10}}, 5, 1e-5f, false},
    {&hu_op_instance_norm, &each, {3, {4, 3, 5}}, 1, 1e-5f, true},
    {&hu_op_instance_norm, &bare, {2, {9, 3}}, 1, 1e-3f, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static int64_t channels_of(const norm_case *c) {
    return c->in.extent[c->in.rank - 1];
}

static int64_t places_of(const norm_case *c) {
    return hu_shape_elements(&c->in) / channels_of(c);
}

static double gamma_of(const norm_case *c, const drive *d, int64_t channel) {
    return c->affine ? (double)d->param[0][channel] : 1.0;
}

/* ---- by the page ---- */

/* Per channel the places in order, then the channels of its group in order. */
static double group_sum(const norm_case *c, const double *of, int64_t channel) {
    int64_t first = channel / c->width * c->width;
    double sum = 0;
    for (int64_t k = first; k < first + c->width; k++) {
        double part = 0;
        for (int64_t p = 0; p < places_of(c); p++) part += of[p * channels_of(c) + k];
        sum += part;
    }
    return sum;
}

/* What the page needs of one sample: hat [places, channels]; s, a, m [channels]. */
typedef struct page {
    double hat[MOST], s[MOST], a[MOST], m[MOST];
} page;

static page page_of(const norm_case *c, const drive *d, const float *x, const float *dy) {
    page p;
    int64_t channels = channels_of(c), all = places_of(c) * channels;
    double n = (double)(places_of(c) * c->width), number[MOST], mean[MOST];
    for (int64_t i = 0; i < all; i++) number[i] = (double)x[i];
    for (int64_t k = 0; k < channels; k++) mean[k] = group_sum(c, number, k) / n;
    for (int64_t i = 0; i < all; i++) {
        number[i] = (double)x[i] - mean[i % channels];
        number[i] *= number[i];
    }
    for (int64_t k = 0; k < channels; k++)
        p.s[k] = 1 / sqrt(group_sum(c, number, k) / n + (double)c->epsilon);
    for (int64_t i = 0; i < all; i++)
        p.hat[i] = ((double)x[i] - mean[i % channels]) * p.s[i % channels];
    for (int64_t k = 0; k < channels; k++) {
        int64_t first = k / c->width * c->width;
        double a = 0, m = 0;
        for (int64_t j = first; j < first + c->width; j++) {
            double slope = 0, product = 0;
            for (int64_t i = j; i < all; i += channels) {
                slope += (double)dy[i];
                product += (double)dy[i] * p.hat[i];
            }
            a += gamma_of(c, d, j) * slope;
            m += gamma_of(c, d, j) * product;
        }
        p.a[k] = a / n;
        p.m[k] = m / n;
    }
    return p;
}

/* A parameter's gradient from the sums of the chunks. */
static void check_dparam(const drive *d, int which, int64_t channels, double *const sum) {
    for (int64_t c = 0; c < channels; c++) {
        float r[MOST_CHUNKS];
        for (int64_t k = 0; k < d->chunks; k++) r[k] = (float)sum[k * channels + c];
        float expected = float_tree(d->chunks, r);
        same_bits("dparam", 1, d->dparam[which] + c, &expected);
    }
}

static void check_page(const norm_case *c) {
    double dgamma[MOST_CHUNKS * MOST] = {0}, dbeta[MOST_CHUNKS * MOST] = {0};
    int64_t channels = channels_of(c), all = places_of(c) * channels;
    drive d;
    drive_open(&d, c->op, c->attrs, 1, &c->in, BATCH, CHUNK);
    assert_int_equal(d.info.n_params, c->affine ? 2 : 0);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t n = 0; n < BATCH; n++) {
        const float *x = d.in[0] + n * all, *dy = d.dout[0] + n * all;
        const page p = page_of(c, &d, x, dy);
        float y[MOST], dx[MOST];
        double slope[MOST] = {0}, product[MOST] = {0};
        for (int64_t i = 0; i < all; i++) {
            int64_t k = i % channels;
            double g = (double)dy[i] * gamma_of(c, &d, k);
            y[i] = c->affine ? (float)((double)d.param[0][k] * p.hat[i] + (double)d.param[1][k])
                             : (float)p.hat[i];
            dx[i] = (float)(p.s[k] * ((g - p.a[k]) - p.hat[i] * p.m[k]));
            slope[k] += (double)dy[i];
            product[k] += (double)dy[i] * p.hat[i];
        }
        for (int64_t k = 0; k < channels; k++) {
            dbeta[n / CHUNK * channels + k] += slope[k];
            dgamma[n / CHUNK * channels + k] += product[k];
        }
        same_bits("y", all, d.out[0] + n * all, y);
        same_bits("dx", all, d.din[0] + n * all, dx);
    }
    if (c->affine) check_dparam(&d, 0, channels, dgamma);
    if (c->affine) check_dparam(&d, 1, channels, dbeta);
    drive_close(&d);
}

static void norms_of_groups_are_the_page(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++) check_page(&cases[k]);
}

static void check_rms_page(int64_t channels) {
    enum { ROWS = 3 };
    const hu_rms_norm_attrs attrs = {.epsilon = 1e-6f};
    const hu_shape in = DRIVE_SHAPE(ROWS, channels);
    double dgamma[MOST_CHUNKS * MOST] = {0};
    drive d;
    drive_open(&d, &hu_op_rms_norm, &attrs, 1, &in, BATCH, CHUNK);
    assert_int_equal(d.info.n_params, 1);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t r = 0; r < BATCH * ROWS; r++) {
        const float *x = d.in[0] + r * channels, *dy = d.dout[0] + r * channels;
        float y[MOST], dx[MOST];
        double square = 0, b = 0;
        for (int64_t c = 0; c < channels; c++) square += (double)x[c] * (double)x[c];
        double s = 1 / sqrt(square / (double)channels + (double)attrs.epsilon);
        for (int64_t c = 0; c < channels; c++) {
            double gamma = (double)d.param[0][c], hat = (double)x[c] * s;
            y[c] = (float)(gamma * hat);
            b += ((double)dy[c] * gamma) * hat;
            dgamma[r / ROWS / CHUNK * channels + c] += (double)dy[c] * hat;
        }
        b /= (double)channels;
        for (int64_t c = 0; c < channels; c++)
            dx[c] = (float)(s * ((double)dy[c] * (double)d.param[0][c] - (double)x[c] * s * b));
        same_bits("y of rms_norm", channels, d.out[0] + r * channels, y);
        same_bits("dx of rms_norm", channels, d.din[0] + r * channels, dx);
    }
    check_dparam(&d, 0, channels, dgamma);
    drive_close(&d);
}

static void rms_norm_is_the_page(void **unused) {
    (void)unused;
    check_rms_page(1);
    check_rms_page(7);
    check_rms_page(64);
}

/* ---- by the definition ---- */

static void near(double found, double expected, double scale) {
    if (!(fabs(found - expected) <= 2e-7 * scale + 1e-12))
        fail_msg("found %.9g, expected %.17g", found, expected);
}

/* xhat has mean 0 and variance v / (v + epsilon) over each group, and is x with another origin and
 * unit; dx has no part along 1 and, but for epsilon, none along xhat. */
static void outputs_have_no_mean_and_their_variance(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++) {
        const norm_case *c = &cases[k];
        int64_t channels = channels_of(c), all = places_of(c) * channels;
        double n = (double)(places_of(c) * c->width);
        drive d;
        drive_open(&d, c->op, c->attrs, 1, &c->in, BATCH, CHUNK);
        for (int64_t i = 0; i < channels && c->affine; i++) d.param[0][i] = 1, d.param[1][i] = 0;
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t at = 0; at < BATCH * all; at += all)
            for (int64_t first = 0; first < channels; first += c->width) {
                double sum = 0, square = 0, given = 0, variance = 0, dx = 0, along = 0, size = 0;
                for (int64_t i = 0; i < all; i++)
                    if (i % channels / c->width == first / c->width)
                        given += (double)d.in[0][at + i] / n;
                for (int64_t i = 0; i < all; i++) {
                    if (i % channels / c->width != first / c->width) continue;
                    double y = (double)d.out[0][at + i];
                    sum += y / n;
                    square += y * y / n;
                    variance += pow((double)d.in[0][at + i] - given, 2) / n;
                    dx += (double)d.din[0][at + i];
                    along += (double)d.din[0][at + i] * y;
                    size += fabs((double)d.din[0][at + i]);
                }
                near(sum, 0, 1);
                near(square, variance / (variance + (double)c->epsilon), 4);
                near(dx, 0, 4 * size);
                if (c->epsilon < 1e-4f) near(along, 0, 1e3 * size);
            }
        drive_close(&d);
    }
}

/* A constant sample gives the bias, and a finite gradient. */
static void constant_samples_give_the_bias(void **unused) {
    (void)unused;
    const norm_case *c = &cases[0];
    drive d;
    drive_open(&d, c->op, c->attrs, 1, &c->in, BATCH, CHUNK);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) d.in[0][i] = 3;
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t i = 0; i < drive_out_elements(&d, 0); i++) {
        assert_true(d.out[0][i] == d.param[1][i % channels_of(c)]);
        assert_true(isfinite(d.din[0][i]));
    }
    drive_close(&d);
}

/* A NaN stays in its sample and group. */
static void nan_fills_its_group_alone(void **unused) {
    (void)unused;
    const norm_case *c = &cases[0];
    int64_t all = hu_shape_elements(&c->in);
    drive d;
    drive_open(&d, c->op, c->attrs, 1, &c->in, BATCH, CHUNK);
    d.in[0][all + 2] = NAN;
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * all; i++)
        assert_true(isnan(d.out[0][i]) == (i / all == 1 && i % channels_of(c) / c->width == 1));
    drive_close(&d);
}

static void refuses(const hu_op *op, const void *attrs, const hu_shape *in, hu_status status,
                    const char *word) {
    hu_shape out;
    int n;
    assert_int_equal(op->shape(attrs, 1, in, &n, &out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void wrong_attributes_are_named(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(4, 8), flat = DRIVE_SHAPE(8), scalar = {.rank = 0};
    const hu_group_norm_attrs none = {0, 1e-5f, true}, endless = {2, INFINITY, true};
    const hu_instance_norm_attrs zero = {0, true};
    const hu_rms_norm_attrs below = {-1}, usual = {1e-6f};
    refuses(&hu_op_group_norm, &three, &in, HU_ERR_SHAPE, "3 groups for 8 channels");
    refuses(&hu_op_group_norm, &none, &in, HU_ERR_SHAPE, "0 groups");
    refuses(&hu_op_group_norm, &endless, &in, HU_ERR_ARGUMENT, "group_norm: epsilon inf");
    refuses(&hu_op_group_norm, &one, &scalar, HU_ERR_SHAPE, "at least 1");
    refuses(&hu_op_instance_norm, &zero, &in, HU_ERR_ARGUMENT, "instance_norm: epsilon 0");
    refuses(&hu_op_instance_norm, &each, &flat, HU_ERR_SHAPE, "expected at least 2 extents");
    refuses(&hu_op_rms_norm, &below, &in, HU_ERR_ARGUMENT, "rms_norm: epsilon -1");
    refuses(&hu_op_rms_norm, &usual, &scalar, HU_ERR_SHAPE, "at least 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_of_groups_are_the_page),
        cmocka_unit_test(rms_norm_is_the_page),
        cmocka_unit_test(outputs_have_no_mean_and_their_variance),
        cmocka_unit_test(constant_samples_give_the_bias),
        cmocka_unit_test(nan_fills_its_group_alone),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
