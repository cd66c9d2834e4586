/* Sums within a sample of docs/reference/numerics/sums.md, "Reductions", written from that page:
 * every bit of norms of rows and places, means, softmax and losses. exp, log and their kin are
 * those that the page names. */
#include "page_sums.h"

#include "base/elementary.h"
#include "op/attributes.h"

/* ---- norms of rows and places ---- */

enum { ROWS = 6, BATCH = 13, CHUNK = 3 };

/* Parameter p's gradient: r [chunks][width] are the sums of the chunks. */
static void check_dparam(const char *what, drive *d, int p, int64_t width, double *const sum) {
    for (int64_t c = 0; c < width; c++) {
        float r[MOST_CHUNKS];
        for (int64_t k = 0; k < d->chunks; k++) r[k] = (float)sum[k * width + c];
        float expected = float_tree(d->chunks, r);
        same_bits(what, 1, d->dparam[p] + c, &expected);
    }
}

typedef struct row_norm {
    double mean, s;
} row_norm;

static row_norm row_norm_of(int64_t width, const float *x, float epsilon) {
    double sum = 0, square = 0, n = (double)width;
    for (int64_t c = 0; c < width; c++) sum += (double)x[c];
    double mean = sum / n;
    for (int64_t c = 0; c < width; c++) square += ((double)x[c] - mean) * ((double)x[c] - mean);
    return (row_norm){mean, 1 / sqrt(square / n + (double)epsilon)};
}

static void layer_norm_of(int64_t width) {
    enum { WIDTHS = 128 };
    const hu_layer_norm_attrs attrs = {.epsilon = 1e-5f};
    hu_shape in = DRIVE_SHAPE(ROWS, width);
    double dgamma[MOST_CHUNKS * WIDTHS] = {0}, dbeta[MOST_CHUNKS * WIDTHS] = {0};
    float y[WIDTHS], dx[WIDTHS];
    drive d;
    drive_open(&d, &hu_op_layer_norm, &attrs, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t r = 0; r < BATCH * ROWS; r++) {
        const float *x = d.in[0] + r * width, *dy = d.dout[0] + r * width;
        row_norm m = row_norm_of(width, x, attrs.epsilon);
        double a = 0, b = 0, *of_chunk = dgamma + r / ROWS / CHUNK * width;
        for (int64_t c = 0; c < width; c++) {
            double gamma = (double)d.param[0][c], hat = ((double)x[c] - m.mean) * m.s;
            y[c] = (float)(gamma * hat + (double)d.param[1][c]);
            a += (double)dy[c] * gamma;
            b += ((double)dy[c] * gamma) * hat;
            of_chunk[c] += (double)dy[c] * hat;
            dbeta[r / ROWS / CHUNK * width + c] += (double)dy[c];
        }
        a /= (double)width, b /= (double)width;
        for (int64_t c = 0; c < width; c++) {
            double g = (double)dy[c] * (double)d.param[0][c], hat = ((double)x[c] - m.mean) * m.s;
            dx[c] = (float)(m.s * ((g - a) - hat * b));
        }
        same_bits("y of layer_norm", width, d.out[0] + r * width, y);
        same_bits("dx of layer_norm", width, d.din[0] + r * width, dx);
    }
    check_dparam("dgamma of layer_norm", &d, 0, width, dgamma);
    check_dparam("dbeta of layer_norm", &d, 1, width, dbeta);
    drive_close(&d);
}

static void layer_norm_is_the_page(void **state) {
    (void)state;
    layer_norm_of(1);
    layer_norm_of(10);
    layer_norm_of(100);
}

static void l2_norm_is_the_page(void **state) {
    enum { C = 19 };
    const hu_l2_norm_attrs attrs = {.scale = 20, .epsilon = 1e-10f};
    hu_shape in = DRIVE_SHAPE(2, ROWS / 2, C);
    double dgamma[MOST_CHUNKS * C] = {0};
    float y[C], dx[C];
    drive d;
    (void)state;
    drive_open(&d, &hu_op_l2_norm, &attrs, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t r = 0; r < BATCH * ROWS; r++) {
        const float *x = d.in[0] + r * C, *dy = d.dout[0] + r * C, *gamma = d.param[0];
        double sum = 0, along = 0;
        for (int c = 0; c < C; c++) sum += (double)x[c] * (double)x[c];
        double l = sqrt(sum + (double)attrs.epsilon);
        for (int c = 0; c < C; c++) {
            y[c] = (float)(((double)gamma[c] * (double)x[c]) / l);
            along += ((double)gamma[c] * (double)dy[c]) * (double)x[c];
            dgamma[r / ROWS / CHUNK * C + c] += ((double)dy[c] * (double)x[c]) / l;
        }
        for (int c = 0; c < C; c++)
            dx[c] =
                (float)((((double)gamma[c] * (double)dy[c]) - ((double)x[c] * along) / (l * l)) /
                        l);
        same_bits("y of l2_norm", C, d.out[0] + r * C, y);
        same_bits("dx of l2_norm", C, d.din[0] + r * C, dx);
    }
    check_dparam("dgamma of l2_norm", &d, 0, C, dgamma);
    drive_close(&d);
}

/* Sum over the window of `size` numbers around c. */
static double window_sum(int64_t channels, int64_t size, const double *of, int64_t c) {
    double sum = 0;
    for (int64_t k = c - size / 2; k <= c + size / 2; k++)
        sum += k >= 0 && k < channels ? of[k] : 0.0;
    return sum;
}

static void local_norm_of(const hu_local_norm_attrs attrs) {
    enum { C = 21 };
    hu_shape in = DRIVE_SHAPE(2, ROWS / 2, C);
    drive d;
    drive_open(&d, &hu_op_local_norm, &attrs, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    double size = (double)attrs.size, alpha = (double)attrs.alpha, beta = (double)attrs.beta;
    for (int64_t r = 0; r < BATCH * ROWS; r++) {
        const float *x = d.in[0] + r * C, *dy = d.dout[0] + r * C;
        double square[C], ratio[C], p[C];
        float y[C], dx[C];
        for (int c = 0; c < C; c++) square[c] = (double)x[c] * (double)x[c];
        for (int c = 0; c < C; c++) {
            double s = (double)attrs.k + (alpha / size) * window_sum(C, attrs.size, square, c);
            p[c] = attrs.beta == 0.75f ? 1 / (sqrt(s) * sqrt(sqrt(s))) : hu_exp(-beta * hu_log(s));
            y[c] = (float)((double)x[c] * p[c]);
            ratio[c] = ((double)dy[c] * ((double)x[c] * p[c])) / s;
        }
        for (int c = 0; c < C; c++)
            dx[c] = (float)((double)dy[c] * p[c] - (((2 * alpha) * beta / size) * (double)x[c]) *
                                                       window_sum(C, attrs.size, ratio, c));
        same_bits("y of local_norm", C, d.out[0] + r * C, y);
        same_bits("dx of local_norm", C, d.din[0] + r * C, dx);
    }
    drive_close(&d);
}

static void local_norm_is_the_page(void **state) {
    (void)state;
    local_norm_of((hu_local_norm_attrs){.size = 5, .alpha = 1e-1f, .beta = 0.75f, .k = 1});
    local_norm_of((hu_local_norm_attrs){.size = 3, .alpha = 0.3f, .beta = 0.6f, .k = 2});
}

/* ---- pools ---- */

static void mean_is_the_page(void **state) {
    enum { H = 5, W = 7, C = 9 };
    hu_shape in = DRIVE_SHAPE(H, W, C);
    drive d;
    (void)state;
    drive_open(&d, &hu_op_global_avg_pool, NULL, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t n = 0; n < BATCH; n++)
        for (int c = 0; c < C; c++) {
            double sum = 0;
            for (int i = 0; i < H * W; i++) sum += (double)d.in[0][(n * H * W + i) * C + c];
            float y = (float)(sum / (H * W)), dx = d.dout[0][n * C + c] / (float)(H * W);
            same_bits("mean", 1, d.out[0] + n * C + c, &y);
            for (int i = 0; i < H * W; i++)
                same_bits("its gradient", 1, d.din[0] + (n * H * W + i) * C + c, &dx);
        }
    drive_close(&d);
}

/* Windows of 3 x 3, a step of 2, no padding; adaptive: 3 x 3 windows of 7 x 7 places. */
static void window_means(bool adaptive) {
    enum { H = 7, OUT = 3, C = 9, N = BATCH };
    const hu_pool_attrs plain = {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2};
    const hu_adaptive_pool_attrs fitted = {OUT, OUT};
    hu_shape in = DRIVE_SHAPE(H, H, C);
    drive d;
    drive_open(&d, adaptive ? &hu_op_adaptive_avg_pool : &hu_op_avg_pool,
               adaptive ? (const void *)&fitted : &plain, 1, &in, N, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    float *dx = floats(N * H * H * C);
    memset(dx, 0, N * H * H * C * sizeof *dx);
    for (int o = 0; o < N * OUT * OUT * C; o++) {
        int c = o % C, ow = o / C % OUT, oh = o / C / OUT % OUT, n = o / C / OUT / OUT;
        int h0 = adaptive ? oh * H / OUT : 2 * oh, w0 = adaptive ? ow * H / OUT : 2 * ow;
        int h1 = adaptive ? ((oh + 1) * H + OUT - 1) / OUT : h0 + 3;
        int w1 = adaptive ? ((ow + 1) * H + OUT - 1) / OUT : w0 + 3;
        int count = (h1 - h0) * (w1 - w0);
        double sum = 0;
        float narrow = 0;
        for (int h = h0; h < h1; h++)
            for (int w = w0; w < w1; w++) {
                int at = ((n * H + h) * H + w) * C + c;
                sum += (double)d.in[0][at];
                narrow += d.in[0][at];
                dx[at] += d.dout[0][o] / (float)count;
            }
        float y = adaptive ? (float)(sum / count) : narrow / (float)count;
        same_bits("mean of a window", 1, d.out[0] + o, &y);
    }
    same_bits("gradient of means of windows", N * H * H * C, d.din[0], dx);
    hu_free(dx);
    drive_close(&d);
}

static void means_of_windows_are_the_page(void **state) {
    (void)state;
    window_means(false);
    window_means(true);
}

/* ---- rows of classes ---- */

typedef struct soft {
    double m, l; /* the largest, log of the sum of powers */
} soft;

static soft soft_of(int64_t n, const float *x) {
    double m = (double)x[0], sum = 0;
    for (int64_t c = 1; c < n; c++) m = fmax(m, (double)x[c]);
    for (int64_t c = 0; c < n; c++) sum += hu_exp((double)x[c] - m);
    return (soft){m, hu_log(sum)};
}

static void log_softmax_is_the_page(void **state) {
    enum { C = 37 };
    hu_shape in = DRIVE_SHAPE(ROWS, C);
    drive d;
    (void)state;
    drive_open(&d, &hu_op_log_softmax, NULL, 1, &in, BATCH, CHUNK);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t r = 0; r < BATCH * ROWS; r++) {
        const float *x = d.in[0] + r * C, *dy = d.dout[0] + r * C;
        soft s = soft_of(C, x);
        double sum = 0;
        float y[C], dx[C];
        for (int c = 0; c < C; c++)
            y[c] = (float)(((double)x[c] - s.m) - s.l), sum += (double)dy[c];
        for (int c = 0; c < C; c++) dx[c] = (float)((double)dy[c] - hu_exp((double)y[c]) * sum);
        same_bits("log_softmax", C, d.out[0] + r * C, y);
        same_bits("its gradient", C, d.din[0] + r * C, dx);
    }
    drive_close(&d);
}

static void attention_weights_are_the_page(void **state) {
    enum { HEADS = 2, T = 19 };
    const hu_attention_mask_attrs causal = {.is_causal = true};
    hu_shape in = DRIVE_SHAPE(HEADS, T, T);
    drive d;
    (void)state;
    drive_open(&d, &hu_op_attention_weights, &causal, 1, &in, 3, 2);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t r = 0; r < 3 * HEADS * T; r++) {
        const float *x = d.in[0] + r * T, *dy = d.dout[0] + r * T;
        int64_t seen = r % T + 1;
        double sum = 0, along = 0, m = (double)x[0];
        float y[T] = {0}, dx[T] = {0};
        for (int64_t c = 1; c < seen; c++) m = fmax(m, (double)x[c]);
        for (int64_t c = 0; c < seen; c++) sum += hu_exp((double)x[c] - m);
        for (int64_t c = 0; c < seen; c++) y[c] = (float)(hu_exp((double)x[c] - m) / sum);
        for (int64_t c = 0; c < seen; c++) along += (double)y[c] * (double)dy[c];
        for (int64_t c = 0; c < seen; c++) dx[c] = (float)((double)y[c] * ((double)dy[c] - along));
        same_bits("attention weights", T, d.out[0] + r * T, y);
        same_bits("their gradient", T, d.din[0] + r * T, dx);
    }
    drive_close(&d);
}

/* ---- losses ---- */

static void check_sums(const drive *d, double *of_sample) {
    double r[MOST_CHUNKS];
    for (int64_t s = 0; s < d->batch; s++) {
        float rounded = (float)of_sample[s];
        same_bits("loss of a sample", 1, d->out[0] + s, &rounded);
    }
    for (int64_t k = 0; k < d->chunks; k++) {
        r[k] = 0;
        for (int64_t s = 0; s < chunk_count(d, k); s++) r[k] += of_sample[chunk_begin(d, k) + s];
    }
    assert_true(d->stats[HU_LOSS_SUM] == tree(d->chunks, r));
}

/* smoothing e; logits of `classes`, or log-probabilities. */
static void row_loss_of(const hu_op *op, int64_t classes, float smoothing) {
    const hu_row_loss_attrs attrs = {.smoothing = smoothing};
    bool is_nll = op == &hu_op_nll;
    hu_shape in[2] = {DRIVE_SHAPE(ROWS, classes), DRIVE_SHAPE(ROWS)};
    double loss[BATCH], e = (double)smoothing, n = (double)classes;
    drive d;
    drive_open(&d, op, &attrs, 2, in, BATCH, CHUNK);
    d.need_din[1] = false;
    for (int64_t r = 0; r < BATCH * ROWS; r++) d.in[1][r] = (float)(r * 7 % classes);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t r = 0; r < BATCH * ROWS; r++) {
        const float *x = d.in[0] + r * classes;
        int64_t class = r * 7 % classes, s = r / ROWS;
        soft row = soft_of(classes, x);
        double dy = (double)d.dout[0][s], all = 0, own = 0;
        for (int64_t c = 0; c < classes; c++) {
            double of_class = is_nll ? -(double)x[c] : -(((double)x[c] - row.m) - row.l);
            all += of_class;
            if (c == class) own = of_class;
        }
        if (smoothing > 0) own = (1 - e) * own + (e / n) * all;
        loss[s] = r % ROWS == 0 ? own : loss[s] + own;
        for (int64_t c = 0; c < classes; c++) {
            double t = c == class ? 1 : 0, power = hu_exp(((double)x[c] - row.m) - row.l);
            if (smoothing > 0) t = (1 - e) * t + e / n;
            float dx = is_nll ? (float)(-dy * t) : (float)(dy * (power - t));
            if (is_nll && c != class && smoothing == 0) dx = 0;
            same_bits("gradient of a loss of rows", 1, d.din[0] + r * classes + c, &dx);
        }
    }
    check_sums(&d, loss);
    drive_close(&d);
}

static void losses_of_rows_are_the_page(void **state) {
    (void)state;
    row_loss_of(&hu_op_nll, 10, 0);
    row_loss_of(&hu_op_nll, 10, 0.1f);
    row_loss_of(&hu_op_softmax_cross_entropy, 10, 0);
    row_loss_of(&hu_op_softmax_cross_entropy, 10, 0.1f);
    row_loss_of(&hu_op_softmax_cross_entropy, 400, 0);
}

static double element_loss(const hu_op *op, double x, double t, double *slope) {
    if (op == &hu_op_mse) {
        *slope = 2 * (x - t);
        return (x - t) * (x - t);
    }
    if (op == &hu_op_l1) {
        *slope = x > t ? 1 : x < t ? -1 : 0;
        return fabs(x - t);
    }
    if (op == &hu_op_kl_normal) {
        *slope = x;
        return (x * x + (hu_expm1(t) - t)) / 2;
    }
    *slope = 1 / (1 + hu_exp(-x)) - t;
    return (fmax(x, 0) - x * t) + hu_log1p(hu_exp(-fabs(x)));
}

static void losses_of_elements_are_the_page(void **state) {
    enum { N = 300 };
    static const hu_op *const ops[] = {&hu_op_mse, &hu_op_l1, &hu_op_bce, &hu_op_kl_normal};
    (void)state;
    for (int k = 0; k < 8; k++) {
        const hu_element_loss_attrs attrs = {.sums = k % 2};
        hu_shape in[2] = {DRIVE_SHAPE(N), DRIVE_SHAPE(N)};
        double loss[BATCH], divisor = attrs.sums ? 1 : N;
        drive d;
        drive_open(&d, ops[k / 2], &attrs, 2, in, BATCH, CHUNK);
        for (int64_t i = 0; i < BATCH * N; i++)
            d.in[1][i] = k / 2 == 2 ? (float)(i % 5) / 4 : d.in[1][i];
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t s = 0; s < BATCH; s++) {
            double sum = 0, slope;
            for (int64_t i = s * N; i < (s + 1) * N; i++) {
                sum += element_loss(ops[k / 2], (double)d.in[0][i], (double)d.in[1][i], &slope);
                float dx = (float)(((double)d.dout[0][s] * slope) / divisor);
                same_bits("gradient of a loss of elements", 1, d.din[0] + i, &dx);
            }
            loss[s] = sum / divisor;
        }
        check_sums(&d, loss);
        drive_close(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layer_norm_is_the_page),
                                       cmocka_unit_test(l2_norm_is_the_page),
                                       cmocka_unit_test(local_norm_is_the_page),
                                       cmocka_unit_test(mean_is_the_page),
                                       cmocka_unit_test(means_of_windows_are_the_page),
                                       cmocka_unit_test(log_softmax_is_the_page),
                                       cmocka_unit_test(attention_weights_are_the_page),
                                       cmocka_unit_test(losses_of_rows_are_the_page),
                                       cmocka_unit_test(losses_of_elements_are_the_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
