#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "precision/precision.h"
#include "render/chart.h"
#include "render/html.h"
#include "report/internal.h"
#include "runlog/events.h"
#include "tensor/quantizer.h"

/* ---- losses ---- */

/* What rounding lost: the tensors with the largest shares of overflow and underflow. */

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
        bool is_overflow = hu_event_is(event, HU_EVENT_OF_OVERFLOW);
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

static void put_losses(hu_page *page, const hu_report_run *run, const void *unused) {
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
                                 .put = put_losses,
                                 .most = MAX_RUNS_SHOWN,
                                 .open = 2};
    hu_report_put_part(page, report, &part);
}

/* ---- ratios ---- */

/* How much rounding lost over the steps: the worst tensors of each run, by overflow, underflow and
 * subnormal numbers. Source: Lee et al., figure 6; Popescu et al., figure 2. */

enum { RATIOS_MAX_RUNS_SHOWN = 4, WORST = 5 };

typedef enum loss_kind { BY_OVERFLOW, BY_UNDERFLOW, BY_SUBNORMAL, LOSS_KINDS } loss_kind;

/* One tensor over the whole run. */
typedef struct ratios_tally {
    uint32_t tensor;
    double elements, lost;
} ratios_tally;

static uint64_t ratios_lost_of(const hu_tensor_record *row, loss_kind kind) {
    if (kind == BY_SUBNORMAL) return row->counts.subnormal;
    return kind == BY_OVERFLOW ? row->counts.overflow + row->counts.nan : row->counts.underflow;
}

static double share_of(const ratios_tally *t) {
    return t->elements > 0.0 ? t->lost / t->elements : 0.0;
}

/* The largest share first, equal ones in the order of tensors. */
static int by_share(const void *a, const void *b) {
    double x = share_of(a), y = share_of(b);
    if (x < y || x > y) return x < y ? 1 : -1;
    return ((const ratios_tally *)a)->tensor > ((const ratios_tally *)b)->tensor ? 1 : -1;
}

/* Shares of all steps; all: [tensors], largest first. Returns how many of the first lost any. */
static size_t find_worst(const hu_history *history, loss_kind kind, ratios_tally *all) {
    size_t count = 0;
    for (uint32_t t = 0; t < history->tensors.count; t++) all[t] = (ratios_tally){.tensor = t};
    for (size_t i = 0; i < history->numerics_count; i++)
        for (uint32_t k = 0; k < history->numerics[i].tensor_count; k++) {
            const hu_tensor_record *row = &history->numerics[i].tensor[k];
            if (strcmp(history->formats.name[row->format], "float32") == 0) continue;
            all[row->tensor].elements += (double)row->counts.elements;
            all[row->tensor].lost += (double)ratios_lost_of(row, kind);
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
            y[i] = 100.0 * (double)ratios_lost_of(row, kind) / (double)row->counts.elements;
        }
    }
}

static void draw_worst(hu_page *page, const hu_history *history, loss_kind kind,
                       const ratios_tally *worst, size_t count, double *room) {
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
static hu_status put_ratios_of(hu_page *page, const hu_history *history) {
    hu_status st = HU_OK;
    ratios_tally *all = NULL;
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
                ratios_lost_of(&record->tensor[k], BY_OVERFLOW) +
                    ratios_lost_of(&record->tensor[k], BY_UNDERFLOW) +
                    ratios_lost_of(&record->tensor[k], BY_SUBNORMAL))
                return true;
    }
    return false;
}

static void put_ratios(hu_page *page, const hu_report_run *run, const void *unused) {
    (void)unused;
    hu_status st = put_ratios_of(page, run->history);
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
                                 .put = put_ratios,
                                 .most = RATIOS_MAX_RUNS_SHOWN,
                                 .bytes = 60 * 1024,
                                 .open = 2};
    hu_report_put_part(page, report, &part);
}

/* ---- promoted ---- */

/* What promotions add to the aggregate, against the share that was demoted. Source: Lee et al.,
 * figure 6. */

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
    hu_sample_stats spread = {0};
    *point = (hu_chart_point){.least = (double)NAN, .most = (double)NAN};
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        double added = added_of(run);
        if (run->number != number || isnan(added)) continue;
        hu_sample_stats_add(&spread, added);
        point->x = ratio_of(run->precision);
        point->label = run->name;
        point->series = run->family_number;
        point->least = fmin(point->least, added);
        point->most = fmax(point->most, added);
    }
    point->y = hu_sample_stats_mean(&spread);
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
