/* Bits of the groups over the steps, from the plan and the formats that the tensors had. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { MAX_RUNS_SHOWN = 12, NOTE_BYTES = 80 };

static void map_tensor(const hu_history *history, const char *name, uint32_t g,
                       uint32_t *group_of) {
    uint32_t t = hu_names_find(&history->tensors, name);
    if (t != HU_NAMES_NONE) group_of[t] = g;
}

/* group_of[tensor]: row, or HU_NAMES_NONE. A gradient is in the group of its tensor. */
static void map_tensors(const hu_history *history, uint32_t *group_of) {
    char gradient[512];
    for (uint32_t t = 0; t < history->tensors.count; t++) group_of[t] = HU_NAMES_NONE;
    for (uint32_t g = 0; g < history->plan->group_count; g++) {
        const hu_plan_group *group = &history->plan->group[g];
        for (uint32_t k = 0; k < group->tensor_count; k++) {
            snprintf(gradient, sizeof gradient, "%s.grad", group->tensor[k]);
            map_tensor(history, group->tensor[k], g, group_of);
            map_tensor(history, gradient, g, group_of);
        }
    }
}

/* What the latest record said of a tensor; elements 0: nothing yet. */
typedef struct latest {
    double elements, bits;
} latest;

/* Mean bits of every group after a record; 0 where nothing is known. Tensors that a record leaves
 * out (those that are not rounded are not in all) count as in the one before. */
static void bits_of(const hu_history *history, const hu_numerics_record *record,
                    const uint32_t *group_of, const double *format_bits, latest *known,
                    double *bits, double *elements) {
    uint32_t groups = history->plan->group_count;
    for (uint32_t g = 0; g < groups; g++) bits[g] = elements[g] = 0.0;
    for (uint32_t k = 0; k < record->tensor_count; k++) {
        const hu_tensor_record *tensor = &record->tensor[k];
        double steps = record->steps ? (double)record->steps : 1.0;
        double bits_each = format_bits[tensor->format];
        if (known[tensor->tensor].elements <= 0.0)
            known[tensor->tensor].elements = (double)tensor->counts.elements / steps;
        known[tensor->tensor].bits = bits_each;
    }
    for (uint32_t t = 0; t < history->tensors.count; t++) {
        uint32_t g = group_of[t];
        if (g == HU_NAMES_NONE || known[t].bits <= 0.0) continue;
        bits[g] += known[t].elements * known[t].bits;
        elements[g] += known[t].elements;
    }
    for (uint32_t g = 0; g < groups; g++) bits[g] = elements[g] > 0.0 ? bits[g] / elements[g] : 0.0;
}

/* Goes on with the last span if the bits are the same to a twentieth, else begins another. */
static void add_span(hu_chart_row *row, double from, double to, double bits) {
    hu_chart_span *last = row->count ? &row->span[row->count - 1] : NULL;
    if (bits <= 0.0) return;
    if (last && fabs(last->bits - bits) < 0.05) {
        last->to = to;
        return;
    }
    /* A change ends the span before it. */
    if (last) last->to = from;
    row->span[row->count++] = (hu_chart_span){from, to, bits};
}

/* What the drawing of one run needs; freed when it is drawn. */
typedef struct work {
    uint32_t *group_of;                             /* [tensors] */
    double *format_bits;                            /* [formats] */
    latest *known;                                  /* [tensors] */
    double *bits, *elements;                        /* [groups] */
    hu_chart_row *row;                              /* [groups] */
    hu_chart_span *span;                            /* [groups][spans] */
    char (*label)[NOTE_BYTES], (*note)[NOTE_BYTES]; /* [groups] */
} work;

/* Everything by its largest size; spans: at most one per record. */
static hu_status allocate(const hu_history *history, work *w) {
    hu_status st;
    size_t groups = history->plan->group_count, spans = history->numerics_count + 1;
    HU_TRY(HU_NEW_ARRAY(&w->group_of, (size_t)history->tensors.count + 1));
    HU_TRY(HU_NEW_ARRAY(&w->format_bits, (size_t)history->formats.count + 1));
    HU_TRY(HU_NEW_ARRAY(&w->known, (size_t)history->tensors.count + 1));
    HU_TRY(HU_NEW_ARRAY(&w->bits, groups));
    HU_TRY(HU_NEW_ARRAY(&w->elements, groups));
    HU_TRY(HU_NEW_ARRAY(&w->row, groups));
    HU_TRY(HU_NEW_ARRAY(&w->span, groups * spans));
    HU_TRY(HU_NEW_ARRAY(&w->label, groups));
    HU_TRY(HU_NEW_ARRAY(&w->note, groups));
done:
    return st;
}

/* Rows in the order of the plan, each with its part of the spans' memory. */
static void name_rows(const hu_history *history, work *w) {
    hu_chart_row *row = w->row;
    for (uint32_t g = 0; g < history->plan->group_count; g++) {
        const hu_plan_group *group = &history->plan->group[g];
        snprintf(w->label[g], NOTE_BYTES, "group %lld", (long long)group->id);
        snprintf(w->note[g], NOTE_BYTES, "%.2f %%  %.20s", 100.0 * group->share, group->precision);
        row[g] = (hu_chart_row){.label = w->label[g],
                                .note = w->note[g],
                                .span = w->span + (history->numerics_count + 1) * g};
    }
}

static bool has_spans(const hu_chart_row *row, uint32_t count) {
    for (uint32_t g = 0; g < count; g++)
        if (row[g].count > 0) return true;
    return false;
}

static const hu_heat_words words = {.label = "bits of every group",
                                    .title = "mean bits of a group's numbers",
                                    .note_title = "share of all",
                                    .least = 4.0,
                                    .most = 32.0};

/* Records say which format a tensor had; between two of them nothing changes but by a promotion. */
static void draw_run(hu_page *page, const hu_report_run *run) {
    const hu_history *history = run->history;
    work w = {0};
    double last = 1.0;
    hu_status st;
    HU_TRY(allocate(history, &w));
    double *format_bits = w.format_bits, *bits = w.bits;
    hu_chart_row *row = w.row;
    map_tensors(history, w.group_of);
    name_rows(history, &w);
    for (uint32_t f = 0; f < history->formats.count; f++)
        format_bits[f] = hu_report_bits(history->formats.name[f]);
    if (history->metrics_count > 0)
        last = (double)history->metrics[history->metrics_count - 1].step + 1.0;
    for (size_t i = 0; i < history->numerics_count; i++) {
        double from = i ? (double)history->numerics[i - 1].step + 1.0 : 0.0;
        if (history->numerics[i].tensor_count == 0) continue;
        bits_of(history, &history->numerics[i], w.group_of, format_bits, w.known, bits, w.elements);
        for (uint32_t g = 0; g < history->plan->group_count; g++)
            add_span(&row[g], from, (double)history->numerics[i].step + 1.0, bits[g]);
    }
    for (uint32_t g = 0; g < history->plan->group_count; g++)
        /* A group that stays in float32 is in no record of rounding. */
        if (row[g].count == 0 && strcmp(history->plan->group[g].precision, "float32") == 0)
            add_span(&row[g], 0.0, last, 32.0);
        else if (row[g].count > 0)
            row[g].span[row[g].count - 1].to = last;
    if (has_spans(row, history->plan->group_count))
        hu_chart_heat(page, &words, row, history->plan->group_count, last);
    else
        hu_html_note(page, "numerics.jsonl does not tell the formats of this run's tensors.");
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    void *blocks[] = {w.group_of, w.format_bits, w.known, w.bits, w.elements,
                      w.row,      w.span,        w.label, w.note};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) hu_free(blocks[i]);
}

/* A schedule of bits speaks of layers, not of groups: layer_bits.c draws these. */
static bool has_groups(const hu_report_run *run) {
    return run->is_first && run->history && run->history->plan &&
           run->history->plan->group_count > 0 && run->history->bits_count == 0;
}

/* Groups that differ or change. */
static bool is_mixed(const hu_report_run *run) {
    const hu_plan_record *plan = run->history->plan;
    for (uint32_t g = 1; g < plan->group_count; g++)
        if (strcmp(plan->group[g].precision, plan->group[0].precision) != 0) return true;
    return run->history->promotion_count > 0;
}

/* What is mixed is what one looks for. */
static bool put_fold(const hu_report_run *run, int all, char *text, size_t capacity) {
    snprintf(text, capacity, "%s: low-precision ratio %.3f at the start", run->name,
             run->history->plan->low_precision_ratio);
    return all <= 3 || is_mixed(run);
}

static void put(hu_page *page, const hu_report_run *run, const void *unused) {
    (void)unused;
    draw_run(page, run);
}

void hu_report_groups(hu_page *page, const hu_report *report) {
    const hu_report_part part = {
        .id = "groups",
        .title = "Bits of every group",
        .text = "Groups of tensors between two matrix products, in execution order; a stronger "
                "colour is wider. Promotions show as a change to the right.",
        .verb = "drawn",
        .has = has_groups,
        .put = put,
        .most = MAX_RUNS_SHOWN,
        .is_one_picture = true,
        .fold = put_fold};
    hu_report_put_part(page, report, &part);
}
