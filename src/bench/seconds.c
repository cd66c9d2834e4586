/* bench/seconds.c - the clock of measurements, and their share of what is left of it. */
#include <time.h>

#include "base/process.h"
#include "bench/bench.h"

double hu_bench_seconds(int threads) {
    struct timespec now;
    if (threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return hu_seconds_now();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

hu_bench_pace hu_bench_pace_of(const hu_bench *bench, double share, int64_t most) {
    double now = hu_seconds_now(), left = bench->until > now ? bench->until - now : 0;
    return (hu_bench_pace){.repeat = bench->repeat, .most = most, .until = now + share * left};
}
