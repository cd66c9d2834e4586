/* What the programs share that compare two ways to compute the same: failures end them, and seconds
 * are processor time of the process. */
#ifndef BENCH_COMPARISON_H
#define BENCH_COMPARISON_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"

static inline void must(hu_status st) {
    if (st == HU_OK) return;
    fprintf(stderr, "%s\n", hu_last_error());
    exit(1);
}

static inline double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
