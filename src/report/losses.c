/* What rounding lost: the tensors with the largest shares of overflow and underflow. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "journal/events.h"
#include "report/report.h"
#include "show/html.h"
#include "tensor/quantizer.h"

enum { MAX_RUNS_SHOWN = 8, MAX_ROWS = 12 };

/* One tensor over the whole run. */
typedef struct tally {
    uint32_t tensor, format; /* the last format */
    double elements, overflow, underflow, subnormal, nan;
    double most_overflow, most_underflow;
    int64_t broke; /* the event by which some became infinite or NaN in its rounding; -1: none */
} tally;

/* Share of a tensor's numbers that overflowed or underflowed. NaN it made, or got: by no rounding.
 */
static double lost_of(const tally *t) {
    return t->elements > 0.0 ? (t->overflow + t->underflow) / t->elements : 0.0;
}

static bool is_before(int64_t a, int64_t b) {
    return a >= 0 && (b < 0 || a < b);
}

/* Of a run that diverged those first that broke it, in time; then the largest loss; equal ones in
 * the order of tensors, so that the page does not depend on qsort. */
static int by_loss(const void *a, const void *b) {
    const tally *s = a, *t = b;
    double x = lost_of(s), y = lost_of(t);
    if (is_before(s->broke, t->broke) || is_before(t->broke, s->broke))
        return is_before(s->broke, t->broke) ? -1 : 1;
    return x != y ? (x < y) - (x > y)
                  : (int)(((const tally *)a)->tensor > ((const tally *)b)->tensor) * 2 - 1;
}

/* Adds the counts of a record; tensors in float32 are not rounded. */
static void add_record(const hu_history *history, const hu_numerics_record *record, tally *all) {
    for (uint32_t k = 0; k < record->tensor_count; k++) {
        const hu_tensor_record *row = &record->tensor[k];
        tally *t = &all[row->tensor];
        if (strcmp(history->formats.name[row->format], "float32") == 0) continue;
        t->format = row->format;
        t->elements += (double)row->counts.elements;
        t->overflow += (double)row->counts.overflow;
        t->underflow += (double)row->counts.underflow;
        t->subnormal += (double)row->counts.subnormal;
        t->nan += (double)row->counts.nan;
        t->most_overflow = fmax(t->most_overflow, row->most_overflow);
        t->most_underflow = fmax(t->most_underflow, row->most_underflow);
    }
}

/* Percent with three places; what they would not show, as less than that. */
static void share_cell(hu_page *page, double count, double elements) {
    char text[32];
    double share = elements > 0.0 ? 100.0 * count / elements : 0.0;
    snprintf(text, sizeof text, share <= 0.0 ? "0" : share < 0.0005 ? "<0.001" : "%.3f", share);
    hu_html_number(page, text);
}

/* The earliest event of a tensor, "" if nothing befell it. */
static void first_event(const hu_history *history, uint32_t tensor, char *text, size_t capacity) {
    const hu_event_record *first = NULL;
    for (size_t i = 0; i < history->event_count; i++) {
        const hu_event_record *event = &history->events[i];
        if (event->tensor == tensor && (!first || event->step < first->step)) first = event;
    }
    text[0] = '\0';
    if (first) snprintf(text, capacity, "%.40s at step %lld", first->kind, (long long)first->step);
}

static void put_row(hu_page *page, const hu_history *history, const tally *t) {
    char text[96];
    first_event(history, t->tensor, text, sizeof text);
    hu_html_row(page, false);
    hu_html_text(page, history->tensors.name[t->tensor]);
    hu_html_text(page, history->formats.name[t->format]);
    hu_html_text(page, text);
    share_cell(page, t->overflow, t->elements);
    share_cell(page, t->most_overflow, 1.0);
    share_cell(page, t->underflow, t->elements);
    share_cell(page, t->most_underflow, 1.0);
    share_cell(page, t->subnormal, t->elements);
    hu_html_row_end(page);
}

/* Whether numbers that are too large for the format become infinite or NaN. */
static bool can_break(const char *name) {
    hu_quantizer quantizer;
    return hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK &&
           quantizer.kind == HU_QUANTIZER_FLOAT && quantizer.format.overflow != HU_OVERFLOW_SAT;
}

/* Where that is told of each tensor of a run that diverged: events stand in the order of the
 * computation. */
static void find_breaks(const hu_history *history, tally *all) {
    for (size_t i = 0; i < history->event_count && history->diverged; i++) {
        const hu_event_record *event = &history->events[i];
        const char *format = history->formats.name[event->format];
        tally *t = &all[event->tensor];
        bool is_overflow = strcmp(event->kind, hu_event_name(HU_EVENT_OF_OVERFLOW)) == 0;
        if (is_overflow && can_break(format) && t->broke < 0) t->broke = (int64_t)i;
    }
}

/* What is no loss by rounding, and where it is told. */
static void put_others(hu_page *page, const hu_report_run *run, const tally *all, uint32_t count) {
    unsigned others = 0;
    char text[700];
    for (uint32_t t = 0; t < count; t++) others += all[t].nan > 0.0 && lost_of(&all[t]) <= 0.0;
    if (others == 0) return;
    snprintf(text, sizeof text,
             "%u tensor%s more had NaN, which rounding did not make: %s of tensors that were "
             "infinite or NaN before. `halfulp why %.400s` names the first.",
             others, others == 1 ? "" : "s", others == 1 ? "it is made" : "they are made",
             run->folder);
    hu_html_note(page, text);
}

/* The tensors of one run that lost most. */
static void put_run(hu_page *page, const hu_report_run *run) {
    const hu_history *history = run->history;
    static const char *const titles[] = {"tensor",
                                         "format",
                                         "first event",
                                         "overflow %",
                                         "overflow, worst in one step %",
                                         "to zero %",
                                         "to zero, worst in one step %",
                                         "subnormal %"};
    tally *all;
    hu_status st = HU_NEW_ARRAY(&all, (size_t)history->tensors.count + 1);
    if (st != HU_OK) {
        if (page->status == HU_OK) page->status = st;
        return;
    }
    uint32_t count = history->tensors.count;
    for (uint32_t t = 0; t < count; t++) all[t] = (tally){.tensor = t, .broke = -1};
    for (size_t i = 0; i < history->numerics_count; i++)
        add_record(history, &history->numerics[i], all);
    find_breaks(history, all);
    qsort(all, count, sizeof *all, by_loss);
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 3);
    for (uint32_t t = 0; t < count && t < MAX_ROWS && lost_of(&all[t]) > 0.0; t++)
        put_row(page, history, &all[t]);
    hu_html_table_end(page);
    put_others(page, run, all, count);
    hu_free(all);
}

/* Whether any number was lost by rounding in any record. */
static bool has_losses(const hu_report_run *run) {
    if (!run->is_first || !run->history) return false;
    for (size_t i = 0; i < run->history->numerics_count; i++) {
        const hu_numerics_record *record = &run->history->numerics[i];
        for (uint32_t k = 0; k < record->tensor_count; k++) {
            const hu_tensor_record *row = &record->tensor[k];
            bool is_rounded = strcmp(run->history->formats.name[row->format], "float32") != 0;
            if (is_rounded && row->counts.overflow + row->counts.underflow > 0) return true;
        }
    }
    return false;
}

static void put(hu_page *page, const hu_report_run *run, const void *unused) {
    (void)unused;
    put_run(page, run);
}

void hu_report_losses(hu_page *page, const hu_report *report) {
    char text[400];
    snprintf(text, sizeof text,
             "The up to %d tensors that lost most to rounding, over all steps, and in the worst "
             "single one; shares of all of a tensor's numbers. Of a run that diverged those stand "
             "first that made infinities or NaN.",
             MAX_ROWS);
    const hu_report_part part = {.id = "losses",
                                 .title = "What rounding lost",
                                 .text = text,
                                 .verb = "shown",
                                 .has = has_losses,
                                 .put = put,
                                 .most = MAX_RUNS_SHOWN,
                                 .open = 2};
    hu_report_put_part(page, report, &part);
}
