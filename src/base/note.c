#include "base/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hu_note_add(char *note, size_t capacity, const char *separator, const char *format, ...) {
    va_list args;
    size_t used = strlen(note);
    if (used > 0 && used + 1 < capacity)
        used += (size_t)snprintf(note + used, capacity - used, "%s", separator);
    if (used + 1 >= capacity) return;
    va_start(args, format);
    vsnprintf(note + used, capacity - used, format, args);
    va_end(args);
}
