/* Columns of the metrics over the steps, with skipped steps and promotions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "render/chart.h"
#include "render/html.h"
#include "report/internal.h"

enum { TIP = 220, MAX_LINES = 24, MAX_SEEDS = 64, NAME_BYTES = 128 };

/* A line with the memory that it stands on. */
typedef struct curve {
    hu_chart_line line;
    double *x, *y, *least, *most;
    hu_chart_mark *skipped, *promoted;
    char (*tips)[TIP];
} curve;

static void free_curve(curve *c) {
    hu_free(c->x);
    hu_free(c->y);
    hu_free(c->least);
    hu_free(c->most);
    hu_free(c->skipped);
    hu_free(c->promoted);
    hu_free(c->tips);
}

/* ---- points ---- */

/* Whether a run is a seed of another's precision that has rows. */
static bool is_seed_of(const hu_report_run *first, const hu_report_run *run) {
    return run->number == first->number && run->history && run->history->metrics_count > 0;
}

/* The seeds of a precision, at most `room`; returns how many. */
static size_t list_seeds(const hu_report *report, const hu_report_run *first,
                         const hu_report_run **seed, size_t room) {
    size_t count = 0;
    for (size_t i = 0; i < report->count && count < room; i++)
        if (is_seed_of(first, &report->run[i])) seed[count++] = &report->run[i];
    return count;
}

/* The points of one column: of every record, or where it is of the metric of the records that have
 * one. x counts steps that are done. y is a running mean where smooth is not 0. Returns how many.
 */
static size_t put_points(const hu_report_run *run, const hu_column *column, double smooth,
                         double *x, double *y) {
    const hu_history *history = run->history;
    bool is_test = hu_column_is_evaluated(column);
    double factor = is_test ? run->metric->factor : 1.0, mean = (double)NAN;
    size_t n = 0;
    for (size_t i = 0; i < history->metrics_count; i++) {
        const hu_metrics_record *row = &history->metrics[i];
        double value = factor * hu_column_of(column, row);
        if (is_test && isnan(value)) continue;
        if (isfinite(value)) mean = isnan(mean) ? value : smooth * mean + (1.0 - smooth) * value;
        x[n] = (double)row->step + 1.0;
        y[n++] = isfinite(value) ? mean : value;
    }
    return n;
}

/* The points of one seed, and how far a walk over all seeds has come. */
typedef struct seed_points {
    double *x, *y;
    size_t count, at;
} seed_points;

/* The next x of any seed, NaN after the last. */
static double next_of(const seed_points *seed, size_t seeds) {
    double next = (double)NAN;
    for (size_t s = 0; s < seeds; s++)
        if (seed[s].at < seed[s].count) next = fmin(next, seed[s].x[seed[s].at]);
    return next;
}

/* One point of the mean where every seed that came so far has one: rows of steps that a single seed
 * skipped would bend it. */
static void add_mean(seed_points *seed, size_t seeds, double x, curve *c) {
    size_t present = 0, lacking = 0, finite = 0, n = c->line.count;
    double sum = 0.0, least = (double)NAN, most = (double)NAN;
    for (size_t s = 0; s < seeds; s++) {
        if (seed[s].at == seed[s].count) continue;
        if (seed[s].x[seed[s].at] > x) {
            lacking++;
            continue;
        }
        double y = seed[s].y[seed[s].at++];
        present++;
        if (!isfinite(y)) continue;
        finite++;
        sum += y;
        least = fmin(least, y);
        most = fmax(most, y);
    }
    if (present == 0 || lacking > 0) return;
    c->x[n] = x;
    c->y[n] = finite > 0 ? sum / (double)finite : (double)NAN;
    c->least[n] = least;
    c->most[n] = most;
    c->line.count++;
}

/* The mean of several seeds, in a band from the least to the largest. */
static hu_status make_mean(const hu_report_run *const *run, size_t seeds, const hu_column *column,
                           double smooth, curve *c) {
    hu_status st;
    seed_points *seed = NULL;
    size_t room = 1;
    HU_TRY(HU_NEW_ARRAY(&seed, seeds));
    for (size_t s = 0; s < seeds; s++) {
        size_t rows = run[s]->history->metrics_count;
        HU_TRY(HU_NEW_ARRAY(&seed[s].x, rows));
        HU_TRY(HU_NEW_ARRAY(&seed[s].y, rows));
        seed[s].count = put_points(run[s], column, smooth, seed[s].x, seed[s].y);
        room += seed[s].count;
    }
    double **arrays[] = {&c->x, &c->y, &c->least, &c->most};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        HU_TRY(HU_NEW_ARRAY(arrays[i], room));
    for (double x; !isnan(x = next_of(seed, seeds));) add_mean(seed, seeds, x, c);
    c->line.least = c->least;
    c->line.most = c->most;
done:
    for (size_t s = 0; seed && s < seeds; s++) {
        hu_free(seed[s].x);
        hu_free(seed[s].y);
    }
    hu_free(seed);
    return st;
}

static hu_status make_curve(const hu_report_run *const *run, size_t seeds, const hu_column *column,
                            double smooth, curve *c) {
    hu_status st;
    *c = (curve){.line = {.label = run[0]->name, .series = run[0]->number, .ended = (double)NAN}};
    if (seeds > 1) {
        HU_TRY(make_mean(run, seeds, column, smooth, c));
    } else {
        HU_TRY(HU_NEW_ARRAY(&c->x, run[0]->history->metrics_count + 1));
        HU_TRY(HU_NEW_ARRAY(&c->y, run[0]->history->metrics_count + 1));
        c->line.count = put_points(run[0], column, smooth, c->x, c->y);
    }
    c->line.x = c->x;
    c->line.y = c->y;
    c->line.has_marks = hu_column_is_evaluated(column) && c->line.count <= 40;
done:
    return st;
}

/* ---- marks below the curves ---- */

static void add_skipped(const hu_report_run *run, curve *c, char (**tip)[TIP]) {
    const hu_history *history = run->history;
    char scale[HU_DECIMAL_BYTES];
    for (size_t i = 0; i < history->metrics_count; i++) {
        const hu_metrics_record *row = &history->metrics[i];
        if (!row->skipped) continue;
        snprintf(**tip, TIP, "%.80s: step %lld skipped, loss scale %s%s%.60s", run->label,
                 (long long)row->step, hu_scale_text(row->loss_scale, scale),
                 row->culprit ? ", first in " : "", row->culprit ? row->culprit : "");
        c->skipped[c->line.skipped_count++] = (hu_chart_mark){(double)row->step + 1.0, **tip};
        ++*tip;
    }
}

static void add_change(curve *c, int64_t step, char (**tip)[TIP]) {
    c->promoted[c->line.promoted_count++] = (hu_chart_mark){(double)step + 1.0, **tip};
    ++*tip;
}

static void add_changes(const hu_report_run *run, curve *c, char (**tip)[TIP]) {
    const hu_history *history = run->history;
    for (size_t i = 0; i < history->promotion_count; i++) {
        const hu_promotion_record *row = &history->promotions[i];
        snprintf(**tip, TIP, "%.60s: %.60s promoted from %.30s to %.30s at step %lld", run->label,
                 history->tensors.name[row->tensor], history->formats.name[row->from],
                 history->formats.name[row->to], (long long)row->step);
        add_change(c, row->step, tip);
    }
    for (size_t i = 0; i < history->phase_count; i++) {
        const hu_phase_record *row = &history->phases[i];
        snprintf(**tip, TIP, "%.60s: %.60s from epoch %lld (step %lld) on", run->label,
                 row->precision, (long long)row->epoch, (long long)row->step);
        add_change(c, row->step, tip);
    }
}

/* Skipped steps, promotions and phases of all seeds, and the end of the first that diverged. */
static hu_status add_marks(const hu_report_run *const *run, size_t seeds, curve *c) {
    hu_status st;
    size_t rows = 1, changes = 1;
    for (size_t s = 0; s < seeds; s++) {
        const hu_history *history = run[s]->history;
        rows += history->metrics_count;
        changes += history->promotion_count + history->phase_count;
    }
    HU_TRY(HU_NEW_ARRAY(&c->tips, rows + changes));
    HU_TRY(HU_NEW_ARRAY(&c->skipped, rows));
    HU_TRY(HU_NEW_ARRAY(&c->promoted, changes));
    c->line.skipped = c->skipped;
    c->line.promoted = c->promoted;
    char(*tip)[TIP] = c->tips;
    for (size_t s = 0; s < seeds; s++) {
        const hu_history *history = run[s]->history;
        add_skipped(run[s], c, &tip);
        add_changes(run[s], c, &tip);
        if (json_object_get(run[s]->result, "diverged") && isnan(c->line.ended))
            c->line.ended = (double)history->metrics[history->metrics_count - 1].step + 1.0;
    }
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
    if (hu_column_is_evaluated(column)) return a->metric == b->metric;
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
    if (hu_column_is_evaluated(column)) {
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

/* Weight of the past in the running mean that is drawn: short curves and test results are drawn as
 * they are. */
static double smooth_of(const hu_report *report, const hu_column *column,
                        const hu_report_run *like) {
    enum { SHORT = 60 };
    size_t points = 0, count = 0;
    for (size_t i = 0; i < report->count && count < MAX_LINES; i++) {
        const hu_report_run *run = &report->run[i];
        if (!run->is_first || !is_seed_of(run, run) || !share_axis(column, like, run)) continue;
        points += run->history->metrics_count;
        count++;
    }
    return hu_column_is_evaluated(column) || count == 0 || points / count < SHORT ? 0.0 : 0.8;
}

/* The lines of a chart. */
typedef struct chart {
    curve curve[MAX_LINES];
    hu_chart_line line[MAX_LINES];
    hu_legend_item item[MAX_LINES];
    char name[MAX_LINES][NAME_BYTES];
    size_t count, most; /* most: points of a line */
} chart;

static hu_status add_line(const hu_report *report, const hu_report_run *run,
                          const hu_column *column, double smooth, chart *made) {
    const hu_report_run *seed[MAX_SEEDS] = {run};
    size_t seeds = list_seeds(report, run, seed, MAX_SEEDS), n = made->count++;
    curve *c = &made->curve[n];
    hu_status st = make_curve(seed, seeds, column, smooth, c);
    if (st == HU_OK && !hu_column_is_evaluated(column)) st = add_marks(seed, seeds, c);
    made->line[n] = c->line;
    snprintf(made->name[n], NAME_BYTES, seeds > 1 ? "%.100s, %zu seeds" : "%.100s", run->name,
             seeds);
    made->item[n] = (hu_legend_item){made->name[n], run->number};
    if (c->line.count > made->most) made->most = c->line.count;
    return st;
}

/* Whether a page has several seeds of any precision. */
static bool has_seeds(const hu_report *report) {
    return report->count > (size_t)report->precisions;
}

/* One chart for a column and the runs that share its axis with one of them: a line for each
 * precision. Bands are of smooth lines, so that all are made smooth here. */
static void draw(hu_page *page, const hu_report *report, const hu_column *column,
                 const hu_report_run *like) {
    chart *made = NULL;
    hu_status st = HU_NEW_ARRAY(&made, 1);
    char heading[NAME_BYTES], title[NAME_BYTES];
    name_chart(report, column, like, heading, title);
    double smooth = smooth_of(report, column, like), here = has_seeds(report) ? smooth : 0.0;
    for (size_t i = 0; st == HU_OK && i < report->count && made->count < MAX_LINES; i++) {
        const hu_report_run *run = &report->run[i];
        if (!run->is_first || !is_seed_of(run, run) || !share_axis(column, like, run)) continue;
        st = add_line(report, run, column, here, made);
    }
    if (st == HU_OK && made->most > 1) {
        hu_html_panel(page, heading);
        hu_legend_draw(page, made->item, made->count, HU_LEGEND_LINES);
        double top =
            hu_column_is_evaluated(column) ? (double)NAN : top_of(made->curve, made->count);
        hu_chart_lines(page, made->line, made->count, smooth - here, top, "steps done", title);
        hu_html_panel_end(page);
    }
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    for (size_t i = 0; made && i < made->count; i++) free_curve(&made->curve[i]);
    hu_free(made);
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
    bool has_line = false;
    char text[256];
    for (size_t i = 0; i < report->count; i++) {
        all += report->run[i].is_first;
        shown += report->run[i].is_first && report->run[i].history &&
                 report->run[i].history->metrics_count > 0;
        has_line |= report->run[i].history && report->run[i].history->metrics_count > 1;
    }
    if (!has_line) return; /* a row alone is no line */
    hu_html_section(page, "curves", "Training",
                    report->count > all
                        ? "The mean over the seeds of each precision, in a band from the least to "
                          "the largest. A row's loss is that of its batch; the last of an epoch "
                          "may be small."
                        : "A row's loss is that of its batch; the last of an epoch may be small.");
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
