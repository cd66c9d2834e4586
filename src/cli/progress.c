#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static double last; /* seconds */
static int line_is_open;

void hu_progress_memory(const hu_ledger *ledger) {
    const double mib = 1024.0 * 1024.0;
    fprintf(stderr, "memory: arena %.1f MiB (", (double)ledger->arena_bytes / mib);
    for (int r = 0; r < HU_BUFFER_ROLE_COUNT; r++)
        fprintf(stderr, "%s%s %.1f", r ? ", " : "", hu_buffer_role_name((hu_buffer_role)r),
                (double)ledger->arena[r] / mib);
    fprintf(stderr, "), masters %.1f, optimizer %.1f\n", (double)ledger->parameters / mib,
            (double)ledger->optimizer / mib);
}

static int is_due(int is_last) {
    double now = hu_seconds_now();
    if (now - last < (isatty(STDERR_FILENO) ? 0.2 : 5.0) && !is_last) return 0;
    last = now;
    return 1;
}

void hu_progress_step(const hu_session *session, const hu_step_report *report, double rate) {
    int64_t done = report->step + 1;
    if (!is_due(done == session->steps)) return;
    double left =
        rate > 0.0 ? (double)(session->steps - done) * (double)report->samples / rate : 0.0;
    int minutes = (int)(left / 60.0), is_terminal = isatty(STDERR_FILENO);
    fprintf(
        stderr, "%sstep %lld/%lld  loss %.4f  accuracy %.1f %%  %.0f images/s  %d:%02d left%s%s",
        is_terminal ? "\r\033[K" : "", (long long)done, (long long)session->steps, report->loss,
        100.0 * (double)report->correct / (double)report->samples, rate, minutes,
        (int)left - 60 * minutes, report->skipped ? "  (skipped)" : "", is_terminal ? "" : "\n");
    fflush(stderr);
    line_is_open = is_terminal;
}

void hu_progress_end(void) {
    if (line_is_open) fputc('\n', stderr);
    line_is_open = 0;
}
