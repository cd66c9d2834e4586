#include "bench/times.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/process.h"
#include "base/statistics.h"

static const double resolution = 1e-9;

hu_status hu_bench_times_add(hu_bench_times *times, double seconds) {
    hu_status st = hu_grow(&times->seconds, times->count, &times->capacity, sizeof *times->seconds);
    if (st != HU_OK) return st;
    if (seconds < resolution) seconds = resolution;
    if (times->count == 0 || seconds < times->best) times->best = seconds;
    times->seconds[times->count++] = seconds;
    times->spent += seconds;
    return HU_OK;
}

double hu_bench_times_spread(hu_bench_times *times) {
    return hu_spread_above_least(times->seconds, times->count);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hu_bench_times_quartile(hu_bench_times *times) {
    if (times->count == 0) return 0.0;
    qsort(times->seconds, times->count, sizeof *times->seconds, ascending);
    return times->seconds[times->count / 4];
}

void hu_bench_times_free(hu_bench_times *times) {
    hu_free(times->seconds);
    *times = (hu_bench_times){0};
}

bool hu_bench_takes(const hu_bench_pace *pace, const hu_bench_times *times) {
    enum { LEAST = 2 };
    int64_t count = (int64_t)times->count;
    if (pace->repeat > 0) return count < pace->repeat;
    if (count == 0) return true;
    double mean = times->spent / (double)count;
    if (count >= pace->most || hu_seconds_now() + mean > pace->until) return false;
    return count < LEAST || pace->limit <= 0 || times->spent + mean <= pace->limit;
}
