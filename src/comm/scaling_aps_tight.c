/* The largest factor 2^f for which a sum of exact numbers cannot overflow:
 * f = floor(log2(largest finite number / (workers top))). Sums of rounded numbers can. */
#include <math.h>

#include "comm/scaling.h"

/* Decided by multiplication, which is exact: a quotient could be rounded to a power of two. */
static int32_t exponent(const hu_format *format, int32_t workers, double top) {
    hu_format_limits limits = hu_format_limits_of(format);
    double sum = top * (double)workers;
    int32_t f = limits.emax - hu_comm_ceil_log2(sum);
    while (ldexp(sum, f + 1) <= limits.max_finite) f++;
    return limits.emax - f;
}

const hu_comm_scaling hu_comm_scaling_aps_tight = {
    .name = "aps-tight",
    .help = "as aps, with the largest factor for which an exact sum fits",
    .exponent = exponent};
