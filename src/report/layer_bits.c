/* Bits of every layer over the steps, of runs with a schedule of bits, and what they cost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

/* Pictures of more changes than PARTS are drawn in so many parts, of their mean bits. */
enum { MAX_RUNS_SHOWN = 8, NOTE_BYTES = 80, PARTS = 160 };

/* What the drawing of one run needs; freed when it is drawn. */
typedef struct work {
    hu_chart_row *row;        /* [layers] */
    hu_chart_span *span;      /* [layers][spans] */
    size_t spans;             /* for each layer */
    char (*note)[NOTE_BYTES]; /* [layers] */
    double *sum;              /* [layers] bits of the steps of the present part */
    int *present, *gradient;  /* [layers] */
} work;

static bool has_bits(const hu_report_run *run) {
    return run->is_first && run->history && run->history->bits_count > 0;
}

/* The end of the x axis. */
static double steps_of(const hu_report_run *run) {
    const hu_history *history = run->history;
    double last = (double)history->bits[history->bits_count - 1].step + 1.0;
    if (history->metrics_count > 0)
        last = fmax(last, (double)history->metrics[history->metrics_count - 1].step + 1.0);
    return last;
}

static hu_status allocate(const hu_history *history, work *w) {
    hu_status st;
    size_t layers = history->layers.count;
    /* One more: PARTS parts may end an ulp before the last step does. */
    w->spans = (history->bits_count > PARTS ? PARTS : history->bits_count) + 1;
    HU_TRY(HU_NEW_ARRAY(&w->row, layers));
    HU_TRY(HU_NEW_ARRAY(&w->span, layers * w->spans));
    HU_TRY(HU_NEW_ARRAY(&w->note, layers));
    HU_TRY(HU_NEW_ARRAY(&w->sum, layers));
    HU_TRY(HU_NEW_ARRAY(&w->present, layers));
    HU_TRY(HU_NEW_ARRAY(&w->gradient, layers));
done:
    return st;
}

static void add_span(hu_chart_row *row, double from, double to, double bits) {
    hu_chart_span *last = row->count ? &row->span[row->count - 1] : NULL;
    if (bits <= 0.0) return;
    if (last && last->bits == bits)
        last->to = to;
    else
        row->span[row->count++] = (hu_chart_span){from, to, bits};
}

static void take_changes(const hu_bits_record *record, work *w) {
    for (uint32_t k = 0; k < record->count; k++) {
        const hu_bits_change *change = &record->change[k];
        w->present[change->layer] = change->forward;
        w->gradient[change->layer] = change->gradient;
    }
}

/* The steps up to a moment have the present bits. Parts of equal length, or one per line. */
static void walk(const hu_history *history, double steps, work *w) {
    bool is_whole = history->bits_count <= PARTS;
    double length = steps / PARTS, first = (double)history->bits[0].step, begun = first;
    size_t part = (size_t)(first / length);
    for (size_t i = 0; i < history->bits_count; i++) {
        const hu_bits_record *record = &history->bits[i];
        double at = (double)record->step;
        double end = i + 1 < history->bits_count ? (double)history->bits[i + 1].step : steps;
        take_changes(record, w);
        for (; at < end; at = fmin(end, begun)) {
            double to = is_whole ? end : fmin(end, length * (double)(part + 1));
            bool is_end = is_whole || to >= length * (double)(part + 1) || to >= steps;
            for (uint32_t l = 0; l < history->layers.count; l++) {
                w->sum[l] += (to - at) * w->present[l];
                if (!is_end) continue;
                double from = is_whole ? at : fmax(first, length * (double)part);
                add_span(&w->row[l], from, to, w->sum[l] / (to - from));
                w->sum[l] = 0.0;
            }
            part += is_end;
            begun = to;
        }
    }
}

/* Bits of the trained model where the result tells them, else those of the last step. */
static int trained_bits(const hu_report_run *run, const char *layer, int last) {
    const json_t *list = json_object_get(json_object_get(run->result, "bits"), "layers");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name && strcmp(name, layer) == 0)
            return (int)json_integer_value(json_object_get(item, "bits"));
    }
    return last;
}

/* Colours span the bits of all runs of the page, so that they can be compared. */
static void find_range(const hu_report *report, hu_heat_words *words) {
    words->least = INFINITY;
    words->most = 0.0;
    for (size_t i = 0; i < report->count; i++)
        for (size_t r = 0; has_bits(&report->run[i]) && r < report->run[i].history->bits_count;
             r++) {
            const hu_bits_record *record = &report->run[i].history->bits[r];
            for (uint32_t k = 0; k < record->count; k++) {
                words->least = fmin(words->least, record->change[k].forward);
                words->most = fmax(words->most, record->change[k].forward);
            }
        }
}

static void draw_run(hu_page *page, const hu_heat_words *words, const hu_report_run *run) {
    const hu_history *history = run->history;
    uint32_t layers = history->layers.count;
    work w = {0};
    hu_status st = allocate(history, &w);
    if (st == HU_OK) {
        for (uint32_t l = 0; l < layers; l++)
            w.row[l] = (hu_chart_row){
                .label = history->layers.name[l], .note = w.note[l], .span = w.span + w.spans * l};
        walk(history, steps_of(run), &w);
        for (uint32_t l = 0; l < layers; l++)
            snprintf(w.note[l], NOTE_BYTES, "%d, %d",
                     trained_bits(run, history->layers.name[l], w.present[l]), w.gradient[l]);
        hu_chart_heat(page, words, w.row, layers, steps_of(run));
    }
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    void *blocks[] = {w.row, w.span, w.note, w.sum, w.present, w.gradient};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) hu_free(blocks[i]);
}

/* "training cost 0.620, inference 1.000 of static 8 bits" */
static void put_costs(hu_page *page, const hu_report_run *run) {
    char text[320];
    const json_t *bits = json_object_get(run->result, "bits");
    double target = hu_json_real(bits, "target");
    if (!bits) return;
    int used =
        snprintf(text, sizeof text,
                 "Training cost %.3f and inference cost %.3f of static %.0f bits: %.3g "
                 "bit-operations, and %.3g for a sample.",
                 hu_json_real(bits, "relative_training_cost"),
                 hu_json_real(bits, "relative_inference_cost"), hu_json_real(bits, "most_bits"),
                 hu_json_real(bits, "training_bitops"), hu_json_real(bits, "inference_bitops"));
    if (isfinite(target))
        snprintf(text + used, sizeof text - (size_t)used,
                 " The forward cost ended at %.3f, its target is %g.",
                 hu_json_real(bits, "cost_at_end"), target);
    hu_html_paragraph(page, text);
}

static void put(hu_page *page, const hu_report_run *run, const void *words) {
    put_costs(page, run);
    draw_run(page, words, run);
}

void hu_report_layer_bits(hu_page *page, const hu_report *report) {
    hu_heat_words words = {.label = "bits of every layer",
                           .title = "forward bits of a layer's input and weights",
                           .note_title = "trained, gradient",
                           .has_key = true};
    find_range(report, &words);
    const hu_report_part part = {
        .id = "bits",
        .title = "Bits of every layer",
        .text = "Bits of the factors of every layer's forward product over the steps; a stronger "
                "colour has more. To the right: bits of the trained model, and those of the "
                "gradient at the end.",
        .verb = "drawn",
        .has = has_bits,
        .put = put,
        .context = &words,
        .most = MAX_RUNS_SHOWN,
        .is_one_picture = true,
        .open = MAX_RUNS_SHOWN};
    hu_report_put_part(page, report, &part);
}
