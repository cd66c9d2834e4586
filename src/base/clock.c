#include "base/clock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds: the latest that was told, and what is added to the system's clock. Threads that read
 * it at the same time are apart by less than a second; a clock that went back is further. */
static _Atomic int64_t latest = INT64_MIN, offset;
enum { SECOND = 1000000000 };

/* CLOCK_MONOTONIC: the date may be set back during a run. Virtual machines that are moved, and
 * libraries that make up the time, set even this clock back. */
static int64_t system_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

double hu_seconds_now(void) {
    int64_t added = atomic_load(&offset), now = system_time() + added, seen = atomic_load(&latest);
    while (now > seen)
        if (atomic_compare_exchange_weak(&latest, &seen, now)) return 1e-9 * (double)now;
    /* Whoever was stopped between its two looks is not what has gone back: the clock is asked
     * again. */
    if (seen - now > SECOND) now = system_time() + added;
    if (seen - now > SECOND) atomic_compare_exchange_strong(&offset, &added, added + seen - now);
    return 1e-9 * (double)seen;
}
