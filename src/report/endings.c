/* The first sentences of a page: which runs broke, where, and what to try. */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "show/html.h"

enum { MOST = 3, TEXT_BYTES = 2400, FIRST_BYTES = 300 };

/* How a run may break, as its result says. */
static const struct {
    const char *key, *word;
} kinds[] = {{"diverged", "broke"}, {"collapsed", "learned nothing in the end"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* NULL: it did not break. */
static const char *reason_of(const hu_report_run *run, int *kind) {
    for (int k = 0; k < KINDS; k++) {
        const char *why = json_string_value(json_object_get(run->result, kinds[k].key));
        *kind = k;
        if (why) return why;
    }
    return NULL;
}

/* Steps that the run did and those that it was to do, where it ended before. */
static void put_place(const hu_report_run *run, char *text, size_t capacity) {
    double steps = hu_json_real(run->result, "steps");
    const char *all = hu_report_text(run, "run.steps", "auto");
    text[0] = '\0';
    if (json_object_get(run->result, "diverged") && steps >= 0.0)
        snprintf(text, capacity, " after %.0f%s%.20s steps", steps,
                 strcmp(all, "auto") == 0 ? "" : " of ", strcmp(all, "auto") == 0 ? "" : all);
}

static void put_run(hu_page *page, const hu_report *report, const hu_report_run *run) {
    char first[FIRST_BYTES], text[TEXT_BYTES], place[64];
    int kind;
    const char *why = reason_of(run, &kind);
    put_place(run, place, sizeof place);
    if (report->count == 1)
        snprintf(first, sizeof first, "This run %s%s.", kinds[kind].word, place);
    else
        snprintf(first, sizeof first, "%.200s %s%s.", run->label, kinds[kind].word, place);
    snprintf(text, sizeof text,
             "%.1000s. What to try: `halfulp why %.400s` names the cause and what would repair it, "
             "`halfulp why %.400s try=1` trains it again so.",
             why, run->folder, run->folder);
    hu_html_alarm(page, first, text);
}

void hu_report_endings(hu_page *page, const hu_report *report) {
    int kind, shown = 0, all = 0;
    char text[160];
    for (size_t i = 0; i < report->count; i++) {
        if (!reason_of(&report->run[i], &kind)) continue;
        if (all++ >= MOST) continue;
        put_run(page, report, &report->run[i]);
        shown++;
    }
    snprintf(text, sizeof text,
             "%d more runs broke or learned nothing: see the notes below the results.",
             all - shown);
    if (all > shown) hu_html_note(page, text);
}
