/* session/listener.c - messages of the library, which never prints. */
#include "session/listener.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "show/fixed.h"

const char *hu_listener_turns(const hu_step_report *report, char *text) {
    size_t used = 0;
    text[0] = '\0';
    char loss[HU_FIXED_BYTES];
    for (int t = 0; report->turns > 1 && t < report->turns && used < HU_METRIC_TEXT_BYTES; t++)
        used += (size_t)snprintf(text + used, HU_METRIC_TEXT_BYTES - used, "%s%s %s%s",
                                 t > 0 ? ", " : " (", report->turn[t].name,
                                 hu_fixed_text(report->turn[t].loss, 4, loss),
                                 t + 1 < report->turns ? "" : ")");
    return text;
}

void hu_listener_tell(const hu_listener *listener, const char *format, ...) {
    char text[2048], harmless[2048];
    va_list args;
    if (!listener || !listener->on_message) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_escape(text, harmless, sizeof harmless);
    listener->on_message(listener->context, harmless);
}

const char *hu_listener_rate(double samples, double places, const char *counted, char *text) {
    char number[HU_FIXED_BYTES];
    int length = snprintf(text, HU_METRIC_TEXT_BYTES, "%.40s %s/s",
                          hu_fixed_text(places, 0, number), counted);
    if (strcmp(counted, "images") != 0)
        snprintf(text + length, HU_METRIC_TEXT_BYTES - (size_t)length, ", %.40s samples/s",
                 hu_fixed_text(samples, 1, number));
    return text;
}
