/* kernel/elementary/variant.c - the loops of elementary.h, compiled once per instruction set. */
#include <stdbool.h>
#include <string.h>

#include "kernel/elementary/elementary.h"
#include "kernel/elementary/lanes.inc"

enum { LANES = 8, PART = 64 /* numbers that are doubles at the same time */ };

/* ---- number by number ---- */

static void exp_all(int64_t count, const double *x, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = exp_of(x[i]);
}

static void log_all(int64_t count, const double *x, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = log_of(x[i]);
}

static void tanh_all(int64_t count, const double *x, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = tanh_of(x[i]);
}

static void sigmoid(int64_t count, const float *x, float *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = (float)(1.0 / (1.0 + exp_of(-(double)x[i])));
}

static void tangent(int64_t count, const float *x, float *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = (float)tanh_of((double)x[i]);
}

static void tangent_backward(int64_t count, const float *y, const float *dy, float *dx) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        double one = (double)y[i];
        dx[i] = (float)((double)dy[i] * (1.0 - one * one));
    }
}

static void erfc_all(int64_t count, const double *x, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = erfc_of(x[i]);
}

#include "kernel/elementary/gelu.inc"
#include "kernel/elementary/power.inc"
#include "kernel/elementary/silu.inc"

/* ---- cross entropy of logits and shares ---- */

static void cross_entropy(int64_t count, const double *x, const double *t, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        double magnitude = x[i] < 0 ? -x[i] : x[i], largest = x[i] < 0 ? 0.0 : x[i];
        y[i] = largest - x[i] * t[i] + log1p_of(exp_of(-magnitude));
    }
}

static void share(int64_t count, const double *x, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] = 1 / (1 + exp_of(-x[i]));
}

/* ---- rows, as many at once as there are lanes ---- */

/* A row alone, as many classes at once as there are lanes; the sum goes in their order. */
static void row_log(int64_t classes, const float *x, double *most, double *log_sum) {
    double m = (double)x[0], sum = 0;
    for (int64_t c = 1; c < classes; c++)
        if ((double)x[c] > m || x[c] != x[c]) m = (double)x[c];
    for (int64_t first = 0; first < classes; first += LANES) {
        int64_t n = classes - first < LANES ? classes - first : LANES;
        double part[LANES];
        for (int64_t l = 0; l < LANES; l++) part[l] = (double)x[first + (l < n ? l : 0)] - m;
        exp_all(LANES, part, part);
        for (int64_t l = 0; l < n; l++) sum += part[l];
    }
    *most = m;
    *log_sum = log_of(sum);
}

/* Row l of the eight that begin at row `first`; after the last one the last one again. */
HU_INLINE int64_t row_at(int64_t rows, int64_t first, int64_t l) {
    return first + l < rows ? first + l : rows - 1;
}

/* Column c of eight rows, in double. */
HU_INLINE void column(int64_t classes, const float *x, const int64_t *row, int64_t c, double *to) {
    float gathered[LANES];
    HU_UNROLL
    for (int l = 0; l < LANES; l++) gathered[l] = x[row[l] * classes + c];
    HU_UNROLL
    for (int l = 0; l < LANES; l++) to[l] = (double)gathered[l];
}

typedef double d8 __attribute__((vector_size(64), aligned(8), may_alias));

/* Rows of so many classes and more go one by one, PART classes at a time. */
enum { WIDE = 64 };

/* The largest of n > 0 numbers, NaN where there is one. */
static double largest(int64_t n, const float *x) {
    float most = x[0];
    int is_none = x[0] != x[0];
#pragma omp simd reduction(max : most) reduction(| : is_none)
    for (int64_t i = 1; i < n; i++) {
        is_none |= x[i] != x[i];
        most = x[i] > most ? x[i] : most;
    }
    return is_none ? (double)NAN : (double)most;
}

/* e^(x - m) of n <= PART numbers. */
static HU_APART void powers(int64_t n, const float *x, double m, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = exp_of((double)x[i] - m);
}

/* Of n numbers that are not far below m, in fewer steps; 0: some of them are, or m is large. */
HU_INLINE int powers_near(const int n, const float *x, double m, double *y) {
    const float lowest = (float)(m - 690.0);
    uint16_t far = m < 0x1p20 && m > -0x1p20 ? 0 : 1; /* narrow: loops take more numbers at once */
#pragma omp simd reduction(| : far)
    for (int i = 0; i < n; i++) {
        far = (uint16_t)(far | (x[i] < lowest) | (x[i] != x[i]));
        y[i] = exp_of_near((double)x[i] - m);
    }
    return far == 0;
}

/* sum[row] += eight numbers of each row, in their order; of: those of a row, `step` further those
 * of the next. The numbers are transposed in three steps, as in transpose_8. */
HU_INLINE void add_columns(const double *of, int64_t step, d8 *sum) {
    d8 x[8], pair[8], quad[8];
    HU_UNROLL
    for (int i = 0; i < 8; i++) x[i] = *(const d8 *)(of + i * step);
    HU_UNROLL
    for (int i = 0; i < 8; i += 2) {
        pair[i] = MIX(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        pair[i + 1] = MIX(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    HU_UNROLL
    for (int i = 0; i < 8; i += 4) {
        quad[i] = MIX(pair[i], pair[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        quad[i + 1] = MIX(pair[i + 1], pair[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        quad[i + 2] = MIX(pair[i], pair[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        quad[i + 3] = MIX(pair[i + 1], pair[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    HU_UNROLL
    for (int i = 0; i < 4; i++) *sum += MIX(quad[i], quad[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    HU_UNROLL
    for (int i = 0; i < 4; i++) *sum += MIX(quad[i], quad[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* n <= LANES wide rows: their sums go side by side, each in the order of its classes. */
static void wide_logs(int64_t n, int64_t classes, const float *x, double *most, double *log_sum) {
    double part[LANES * PART] = {0}, sum[LANES] = {0};
    for (int64_t l = 0; l < n; l++) most[l] = largest(classes, x + l * classes);
    for (int64_t first = 0; first < classes; first += PART) {
        int64_t width = classes - first < PART ? classes - first : PART, c = 0;
        for (int64_t l = 0; l < n; l++) {
            const float *row = x + l * classes + first;
            if (width < PART || !powers_near(PART, row, most[l], part + l * PART))
                powers(width, row, most[l], part + l * PART);
        }
        d8 sums = *(const d8 *)sum;
        for (; c + 8 <= width; c += 8) add_columns(part + c, PART, &sums);
        *(d8 *)sum = sums;
        for (; c < width; c++)
            for (int l = 0; l < LANES; l++) sum[l] += part[l * PART + c];
    }
    for (int64_t l = 0; l < n; l++) log_sum[l] = log_of(sum[l]);
}

static void row_logs(int64_t rows, int64_t classes, const float *x, double *most, double *log_sum) {
    int64_t first = 0;
    for (; classes >= WIDE && first < rows; first += LANES)
        wide_logs(rows - first < LANES ? rows - first : LANES, classes, x + first * classes,
                  most + first, log_sum + first);
    for (; first + LANES <= rows; first += LANES) {
        int64_t row[LANES];
        double v[LANES], m[LANES], sum[LANES] = {0};
        for (int l = 0; l < LANES; l++) row[l] = first + l;
        column(classes, x, row, 0, m);
        for (int64_t c = 1; c < classes; c++) {
            column(classes, x, row, c, v);
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                int replaces = (v[l] > m[l]) | (v[l] != v[l]);
                m[l] = replaces ? v[l] : m[l];
            }
        }
        for (int64_t c = 0; c < classes; c++) {
            column(classes, x, row, c, v);
#pragma omp simd
            for (int l = 0; l < LANES; l++) sum[l] += exp_of(v[l] - m[l]);
        }
#pragma omp simd
        for (int l = 0; l < LANES; l++) sum[l] = log_of(sum[l]);
        memcpy(most + first, m, sizeof m);
        memcpy(log_sum + first, sum, sizeof sum);
    }
    for (; first < rows; first++)
        row_log(classes, x + first * classes, most + first, log_sum + first);
}

/* dx = dy softmax(x). */
static HU_APART void slopes_defined(int64_t classes, const float *x, double most, double log_sum,
                                    double dy, float *dx) {
#pragma omp simd
    for (int64_t c = 0; c < classes; c++)
        dx[c] = (float)(dy * exp_of((double)x[c] - most - log_sum));
}

/* CERTAIN numbers; 0: not all of them are certain. */
HU_INLINE int slopes_certain(const float *x, double most, double log_sum, double dy, float *dx) {
    const double below = dy * (1 - SLACK), above = dy * (1 + SLACK);
    const float middle = (float)(most + log_sum);
    uint32_t open = 0;
#pragma omp simd reduction(| : open)
    for (int c = 0; c < CERTAIN; c++) {
        double power = near_exp((double)x[c] - most - log_sum);
        open |= open_bits(power * below, power * above, &dx[c]);
        open |= far_bits(x[c] - middle, 690.0f);
    }
    return open == 0;
}

/* dx = dy softmax(x) of one row, but for its class dy (softmax(x) - 1). */
static void wide_slopes(int64_t classes, const float *x, double most, double log_sum, int64_t class,
                        double dy, float *dx) {
    int64_t c = 0;
    /* Whose middle is so small that differences from it hardly round. */
    bool is_quick = IS_QUICK && most + log_sum < 0x1p20 && most + log_sum > -0x1p20;
    for (; is_quick && c + CERTAIN <= classes; c += CERTAIN) {
        float near[CERTAIN];
        if (slopes_certain(x + c, most, log_sum, dy, near))
            memcpy(dx + c, near, sizeof near);
        else
            slopes_defined(CERTAIN, x + c, most, log_sum, dy, dx + c);
    }
    slopes_defined(classes - c, x + c, most, log_sum, dy, dx + c);
    if (class >= 0 && class < classes)
        dx[class] = (float)(dy * (exp_of((double)x[class] - most - log_sum) - 1.0));
}

static void row_slopes(int64_t rows, int64_t classes, const float *x, const double *most,
                       const double *log_sum, const int64_t *class, const double *dy, float *dx) {
    int is_wide = classes >= WIDE;
    for (int64_t r = 0; is_wide && r < rows; r++)
        wide_slopes(classes, x + r * classes, most[r], log_sum[r], class[r], dy[r],
                    dx + r * classes);
    for (int64_t first = 0; !is_wide && first < rows; first += LANES) {
        int64_t row[LANES], n = rows - first < LANES ? rows - first : LANES;
        double v[LANES], m[LANES], sum[LANES], up[LANES], at[LANES];
        float slope[LANES];
        for (int l = 0; l < LANES; l++) {
            row[l] = row_at(rows, first, l);
            m[l] = most[row[l]], sum[l] = log_sum[row[l]], up[l] = dy[row[l]];
            at[l] = (double)class[row[l]];
        }
        for (int64_t c = 0; c < classes; c++) {
            column(classes, x, row, c, v);
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                double softmax = exp_of(v[l] - m[l] - sum[l]);
                slope[l] = (float)(up[l] * (softmax - (at[l] == (double)c ? 1.0 : 0.0)));
            }
            for (int64_t l = 0; l < n; l++) dx[(first + l) * classes + c] = slope[l];
        }
    }
}

/* ---- softmax over the first numbers of rows: sums of eight rows go side by side, each in the
 * order of its numbers ---- */

/* Numbers that all of the rows have; and of each row its own, which is none after the last. */
typedef struct sight {
    int64_t common, seen[LANES];
} sight;

static sight sight_of(int64_t rows, int64_t first, const int64_t *seen) {
    sight s = {.common = INT64_MAX};
    for (int64_t l = 0; l < LANES; l++) {
        s.seen[l] = first + l < rows ? seen[first + l] : 0;
        if (first + l < rows && s.seen[l] < s.common) s.common = s.seen[l];
    }
    return s;
}

/* e^(x - most) of a row; its end is filled up with what is as near as most itself. */
static void softmax_row(int64_t n, const float *x, double *power) {
    enum { REST = 16 };
    double most = n > 0 ? largest(n, x) : 0.0, near[REST];
    float rest[REST];
    int64_t i = 0;
    for (; i + PART <= n; i += PART)
        if (!powers_near(PART, x + i, most, power + i)) powers(PART, x + i, most, power + i);
    for (int64_t count; i < n; i += count) {
        count = n - i < REST ? n - i : REST;
        for (int k = 0; k < REST; k++) rest[k] = k < count ? x[i + k] : (float)most;
        if (powers_near(REST, rest, most, near))
            memcpy(power + i, near, (size_t)count * sizeof *power);
        else
            powers(count, x + i, most, power + i);
    }
}

/* Sums of the first `common` numbers of n rows, `step` apart. */
static void common_sums(int64_t n, int64_t common, int64_t step, const double *of, double *sum) {
    int64_t c = 0;
    d8 sums = *(const d8 *)sum;
    for (; n == LANES && c + 8 <= common; c += 8) add_columns(of + c, step, &sums);
    *(d8 *)sum = sums;
    for (; c < common; c++)
        for (int64_t l = 0; l < n; l++) sum[l] += of[l * step + c];
}

static void softmax(int64_t rows, int64_t width, const int64_t *seen, const float *x,
                    double *scratch, float *y) {
    for (int64_t first = 0; first < rows; first += LANES) {
        int64_t n = rows - first < LANES ? rows - first : LANES;
        sight s = sight_of(rows, first, seen);
        double sum[LANES] = {0};
        for (int64_t l = 0; l < n; l++)
            softmax_row(s.seen[l], x + (first + l) * width, scratch + l * width);
        common_sums(n, s.common, width, scratch, sum);
        for (int64_t l = 0; l < n; l++) {
            const double *power = scratch + l * width;
            float *row = y + (first + l) * width;
            double all = sum[l];
            for (int64_t c = s.common; c < s.seen[l]; c++) all += power[c];
#pragma omp simd
            for (int64_t c = 0; c < s.seen[l]; c++) row[c] = (float)(power[c] / all);
            memset(row + s.seen[l], 0, (size_t)(width - s.seen[l]) * sizeof *row);
        }
    }
}

/* Sums of y dy of n rows, over their first `common` numbers. */
static void common_products(int64_t n, int64_t common, int64_t width, const float *y,
                            const float *dy, double *sum) {
    double part[LANES * PART];
    for (int64_t first = 0; first < common; first += PART) {
        int64_t count = common - first < PART ? common - first : PART;
        for (int64_t l = 0; l < n; l++) {
            const float *a = y + l * width + first, *b = dy + l * width + first;
#pragma omp simd
            for (int64_t c = 0; c < count; c++) part[l * PART + c] = (double)a[c] * (double)b[c];
        }
        common_sums(n, count, PART, part, sum);
    }
}

static void softmax_backward(int64_t rows, int64_t width, const int64_t *seen, const float *y,
                             const float *dy, float *dx) {
    for (int64_t first = 0; first < rows; first += LANES) {
        int64_t n = rows - first < LANES ? rows - first : LANES, at = first * width;
        sight s = sight_of(rows, first, seen);
        double sum[LANES] = {0};
        common_products(n, s.common, width, y + at, dy + at, sum);
        for (int64_t l = 0; l < n; l++, at += width) {
            double all = sum[l];
            for (int64_t c = s.common; c < s.seen[l]; c++)
                all += (double)y[at + c] * (double)dy[at + c];
#pragma omp simd
            for (int64_t c = 0; c < s.seen[l]; c++)
                dx[at + c] = (float)((double)y[at + c] * ((double)dy[at + c] - all));
            memset(dx + at + s.seen[l], 0, (size_t)(width - s.seen[l]) * sizeof *dx);
        }
    }
}

/* ---- layer norms: eight rows at once, of which each lane sums one in the order of its numbers;
 * what follows the sums goes row by row, many numbers at once ---- */

/* Number c of rows first .. first+7 less the row's mean, at to[c LANES ..]; mean and 1 /
 * sqrt(variance + epsilon) of each. The variance is that around the mean that was found (two
 * passes), without the correction of samples. */
static void layer_moments(int64_t rows, int64_t first, const hu_layer_norm *layer, const float *x,
                          double *restrict to, double *mean, double *inverse) {
    double n = (double)layer->width, sum[LANES] = {0}, square[LANES] = {0};
    int64_t row[LANES];
    for (int l = 0; l < LANES; l++) row[l] = row_at(rows, first, l);
    for (int64_t c = 0; c < layer->width; c++) {
        double *at = to + c * LANES;
        column(layer->width, x, row, c, at);
        HU_UNROLL
        for (int l = 0; l < LANES; l++) sum[l] += at[l];
    }
    for (int l = 0; l < LANES; l++) mean[l] = sum[l] / n;
    for (int64_t c = 0; c < layer->width; c++) {
        double *at = to + c * LANES;
        HU_UNROLL
        for (int l = 0; l < LANES; l++) {
            at[l] -= mean[l];
            square[l] += at[l] * at[l];
        }
    }
    for (int l = 0; l < LANES; l++) inverse[l] = 1.0 / sqrt(square[l] / n + layer->epsilon);
}

static void layer_norm(int64_t rows, const hu_layer_norm *layer, const float *x, double *scratch,
                       float *y) {
    for (int64_t first = 0; first < rows; first += LANES) {
        double mean[LANES], inverse[LANES];
        layer_moments(rows, first, layer, x, scratch, mean, inverse);
        for (int64_t l = 0; l < LANES && first + l < rows; l++) {
            const float *from = x + (first + l) * layer->width;
            float *to = y + (first + l) * layer->width;
            double m = mean[l], s = inverse[l];
#pragma omp simd
            for (int64_t c = 0; c < layer->width; c++)
                to[c] = (float)((double)layer->weight[c] * (((double)from[c] - m) * s) +
                                (double)layer->bias[c]);
        }
    }
}

/* The means over a row of g = dy weight and of g xhat, of eight rows whose x - mean is centred. */
static void layer_means(int64_t rows, int64_t first, const hu_layer_norm *layer,
                        const double *restrict centred, const float *dy, const double *inverse,
                        double *mean, double *mean_product) {
    double n = (double)layer->width, sum[LANES] = {0}, product[LANES] = {0};
    int64_t row[LANES];
    for (int l = 0; l < LANES; l++) row[l] = row_at(rows, first, l);
    for (int64_t c = 0; c < layer->width; c++) {
        double g[LANES], weight = (double)layer->weight[c];
        column(layer->width, dy, row, c, g);
        HU_UNROLL
        for (int l = 0; l < LANES; l++) {
            double slope = g[l] * weight;
            sum[l] += slope;
            product[l] += slope * (centred[c * LANES + l] * inverse[l]);
        }
    }
    for (int l = 0; l < LANES; l++) {
        mean[l] = sum[l] / n;
        mean_product[l] = product[l] / n;
    }
}

/* One row's part of the sums of weight and bias. */
static void layer_add(int64_t width, const float *x, const float *dy, double mean, double inverse,
                      double *restrict dweight, double *restrict dbias) {
#pragma omp simd
    for (int64_t c = 0; c < width; c++) {
        dweight[c] += (double)dy[c] * (((double)x[c] - mean) * inverse);
        dbias[c] += (double)dy[c];
    }
}

static void layer_norm_backward(int64_t rows, const hu_layer_norm *layer, const float *x,
                                const float *dy, double *scratch, double *dweight, double *dbias,
                                float *dx) {
    for (int64_t first = 0; first < rows; first += LANES) {
        double mean[LANES], inverse[LANES], slope[LANES], product[LANES];
        layer_moments(rows, first, layer, x, scratch, mean, inverse);
        layer_means(rows, first, layer, scratch, dy, inverse, slope, product);
        for (int64_t l = 0; l < LANES && first + l < rows; l++) {
            int64_t at = (first + l) * layer->width;
            double m = mean[l], s = inverse[l], along = slope[l], across = product[l];
            layer_add(layer->width, x + at, dy + at, m, s, dweight, dbias);
            if (!dx) continue;
#pragma omp simd
            for (int64_t c = 0; c < layer->width; c++) {
                double xhat = ((double)x[at + c] - m) * s;
                double g = (double)dy[at + c] * (double)layer->weight[c];
                dx[at + c] = (float)(s * (g - along - xhat * across));
            }
        }
    }
}

/* ---- local norms: windows over channels. Places lie after each other with zeros between them,
 * which stand for channels that are none and change no sum: loops run over many places ---- */

/* s^-power; the usual one needs no logarithm. */
HU_INLINE double power_of(double s, double power, int is_usual) {
    return is_usual ? 1.0 / (sqrt(s) * sqrt(sqrt(s))) : exp_of(-power * log_of(s));
}

/* Up to hu_local_places places. What belongs to channel c of place p has the number p length + c in
 * scale, power and sum, and reach more in square and ratio. */
typedef struct local_block {
    int64_t places, length;
    double *square, *ratio, *scale, *power;
} local_block;

static local_block local_begin(const hu_local_window *window, double *scratch) {
    int64_t n = hu_local_numbers(window) / 4;
    memset(scratch, 0, (size_t)(4 * n) * sizeof *scratch);
    return (local_block){.length = window->channels + 2 * window->reach,
                         .square = scratch,
                         .ratio = scratch + n,
                         .scale = scratch + 2 * n,
                         .power = scratch + 3 * n};
}

/* sum_i = in_i + ... + in_(i + 2 reach), in that order. */
HU_INLINE void window_sums(const local_block *b, int64_t reach, const double *restrict in,
                           double *restrict sum) {
    int64_t n = b->places * b->length - 2 * reach;
    if (reach == 2) { /* nearly always */
        for (int64_t i = 0; i < n; i++)
            sum[i] = 0.0 + in[i] + in[i + 1] + in[i + 2] + in[i + 3] + in[i + 4];
        return;
    }
    for (int64_t i = 0; i < n; i++) sum[i] = 0.0 + in[i];
    for (int64_t k = 1; k <= 2 * reach; k++)
        for (int64_t i = 0; i < n; i++) sum[i] += in[i + k];
}

/* s and s^-power of all channels of x [places, channels]. */
HU_INLINE void local_powers(const hu_local_window *window, int is_usual, const float *x,
                            const local_block *b) {
    const double k = window->k, share = window->share, usual = window->power;
    double *restrict scale = b->scale, *restrict power = b->power;
    for (int64_t p = 0; p < b->places; p++) {
        double *square = b->square + p * b->length + window->reach;
        const float *row = x + p * window->channels;
        for (int64_t c = 0; c < window->channels; c++) square[c] = (double)row[c] * (double)row[c];
    }
    window_sums(b, window->reach, b->square, scale);
#pragma omp simd
    for (int64_t i = 0; i < b->places * b->length - 2 * window->reach; i++) {
        double s = k + share * scale[i];
        scale[i] = s;
        power[i] = power_of(s, usual, is_usual);
    }
}

HU_INLINE void norm_block(const hu_local_window *window, int is_usual, const float *x,
                          const local_block *b, float *y) {
    local_powers(window, is_usual, x, b);
    for (int64_t p = 0; p < b->places; p++)
        for (int64_t c = 0; c < window->channels; c++) {
            int64_t at = p * window->channels + c;
            y[at] = (float)((double)x[at] * b->power[p * b->length + c]);
        }
}

HU_INLINE void norm_block_backward(const hu_local_window *window, int is_usual, double factor,
                                   const float *x, const float *dy, const local_block *b,
                                   float *dx) {
    local_powers(window, is_usual, x, b);
    for (int64_t p = 0; p < b->places; p++) {
        double *restrict ratio = b->ratio + p * b->length + window->reach;
        const double *power = b->power + p * b->length, *scale = b->scale + p * b->length;
        for (int64_t c = 0; c < window->channels; c++) {
            int64_t at = p * window->channels + c;
            ratio[c] = (double)dy[at] * ((double)x[at] * power[c]) / scale[c];
        }
    }
    window_sums(b, window->reach, b->ratio, b->scale);
    for (int64_t p = 0; p < b->places; p++)
        for (int64_t c = 0; c < window->channels; c++) {
            int64_t at = p * window->channels + c, i = p * b->length + c;
            dx[at] = (float)((double)dy[at] * b->power[i] - factor * (double)x[at] * b->scale[i]);
        }
}

static int is_usual(const hu_local_window *window) {
    return !(window->power < 0.75 || window->power > 0.75);
}

static void local_norm(int64_t places, const hu_local_window *window, const float *x,
                       double *scratch, float *y) {
    local_block b = local_begin(window, scratch);
    for (int64_t p = 0; p < places; p += b.places) {
        int64_t at = p * window->channels, most = hu_local_places(window);
        b.places = places - p < most ? places - p : most;
        if (is_usual(window))
            norm_block(window, 1, x + at, &b, y + at);
        else
            norm_block(window, 0, x + at, &b, y + at);
    }
}

static void local_norm_backward(int64_t places, const hu_local_window *window, double factor,
                                const float *x, const float *dy, double *scratch, float *dx) {
    local_block b = local_begin(window, scratch);
    for (int64_t p = 0; p < places; p += b.places) {
        int64_t at = p * window->channels, most = hu_local_places(window);
        b.places = places - p < most ? places - p : most;
        if (is_usual(window))
            norm_block_backward(window, 1, factor, x + at, dy + at, &b, dx + at);
        else
            norm_block_backward(window, 0, factor, x + at, dy + at, &b, dx + at);
    }
}

const hu_elementary_kernels HU_VARIANT(hu_elementary_kernels) = {
    .exp = exp_all,
    .log = log_all,
    .tanh = tanh_all,
    .erfc = erfc_all,
    .sigmoid = sigmoid,
    .tangent = tangent,
    .tangent_backward = tangent_backward,
    .gelu = gelu,
    .gelu_backward = gelu_backward,
    .gelu_tanh = gelu_tanh,
    .gelu_tanh_backward = gelu_tanh_backward,
    .silu = silu,
    .silu_backward = silu_backward,
    .hard_swish = hard_swish,
    .hard_swish_backward = hard_swish_backward,
    .hard_sigmoid = hard_sigmoid,
    .hard_sigmoid_backward = hard_sigmoid_backward,
    .exponential = exponential,
    .logarithm = logarithm,
    .power = power,
    .power_backward = power_backward,
    .cross_entropy = cross_entropy,
    .share = share,
    .row_logs = row_logs,
    .row_slopes = row_slopes,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .local_norm = local_norm,
    .local_norm_backward = local_norm_backward};

/* Box-Muller as in hu_random_normal, in vectors: every lane goes through
 * the operations of base/elementary.c in their order, choices are selections. */

/* a where the mask is all ones, b where it is 0; compilers do not pull it out of a division. */
HU_INLINE double choose(uint64_t mask, double a, double b) {
    uint64_t other = hu_f64_bits(b);
    return hu_f64_of_bits(other ^ ((hu_f64_bits(a) ^ other) & mask));
}

/* hu_cos_turns; one loop for both series, that of the cosine begins a term later. */
HU_INLINE double cos_of(uint64_t turns) {
    const uint64_t quarter = UINT64_C(1) << 30;
    const double pi_by_2_31 = 0x1.921fb54442d18p-30;
    /* The turn is folded into its first eighth by the symmetries of the cosine; all steps are
     * exact. */
    double folded = double_of(turns), q = (double)quarter;
    folded = folded > 2 * q ? 4 * q - folded : folded;
    int is_negative = folded > q;
    folded = is_negative ? 2 * q - folded : folded;
    uint64_t is_cos = 0 - (uint64_t)(folded <= 0.5 * q);
    double x = choose(is_cos, folded, q - folded) * pi_by_2_31, z = x * x;
    double p = choose(is_cos, 0.0, -z / 272.0);
    HU_UNROLL
    for (int k = 16; k >= 4; k -= 2)
        p = (p + 1) * -z / choose(is_cos, (double)(k * (k - 1)), (double)((k - 1) * (k - 2)));
    double half = 0.5 * z, y = choose(is_cos, 1.0 - (half + half * p), x + x * p);
    return is_negative ? -y : y;
}

void HU_VARIANT(hu_normals)(size_t count, const uint32_t *words, float *x) {
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        /* u in (0, 1]: the logarithm of 0 cannot come up. */
        double u = (double_of(words[2 * i]) + 1.0) * 0x1p-32;
        x[i] = (float)(sqrt(-2.0 * log_of_normal(u)) * cos_of(words[2 * i + 1]));
    }
}
