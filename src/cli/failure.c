#include "cli/failure.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "show/colour.h"

static bool is_told;

void hu_failure_tell(hu_status status) {
    if (is_told) return;
    is_told = true;
    bool wanted = hu_colour_wanted(STDERR_FILENO);
    fprintf(stderr, "%shalfulp: %s:%s %s\n", hu_colour_begin(HU_COLOUR_BAD, wanted),
            hu_status_text(status), hu_colour_end(wanted), hu_last_error());
    fflush(stderr);
}

void hu_failure_leave(void) {
    is_told = true;
}
