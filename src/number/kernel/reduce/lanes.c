#include "kernel/reduce/lanes.h"

#include "kernel/reduce/columns.h"

/* How many of n elements from `first` on come before the first lane's turn. */
static int64_t before_turn(int64_t first, int64_t n) {
    int64_t lack = (HU_LANES - first % HU_LANES) % HU_LANES;
    return lack < n ? lack : n;
}

void hu_lanes_add(hu_lanes *lanes, int64_t first, int64_t n, const double *term) {
    int64_t i = 0, head = before_turn(first, n);
    for (; i < head; i++) lanes->sum[(first + i) % HU_LANES] += term[i];
    for (; i + HU_LANES <= n; i += HU_LANES)
        for (int k = 0; k < HU_LANES; k++) lanes->sum[k] += term[i + k];
    for (; i < n; i++) lanes->sum[(first + i) % HU_LANES] += term[i];
}

void hu_lanes_add_products(hu_lanes *lanes, int64_t first, int64_t n, const float *x,
                           const float *y) {
    int64_t head = before_turn(first, n);
    for (int64_t i = 0; i < head; i++)
        lanes->sum[(first + i) % HU_LANES] += (double)x[i] * (double)y[i];
    hu_reduce()->lane_products(n - head, x + head, y + head, lanes->sum);
}

double hu_lanes_total(const hu_lanes *lanes) {
    double total = 0.0;
    for (int k = 0; k < HU_LANES; k++) total += lanes->sum[k];
    return total;
}
