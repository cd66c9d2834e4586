/* report/shown.c - sections that draw some of the runs: how many there are, and what is said of the
 * rest. */
#include <stdio.h>

#include "report/report.h"
#include "show/html.h"

int hu_report_count(const hu_report *report, bool (*has)(const hu_report_run *run)) {
    int count = 0;
    for (size_t i = 0; i < report->count; i++) count += has(&report->run[i]);
    return count;
}

void hu_report_note_rest(hu_page *page, int shown, int all, const char *verb) {
    char text[80];
    if (shown == all) return;
    snprintf(text, sizeof text, "The first %d of %d runs are %s.", shown, all, verb);
    hu_html_note(page, text);
}
