/* How much rounding lost over the steps: the worst tensors of each run, by overflow, underflow and
 * subnormal numbers. Source: Lee et al., figure 6; Popescu et al., figure 2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { MAX_RUNS_SHOWN = 4, WORST = 5 };

typedef enum loss_kind { BY_OVERFLOW, BY_UNDERFLOW, BY_SUBNORMAL, LOSS_KINDS } loss_kind;

/* One tensor over the whole run. */
typedef struct tally {
    uint32_t tensor;
    double elements, lost;
} tally;

static uint64_t lost_of(const hu_tensor_record *row, loss_kind kind) {
    if (kind == BY_SUBNORMAL) return row->counts.subnormal;
    return kind == BY_OVERFLOW ? row->counts.overflow + row->counts.nan : row->counts.underflow;
}

static double share_of(const tally *t) {
    return t->elements > 0.0 ? t->lost / t->elements : 0.0;
}

/* The largest share first, equal ones in the order of tensors. */
static int by_share(const void *a, const void *b) {
    double x = share_of(a), y = share_of(b);
    if (x < y || x > y) return x < y ? 1 : -1;
    return ((const tally *)a)->tensor > ((const tally *)b)->tensor ? 1 : -1;
}

/* Shares of all steps; all: [tensors], largest first. Returns how many of the first lost any. */
static size_t find_worst(const hu_history *history, loss_kind kind, tally *all) {
    size_t count = 0;
    for (uint32_t t = 0; t < history->tensors.count; t++) all[t] = (tally){.tensor = t};
    for (size_t i = 0; i < history->numerics_count; i++)
        for (uint32_t k = 0; k < history->numerics[i].tensor_count; k++) {
            const hu_tensor_record *row = &history->numerics[i].tensor[k];
            if (strcmp(history->formats.name[row->format], "float32") == 0) continue;
            all[row->tensor].elements += (double)row->counts.elements;
            all[row->tensor].lost += (double)lost_of(row, kind);
        }
    qsort(all, history->tensors.count, sizeof *all, by_share);
    while (count < WORST && count < history->tensors.count && share_of(&all[count]) > 0.0) count++;
    return count;
}

/* Per cent of the tensor's numbers in the steps of each row; a gap where it was not rounded. */
static void fill_line(const hu_history *history, loss_kind kind, uint32_t tensor, double *x,
                      double *y) {
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_numerics_record *record = &history->numerics[i];
        x[i] = (double)record->step + 1.0;
        y[i] = (double)NAN;
        for (uint32_t k = 0; k < record->tensor_count; k++) {
            const hu_tensor_record *row = &record->tensor[k];
            if (row->tensor != tensor || row->counts.elements == 0) continue;
            y[i] = 100.0 * (double)lost_of(row, kind) / (double)row->counts.elements;
        }
    }
}

static void draw_worst(hu_page *page, const hu_history *history, loss_kind kind, const tally *worst,
                       size_t count, double *room) {
    static const char *const headings[] = {"Overflow", "Underflow", "Subnormal numbers"};
    static const char *const titles[] = {"too large, % of the tensor's numbers",
                                         "became zero, % of the tensor's numbers",
                                         "subnormal, % of the tensor's numbers"};
    hu_chart_line line[WORST];
    hu_legend_item item[WORST];
    size_t rows = history->numerics_count;
    for (size_t t = 0; t < count; t++, room += 2 * rows) {
        const char *name = history->tensors.name[worst[t].tensor];
        fill_line(history, kind, worst[t].tensor, room, room + rows);
        line[t] = (hu_chart_line){.label = name,
                                  .series = (int)t,
                                  .x = room,
                                  .y = room + rows,
                                  .count = rows,
                                  .ended = (double)NAN};
        item[t] = (hu_legend_item){name, (int)t};
    }
    hu_html_panel(page, headings[kind]);
    hu_legend_draw(page, item, count, HU_LEGEND_LINES);
    hu_chart_lines(page, line, count, 0.0, (double)NAN, "steps done", titles[kind]);
    hu_html_panel_end(page);
}

/* The pictures of a run; those of a kind of which nothing was lost are left out. */
static hu_status put_run(hu_page *page, const hu_history *history) {
    hu_status st = HU_OK;
    tally *all = NULL;
    double *room = NULL;
    HU_TRY(HU_NEW_ARRAY(&all, (size_t)history->tensors.count + 1));
    HU_TRY(HU_NEW_ARRAY(&room, (size_t)2 * WORST * history->numerics_count));
    hu_html_panels(page);
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        size_t count = find_worst(history, (loss_kind)kind, all);
        if (count > 0) draw_worst(page, history, (loss_kind)kind, all, count, room);
    }
    hu_html_panels_end(page);
done:
    hu_free(all);
    hu_free(room);
    return st;
}

/* Whether a run lost any number in rows of which there are enough for a line. */
static bool is_shown(const hu_report_run *run) {
    if (!run->is_first || !run->history || run->history->numerics_count < 3) return false;
    for (size_t i = 0; i < run->history->numerics_count; i++) {
        const hu_numerics_record *record = &run->history->numerics[i];
        for (uint32_t k = 0; k < record->tensor_count; k++)
            if (strcmp(run->history->formats.name[record->tensor[k].format], "float32") != 0 &&
                lost_of(&record->tensor[k], BY_OVERFLOW) +
                    lost_of(&record->tensor[k], BY_UNDERFLOW) +
                    lost_of(&record->tensor[k], BY_SUBNORMAL))
                return true;
    }
    return false;
}

static void put(hu_page *page, const hu_report_run *run, const void *unused) {
    (void)unused;
    hu_status st = put_run(page, run->history);
    if (st != HU_OK && page->status == HU_OK) page->status = st;
}

void hu_report_ratios(hu_page *page, const hu_report *report) {
    char text[400];
    snprintf(text, sizeof text,
             "The %d tensors that lost most of their numbers over all steps, or had most subnormal "
             "ones, and how that went: shares of the numbers that were rounded since the row "
             "before. `halfulp stats RUN curve=TENSOR` has any tensor's.",
             WORST);
    const hu_report_part part = {.id = "ratios",
                                 .title = "Losses over the steps",
                                 .text = text,
                                 .verb = "shown",
                                 .has = is_shown,
                                 .put = put,
                                 .most = MAX_RUNS_SHOWN,
                                 .bytes = 60 * 1024,
                                 .open = 2};
    hu_report_put_part(page, report, &part);
}
