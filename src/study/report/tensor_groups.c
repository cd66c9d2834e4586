#include "report/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/tensor_groups.h"
#include "render/chart.h"
#include "render/html.h"
#include "runlog/graph_json.h"

/* ---- groups ---- */

/* Bits of the groups over the steps, from the plan and the formats that the tensors had. */

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

static const hu_heat_words group_words = {.label = "bits of every group",
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
        hu_chart_heat(page, &group_words, row, history->plan->group_count, last);
    else
        hu_html_note(page, "numerics.jsonl does not tell the formats of this run's tensors.");
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    void *blocks[] = {w.group_of, w.quantizer, w.known, w.bits, w.elements,
                      w.row,      w.span,      w.label, w.note};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) hu_free(blocks[i]);
}

/* A schedule of bits speaks of layers, not of groups: tensor_groups.c draws these. */
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

static void put_groups(hu_page *page, const hu_report_run *run, const void *unused) {
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
        .put = put_groups,
        .most = MAX_RUNS_SHOWN,
        .is_one_picture = true,
        .fold = put_fold};
    hu_report_put_part(page, report, &part);
}

/* ---- layer bits ---- */

/* Bits of every layer over the steps, of runs with a schedule of bits, and what they cost. */

/* Pictures of more changes than PARTS are drawn in so many parts, of their mean bits. */
enum { LAYER_BITS_MAX_RUNS_SHOWN = 8, LAYER_BITS_NOTE_BYTES = 80, PARTS = 160 };

/* What the drawing of one run needs; freed when it is drawn. */
typedef struct layer_work {
    hu_chart_row *row;                   /* [layers] */
    hu_chart_span *span;                 /* [layers][spans] */
    size_t spans;                        /* for each layer */
    char (*note)[LAYER_BITS_NOTE_BYTES]; /* [layers] */
    double *sum;                         /* [layers] bits of the steps of the present part */
    int *present, *gradient;             /* [layers] */
} layer_work;

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

static hu_status allocate_layers(const hu_history *history, layer_work *w) {
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

static void add_layer_span(hu_chart_row *row, double from, double to, double bits) {
    hu_chart_span *last = row->count ? &row->span[row->count - 1] : NULL;
    if (bits <= 0.0) return;
    if (last && last->bits == bits)
        last->to = to;
    else
        row->span[row->count++] = (hu_chart_span){from, to, bits};
}

static void take_changes(const hu_bits_record *record, layer_work *w) {
    for (uint32_t k = 0; k < record->count; k++) {
        const hu_bits_change *change = &record->change[k];
        w->present[change->layer] = change->forward;
        w->gradient[change->layer] = change->gradient;
    }
}

/* The steps up to a moment have the present bits. Parts of equal length, or one per line. */
static void walk(const hu_history *history, double steps, layer_work *w) {
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
                add_layer_span(&w->row[l], from, to, w->sum[l] / (to - from));
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

static void draw_layers(hu_page *page, const hu_heat_words *words, const hu_report_run *run) {
    const hu_history *history = run->history;
    uint32_t layers = history->layers.count;
    layer_work w = {0};
    hu_status st = allocate_layers(history, &w);
    if (st == HU_OK) {
        for (uint32_t l = 0; l < layers; l++)
            w.row[l] = (hu_chart_row){
                .label = history->layers.name[l], .note = w.note[l], .span = w.span + w.spans * l};
        walk(history, steps_of(run), &w);
        for (uint32_t l = 0; l < layers; l++)
            snprintf(w.note[l], LAYER_BITS_NOTE_BYTES, "%d, %d",
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

static void put_layers(hu_page *page, const hu_report_run *run, const void *words) {
    put_costs(page, run);
    draw_layers(page, words, run);
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
        .put = put_layers,
        .context = &words,
        .most = LAYER_BITS_MAX_RUNS_SHOWN,
        .is_one_picture = true,
        .open = LAYER_BITS_MAX_RUNS_SHOWN};
    hu_report_put_part(page, report, &part);
}

/* ---- roles ---- */

/* What the tensors of a run are: by its graph.json, never by their names. */

/* Every tensor that a graph may have, by the name that the journal gives it. */
static void find_value(hu_report_run *run, hu_value_id v) {
    char name[HU_TENSOR_NAME_BYTES];
    for (int kind = 0; kind < HU_TENSOR_KINDS; kind++) {
        const hu_tensor tensor = {(hu_tensor_kind)kind, v};
        hu_tensor_name(run->graph, tensor, name);
        uint32_t number = hu_names_find(&run->history->tensors, name);
        if (number != HU_NAMES_NONE) run->tensor[number] = tensor;
    }
}

hu_status hu_report_find_tensors(hu_report_run *run) {
    hu_status st;
    uint32_t count = run->history->tensors.count;
    HU_TRY(HU_NEW_ARRAY(&run->tensor, (size_t)count + 1));
    for (uint32_t t = 0; t < count; t++) run->tensor[t].value = HU_NONE;
    HU_TRY(hu_graph_read(run->folder, &run->graph));
    for (hu_value_id v = 0; v < run->graph->value_count; v++) find_value(run, v);
done:
    return st;
}

/* NULL: not of the graph. */
static const hu_value_info *value_of(const hu_report_run *run, uint32_t tensor) {
    hu_value_id v = run->graph ? run->tensor[tensor].value : HU_NONE;
    return v == HU_NONE ? NULL : &run->graph->value[v];
}

int hu_report_role(const hu_report_run *run, uint32_t tensor) {
    const hu_value_info *value = value_of(run, tensor);
    if (!value) return HU_REPORT_ROLES;
    if (hu_tensor_is_state(run->tensor[tensor])) return HU_REPORT_STATE;
    return (int)hu_role_of(value, hu_tensor_is_backward(run->tensor[tensor]));
}

bool hu_report_is_vector(const hu_report_run *run, uint32_t tensor) {
    const hu_value_info *value = value_of(run, tensor);
    return value && hu_parameter_is_vector(value);
}

/* Bytes of a parameter's name up to its last dot, if no other parameter that is no vector has the
 * same there; else of the whole name. */
static int parameter_bytes(const hu_graph *graph, const hu_value_info *value) {
    const char *dot = strrchr(value->name, '.');
    int length = (int)strlen(value->name), head = dot ? (int)(dot - value->name) : length;
    if (!dot) return length;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *other = &graph->value[v];
        if (other == value || other->role != HU_VALUE_PARAMETER || hu_parameter_is_vector(other))
            continue;
        if (strrchr(other->name, '.') == other->name + head &&
            strncmp(other->name, value->name, (size_t)head) == 0)
            return length;
    }
    return head;
}

/* A node with one output tells it by its name. */
static void value_label(const hu_graph *graph, const hu_value_info *value,
                        char label[HU_LABEL_BYTES]) {
    const hu_node *node = value->producer == HU_NONE ? NULL : &graph->node[value->producer];
    if (value->role == HU_VALUE_PARAMETER)
        snprintf(label, HU_LABEL_BYTES, "%.*s", parameter_bytes(graph, value), value->name);
    else
        snprintf(label, HU_LABEL_BYTES, "%s", node && node->n_out == 1 ? node->name : value->name);
}

void hu_report_label(const hu_report_run *run, uint32_t tensor, char label[HU_LABEL_BYTES]) {
    static const char *const ends[HU_TENSOR_KINDS] = {[HU_TENSOR_SUM] = " (sum)",
                                                      [HU_TENSOR_WEIGHTS] = " (for weights)",
                                                      [HU_TENSOR_MOMENTUM] = " (momentum)",
                                                      [HU_TENSOR_SQUARES] = " (squares)"};
    const hu_value_info *value = value_of(run, tensor);
    if (!value) {
        snprintf(label, HU_LABEL_BYTES, "%s", run->history->tensors.name[tensor]);
        return;
    }
    const char *end = ends[run->tensor[tensor].kind];
    if (hu_tensor_is_operand(run->tensor[tensor])) {
        snprintf(label, HU_LABEL_BYTES, "%s", run->history->tensors.name[tensor]);
        return;
    }
    value_label(run->graph, value, label);
    if (end) hu_note_add(label, HU_LABEL_BYTES, "", "%s", end);
}
