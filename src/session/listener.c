/* session/listener.c - messages of the library, which never prints. */
#include "session/listener.h"

#include <stdarg.h>
#include <stdio.h>

void hu_listener_tell(const hu_listener *listener, const char *format, ...) {
    char text[2048];
    va_list args;
    if (!listener || !listener->on_message) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    listener->on_message(listener->context, text);
}
