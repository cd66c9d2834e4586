/* The first sentences of a page: which runs broke or are in trouble, where, and what to try. */
#include <stdio.h>
#include <string.h>

#include "render/html.h"
#include "report/report.h"

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

static bool is_broken(const hu_report_run *run) {
    int kind;
    return reason_of(run, &kind) != NULL;
}

/* Of a run that came to its end, by the measure of what the training told. */
static bool is_in_trouble(const hu_report_run *run) {
    return !is_broken(run) && hu_is_in_trouble(&run->trouble);
}

static void put_trouble(hu_page *page, const hu_report *report, const hu_report_run *run) {
    char first[FIRST_BYTES], text[TEXT_BYTES], words[HU_TROUBLE_BYTES];
    snprintf(first, sizeof first, "%.200s lost numbers to rounding.",
             report->count == 1 ? "This run" : run->label);
    hu_trouble_words(&run->trouble, words);
    snprintf(text, sizeof text,
             "%c%s. `halfulp why %.400s` says whether that did harm, and what would repair it.",
             words[0] >= 'a' && words[0] <= 'z' ? words[0] - 'a' + 'A' : words[0], words + 1,
             run->folder);
    hu_html_alarm(page, first, text);
}

/* The first of the runs that are so; of the others how many. */
static void put_all(hu_page *page, const hu_report *report, bool (*has)(const hu_report_run *run),
                    void (*put)(hu_page *page, const hu_report *report, const hu_report_run *run),
                    const char *more) {
    int all = 0;
    char text[160];
    for (size_t i = 0; i < report->count; i++)
        if (has(&report->run[i]) && all++ < MOST) put(page, report, &report->run[i]);
    snprintf(text, sizeof text, "%d more run%s %s", all - MOST, all - MOST == 1 ? "" : "s", more);
    if (all > MOST) hu_html_note(page, text);
}

void hu_report_endings(hu_page *page, const hu_report *report) {
    put_all(page, report, is_broken, put_run,
            "broke or learned nothing: see the notes below the results.");
    put_all(page, report, is_in_trouble, put_trouble,
            "lost numbers to rounding: see what rounding lost.");
}
