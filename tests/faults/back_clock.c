/* Preloaded into the program by tests/program/unknown_test.py: a clock that goes back by a minute
 * whenever it is read, as no system's should. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*system_clock)(clockid_t, struct timespec *);
    static atomic_long reads;
    if (!system_clock) *(void **)&system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    int status = system_clock(clock, time);
    if (clock == CLOCK_MONOTONIC) time->tv_sec = 100000000 - 60 * atomic_fetch_add(&reads, 1);
    return status;
}
