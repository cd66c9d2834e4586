/* cli/progress.c - the program's listener: a session's plan, steps and messages as lines on stderr.
 */
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "journal/result.h"

/* When the last line was printed. One training at a time prints, so that one copy will do. */
static double last; /* seconds */
/* A terminal's line of progress has no end yet. */
static int line_is_open;

/* The loss scaling and the ledger in MiB, before the first step. */
static void print_plan(void *context, const hu_ledger *ledger, const char *scaling) {
    (void)context;
    fprintf(stderr, "loss scaling: %s\n", scaling);
    const double mib = 1024.0 * 1024.0;
    fprintf(stderr, "memory: arena %.1f MiB (", (double)ledger->arena_bytes / mib);
    for (int r = 0; r < HU_BUFFER_ROLE_COUNT; r++)
        fprintf(stderr, "%s%s %.1f", r ? ", " : "", hu_buffer_role_name((hu_buffer_role)r),
                (double)ledger->arena[r] / mib);
    fprintf(stderr, "), masters %.1f, optimizer %.1f", (double)ledger->parameters / mib,
            (double)ledger->optimizer / mib);
    if (ledger->workers) fprintf(stderr, ", workers %.1f", (double)ledger->workers / mib);
    fputs("\n", stderr);
}

/* Five lines a second on a terminal, where they replace each other; one in five seconds in a log.
 * The last step is always told. */
static int is_due(int is_last) {
    double now = hu_seconds_now();
    if (now - last < (isatty(STDERR_FILENO) ? 0.2 : 5.0) && !is_last) return 0;
    last = now;
    return 1;
}

/* One line: step, loss, the task's metric, speed, time that is left. */
static void print_step(void *context, const hu_step_news *news) {
    const hu_step_report *report = news->report;
    int64_t done = report->step + 1;
    double rate = news->rate;
    char words[HU_METRIC_TEXT_BYTES];
    (void)context;
    if (!is_due(done == news->steps)) return;
    double left = rate > 0.0 ? (double)(news->steps - done) * (double)report->samples / rate : 0.0;
    int minutes = (int)(left / 60.0), is_terminal = isatty(STDERR_FILENO);
    fprintf(stderr, "%sstep %lld/%lld  loss %.4f", is_terminal ? "\r\033[K" : "", (long long)done,
            (long long)news->steps, report->loss);
    fputs(hu_listener_turns(report, words), stderr);
    if (!isnan(report->metric))
        fprintf(stderr, "  %s %.1f%s", hu_metric_words(news->metric, words),
                news->metric->factor * report->metric, news->metric->unit);
    fprintf(stderr, "  %s  %d:%02d left%s%s",
            hu_listener_rate(rate, rate * news->per_sample, news->counted, words), minutes,
            (int)left - 60 * minutes, report->skipped ? "  (skipped)" : "",
            is_terminal ? "" : "\n");
    fflush(stderr);
    line_is_open = is_terminal;
}

static void print_message(void *context, const char *text) {
    (void)context;
    fprintf(stderr, "%s\n", text);
}

const hu_listener hu_progress_messages = {.on_message = print_message};

hu_status hu_progress_listener(const hu_config *config, hu_listener *listener) {
    hu_status st = HU_OK;
    /* Lines of steps go to terminals only, unless run.quiet says otherwise. Messages are always
     * told. */
    bool is_quiet = !isatty(STDERR_FILENO);
    *listener = hu_progress_messages;
    if (!hu_config_is_auto(config, "run.quiet"))
        HU_TRY(hu_config_bool(config, "run.quiet", &is_quiet));
    if (is_quiet) return HU_OK;
    listener->on_plan = print_plan;
    listener->on_step = print_step;
done:
    return st;
}

void hu_progress_end(void) {
    if (line_is_open) fputc('\n', stderr);
    line_is_open = 0;
}
