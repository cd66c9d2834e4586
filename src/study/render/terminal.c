#include "render/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- colour ---- */

/* Colours of lines on a terminal that wants them.
 *
 * NO_COLOR (not empty) means never; else CLICOLOR_FORCE (not empty, not 0) means always, also in
 * files; else it is a terminal whose TERM is set and not "dumb". Sources: no-color.org,
 * bixense.com/clicolors.
 */

/* The value of a variable of the environment; NULL where it is missing or empty. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool hu_terminal_is_live(int descriptor) {
    const char *term = variable("TERM");
    return isatty(descriptor) && (!term || strcmp(term, "dumb") != 0);
}

bool hu_colour_wanted(int descriptor) {
    const char *force = variable("CLICOLOR_FORCE");
    if (variable("NO_COLOR")) return false;
    if (force && strcmp(force, "0") != 0) return true;
    return variable("TERM") && hu_terminal_is_live(descriptor);
}

const char *hu_colour_begin(hu_colour colour, bool wanted) {
    static const char *const codes[] = {[HU_COLOUR_FAINT] = "\033[2m",
                                        [HU_COLOUR_BAD] = "\033[31m",
                                        [HU_COLOUR_WARNING] = "\033[33m",
                                        [HU_COLOUR_BEST] = "\033[1m"};
    return wanted ? codes[colour] : "";
}

const char *hu_colour_end(bool wanted) {
    return wanted ? "\033[0m" : "";
}

/* ---- Spans of time for people ---- */

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

/* ---- Numbers with a fixed count of decimals that may be unknown ---- */

const char *hu_fixed_text(double value, int decimals, char text[HU_FIXED_BYTES]) {
    snprintf(text, HU_FIXED_BYTES, isnan(value) ? "-" : "%.*f", decimals, value);
    return text;
}
