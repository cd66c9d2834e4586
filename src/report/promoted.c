/* What promotions add to the aggregate, against the share that was demoted. Source: Lee et al.,
 * figure 6. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "precision/names.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { TIP_BYTES = 320 };

/* What share was demoted: r of "demote:R...+promote", all of uniform; NaN: another precision, or a
 * share of memory. */
static double ratio_of(const char *text) {
    hu_precision precision;
    double ratio = (double)NAN;
    if (hu_precision_parse(text, &precision) != HU_OK) return ratio;
    const hu_assignment *assignment = &precision.assignment;
    if (precision.promotes &&
        (assignment->kind == &hu_assignment_uniform || assignment->kind == &hu_assignment_hfp8))
        ratio = 1.0;
    if (precision.promotes && assignment->kind == &hu_assignment_demote && !assignment->by_memory)
        ratio = assignment->target;
    hu_precision_free(&precision);
    return ratio;
}

/* Bits of the widest high candidate; NaN if the run's keys do not tell. */
static double high_bits(const hu_report_run *run) {
    hu_precision precision;
    const char *high = hu_report_text(run, "precision.high", "fp(6,9,0)");
    double bits = (double)NAN;
    if (hu_precision_parse("high", &precision) != HU_OK) return bits;
    if (hu_precision_set_candidates(&precision, high, NULL) == HU_OK)
        bits = (double)hu_widest_role(precision.high);
    hu_precision_free(&precision);
    return bits;
}

/* What was promoted, in per cent of the aggregate with everything high. NaN: not known. */
static double added_of(const hu_report_run *run) {
    double start = hu_json_real(run->result, "model_aggregate_bits_start");
    double end = hu_json_real(run->result, "model_aggregate_bits");
    if (!run->history || !run->history->plan || json_object_get(run->result, "diverged"))
        return (double)NAN;
    return 100.0 * (end - start) / ((double)run->history->plan->tensor_elements * high_bits(run));
}

/* The mean over the seeds of one precision. Returns whether there is a point. */
static bool make_point(const hu_report *report, int number, hu_chart_point *point,
                       char tip[TIP_BYTES]) {
    hu_spread spread = {0};
    *point = (hu_chart_point){.least = (double)NAN, .most = (double)NAN};
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        double added = added_of(run);
        if (run->number != number || isnan(added)) continue;
        hu_spread_add(&spread, added);
        point->x = ratio_of(run->precision);
        point->label = run->name;
        point->series = run->family_number;
        point->least = fmin(point->least, added);
        point->most = fmax(point->most, added);
    }
    point->y = hu_spread_mean(&spread);
    if (spread.count == 0 || isnan(point->x)) return false;
    if (spread.count == 1) point->least = point->most = (double)NAN;
    snprintf(tip, TIP_BYTES, "%.150s: promotions add %.3g %% of the aggregate with all high",
             point->label, point->y);
    point->tip = tip;
    return true;
}

static void draw(hu_page *page, const hu_chart_point *point, size_t count) {
    hu_chart_axes axes = {.x_title = "r: share that was demoted",
                          .y_title = "promoted, % of the aggregate with all high"};
    if (count < 2) return;
    hu_html_section(page, "promoted", "What promotion costs",
                    "Tensors that overflowed are widened for good. How much larger the model "
                    "aggregate was at the end than in the first step, in per cent of that with "
                    "every tensor in the high format.");
    hu_html_panels(page);
    hu_html_panel(page, NULL);
    hu_chart_points(page, point, count, &axes);
    hu_html_panel_end(page);
    hu_html_panels_end(page);
    hu_html_section_end(page);
}

void hu_report_promoted(hu_page *page, const hu_report *report) {
    hu_status st;
    hu_chart_point *point = NULL;
    char(*tips)[TIP_BYTES] = NULL;
    size_t count = 0;
    HU_TRY(HU_NEW_ARRAY(&point, (size_t)report->precisions + 1));
    HU_TRY(HU_NEW_ARRAY(&tips, (size_t)report->precisions + 1));
    for (int i = 0; i < report->precisions; i++)
        if (make_point(report, i, &point[count], tips[count])) count++;
    draw(page, point, count);
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    hu_free(point);
    hu_free(tips);
}
