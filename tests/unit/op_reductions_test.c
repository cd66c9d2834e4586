/* Sums over the batch of docs/reference/numerics/sums.md, "Reductions", written from that page:
 * every bit of norms over the batch and of bias gradients. */
#include "page_sums.h"

#include "op/attributes.h"

enum { LINES = 128, MOST_CHANNELS = 520 };

/* ---- channel sums ---- */

static int64_t line_width(int64_t channels) {
    int64_t of = channels < 32 ? 32 : 8, width = channels;
    while (width % of != 0) width += channels;
    return width;
}

/* Term i of the array [rows, C] that is summed. */
typedef struct terms {
    int64_t rows, channels;
    const float *dy, *x, *center; /* x NULL: dy, else dy (x - center) */
} terms;

static float term_at(const terms *t, int64_t i) {
    return t->x ? t->dy[i] * (t->x[i] - t->center[i % t->channels]) : t->dy[i];
}

static double column_sum(const terms *t, int64_t width, int64_t j) {
    int64_t n = t->rows * t->channels, whole = n / width;
    double sum = 0;
    for (int64_t begin = 0; begin < whole; begin += LINES) {
        float of_block = 0;
        for (int64_t line = begin; line < whole && line < begin + LINES; line++)
            of_block += term_at(t, line * width + j);
        sum += (double)of_block;
    }
    if (whole * width + j < n) sum += (double)term_at(t, whole * width + j);
    return sum;
}

static double channel_sum(const terms *t, int64_t c) {
    int64_t width = line_width(t->channels);
    double sum = column_sum(t, width, c);
    for (int64_t j = c + t->channels; j < width; j += t->channels) sum += column_sum(t, width, j);
    return sum;
}

/* ---- moments ---- */

typedef struct moments {
    double n, mean, m2;
} moments;

static moments joined(moments a, moments b) {
    double w = b.n / (a.n + b.n), between = a.n * w, delta = b.mean - a.mean;
    double m2 = a.m2 + (b.m2 + (delta * delta) * between);
    return (moments){a.n + b.n, a.mean + delta * w, m2};
}

/* x [rows, C] at column j of lines of `width`. */
static moments column_moments(int64_t numbers, const float *x, int64_t width, int64_t j) {
    int64_t whole = numbers / width;
    float shift = whole > 0 ? x[j] : 0;
    moments m = {0, 0, 0};
    for (int64_t before = 0; before < whole; before += LINES) {
        int64_t end = before + LINES < whole ? before + LINES : whole;
        float s = 0, q = 0;
        for (int64_t line = before; line < end; line++) {
            float d = x[line * width + j] - shift, square = d * d;
            s = s + d;
            q = q + square;
        }
        double n = (double)(end - before), i = 1 / n, w = n / ((double)before + n);
        double b = (double)before * w, mean = (double)shift + (double)s * i, delta = mean - m.mean;
        m.mean = m.mean + delta * w;
        m.m2 = m.m2 + (((double)q - ((double)s * (double)s) * i) + (delta * delta) * b);
        m.n += n;
        shift = (float)mean;
    }
    if (whole * width + j < numbers) {
        double w = 1 / ((double)whole + 1), delta = (double)x[whole * width + j] - m.mean;
        m.mean = m.mean + delta * w;
        m.m2 = m.m2 + (delta * delta) * ((double)whole * w);
        m.n += 1;
    }
    return m;
}

static moments channel_moments(int64_t rows, int64_t channels, const float *x, int64_t c) {
    int64_t width = line_width(channels);
    moments m = {0, 0, 0};
    for (int64_t j = c; j < width; j += channels) {
        moments column = column_moments(rows * channels, x, width, j);
        if (column.n > 0) m = joined(m, column);
    }
    if (m.m2 < 0) m.m2 = 0;
    return m;
}

/* ---- norms over the batch ---- */

static int64_t rows_of_sample(const drive *d, int64_t channels) {
    return hu_shape_elements(&d->in_shape[0]) / channels;
}

static moments batch_moments(const drive *d, int64_t channels, int64_t c) {
    int64_t rows = rows_of_sample(d, channels);
    moments m[MOST_CHUNKS];
    for (int64_t k = 0; k < d->chunks; k++)
        m[k] = channel_moments(chunk_count(d, k) * rows, channels,
                               d->in[0] + chunk_begin(d, k) * rows * channels, c);
    for (int64_t distance = 1; distance < d->chunks; distance *= 2)
        for (int64_t i = 0; i + distance < d->chunks; i += 2 * distance)
            m[i] = joined(m[i], m[i + distance]);
    return m[0];
}

/* center NULL: of dy, or of x where dy is NULL; else of dy (x - center). */
static double batch_sum(const drive *d, const float *dy, const float *center, int64_t channels,
                        int64_t c) {
    int64_t rows = rows_of_sample(d, channels);
    double r[MOST_CHUNKS];
    for (int64_t k = 0; k < d->chunks; k++) {
        int64_t at = chunk_begin(d, k) * rows * channels;
        terms t = {chunk_count(d, k) * rows, channels, dy + at, center ? d->in[0] + at : NULL,
                   center};
        r[k] = channel_sum(&t, c);
    }
    return tree(d->chunks, r);
}

/* What a norm over the batch does in the end, per channel; zeroes: what dx adds at last. */
typedef struct batch_norm {
    double n, mean, scale; /* 1 / sqrt(variance + epsilon), or what stands for it */
    double sum, product;
} batch_norm;

static void norm_inputs(drive *d, int64_t channels) {
    for (int64_t i = 0; i < drive_in_elements(d, 0); i++)
        d->in[0][i] += 2.5f * (float)(i % channels % 7);
}

static void check_forward(const drive *d, int64_t channels, const batch_norm *b) {
    int64_t n = drive_in_elements(d, 0);
    float *y = floats(n);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i % channels;
        float scale = (float)((double)d->param[0][c] * b[c].scale);
        y[i] = (d->in[0][i] - (float)b[c].mean) * scale + d->param[1][c];
    }
    same_bits("y of a norm over the batch", n, d->out[0], y);
    hu_free(y);
}

static void find_sums(const drive *d, int64_t channels, batch_norm *b) {
    float center[MOST_CHANNELS];
    for (int64_t c = 0; c < channels; c++) center[c] = (float)b[c].mean;
    for (int64_t c = 0; c < channels; c++) {
        b[c].sum = batch_sum(d, d->dout[0], NULL, channels, c);
        b[c].product = batch_sum(d, d->dout[0], center, channels, c);
        float dgamma = (float)(b[c].product * b[c].scale), dbeta = (float)b[c].sum;
        same_bits("dgamma", 1, d->dparam[0] + c, &dgamma);
        same_bits("dbeta", 1, d->dparam[1] + c, &dbeta);
    }
}

static void check_running(const float *found, float old, double new, float momentum) {
    float expected = (float)((1 - (double)momentum) * (double)old + (double)momentum * new);
    same_bits("running statistics", 1, found, &expected);
}

static void batch_norm_of(int64_t channels, int64_t height, int64_t batch, int64_t chunk) {
    const hu_batch_norm_attrs attrs = {.epsilon = 1e-5f, .momentum = 0.1f};
    hu_shape in = DRIVE_SHAPE(height, 7, channels);
    batch_norm b[MOST_CHANNELS];
    double variance[MOST_CHANNELS];
    drive d;
    drive_open(&d, &hu_op_batch_norm, &attrs, 1, &in, batch, chunk);
    norm_inputs(&d, channels);
    drive_forward(&d);
    for (int64_t c = 0; c < channels; c++) {
        moments m = batch_moments(&d, channels, c);
        variance[c] = m.m2 / m.n;
        b[c] = (batch_norm){.n = m.n, .mean = m.mean};
        b[c].scale = 1 / sqrt(variance[c] + (double)attrs.epsilon);
    }
    check_forward(&d, channels, b);
    drive_backward(&d);
    find_sums(&d, channels, b);
    int64_t n = drive_in_elements(&d, 0);
    float *dx = floats(n);
    for (int64_t i = 0; i < n; i++) {
        const batch_norm *o = &b[i % channels];
        float scale = (float)((double)d.param[0][i % channels] * o->scale);
        float slope = (float)(((o->product / o->n) * o->scale) * o->scale);
        float from = d.in[0][i] - (float)o->mean;
        dx[i] = scale * ((d.dout[0][i] - (float)(o->sum / o->n)) - from * slope);
    }
    same_bits("dx of batch norm", n, d.din[0], dx);
    drive_commit(&d);
    for (int64_t c = 0; c < channels; c++) {
        check_running(d.param[2] + c, 0, b[c].mean, attrs.momentum);
        check_running(d.param[3] + c, 1, variance[c] * (b[c].n / (b[c].n - 1)), attrs.momentum);
    }
    hu_free(dx);
    drive_close(&d);
}

static void batch_norm_is_the_page(void **state) {
    (void)state;
    batch_norm_of(1, 9, 13, 5);
    batch_norm_of(3, 9, 13, 5);
    batch_norm_of(16, 40, 7, 4); /* several blocks of lines */
    batch_norm_of(24, 9, 2, 2);
    batch_norm_of(32, 60, 3, 1);
    batch_norm_of(58, 9, 9, 4);
    batch_norm_of(520, 3, 5, 2);
    batch_norm_of(33, 1, 3, 1); /* not one whole line in a chunk */
}

/* The groups' extremes of channel c, and the first values that are theirs. */
typedef struct extremes {
    int64_t groups, high[16], low[16];
} extremes;

static extremes extremes_of(const drive *d, int64_t channels, int64_t n, int64_t c) {
    extremes e = {.groups = n < 32 ? (n / 2 > 1 ? n / 2 : 1) : 16};
    for (int64_t g = 0; g < 16; g++) e.high[g] = e.low[g] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t g = e.groups * i / n;
        float x = d->in[0][i * channels + c];
        if (e.high[g] < 0 || x > d->in[0][e.high[g] * channels + c]) e.high[g] = i;
        if (e.low[g] < 0 || x < d->in[0][e.low[g] * channels + c]) e.low[g] = i;
    }
    return e;
}

static void range_norm_of(int64_t channels, int64_t height, int64_t batch, int64_t chunk) {
    const hu_range_norm_attrs attrs = {.epsilon = 1e-5f, .momentum = 0.9f};
    hu_shape in = DRIVE_SHAPE(height, 7, channels);
    batch_norm b[MOST_CHANNELS];
    drive d;
    drive_open(&d, &hu_op_range_norm, &attrs, 1, &in, batch, chunk);
    norm_inputs(&d, channels);
    drive_forward(&d);
    int64_t n = drive_in_elements(&d, 0) / channels;
    double kappa = hu_range_norm_kappa(n);
    for (int64_t c = 0; c < channels; c++) {
        extremes e = extremes_of(&d, channels, n, c);
        double high = 0, low = 0, groups = (double)e.groups;
        for (int64_t g = 0; g < e.groups; g++) {
            high += (double)d.in[0][e.high[g] * channels + c];
            low += (double)d.in[0][e.low[g] * channels + c];
        }
        double range = high / groups - low / groups;
        b[c] = (batch_norm){.n = (double)n,
                            .mean = batch_sum(&d, d.in[0], NULL, channels, c) / (double)n,
                            .scale = 1 / (kappa * range + (double)attrs.epsilon)};
    }
    check_forward(&d, channels, b);
    drive_backward(&d);
    find_sums(&d, channels, b);
    float *dx = floats(n * channels);
    for (int64_t i = 0; i < n * channels; i++) {
        const batch_norm *o = &b[i % channels];
        float scale = (float)((double)d.param[0][i % channels] * o->scale);
        dx[i] = (d.dout[0][i] - (float)(o->sum / o->n)) * scale + 0.0f;
    }
    for (int64_t c = 0; c < channels; c++) {
        extremes e = extremes_of(&d, channels, n, c);
        double share = kappa / (double)e.groups, gamma = (double)d.param[0][c];
        float push = (float)((((-share * gamma) * b[c].product) * b[c].scale) * b[c].scale);
        for (int64_t g = 0; g < e.groups; g++) {
            dx[e.high[g] * channels + c] += push;
            dx[e.low[g] * channels + c] += -push;
        }
    }
    same_bits("dx of range norm", n * channels, d.din[0], dx);
    hu_free(dx);
    drive_close(&d);
}

static void range_norm_is_the_page(void **state) {
    (void)state;
    range_norm_of(3, 9, 13, 5);
    range_norm_of(17, 40, 7, 4);
    range_norm_of(40, 1, 2, 1);
}

/* A bias gradient: channel sums of every chunk, rounded, in the tree. */
static void bias_gradients_are_the_page(void **state) {
    static const int64_t channel_counts[] = {1, 10, 32, 100};
    const hu_bias_attrs attrs = {.bias_init = {HU_INIT_CONSTANT, 0}};
    (void)state;
    for (int k = 0; k < 4; k++) {
        int64_t channels = channel_counts[k], rows = 60 * 9;
        hu_shape in = DRIVE_SHAPE(60, 9, channels);
        drive d;
        drive_open(&d, &hu_op_bias, &attrs, 1, &in, 11, 3);
        drive_backward(&d);
        for (int64_t c = 0; c < channels; c++) {
            float r[MOST_CHUNKS];
            for (int64_t i = 0; i < d.chunks; i++) {
                terms t = {chunk_count(&d, i) * rows, channels,
                           d.dout[0] + chunk_begin(&d, i) * rows * channels, NULL, NULL};
                r[i] = (float)channel_sum(&t, c);
            }
            float expected = float_tree(d.chunks, r);
            same_bits("bias gradient", 1, d.dparam[0] + c, &expected);
        }
        drive_close(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(batch_norm_is_the_page),
                                       cmocka_unit_test(range_norm_is_the_page),
                                       cmocka_unit_test(bias_gradients_are_the_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
