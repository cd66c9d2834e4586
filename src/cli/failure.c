#include "cli/failure.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

static bool is_told;

void hu_failure_tell(hu_status status) {
    if (is_told) return;
    is_told = true;
    fprintf(stderr, "halfulp: %s: %s\n", hu_status_text(status), hu_last_error());
    fflush(stderr);
}

void hu_failure_leave(void) {
    is_told = true;
}
