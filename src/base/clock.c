#include "base/clock.h"

#include <time.h>

/* CLOCK_MONOTONIC: the date may be set back during a run, and rates would become negative. */
double hu_seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
