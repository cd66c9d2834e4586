#include "comm/error.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hu_comm_median(int64_t n, double *x) {
    if (n == 0) return 0.0;
    qsort(x, (size_t)n, sizeof *x, ascending);
    /* Not their sum halved: two infinities are no NaN, and none of them overflows. */
    double low = x[(n - 1) / 2], high = x[n / 2];
    return low == high ? low : low / 2.0 + high / 2.0;
}

hu_status hu_comm_error_of(int64_t n, const double *exact, const double *sum,
                           hu_comm_error *error) {
    double *quotient, lost = 0.0, whole = 0.0, total = 0.0;
    int64_t used = 0, zeros = 0;
    *error = (hu_comm_error){0};
    hu_status st = HU_NEW_ARRAY(&quotient, (size_t)n);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < n; i++) {
        bool is_finite = isfinite(sum[i]);
        /* NaN counts as infinitely wrong: it would hide in a sum and has no place in an order. */
        double difference = is_finite ? fabs(exact[i] - sum[i]) : (double)INFINITY;
        error->nonfinite += !is_finite;
        error->excluded += exact[i] == 0.0;
        lost += difference * difference;
        whole += exact[i] * exact[i];
        if (exact[i] == 0.0) continue;
        quotient[used] = difference / fabs(exact[i]);
        total += quotient[used++];
        zeros += sum[i] == 0.0;
    }
    if (used > 0) {
        error->eq5_mean = total / (double)used;
        error->relative_l2 = sqrt(lost / whole);
        error->zeros = (double)zeros / (double)used;
        error->median = hu_comm_median(used, quotient);
    }
    hu_free(quotient);
    return HU_OK;
}
