/* Bits of the groups over the steps, from the plan and the formats that the tensors had. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/tensor_groups.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { MAX_RUNS_SHOWN = 12, NOTE_BYTES = 80 };

/* What the drawing of one run needs; freed when it is drawn. */
typedef struct work {
    hu_status status;
    int64_t batch;
    uint32_t *group_of;      /* [tensors] */
    hu_quantizer *quantizer; /* [formats] */
    double *known;           /* [tensors] bits by the latest record; 0: none */
    double *bits, *elements; /* [groups] */
    hu_chart_row *row;       /* [groups] */
    hu_chart_span *span;     /* [groups][spans] */
    char (*label)[NOTE_BYTES], (*note)[NOTE_BYTES]; /* [groups] */
} work;

/* group_of[tensor]: row, or HU_NAMES_NONE. A gradient is in the group of its tensor; what is made
 * of gradients (sums, what travels, state) counts in none, as in plan.json. */
static hu_status map_tensors(const hu_report_run *run, uint32_t *group_of) {
    hu_status st;
    uint32_t *of_value = NULL;
    const hu_plan_record *plan = run->history->plan;
    HU_TRY(HU_NEW_ARRAY(&of_value, (size_t)run->graph->value_count + 1));
    for (hu_value_id v = 0; v < run->graph->value_count; v++) of_value[v] = HU_NAMES_NONE;
    for (uint32_t g = 0; g < plan->group_count; g++)
        for (uint32_t k = 0; k < plan->group[g].tensor_count; k++) {
            hu_value_id v = hu_graph_find(run->graph, plan->group[g].tensor[k]);
            if (v != HU_NONE) of_value[v] = g;
        }
    for (uint32_t t = 0; t < run->history->tensors.count; t++) {
        const hu_tensor *tensor = &run->tensor[t];
        bool counts = tensor->kind == HU_TENSOR_VALUE || tensor->kind == HU_TENSOR_GRADIENT;
        group_of[t] = counts && tensor->value != HU_NONE ? of_value[tensor->value] : HU_NAMES_NONE;
    }
done:
    hu_free(of_value);
    return st;
}

/* How a tensor's record says that it was rounded. float32 is the journal's word for not at all. */
static const hu_quantizer *quantizer_of(const hu_history *history, const hu_tensor_record *tensor,
                                        work *w) {
    hu_quantizer *quantizer = &w->quantizer[tensor->format];
    const char *name = history->formats.name[tensor->format];
    if (w->status == HU_OK && !hu_quantizer_rounds(quantizer) && strcmp(name, "float32") != 0)
        w->status = hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, quantizer);
    return quantizer;
}

/* Bits of a tensor of the run's batch, scales included. */
static double tensor_bits(const hu_report_run *run, uint32_t tensor, const hu_quantizer *quantizer,
                          int64_t batch) {
    const hu_value_info *value = &run->graph->value[run->tensor[tensor].value];
    return (double)hu_tensor_bits(value, quantizer, batch);
}

/* Mean bits of every group after a record; 0 where nothing is known. Tensors that a record leaves
 * out (those that are not rounded are not in all) count as in the one before. */
static void bits_of(const hu_report_run *run, const hu_numerics_record *record, work *w) {
    const hu_history *history = run->history;
    uint32_t groups = history->plan->group_count;
    for (uint32_t g = 0; g < groups; g++) w->bits[g] = w->elements[g] = 0.0;
    for (uint32_t k = 0; k < record->tensor_count; k++) {
        const hu_tensor_record *tensor = &record->tensor[k];
        if (w->group_of[tensor->tensor] == HU_NAMES_NONE) continue;
        w->known[tensor->tensor] =
            tensor_bits(run, tensor->tensor, quantizer_of(history, tensor, w), w->batch);
    }
    for (uint32_t t = 0; t < history->tensors.count; t++) {
        uint32_t g = w->group_of[t];
        if (g == HU_NAMES_NONE || w->known[t] <= 0.0) continue;
        const hu_value_info *value = &run->graph->value[run->tensor[t].value];
        w->bits[g] += w->known[t];
        w->elements[g] += (double)hu_tensor_elements(value, w->batch);
    }
    for (uint32_t g = 0; g < groups; g++)
        w->bits[g] = w->elements[g] > 0.0 ? w->bits[g] / w->elements[g] : 0.0;
}

/* Goes on with the last span if the bits are the same, else begins another. */
static void add_span(hu_chart_row *row, double from, double to, double bits) {
    hu_chart_span *last = row->count ? &row->span[row->count - 1] : NULL;
    if (bits <= 0.0) return;
    if (last && last->bits == bits) {
        last->to = to;
        return;
    }
    /* A change ends the span before it. */
    if (last) last->to = from;
    row->span[row->count++] = (hu_chart_span){from, to, bits};
}

/* Everything by its largest size; spans: at most one per record. */
static hu_status allocate(const hu_history *history, work *w) {
    hu_status st;
    size_t groups = history->plan->group_count, spans = history->numerics_count + 1;
    HU_TRY(HU_NEW_ARRAY(&w->group_of, (size_t)history->tensors.count + 1));
    HU_TRY(HU_NEW_ARRAY(&w->quantizer, (size_t)history->formats.count + 1));
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
    w.batch = strtoll(hu_report_text(run, "run.batch", "1"), NULL, 10);
    hu_chart_row *row = w.row;
    HU_TRY(map_tensors(run, w.group_of));
    name_rows(history, &w);
    if (history->metrics_count > 0)
        last = (double)history->metrics[history->metrics_count - 1].step + 1.0;
    for (size_t i = 0; i < history->numerics_count; i++) {
        double from = i ? (double)history->numerics[i - 1].step + 1.0 : 0.0;
        if (history->numerics[i].tensor_count == 0) continue;
        bits_of(run, &history->numerics[i], &w);
        for (uint32_t g = 0; g < history->plan->group_count; g++)
            add_span(&row[g], from, (double)history->numerics[i].step + 1.0, w.bits[g]);
    }
    HU_TRY(w.status);
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
    void *blocks[] = {w.group_of, w.quantizer, w.known, w.bits, w.elements,
                      w.row,      w.span,      w.label, w.note};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) hu_free(blocks[i]);
}

/* A schedule of bits speaks of layers, not of groups: layer_bits.c draws these. */
static bool has_groups(const hu_report_run *run) {
    return run->is_first && run->history && run->history->plan &&
           run->history->plan->group_count > 0 && run->graph && run->history->bits_count == 0;
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
