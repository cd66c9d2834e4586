#include "show/duration.h"

#include <math.h>
#include <stdio.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

/* Longer than any training, and still exact as a whole number of seconds. */
static const double most_seconds = 1e12;

const char *hu_duration_text(double seconds, char *text) {
    if (!(seconds >= 0.0) || seconds > most_seconds) {
        snprintf(text, HU_DURATION_BYTES, "-");
        return text;
    }
    long long all = (long long)floor(seconds), days = all / DAY;
    int hours = (int)(all % DAY / HOUR), minutes = (int)(all % HOUR / MINUTE);
    int rest = (int)(all % MINUTE);
    if (days > 0)
        snprintf(text, HU_DURATION_BYTES, "%lld d %d:%02d:%02d", days, hours, minutes, rest);
    else if (hours > 0)
        snprintf(text, HU_DURATION_BYTES, "%d:%02d:%02d", hours, minutes, rest);
    else
        snprintf(text, HU_DURATION_BYTES, "%d:%02d", minutes, rest);
    return text;
}
