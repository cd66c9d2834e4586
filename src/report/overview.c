/* Accuracy against memory and against the share of low precision; the table of results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

static const double mib = 1024.0 * 1024.0;

/* One precision: means over its seeds that ended well. */
typedef struct summary {
    const hu_report_run *run; /* the first */
    int runs, done, diverged;
    double accuracy, least, most, best, low_ratio, aggregate, memory, rss, rate, promoted, skipped,
        loss;
    bool is_front;
} summary;

static void add_run(const hu_report_run *run, summary *s) {
    const json_t *result = run->result;
    double accuracy = 100.0 * hu_json_real(result, "test_accuracy");
    s->runs++;
    if (!result) return;
    s->memory = fmax(s->memory, hu_json_real(result, "ledger_bytes.total") / mib);
    if (json_object_get(result, "diverged")) {
        s->diverged++;
        return;
    }
    double aggregate = hu_json_real(result, "model_aggregate_bits");
    if (isnan(aggregate) && run->history && run->history->plan)
        aggregate = (double)run->history->plan->model_aggregate_bits;
    s->done++;
    s->least = fmin(s->least, accuracy);
    s->most = fmax(s->most, accuracy);
    s->accuracy += accuracy;
    s->best += 100.0 * hu_json_real(result, "best_accuracy");
    s->low_ratio += hu_json_real(result, "low_precision_ratio");
    s->aggregate += aggregate / 8.0 / mib;
    s->rss += hu_json_real(result, "peak_rss_bytes") / mib;
    s->rate += hu_json_real(result, "images_per_second");
    s->promoted += hu_json_real(result, "promoted");
    s->skipped += hu_json_real(result, "skipped_steps");
    s->loss += hu_json_real(result, "train_loss");
}

/* Sums become means over the runs that ended well; NaN where none did. */
static void divide(summary *s) {
    double *sums[] = {&s->accuracy, &s->best, &s->low_ratio, &s->aggregate, &s->rss,
                      &s->rate,     &s->loss, &s->promoted,  &s->skipped};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] = s->done ? *sums[i] / s->done : (double)NAN;
}

/* A precision that diverged with any seed is on no front. */
static bool is_sound(const summary *s) {
    return s->done > 0 && s->done == s->runs && isfinite(s->accuracy) && isfinite(s->memory);
}

/* Points that no other beats: at least as accurate with at most as much memory, and better in one.
 */
static void mark_front(summary *all, int count) {
    for (int i = 0; i < count; i++) {
        all[i].is_front = is_sound(&all[i]);
        for (int k = 0; k < count; k++) {
            const summary *other = &all[k];
            if (!is_sound(other) || other->accuracy < all[i].accuracy ||
                other->memory > all[i].memory)
                continue;
            if (other->accuracy > all[i].accuracy || other->memory < all[i].memory)
                all[i].is_front = false;
        }
    }
}

/* One summary for each precision, of all its seeds. */
static hu_status summarise(const hu_report *report, summary **all) {
    hu_status st = HU_NEW_ARRAY(all, (size_t)report->precisions + 1);
    if (st != HU_OK) return st;
    for (int i = 0; i < report->precisions; i++)
        (*all)[i] = (summary){.least = (double)NAN, .most = (double)NAN, .memory = (double)NAN};
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        summary *own = &(*all)[run->number];
        if (run->is_first) own->run = run;
        add_run(run, own);
    }
    for (int i = 0; i < report->precisions; i++) divide(&(*all)[i]);
    mark_front(*all, report->precisions);
    return HU_OK;
}

static const char *name_of(const summary *s) {
    return s->run->name;
}

/* The tip of a point. */
static void tell(const summary *s, double x, const char *what, char *tip, size_t capacity) {
    if (s->done == 0)
        snprintf(tip, capacity, "%.150s: diverged, %s %.4g", name_of(s), what, x);
    else if (s->done > 1)
        snprintf(tip, capacity, "%.150s: %.2f %% (%.2f to %.2f, %d seeds), %s %.4g", name_of(s),
                 s->accuracy, s->least, s->most, s->done, what, x);
    else
        snprintf(tip, capacity, "%.150s: %.2f %%, %s %.4g", name_of(s), s->accuracy, what, x);
}

/* by_ratio: against the low-precision ratio, without a front. */
static void draw_points(hu_page *page, const summary *all, int count, bool by_ratio) {
    enum { TIP = 320 };
    hu_chart_point *point = NULL;
    char(*tips)[TIP] = NULL;
    size_t used = 0;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&point, (size_t)count));
    HU_TRY(HU_NEW_ARRAY(&tips, (size_t)count));
    for (int i = 0; i < count; i++) {
        const summary *s = &all[i];
        double x = by_ratio ? s->low_ratio : s->memory;
        char *tip = tips[used];
        if (!isfinite(x) || (s->done == 0 && s->diverged == 0)) continue;
        tell(s, x, by_ratio ? "low-precision ratio" : "MiB", tip, TIP);
        point[used++] = (hu_chart_point){.label = name_of(s),
                                         .tip = tip,
                                         .x = x,
                                         .y = s->accuracy,
                                         .least = s->done > 1 ? s->least : (double)NAN,
                                         .most = s->done > 1 ? s->most : (double)NAN,
                                         .series = s->run->family_number,
                                         .is_front = s->is_front && !by_ratio,
                                         .is_absent = !isfinite(s->accuracy)};
    }
    if (used > 0)
        hu_chart_points(page, point, used,
                        by_ratio ? "mean low-precision ratio" : "memory of training, MiB",
                        "test accuracy, %", by_ratio ? NULL : "front: nothing is better in both");
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    hu_free(point);
    hu_free(tips);
}

/* The legend: one colour for each family of precisions. */
static void draw_families(hu_page *page, const hu_report *report) {
    hu_legend_item item[64];
    size_t count = 0;
    for (int f = 0; f < report->families && count < 64; f++)
        for (size_t i = 0; i < report->count; i++)
            if (report->run[i].family_number == f) {
                item[count++] = (hu_legend_item){report->run[i].family, f};
                break;
            }
    hu_legend_draw(page, item, count, HU_LEGEND_MARKS);
}

/* A number with so many places ("2"); "-" for NaN. */
static void number_cell(hu_page *page, const char *format, double value) {
    char text[64];
    if (isnan(value)) {
        hu_html_number(page, "-");
        return;
    }
    snprintf(text, sizeof text, "%.*f", format[0] - '0', value);
    hu_html_number(page, text);
}

static void put_row(hu_page *page, const summary *s) {
    char text[220];
    snprintf(text, sizeof text, "%.200s%s", name_of(s), s->is_front ? " *" : "");
    hu_html_row(page, s->is_front);
    hu_html_text(page, text);
    number_cell(page, "2", s->accuracy);
    snprintf(text, sizeof text, "%.2f–%.2f", s->least, s->most);
    hu_html_number(page, s->done > 1 ? text : "-");
    number_cell(page, "2", s->best);
    number_cell(page, "3", s->low_ratio);
    number_cell(page, "1", s->aggregate);
    number_cell(page, "1", s->memory);
    number_cell(page, "1", s->rss);
    number_cell(page, "0", s->rate);
    number_cell(page, "1", s->promoted);
    number_cell(page, "1", s->skipped);
    snprintf(text, sizeof text, "%d of %d", s->done, s->runs);
    hu_html_number(page, text);
    hu_html_row_end(page);
}

static void put_table(hu_page *page, const summary *all, int count) {
    static const char *const titles[] = {"precision", "accuracy %", "range",   "best %",
                                         "low ratio", "aggregate",  "memory",  "RSS",
                                         "images/s",  "promoted",   "skipped", "ended"};
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 1);
    for (int i = 0; i < count; i++) put_row(page, &all[i]);
    hu_html_table_end(page);
}

/* Why runs diverged, in the words of their result. */
static void put_divergences(hu_page *page, const hu_report *report) {
    char text[1400];
    for (size_t i = 0; i < report->count; i++) {
        const json_t *why = json_object_get(report->run[i].result, "diverged");
        if (!why) continue;
        snprintf(text, sizeof text, "%s diverged: %.1000s", report->run[i].label,
                 json_string_value(why));
        hu_html_note(page, text);
    }
}

void hu_report_overview(hu_page *page, const hu_report *report) {
    summary *all;
    hu_status st = summarise(report, &all);
    if (st != HU_OK) {
        if (page->status == HU_OK) page->status = st;
        return;
    }
    double most = 0.0;
    int points = 0;
    for (int i = 0; i < report->precisions; i++) {
        if (isfinite(all[i].low_ratio)) most = fmax(most, all[i].low_ratio);
        points += isfinite(all[i].memory);
    }
    /* A front needs more than one point. */
    if (points > 1) {
        hu_html_section(page, "pareto", "Accuracy against memory",
                        "Memory is what training allocates: arena, masters and optimizer. Bars "
                        "are the range over seeds.");
        draw_families(page, report);
        draw_points(page, all, report->precisions, false);
        if (most > 0.0) {
            hu_html_heading(page, "Accuracy against the low-precision ratio");
            draw_points(page, all, report->precisions, true);
        }
        hu_html_section_end(page);
    }
    hu_html_section(page, "results", "Results",
                    "Accuracy is that of the last epoch, in the mean over the seeds that ended "
                    "well. Aggregate (all tensors of a batch in their formats), memory and peak "
                    "RSS are in MiB. * stands on the front.");
    put_table(page, all, report->precisions);
    put_divergences(page, report);
    hu_html_section_end(page);
    hu_free(all);
}
