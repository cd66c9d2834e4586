/* kernel/reduce/lanes.h - long sums in double precision, in an order that vectors keep: element i
 * is added to sum i mod 16, in order, and these sums are added at the end. */
#ifndef HU_KERNEL_REDUCE_LANES_H
#define HU_KERNEL_REDUCE_LANES_H
#include <stdint.h>

enum { HU_LANES = 16 };

typedef struct hu_lanes {
    double sum[HU_LANES];
} hu_lanes;

/* Adds n terms, from element `first` on. */
void hu_lanes_add(hu_lanes *lanes, int64_t first, int64_t n, const double *term);

/* Adds the terms x[i] * y[i], which are exact, likewise. */
void hu_lanes_add_products(hu_lanes *lanes, int64_t first, int64_t n, const float *x,
                           const float *y);

double hu_lanes_total(const hu_lanes *lanes);

#endif
