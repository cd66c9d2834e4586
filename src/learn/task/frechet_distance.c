#include <math.h>

#include "task/task.h"

/* ---- metric fd64 ---- */

/* FD-64: how far drawn pictures are from real ones, as sets. The features of a picture are the
 * means of the 8 x 8 blocks that it consists of; the distance is that of Frechet between the normal
 * laws of both sets' features: |m1 - m2|^2 + tr(C1 + C2 - 2 (C1^1/2 C2 C1^1/2)^1/2), all in double.
 * It is not FID, whose features are those of a classifier. */

enum { SIDE = 8, FEATURES = SIDE * SIDE, SQUARE = FEATURES * FEATURES };

/* Of the drawn pictures, then of the real ones: the sum of the features, and of their products. */
enum { SUM, PRODUCTS = FEATURES, HALF = FEATURES + SQUARE, SAMPLES = 2 * HALF, SUMS };

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

/* feature [64] of a square picture [side, side, channels] whose side is a multiple of 8; NaN for
 * others, or without numbers. */
static void describe(const hu_metric_call *shape, const float *picture, double *feature) {
    int64_t side = (int64_t)(sqrt((double)shape->rows) + 0.5), block = side / SIDE;
    int64_t row = side * shape->outputs, part = block * shape->outputs;
    bool fits = picture && block > 0 && side * side == shape->rows && block * SIDE == side;
    for (int f = 0; f < FEATURES; f++) {
        double sum = 0.0;
        for (int64_t y = 0; fits && y < block; y++)
            for (int64_t x = 0; x < part; x++)
                sum += (double)picture[(f / SIDE * block + y) * row + f % SIDE * part + x];
        feature[f] = fits ? sum / (double)(block * part) : (double)NAN;
    }
}

static void add_feature(const double *feature, double *sums) {
    for (int i = 0; i < FEATURES; i++) {
        sums[SUM + i] += feature[i];
        for (int j = 0; j < FEATURES; j++)
            sums[PRODUCTS + FEATURES * i + j] += feature[i] * feature[j];
    }
}

static void add(const hu_metric_call *part, double *sums) {
    int64_t numbers = part->rows * part->outputs;
    double feature[FEATURES];
    for (int64_t s = 0; s < part->samples; s++) {
        describe(part, part->prediction ? part->prediction + s * numbers : NULL, feature);
        add_feature(feature, sums);
        describe(part, part->target + s * numbers, feature);
        add_feature(feature, sums + HALF);
    }
    sums[SAMPLES] += (double)part->samples;
}

/* mean [64] and covariance [64, 64], divisor n - 1. */
static void moments(const double *sums, double n, double *mean, double *covariance) {
    for (int i = 0; i < FEATURES; i++) mean[i] = sums[SUM + i] / n;
    for (int i = 0; i < FEATURES; i++)
        for (int j = 0; j < FEATURES; j++)
            covariance[FEATURES * i + j] =
                (sums[PRODUCTS + FEATURES * i + j] - n * mean[i] * mean[j]) / (n - 1.0);
}

/* One turn of the plane (p, q) that makes a[p, q] zero; the columns of v follow. */
static void phase(double *a, double *v, int p, int q) {
    double off = a[FEATURES * p + q];
    if (off == 0.0) return;
    double theta = (a[FEATURES * q + q] - a[FEATURES * p + p]) / (2.0 * off);
    double t = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0));
    if (theta < 0.0) t = -t;
    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < FEATURES; k++) {
        double x = a[FEATURES * k + p], y = a[FEATURES * k + q];
        a[FEATURES * k + p] = c * x - s * y;
        a[FEATURES * k + q] = s * x + c * y;
    }
    for (int k = 0; k < FEATURES; k++) {
        double x = a[FEATURES * p + k], y = a[FEATURES * q + k];
        a[FEATURES * p + k] = c * x - s * y;
        a[FEATURES * q + k] = s * x + c * y;
        x = v[FEATURES * k + p], y = v[FEATURES * k + q];
        v[FEATURES * k + p] = c * x - s * y;
        v[FEATURES * k + q] = s * x + c * y;
    }
}

/* Jacobi's method: a [64, 64] symmetric becomes diagonal, its eigenvalues; v their vectors. */
static void diagonalise(double *a, double *v) {
    enum { SWEEPS = 30 };
    for (int i = 0; i < SQUARE; i++) v[i] = i % (FEATURES + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int p = 0; p < FEATURES; p++)
            for (int q = p + 1; q < FEATURES; q++) phase(a, v, p, q);
}

/* Negative eigenvalues are errors of rounding. */
static double root(double eigenvalue) {
    return eigenvalue > 0.0 ? sqrt(eigenvalue) : 0.0;
}

/* product = left right, all [64, 64] */
static void multiply(const double *left, const double *right, double *product) {
    for (int i = 0; i < FEATURES; i++)
        for (int j = 0; j < FEATURES; j++) {
            double sum = 0.0;
            for (int k = 0; k < FEATURES; k++)
                sum += left[FEATURES * i + k] * right[FEATURES * k + j];
            product[FEATURES * i + j] = sum;
        }
}

/* half [64, 64] with half half = a, a symmetric; a is lost. */
static void square_root(double *a, double *half) {
    double v[SQUARE];
    diagonalise(a, v);
    for (int i = 0; i < FEATURES; i++)
        for (int j = 0; j < FEATURES; j++) {
            double sum = 0.0;
            for (int k = 0; k < FEATURES; k++)
                sum += v[FEATURES * i + k] * root(a[(FEATURES + 1) * k]) * v[FEATURES * j + k];
            half[FEATURES * i + j] = sum;
        }
}

/* tr (C1^1/2 C2 C1^1/2)^1/2; both are lost. */
static double shared(double *first, double *second) {
    double half[SQUARE], inner[SQUARE], sum = 0.0;
    square_root(first, half);
    multiply(half, second, inner);
    multiply(inner, half, second);
    diagonalise(second, half);
    for (int k = 0; k < FEATURES; k++) sum += root(second[(FEATURES + 1) * k]);
    return sum;
}

/* NaN for fewer than two samples, and where a picture has numbers that are none. */
static double value(const hu_metric_call *shape, const double *sums) {
    double mean[2][FEATURES], covariance[2][SQUARE], distance = 0.0;
    (void)shape;
    if (!(sums[SAMPLES] > 1.0)) return NAN;
    for (int h = 0; h < 2; h++) {
        moments(sums + h * HALF, sums[SAMPLES], mean[h], covariance[h]);
        for (int i = 0; i < FEATURES; i++) distance += covariance[h][(FEATURES + 1) * i];
    }
    for (int i = 0; i < FEATURES; i++) {
        double apart = mean[0][i] - mean[1][i];
        distance += apart * apart;
    }
    if (!isfinite(distance)) return NAN;
    return distance - 2.0 * shared(covariance[0], covariance[1]);
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

const hu_metric hu_metric_fd64 = {
    .name = "fd64",
    .help = "distance of drawn pictures from real ones by the means of 64 blocks (FD-64)",
    .heading = "FD-64",
    .unit = "",
    .factor = 1.0,
    .decimals = 4,
    .collection = &collection,
    .value = value};
