/* cli/signals.h - Ctrl-C: the first asks, the second stops. */
#ifndef HU_CLI_SIGNALS_H
#define HU_CLI_SIGNALS_H
#include <signal.h>

#include <halfulp/status.h>

/* Catches SIGINT, SIGTERM and SIGHUP from now on: the first sets the flag, a second ends the
 * process with 130 at once. *flag is 0 until then; poll it between steps. Borrowed: valid for ever.
 */
hu_status hu_interrupt_install(const volatile sig_atomic_t **flag);

/* What the first SIGINT or SIGHUP says, in the place of "stopping; once more to stop at once".
 * Borrowed: valid for ever. */
void hu_interrupt_words(const char *line);

/* For a process among others whose launcher gives it little time between SIGTERM and the end: so
 * many seconds after a first SIGTERM it writes "peer lost: PLACE: ..." and ends with exit code 6,
 * unless it has stopped by itself. place: called in a signal handler. */
void hu_interrupt_last_words(const char *(*place)(void), double seconds);

/* From now on the process is in a call that nothing ends but other processes (MPI's start and end):
 * a SIGTERM, or so many seconds, end it with the line and the exit code of the status. line is
 * borrowed until hu_interrupt_unguard. */
void hu_interrupt_guard(const char *line, hu_status status, double seconds);
void hu_interrupt_unguard(void);

/* Processes started from now on are interrupted when this one ends, however it ends. */
void hu_interrupt_mark_children(void);

/* What main does first: arranges that, in a process started so. */
void hu_interrupt_with_parent(void);

#endif
