#include "comm/place.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PLACE_BYTES = 256 };

/* One is read while the other is written. */
static char places[2][PLACE_BYTES];
static atomic_int present;

void hu_comm_place_set(const char *format, ...) {
    va_list arguments;
    int next = 1 - atomic_load(&present);
    va_start(arguments, format);
    vsnprintf(places[next], PLACE_BYTES, format, arguments);
    va_end(arguments);
    atomic_store(&present, next);
}

const char *hu_comm_place(void) {
    return places[atomic_load(&present)];
}
