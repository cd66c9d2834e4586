/* Columns of the metrics over the steps, with skipped steps and promotions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { TIP = 220, MAX_LINES = 24, NAME_BYTES = 128 };

/* A line with the memory that it stands on. */
typedef struct curve {
    hu_chart_line line;
    double *x, *y;
    hu_chart_mark *skipped, *promoted;
    char (*tips)[TIP];
} curve;

static void free_curve(curve *c) {
    hu_free(c->x);
    hu_free(c->y);
    hu_free(c->skipped);
    hu_free(c->promoted);
    hu_free(c->tips);
}

/* The points of one column: of every record, or where it is of the metric of the records that have
 * one. x counts steps that are done. */
static hu_status make_curve(const hu_report_run *run, const hu_column *column, curve *c) {
    const hu_history *history = run->history;
    hu_status st;
    bool is_test = hu_column_is_judged(column);
    double factor = is_test ? run->metric->factor : 1.0;
    *c = (curve){.line = {.label = run->name, .series = run->number, .ended = (double)NAN}};
    HU_TRY(HU_NEW_ARRAY(&c->x, history->metrics_count + 1));
    HU_TRY(HU_NEW_ARRAY(&c->y, history->metrics_count + 1));
    double *x = c->x, *y = c->y;
    size_t n = 0;
    for (size_t i = 0; i < history->metrics_count; i++) {
        const hu_metrics_record *row = &history->metrics[i];
        double value = hu_column_of(column, row);
        if (is_test && isnan(value)) continue;
        x[n] = (double)row->step + 1.0;
        y[n++] = factor * value;
    }
    c->line.x = x;
    c->line.y = y;
    c->line.count = n;
    c->line.has_marks = is_test && n <= 40;
done:
    return st;
}

/* Marks below the curves: skipped steps, promotions, phases, and the end of a run that diverged. */
static hu_status add_skipped(const hu_report_run *run, curve *c) {
    const hu_history *history = run->history;
    hu_status st;
    char *tip;
    size_t changes = history->promotion_count + history->phase_count;
    HU_TRY(HU_NEW_ARRAY(&c->tips, history->metrics_count + changes + 1));
    HU_TRY(HU_NEW_ARRAY(&c->skipped, history->metrics_count + 1));
    HU_TRY(HU_NEW_ARRAY(&c->promoted, changes + 1));
    tip = c->tips[0];
    c->line.skipped = c->skipped;
    c->line.promoted = c->promoted;
    for (size_t i = 0; i < history->metrics_count; i++, tip += TIP) {
        const hu_metrics_record *row = &history->metrics[i];
        if (!row->skipped) continue;
        snprintf(tip, TIP, "%.80s: step %lld skipped, loss scale %g%s%.60s", run->name,
                 (long long)row->step, row->loss_scale, row->culprit ? ", first in " : "",
                 row->culprit ? row->culprit : "");
        c->line.skipped[c->line.skipped_count++] = (hu_chart_mark){(double)row->step + 1.0, tip};
    }
    for (size_t i = 0; i < history->promotion_count; i++, tip += TIP) {
        const hu_promotion_record *row = &history->promotions[i];
        snprintf(tip, TIP, "%.60s: %.60s promoted from %.30s to %.30s at step %lld", run->name,
                 history->tensors.name[row->tensor], history->formats.name[row->from],
                 history->formats.name[row->to], (long long)row->step);
        c->line.promoted[c->line.promoted_count++] = (hu_chart_mark){(double)row->step + 1.0, tip};
    }
    for (size_t i = 0; i < history->phase_count; i++, tip += TIP) {
        const hu_phase_record *row = &history->phases[i];
        snprintf(tip, TIP, "%.60s: %.60s from epoch %lld (step %lld) on", run->name, row->precision,
                 (long long)row->epoch, (long long)row->step);
        c->line.promoted[c->line.promoted_count++] = (hu_chart_mark){(double)row->step + 1.0, tip};
    }
    if (json_object_get(run->result, "diverged") && history->metrics_count > 0)
        c->line.ended = (double)history->metrics[history->metrics_count - 1].step + 1.0;
done:
    return st;
}

/* Losses of runs that blow up would flatten all others: what is drawn ends at a little above the
 * largest first loss. */
static double top_of(const curve *all, size_t count) {
    double first = (double)NAN;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < all[i].line.count && k < 3; k++)
            if (isfinite(all[i].line.y[k]) && all[i].line.y[k] < 1e3)
                first = fmax(first, all[i].line.y[k]);
    return isfinite(first) ? 1.25 * first : first;
}

/* Only numbers of one kind share an axis: of one metric, or of one loss of one task. */
static bool share_axis(const hu_column *column, const hu_report_run *a, const hu_report_run *b) {
    if (hu_column_is_judged(column)) return a->metric == b->metric;
    return strcmp(a->loss, b->loss) == 0;
}

/* Whether all runs of the page share the axis with this one. */
static bool is_only_axis(const hu_report *report, const hu_column *column,
                         const hu_report_run *run) {
    for (size_t i = 0; i < report->count; i++)
        if (!share_axis(column, run, &report->run[i])) return false;
    return true;
}

/* Heading and axis of a chart: "Training loss", and with losses of several kinds which one it is.
 */
static void name_chart(const hu_report *report, const hu_column *column, const hu_report_run *run,
                       char heading[NAME_BYTES], char title[NAME_BYTES]) {
    char text[HU_METRIC_TEXT_BYTES];
    if (hu_column_is_judged(column)) {
        const char *part = column->kind == HU_COLUMN_TEST ? "test" : "validation";
        snprintf(heading, NAME_BYTES, "%s %s", column->curve, hu_metric_words(run->metric, text));
        snprintf(title, NAME_BYTES, "%s %s", part, hu_metric_axis(run->metric, text));
        return;
    }
    bool is_only = is_only_axis(report, column, run);
    snprintf(heading, NAME_BYTES, "%s%s%s", column->curve, is_only ? "" : ": ",
             is_only ? "" : run->loss);
    snprintf(title, NAME_BYTES, "%s%s%s", column->name, is_only ? "" : ": ",
             is_only ? "" : run->loss);
}

/* One chart for a column and the runs that share its axis with one of them: a line for each
 * precision. */
static void draw(hu_page *page, const hu_report *report, const hu_column *column,
                 const hu_report_run *like) {
    bool is_test = hu_column_is_judged(column);
    curve all[MAX_LINES];
    hu_chart_line line[MAX_LINES];
    hu_legend_item item[MAX_LINES];
    size_t count = 0, points = 0, most = 0;
    hu_status st = HU_OK;
    char heading[NAME_BYTES], title[NAME_BYTES];
    name_chart(report, column, like, heading, title);
    for (size_t i = 0; i < report->count && count < MAX_LINES && st == HU_OK; i++) {
        const hu_report_run *run = &report->run[i];
        if (!run->is_first || !run->history || run->history->metrics_count == 0) continue;
        if (!share_axis(column, like, run)) continue;
        st = make_curve(run, column, &all[count]);
        if (st == HU_OK && !is_test) st = add_skipped(run, &all[count]);
        line[count] = all[count].line;
        item[count] = (hu_legend_item){run->name, run->number};
        points += line[count].count;
        if (line[count].count > most) most = line[count].count;
        count++;
    }
    if (st == HU_OK && most > 1) {
        hu_html_panel(page, heading);
        hu_legend_draw(page, item, count, HU_LEGEND_LINES);
        /* Short curves and test results as they are, long ones as a running mean. */
        double smooth = is_test || points / count < 60 ? 0.0 : 0.8;
        hu_chart_lines(page, line, count, smooth, is_test ? (double)NAN : top_of(all, count),
                       "steps done", title);
        hu_html_panel_end(page);
    }
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    for (size_t i = 0; i < count; i++) free_curve(&all[i]);
}

/* A chart for every kind of number, in the order of the first run of each. */
static void draw_charts(hu_page *page, const hu_report *report, const hu_column *column) {
    for (size_t i = 0; i < report->count; i++) {
        bool is_drawn = false;
        for (size_t k = 0; k < i; k++)
            is_drawn = is_drawn || share_axis(column, &report->run[k], &report->run[i]);
        if (!is_drawn) draw(page, report, column, &report->run[i]);
    }
}

void hu_report_curves(hu_page *page, const hu_report *report) {
    size_t shown = 0, all = 0;
    char text[256];
    for (size_t i = 0; i < report->count; i++) {
        all += report->run[i].is_first;
        shown += report->run[i].is_first && report->run[i].history &&
                 report->run[i].history->metrics_count > 0;
    }
    if (shown == 0) return;
    hu_html_section(page, "curves", "Training",
                    report->count > all ? "The first seed of each precision. A row's loss is that "
                                          "of its batch; the last of an epoch may be small."
                                        : "A row's loss is that of its batch; the last of an epoch "
                                          "may be small.");
    hu_html_panels(page);
    for (int c = 0; c < HU_COLUMNS; c++)
        if (hu_columns[c].curve) draw_charts(page, report, &hu_columns[c]);
    hu_html_panels_end(page);
    if (shown > MAX_LINES) {
        snprintf(text, sizeof text, "The first %d of %zu runs are drawn.", MAX_LINES, shown);
        hu_html_note(page, text);
    }
    hu_html_section_end(page);
}
