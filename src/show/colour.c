#include "show/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The value of a variable of the environment; NULL where it is not there or empty. */
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
