/* base/statistics.h - means of a few numbers, how far they scatter, and when two means differ. */
#ifndef HU_BASE_STATISTICS_H
#define HU_BASE_STATISTICS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers seen so far; all zero: none. */
typedef struct hu_sample_stats {
    int64_t count;
    double sum;
    double center, squares; /* squares of the distances from the mean, summed (Welford) */
} hu_sample_stats;

void hu_sample_stats_add(hu_sample_stats *spread, double x);

/* Mean; NaN of none. Sample standard deviation, with n - 1 in the denominator; NaN of fewer than
 * two. */
double hu_sample_stats_mean(const hu_sample_stats *spread);
double hu_sample_stats_deviation(const hu_sample_stats *spread);

/* Whether x, of which more is better, lies far below others: further below the best of value[count]
 * than five times the distance of their median, and than `least`. value is sorted, the best first.
 * false of none. */
bool hu_is_far_below(double *value, size_t count, double x, double least);

/* How far the median lies above the least, as a share of the least: of repeated times, which other
 * work of the machine can only lengthen, how little the best of them is to be trusted. value is
 * sorted, the largest first; the median of an even count is the mean of the middle two. NaN of
 * fewer than two, or where the least is not above 0. */
double hu_sample_stats_above_least(double *value, size_t count);

/* How far single numbers scatter around the mean of their kind, and the degrees of freedom that
 * this is known with; infinite where it is known without measuring. variance NaN: not known. */
typedef struct hu_noise {
    double variance, freedom;
} hu_noise;

/* Adds what a kind with its own mean tells; noise all zero at the start. */
void hu_noise_pool(hu_noise *noise, const hu_sample_stats *spread);

/* Half the width of the 95 % interval of the difference between a mean of a and one of b numbers:
 * Student's t with the noise's degrees of freedom. NaN: not known. */
double hu_noise_of(const hu_noise *noise, int64_t a, int64_t b);

#endif
