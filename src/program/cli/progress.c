/* cli/progress.c - the program's listener: what a session tells as lines on stderr.
 */
#include "cli/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "render/terminal.h"
#include "runlog/result.h"

/* When the last line was printed. One training at a time prints, so that one copy will do. */
static double last; /* seconds */
/* A terminal's line of progress has no end yet. */
static int line_is_open;

/* Other lines stand where the open one was. */
static void erase_line(void) {
    if (line_is_open) fputs("\r\033[K", stderr);
    line_is_open = 0;
}

/* Whether the line that overwrites itself tells the same. */
static bool is_live(const char *event) {
    return strcmp(event, "step") == 0 && hu_terminal_is_live(STDERR_FILENO);
}

/* What begins, and every epoch; its end is a matter of the result. */
static void print_event(void *context, const char *event, const char *lines) {
    bool is_faint = strcmp(event, "start") == 0;
    if (is_live(event) || strcmp(event, "end") == 0 || (context && is_faint)) return;
    bool wanted = hu_colour_wanted(STDERR_FILENO);
    erase_line();
    fprintf(stderr, "%s%s%s\n", is_faint ? hu_colour_begin(HU_COLOUR_FAINT, wanted) : "", lines,
            is_faint ? hu_colour_end(wanted) : "");
    fflush(stderr);
}

/* Five lines a second, which replace each other. The last step is always told. */
static bool is_due(bool is_last) {
    double now = hu_seconds_now();
    if (now - last < 0.2 && !is_last) return false;
    last = now;
    return true;
}

/* The live line: step, loss, the task's metric, speed, time that is left. */
static void print_step(void *context, const hu_step_news *news) {
    const hu_step_report *report = news->report;
    int64_t done = report->step + 1;
    char words[HU_METRIC_TEXT_BYTES], span[HU_DURATION_BYTES], loss[HU_FIXED_BYTES];
    (void)context;
    if (!is_due(done == news->steps)) return;
    double per_epoch = (double)news->per_epoch;
    fprintf(stderr, "\r\033[Kstep %lld/%lld  epoch %.1f/%.4g  loss %s", (long long)done,
            (long long)news->steps, (double)done / per_epoch, (double)news->steps / per_epoch,
            hu_fixed_text(report->loss, 4, loss));
    fputs(hu_listener_phases(report, words), stderr);
    if (!isnan(report->metric))
        fprintf(stderr, "  %s %.1f%s", hu_metric_words(news->metric, words),
                news->metric->factor * report->metric, news->metric->unit);
    fprintf(stderr, "  %s",
            hu_listener_rate(news->rate, news->rate * news->per_sample, news->counted, words));
    fprintf(stderr, "  %s left%s", hu_duration_text(news->left, span),
            report->skipped ? "  (skipped)" : "");
    fflush(stderr);
    line_is_open = 1;
}

static void print_message(void *context, const char *text) {
    bool wanted = hu_colour_wanted(STDERR_FILENO) && strncmp(text, "warning:", 8) == 0;
    (void)context;
    erase_line();
    fprintf(stderr, "%s%s%s\n", hu_colour_begin(HU_COLOUR_WARNING, wanted), text,
            hu_colour_end(wanted));
}

const hu_listener hu_progress_messages = {.on_message = print_message};

hu_status hu_progress_listener(const hu_config *config, hu_listener *listener) {
    hu_status st = HU_OK;
    bool is_terminal = hu_terminal_is_live(STDERR_FILENO);
    /* Who reads one object has no use for lines in a file beside it. */
    bool is_quiet = !is_terminal && hu_config_flag(config, "json", NULL);
    *listener = hu_progress_messages;
    if (!hu_config_is_auto(config, "run.quiet"))
        HU_TRY(hu_config_bool(config, "run.quiet", &is_quiet));
    if (is_quiet) return HU_OK;
    listener->on_event = print_event;
    if (is_terminal) listener->on_step = print_step;
done:
    return st;
}

void hu_progress_briefly(hu_listener *listener) {
    listener->context = listener; /* any that is not NULL */
}

void hu_progress_end(void) {
    if (line_is_open) fputc('\n', stderr);
    line_is_open = 0;
}
