/* bench/seconds.c - the clock of measurements. */
#include <time.h>

#include "base/clock.h"
#include "bench/bench.h"

double hu_bench_seconds(int threads) {
    struct timespec now;
    if (threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return hu_seconds_now();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
