#include "cli/failure.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "show/terminal.h"

static bool is_told;

void hu_failure_tell(hu_status status) {
    if (is_told) return;
    is_told = true;
    bool wanted = hu_colour_wanted(STDERR_FILENO);
    fprintf(stderr, "%shalfulp: %s:%s %s\n", hu_colour_begin(HU_COLOUR_BAD, wanted),
            hu_status_text(status), hu_colour_end(wanted), hu_last_error());
    fflush(stderr);
}

/* Whether main is over, and exit is the program's own. */
static volatile sig_atomic_t is_ending;

static void on_exit_of_others(void) {
    static const char line[] = "halfulp: out of memory: a library ended the program; a run can be "
                               "resumed from its newest checkpoint\n";
    if (is_ending) return;
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
    (void)ignored;
    _exit(hu_status_exit_code(HU_ERR_MEMORY));
}

void hu_failure_watch(void) {
    (void)atexit(on_exit_of_others); /* as the first of at least 32 it needs no memory */
}

void hu_failure_end(void) {
    is_ending = 1;
}

void hu_failure_leave(void) {
    is_told = true;
}
