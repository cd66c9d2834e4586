#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

void hu_sample_stats_add(hu_sample_stats *spread, double x) {
    double before = x - spread->center;
    spread->count++;
    spread->sum += x;
    spread->center += before / (double)spread->count;
    spread->squares += before * (x - spread->center);
}

double hu_sample_stats_mean(const hu_sample_stats *spread) {
    return spread->count > 0 ? spread->sum / (double)spread->count : (double)NAN;
}

double hu_sample_stats_deviation(const hu_sample_stats *spread) {
    return spread->count > 1 ? sqrt(spread->squares / (double)(spread->count - 1)) : (double)NAN;
}

/* The pooled variance: all squares over all degrees of freedom. */
void hu_noise_pool(hu_noise *noise, const hu_sample_stats *spread) {
    if (spread->count < 2) return;
    double squares = noise->variance * noise->freedom + spread->squares;
    noise->freedom += (double)(spread->count - 1);
    noise->variance = squares / noise->freedom;
}

/* 97.5 % quantiles of Student's t, by degrees of freedom from 1; between the last ones the value of
 * the fewer degrees, which is the larger. */
static double quantile(double freedom) {
    static const double few[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    enum { FEW = sizeof few / sizeof *few };
    if (isinf(freedom)) return 1.960;
    if (freedom >= 120.0) return 1.980;
    if (freedom >= 60.0) return 2.000;
    if (freedom >= 40.0) return 2.021;
    return few[freedom >= FEW ? FEW - 1 : (size_t)freedom - 1];
}

double hu_noise_of(const hu_noise *noise, int64_t a, int64_t b) {
    if (!(noise->freedom >= 1.0) || isnan(noise->variance)) return (double)NAN;
    double share = 1.0 / (double)a + 1.0 / (double)b;
    return quantile(noise->freedom) * sqrt(noise->variance * share);
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

bool hu_is_far_below(double *value, size_t count, double x, double least) {
    if (count == 0) return false;
    qsort(value, count, sizeof *value, descending);
    return x < value[0] - fmax(5.0 * (value[0] - value[count / 2]), least);
}

double hu_sample_stats_above_least(double *value, size_t count) {
    if (count < 2) return (double)NAN;
    qsort(value, count, sizeof *value, descending);
    double least = value[count - 1], median = (value[(count - 1) / 2] + value[count / 2]) / 2.0;
    return least > 0.0 ? median / least - 1.0 : (double)NAN;
}
