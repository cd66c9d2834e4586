#include "cli/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "data/parallel_for.h"
#ifdef __linux__
#include <sys/prctl.h>
#endif

static volatile sig_atomic_t was_interrupted;
static const char *first_words = "\nhalfulp: stopping; once more to stop at once\n";

/* What is said where the time that a launcher gives runs out; NULL: nothing. */
static const char *(*last_place)(void);
static double last_seconds;

/* What is said where a call of MPI is not left; NULL: nothing is guarded. */
static const char *volatile guard_line;
static volatile sig_atomic_t guard_exit_code;
static const char parent_variable[] = "HALFULP_PARENT";

/* stdio is not for signal handlers. */
static void say(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void end_with(const char *line, int exit_code) {
    say(line);
    _exit(exit_code);
}

/* The time is over that a guard or the launcher gives. */
static void on_alarm(int number) {
    char line[512] = "halfulp: peer lost: ";
    size_t used = strlen(line);
    const char *guard = guard_line;
    (void)number;
    if (guard) end_with(guard, guard_exit_code);
    if (!last_place) return;
    const char *place = last_place();
    for (const char *at = *place ? place : "before the first step"; *at && used < sizeof line - 64;
         at++)
        line[used++] = *at;
    memcpy(line + used, ": the job is being ended\n", sizeof ": the job is being ended\n");
    end_with(line, hu_status_exit_code(HU_ERR_PEER));
}

static void set_timer(double seconds) {
    struct itimerval timer = {0};
    timer.it_value.tv_sec = (time_t)seconds;
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* The first signal asks for a stop after the step; the second stops at once. Only what a signal
 * handler may call is called here. */
static void on_signal(int number) {
    const char *guard = guard_line;
    if (guard && number == SIGTERM) end_with(guard, guard_exit_code);
    if (guard || (was_interrupted && !last_place)) _exit(130);
    was_interrupted = 1;
    if (number == SIGTERM && last_place)
        set_timer(last_seconds);
    else
        say(first_words);
}

void hu_interrupt_words(const char *line) {
    first_words = line;
}

static void catch_alarm(void) {
    struct sigaction action = {0};
    action.sa_handler = on_alarm;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL); /* cannot fail: signal and handler are in order */
}

void hu_interrupt_last_words(const char *(*place)(void), double seconds) {
    catch_alarm();
    last_seconds = seconds;
    last_place = place;
}

void hu_interrupt_guard(const char *line, hu_status status, double seconds) {
    catch_alarm();
    guard_exit_code = hu_status_exit_code(status);
    guard_line = line;
    set_timer(seconds);
}

void hu_interrupt_unguard(void) {
    set_timer(0.0);
    guard_line = NULL;
}

/* A closed terminal; nohup has it ignored already. */
static int catch_hangup(const struct sigaction *action) {
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) != 0) return -1;
    return before.sa_handler == SIG_IGN ? 0 : sigaction(SIGHUP, action, NULL);
}

/* SA_RESTART: a write that is interrupted goes on instead of failing. */
hu_status hu_interrupt_install(const volatile sig_atomic_t **flag) {
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    *flag = &was_interrupted;
    hu_data_watch(&was_interrupted);
    if (sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0 &&
        catch_hangup(&action) == 0)
        return HU_OK;
    return hu_fail(HU_ERR_INTERNAL, "cannot catch signals: %s", strerror(errno));
}

/* Children compare the number with their parent's: a process that was started by another program
 * does not listen. */
void hu_interrupt_mark_children(void) {
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)getpid());
    setenv(parent_variable, text, 1);
}

void hu_interrupt_with_parent(void) {
#ifdef __linux__
    const char *text = getenv(parent_variable);
    pid_t parent = text ? (pid_t)strtol(text, NULL, 10) : 0;
    if (!text || parent != getppid()) return;
    /* The kernel sends SIGINT when the parent ends, however it ends. */
    prctl(PR_SET_PDEATHSIG, SIGINT);
    if (parent != getppid()) _exit(130); /* it ended before it could be watched */
#endif
}
