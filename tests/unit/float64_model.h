/* The layers of a residual network in float64, written from their equations, each with a bound of
 * what float32 may make of it. Nothing here shares code with the program.
 *
 * Bounds: u = 2^-24 is the error of one float32 operation, g(n) = n u / (1 - n u) that of a sum of
 * n products, relative to the sum of their magnitudes, whatever the order of the additions (Higham,
 * Accuracy and Stability, section 4.2). Sums of batch norm are float32 in blocks of 128 rows, then
 * double. Images are [N, H, W, C], weights [out, kh, kw, in].
 */
#ifndef HU_TEST_FLOAT64_MODEL_H
#define HU_TEST_FLOAT64_MODEL_H
#include <math.h>
#include <stdint.h>

#include "base/rng.h"

static const double model_unit = 0x1p-24, model_slack = 1.01; /* terms of u squared */

typedef struct bounded {
    double value, error;
} bounded;

static inline double gamma_of(double n) {
    return n * model_unit / (1.0 - n * model_unit);
}

/* ---- uniform quantiser ---- */

typedef struct grid {
    double zero, step, levels; /* zero and step are float32 numbers */
} grid;

/* Single float32 operations: a double result of +, -, * or / of float32 numbers, rounded to
 * float32, is the float32 operation (53 >= 2 x 24 + 2 digits: Figueroa, "When is double rounding
 * innocuous?"). */
static inline grid grid_of(int64_t n, const float *x, int bits) {
    float low = x[0], high = x[0];
    for (int64_t i = 1; i < n; i++) {
        if (x[i] < low) low = x[i];
        if (x[i] > high) high = x[i];
    }
    double levels = exp2(bits) - 1.0;
    float step = (float)((double)(float)((double)high - (double)low) / levels);
    return (grid){low + 0.0f, step > 1e-8f ? step : 1e-8f, levels};
}

static inline double clamped(double t, double most) {
    return t < 0.0 ? 0.0 : t > most ? most : t;
}

/* noise: u - 1/2 of stochastic rounding, 0 of nearest. rint rounds ties to even. */
static inline double code_of(const grid *g, float x, double noise) {
    double t = (float)((double)(float)((double)x - g->zero) / g->step);
    return rint(clamped((float)(t + noise), g->levels));
}

static inline float value_of(const grid *g, double code) {
    return (float)((double)(float)(g->step * code) + g->zero);
}

static inline double noise_of(const hu_random_key *key, int64_t i) {
    return key ? (double)(hu_random_word(key, (uint64_t)i) >> 8) * 0x1p-24 - 0.5 : 0.0;
}

/* The place among the levels without any rounding, as the papers write it: float32 moves it by no
 * more than four operations' errors of at most the levels. */
static inline bounded exact_place(const grid *g, double low, double high, float x, double noise) {
    double step = fmax((high - low) / g->levels, 1e-8);
    return (bounded){(x - low) / step + noise, 5.0 * model_unit * (g->levels + 1.0)};
}

/* ---- sums ---- */

typedef struct product_sum {
    double total, magnitude, count;
} product_sum;

static inline void add_product(product_sum *s, double a, double b) {
    s->total += a * b;
    s->magnitude += fabs(a * b);
    s->count += 1.0;
}

static inline bounded sum_bound(const product_sum *s) {
    return (bounded){s->total, gamma_of(s->count) * s->magnitude};
}

/* ---- convolution ---- */

typedef struct conv_sizes {
    int64_t n, h, w, in, oh, ow, out, kernel, stride, pad;
} conv_sizes;

/* Pixel of the input under tap k of output pixel o; -1: in the padding. */
static inline int64_t tap(const conv_sizes *s, int64_t o, int64_t k, int64_t extent) {
    int64_t at = o * s->stride + k - s->pad;
    return at >= 0 && at < extent ? at : -1;
}

/* What is done with every product of the convolution: indices of x, w and y. */
typedef void product_fn(void *context, int64_t x, int64_t w, int64_t y);

static inline void each_channel(const conv_sizes *s, int64_t pixel, int64_t weight, int64_t to,
                                product_fn *fn, void *context) {
    for (int64_t o = 0; o < s->out; o++)
        for (int64_t i = 0; i < s->in; i++)
            fn(context, pixel * s->in + i, o * s->kernel * s->kernel * s->in + weight * s->in + i,
               to * s->out + o);
}

static inline void each_tap(const conv_sizes *s, int64_t n, int64_t oy, int64_t ox, product_fn *fn,
                            void *context) {
    for (int64_t ky = 0; ky < s->kernel; ky++)
        for (int64_t kx = 0; kx < s->kernel; kx++) {
            int64_t y = tap(s, oy, ky, s->h), x = tap(s, ox, kx, s->w);
            if (y < 0 || x < 0) continue;
            each_channel(s, (n * s->h + y) * s->w + x, ky * s->kernel + kx,
                         (n * s->oh + oy) * s->ow + ox, fn, context);
        }
}

static inline void each_product(const conv_sizes *s, product_fn *fn, void *context) {
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t oy = 0; oy < s->oh; oy++)
            for (int64_t ox = 0; ox < s->ow; ox++) each_tap(s, n, oy, ox, fn, context);
}

/* The three products of a convolution: y, dx and dw as sums, all arrays zeroed by the caller. */
typedef struct conv_model {
    const float *x, *w, *dy;
    product_sum *y, *dx, *dw;
} conv_model;

static inline void conv_forward(void *context, int64_t x, int64_t w, int64_t y) {
    conv_model *m = context;
    add_product(&m->y[y], m->x[x], m->w[w]);
}

static inline void conv_input_gradient(void *context, int64_t x, int64_t w, int64_t y) {
    conv_model *m = context;
    add_product(&m->dx[x], m->w[w], m->dy[y]);
}

static inline void conv_weight_gradient(void *context, int64_t x, int64_t w, int64_t y) {
    conv_model *m = context;
    add_product(&m->dw[w], m->x[x], m->dy[y]);
}

/* ---- batch norm, one channel ---- */

typedef struct norm_model {
    int64_t rows, channels;
    const float *x, *dy; /* [rows, channels] */
    double gamma, beta, epsilon;
    double mean, variance, inverse;     /* 1 / sqrt(variance + epsilon) */
    double center_error, inverse_error; /* of the float32 mean; relative, of the inverse */
    double sum_dy, sum_dy_error, product, product_error; /* sum of dy (x - mean) */
} norm_model;

enum { NORM_BLOCK = 128, NORM_MORE = 12 }; /* float32 operations after a product_sum */

static inline double spread(const norm_model *m, int64_t c, double mean) {
    double total = 0.0;
    for (int64_t r = 0; r < m->rows; r++) {
        double x = m->x[r * m->channels + c] - mean;
        total += x * x;
    }
    return total / (double)m->rows;
}

static inline void norm_moments(norm_model *m, int64_t c) {
    double total = 0.0, magnitude = 0.0, n = (double)m->rows;
    for (int64_t r = 0; r < m->rows; r++) {
        total += m->x[r * m->channels + c];
        magnitude += fabs(m->x[r * m->channels + c]);
    }
    m->mean = total / n;
    m->variance = spread(m, c, m->mean);
    m->inverse = 1.0 / sqrt(m->variance + m->epsilon);
    m->center_error = gamma_of(NORM_BLOCK) * magnitude / n + model_unit * fabs(m->mean);
    double error =
        gamma_of(NORM_BLOCK + NORM_MORE) * m->variance + m->center_error * m->center_error;
    m->inverse_error = error / (2.0 * (m->variance + m->epsilon)) + model_unit;
}

/* y = gamma (x - mean) / sqrt(variance + epsilon) + beta */
static inline bounded norm_forward(const norm_model *m, double x) {
    double scale = m->gamma * m->inverse, from = x - m->mean, y = scale * from + m->beta;
    double error =
        fabs(scale) * (m->center_error + fabs(from) * (m->inverse_error + 3 * model_unit));
    return (bounded){y, model_slack * (error + model_unit * fabs(y))};
}

static inline void norm_sums(norm_model *m, int64_t c) {
    double dy_magnitude = 0.0, magnitude = 0.0;
    m->sum_dy = m->product = 0.0;
    for (int64_t r = 0; r < m->rows; r++) {
        double dy = m->dy[r * m->channels + c], from = m->x[r * m->channels + c] - m->mean;
        m->sum_dy += dy;
        m->product += dy * from;
        dy_magnitude += fabs(dy);
        magnitude += fabs(dy * from);
    }
    m->sum_dy_error = gamma_of(NORM_BLOCK) * dy_magnitude;
    m->product_error =
        gamma_of(NORM_BLOCK + NORM_MORE) * (magnitude + dy_magnitude * m->center_error) +
        m->center_error * fabs(m->sum_dy);
}

/* dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - xhat mean(dy xhat)) */
static inline bounded norm_backward(const norm_model *m, double x, double dy) {
    double n = (double)m->rows, scale = m->gamma * m->inverse, from = x - m->mean;
    double square = m->inverse * m->inverse, slope = m->product / n * square;
    double inner = dy - m->sum_dy / n - from * slope;
    double slope_error =
        square * m->product_error / n + fabs(slope) * (2 * m->inverse_error + 2 * model_unit);
    double error = (m->sum_dy_error + model_unit * fabs(m->sum_dy)) / n + fabs(from) * slope_error +
                   (m->center_error + model_unit * fabs(from)) * fabs(slope) +
                   4 * model_unit * (fabs(dy) + fabs(m->sum_dy) / n + fabs(from * slope));
    double relative = m->inverse_error + 3 * model_unit;
    return (bounded){scale * inner, model_slack * fabs(scale) * (error + fabs(inner) * relative)};
}

static inline bounded norm_dgamma(const norm_model *m) {
    double value = m->product * m->inverse;
    double error = m->inverse * m->product_error + fabs(value) * (m->inverse_error + model_unit);
    return (bounded){value, model_slack * error};
}

static inline bounded norm_dbeta(const norm_model *m) {
    return (bounded){m->sum_dy, model_slack * (m->sum_dy_error + model_unit * fabs(m->sum_dy))};
}

/* ---- log-softmax, one row ---- */

static inline bounded log_softmax(int64_t classes, const float *x, int64_t c) {
    double most = x[0], total = 0.0;
    for (int64_t k = 1; k < classes; k++) most = fmax(most, x[k]);
    for (int64_t k = 0; k < classes; k++) total += exp(x[k] - most);
    double y = x[c] - most - log(total);
    return (bounded){y, model_slack * model_unit * fabs(y) + 1e-14};
}

/* dx = dy - exp(y) sum(dy) */
static inline bounded log_softmax_gradient(int64_t classes, const float *y, const float *dy,
                                           int64_t c) {
    double total = 0.0;
    for (int64_t k = 0; k < classes; k++) total += dy[k];
    double dx = dy[c] - exp(y[c]) * total;
    return (bounded){dx, model_slack * model_unit * fabs(dx) + 1e-14 * (fabs(dy[c]) + fabs(total))};
}

/* ---- learned precision ---- */

/* G.3 with bit-operations: sum of MACs b^2, the constant left out. */
typedef struct learned_model {
    int layers, least, most;
    const double *macs;
    double target, balance, rate; /* target: of the cost with the most bits */
    double cost;                  /* of the step before, over that with the most bits */
    double *beta;                 /* [layers] */
} learned_model;

static inline double learned_bits(const learned_model *m, int layer) {
    return fmin(fmax(rint(m->beta[layer] * m->most), m->least), m->most);
}

/* dL/dbeta of the task from the sum of dL/dQ (round(u) - u) s. */
static inline double task_gradient(const learned_model *m, double b, double sensitivity) {
    return -sensitivity * m->most * log(2.0) * exp2(b) / (exp2(b) - 1.0);
}

/* One step of all betas: Eq. 5, then the clamp. sensitivity: [layers] */
static inline void learned_step(learned_model *m, const double *sensitivity) {
    double all = 0.0, most = 0.0, mean_task = 0.0, mean_cost = 0.0;
    for (int l = 0; l < m->layers; l++) {
        all += m->macs[l] * learned_bits(m, l) * learned_bits(m, l);
        most += m->macs[l] * m->most * m->most;
    }
    m->cost = all / most;
    double weight = m->cost >= m->target ? 1.0 : 0.0; /* the cost's part in the loss */
    for (int l = 0; l < m->layers; l++) {
        double b = learned_bits(m, l);
        mean_task += fabs(task_gradient(m, b, sensitivity[l])) / m->layers;
        mean_cost += weight * 2.0 * m->macs[l] * b * m->most / m->layers;
    }
    for (int l = 0; l < m->layers; l++) {
        double b = learned_bits(m, l);
        double g = task_gradient(m, b, sensitivity[l]);
        g += m->balance * weight * 2.0 * m->macs[l] * b * m->most * mean_task / (mean_cost + 1e-12);
        m->beta[l] = fmin(fmax(m->beta[l] - m->rate * g, (double)m->least / m->most), 1.0);
    }
}

#endif
