/* cli/internal.h - what the verbs share: progress on stderr, Ctrl-C, other processes, outputs. */
#ifndef HU_CLI_INTERNAL_H
#define HU_CLI_INTERNAL_H
#include <signal.h>

#include <halfulp/api.h>
#include <halfulp/status.h>

#include "cli/verb.h"
#include "config/config.h"
#include "session/processes.h"
#include "settings/messages.h"

/* ---- The program ---- */

/* The program, with the words of its command line; its exit code. Exported: in the Python package
 * the program is a main that calls it in the library that the extension calls too. */
HU_API int hu_program(int argc, char **argv);

/* ---- Failures ---- */

/* ---- What a person sees on stderr while a training runs ---- */

/* The program's listener. Messages are lines. Unless run.quiet is on (auto: --json, and stderr is
 * no terminal) there are lines of what is about to be trained, and one for every epoch. On a
 * terminal the steps are a line that overwrites itself, at most five times a second. */
hu_status hu_progress_listener(const hu_config *config, hu_listener *listener);

/* The same without what is about to be trained: for one of several trainings alike. */
void hu_progress_briefly(hu_listener *listener);

/* Messages alone, for verbs that do not train. */
extern const hu_listener hu_progress_messages;

/* Ends the line of the steps. */
void hu_progress_end(void);

/* ---- Ctrl-C: the first asks, the second stops ---- */

/* Catches SIGINT, SIGTERM and SIGHUP from now on: the first sets the flag, a second ends the
 * process with 130 at once. *flag is 0 until then; poll it between steps. Borrowed: valid forever.
 */
hu_status hu_interrupt_install(const volatile sig_atomic_t **flag);

/* What the first SIGINT or SIGHUP says, in the place of "stopping; once more to stop at once".
 * Borrowed: valid forever. */
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

/* ---- How a verb meets and leaves the other processes of mpirun ---- */

/* hu_processes_open and hu_processes_close (session/processes.h), within some time: a process that
 * is missing ends this one with the exit code of a lost peer. Who leaves with a failure that the
 * others do not know of tells it first; of one that all know worker 0's process tells. */
hu_status hu_join_peers(hu_config *config, const volatile sig_atomic_t *flag,
                        hu_processes *processes);
void hu_leave_peers(hu_processes *processes, hu_status status);

/* ---- Files that a command is to write, before it begins ---- */

/* Looks at every key of the command that names an output (out.file, out.page, out.pictures,
 * run.dir) as it was asked for: HU_ERR_ARGUMENT where that is, by whatever name or link,
 *
 *   - a file of a run: all that the folder's own names say (runlog/folder.h), but for the one that
 *     the verb makes itself (RUN/report.html of report, RUN/weights.safetensors of export)
 *   - a file that the command names as an input, by a subject, a key or config=, or that a run
 * which it names was given so
 *   - a sample of a data set that is named so: whatever lies in its folder, but for what halfulp
 *     itself writes (.csv, .html, .json, .pdf, .safetensors, .svg, .tex, .yaml)
 *   - the other output
 *
 * HU_ERR_IO, HU_ERR_MEMORY. Proof: tests/program/outputs_test.py. */
hu_status hu_outputs_check(const hu_verb *verb, const hu_config *config, int argc, char **argv);

#endif
