#include "comm/place.h"

#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PLACE_BYTES = 256 };

/* One is read while the other is written. */
static char places[2][PLACE_BYTES];
static atomic_int present;
/* Whoever notes a place; the handler of a signal only reads, and so waits for nobody. */
static atomic_flag is_written = ATOMIC_FLAG_INIT;

void hu_comm_place_set(const char *format, ...) {
    va_list arguments;
    while (atomic_flag_test_and_set(&is_written)) sched_yield();
    int next = 1 - atomic_load(&present);
    va_start(arguments, format);
    vsnprintf(places[next], PLACE_BYTES, format, arguments);
    va_end(arguments);
    atomic_store(&present, next);
    atomic_flag_clear(&is_written);
}

const char *hu_comm_place(void) {
    return places[atomic_load(&present)];
}
