/* comm/error.h - how far a reduced gradient is from the exact sum. */
#ifndef HU_COMM_ERROR_H
#define HU_COMM_ERROR_H
#include <stdint.h>

#include <halfulp/status.h>

/* h: exact sums, l: what the reduction gave. Errors are fractions; infinite where an l is not
 * finite. */
typedef struct hu_comm_error {
    double eq5_mean;    /* mean of |h - l| / |h| over the elements with h != 0. Source: APS paper,
                           Eq. 5. Few elements with h near 0 decide it; the next two are steadier */
    double median;      /* of the same quotients */
    double relative_l2; /* |h - l| / |h| of the whole vectors */
    double zeros;       /* share of the elements with h != 0 for which l = 0 */
    int64_t excluded;   /* elements with h = 0 */
    int64_t nonfinite;  /* elements whose l is an infinity or NaN */
} hu_comm_error;

/* exact[n], sum[n]; all errors are 0 where every h is 0. HU_ERR_MEMORY. */
hu_status hu_comm_error_of(int64_t n, const double *exact, const double *sum, hu_comm_error *error);

/* Median of x[n], which is put in order; 0 for n = 0. */
double hu_comm_median(int64_t n, double *x);

#endif
