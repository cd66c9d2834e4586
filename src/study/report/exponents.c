#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/format.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "comm/cost_model.h"
#include "render/chart.h"
#include "render/html.h"
#include "report/internal.h"
#include "tensor/quantizer.h"

/* ---- own range ---- */

/* What the training itself rounded a tensor to, as the range of a ridge. */

/* The record of a tensor in a row; NULL: the row has none. */
static const hu_tensor_record *record_of(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t k = 0; k < row->tensor_count; k++)
        if (row->tensor[k].tensor == tensor) return &row->tensor[k];
    return NULL;
}

/* Format of a tensor in the latest record at or before the step, in the first one after it where
 * there is none before; NULL: it was not rounded. */
static const char *format_at(const hu_history *history, uint32_t tensor, int64_t step) {
    const char *found = NULL;
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_numerics_record *row = &history->numerics[i];
        if (row->step > step && found) break;
        const hu_tensor_record *record = record_of(row, tensor);
        if (record) found = history->formats.name[record->format];
    }
    return found && strcmp(found, "float32") != 0 ? found : NULL;
}

/* Share of a tensor's numbers that a format would turn into zeros or overflow; infinities and NaN
 * are no loss of it. */
static double report_lost_in(const hu_exponents *exponents, const hu_format *format) {
    hu_lost lost = hu_exponents_lost(exponents, format, 0);
    return hu_exponents_overflowed(exponents, &lost) + lost.underflow.share;
}

/* ---- scales ---- */

/* Bits of the least number of a binade; 0, as of a tensor of zeros, for HU_NO_EXPONENT. */
static uint32_t bits_of_binade(int32_t exponent) {
    return exponent == HU_NO_EXPONENT ? 0 : hu_f32_bits((float)ldexp(1.0, exponent));
}

/* Largest exponent that rows tell of the steps from first to last; HU_NO_EXPONENT: of none. */
static int32_t top_within(const hu_history *history, uint32_t tensor, int64_t first, int64_t last) {
    int32_t top = HU_NO_EXPONENT;
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_numerics_record *row = &history->numerics[i];
        if (row->step < first || row->step - row->steps >= last) continue;
        const hu_tensor_record *record = record_of(row, tensor);
        if (!record || record->counts.max_exponent == HU_NO_EXPONENT) continue;
        if (top == HU_NO_EXPONENT || record->counts.max_exponent > top)
            top = record->counts.max_exponent;
    }
    return top;
}

/* Bits of the largest magnitude that the scale of a step comes from. */
static uint32_t top_bits(const hu_history *history, const hu_tensor_exponents *tensor,
                         const hu_quantizer *quantizer, int64_t step) {
    const hu_exponents *exponents = &tensor->exponents;
    if (quantizer->scale == HU_SCALE_DELAYED)
        return bits_of_binade(
            top_within(history, tensor->tensor, step - quantizer->history, step - 1));
    if (exponents->largest > 0.0) return hu_f32_bits((float)exponents->largest);
    return bits_of_binade(hu_exponents_top(exponents));
}

/* The format whose numbers the tensor was rounded to; false: there is no one such format. */
static bool format_met(const hu_history *history, const hu_tensor_exponents *tensor,
                       const char *name, int64_t step, hu_format *format) {
    hu_quantizer quantizer;
    if (hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK) return false;
    if (quantizer.kind != HU_QUANTIZER_FLOAT) return false;
    uint32_t top = top_bits(history, tensor, &quantizer, step);
    *format = hu_format_scaled(&quantizer.format,
                               hu_scale_exponent(&quantizer.format, quantizer.scale, top));
    return true;
}

/* ---- on the way between workers ---- */

/* How gradients of a run travel, but for the format. False where they do not. */
static bool read_way(const hu_report_run *run, hu_comm_options *way) {
    *way = (hu_comm_options){.workers = atoi(hu_report_text(run, "comm.workers", "0"))};
    return way->workers > 0 && hu_comm_scaling_parse(hu_report_text(run, "comm.scaling", "none"),
                                                     &way->scaling, &way->constant) == HU_OK;
}

/* A gradient that is rounded for its way to other workers, too: the ridge shows the range of which
 * it lost more. */
static void add_way(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                    hu_chart_ridge *ridge) {
    const hu_history *history = run->history;
    char name[512];
    hu_comm_options way;
    snprintf(name, sizeof name, "%.500s.wire", history->tensors.name[tensor->tensor]);
    uint32_t sent = hu_names_find(&history->tensors, name);
    const char *format = sent == HU_NAMES_NONE ? NULL : format_at(history, sent, step);
    if (!format || !read_way(run, &way) || hu_format_parse(format, &way.format) != HU_OK) return;
    hu_comm_expected expected = hu_comm_expect(&way, &tensor->exponents);
    double lost = expected.lost.overflow.share + expected.lost.underflow.share;
    if (ridge->has_range && ridge->lost >= lost) return;
    ridge->has_range = true;
    ridge->lost = lost;
    ridge->range = hu_report_range(format, &way.format);
    ridge->range.vanish += expected.k;
    ridge->range.normal += expected.k;
    ridge->range.top += expected.k;
}

/* The largest number tells that nothing of its binade overflows, where a threshold cuts that. */
static void add_format(const hu_exponents *exponents, const char *name, const hu_format *format,
                       hu_chart_ridge *ridge) {
    hu_lost lost = hu_exponents_lost(exponents, format, 0);
    double largest = exponents->largest;
    double overflowed = hu_exponents_overflowed(exponents, &lost);
    ridge->range = hu_report_range(name, format);
    if (largest > 0.0 && largest < hu_format_limits_of(format).overflow_threshold) {
        overflowed = 0.0;
        ridge->range.top = fmax(ridge->range.top, hu_exponents_top(exponents) + 1);
    }
    ridge->lost = overflowed + lost.underflow.share;
}

/* Sets range and lost of the ridge of a histogram that was taken in that step, and has_range.
 *
 * A number format is shown where its scale laid it. scale=current and bias: by the largest number
 * of the histogram (of a recurrence, whose steps have scales of their own, that of the largest).
 * scale=delayedH: by the largest exponent that rows of numerics.jsonl tell of the H steps before,
 * which is exact to a binade where each row is of one step; 2^0 where no row is, as in step 0.
 * Gradients that travel between workers: the range of their way, if they lost more there.
 *
 * Where the largest number of the histogram is below the threshold, nothing finite overflows.
 *
 * Without a range: float32, and what has no one range (blocks with scales of their own, uniform
 * integers). The range's name is borrowed: valid as long as the run's history.
 * Proof: tests/program/report_test.py, scaled_ranges. */
static void report_own_range(const hu_report_run *run, const hu_tensor_exponents *tensor,
                             int64_t step, hu_chart_ridge *ridge) {
    const char *own = format_at(run->history, tensor->tensor, step);
    hu_format format;
    ridge->has_range = own && format_met(run->history, tensor, own, step, &format);
    if (ridge->has_range) add_format(&tensor->exponents, own, &format, ridge);
    add_way(run, tensor, step, ridge);
}

/* ---- Exponent histograms as ridges, by role ---- */

enum { MAX_RUNS_SHOWN = 8, MAX_RIDGES = 120 };

static const char *const candidates[HU_RIDGE_CANDIDATES] = {"fp16", "1/6/9", "e5m2", "e4m3fn"};

hu_chart_range hu_report_range(const char *name, const hu_format *format) {
    hu_format_limits limits = hu_format_limits_of(format);
    return (hu_chart_range){name, log2(limits.underflow_threshold), limits.emin,
                            log2(limits.overflow_threshold)};
}

/* Whether the name is that of a plain format. */
static bool parse_format(const char *text, hu_format *format) {
    return hu_format_parse(text, format) == HU_OK;
}

/* --- roles -------------------------------------------------------------------------------------*/

/* The roles, and what a run without a graph has: all tensors together. */
enum { TOGETHER = HU_REPORT_ROLES, PANELS };
static const char *const panel_names[PANELS] = {
    "activations",          "gradients of activations", "weights",
    "gradients of weights", "state of the optimizer",   "tensors"};

/* The panel that a recorded tensor is drawn in, PANELS: none. */
static int panel_of(const hu_report_run *run, const hu_tensor_exponents *tensor) {
    int role = hu_report_role(run, tensor->tensor);
    if (tensor->exponents.elements == 0 || hu_report_is_vector(run, tensor->tensor)) return PANELS;
    if (!run->graph) return TOGETHER;
    return role < HU_REPORT_ROLES ? role : PANELS;
}

/* What is in no panel of the last recorded step, and why. */
static void put_left_out(hu_page *page, const hu_report_run *run) {
    const hu_history *history = run->history;
    const hu_histogram_record *last = &history->histograms[history->histogram_count - 1];
    uint32_t vectors = 0, empty = 0, unknown = 0;
    char text[400];
    for (uint32_t i = 0; i < last->count; i++) {
        uint32_t tensor = last->tensor[i].tensor;
        if (panel_of(run, &last->tensor[i]) < PANELS) continue;
        if (last->tensor[i].exponents.elements == 0)
            empty++;
        else if (hu_report_is_vector(run, tensor))
            vectors++;
        else
            unknown++;
    }
    if (vectors + empty + unknown == 0) return;
    snprintf(text, sizeof text, "Of the %u recorded tensors %u are not drawn:", last->count,
             vectors + empty + unknown);
    const struct {
        uint32_t count;
        const char *what;
    } kinds[] = {{vectors, "parameters of one dimension (biases, norms) or gradients of such"},
                 {empty, "without numbers in that step"},
                 {unknown, "not in graph.json"}};
    const char *between = " ";
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (kinds[k].count == 0) continue;
        hu_note_add(text, sizeof text, between, "%u %s", kinds[k].count, kinds[k].what);
        between = ", ";
    }
    hu_note_add(text, sizeof text, "", ". histograms.jsonl has them all.");
    hu_html_note(page, text);
}

/* --- one panel ---------------------------------------------------------------------------------*/

/* The histogram of one tensor, the range of the format it was rounded to, and what the candidates
 * would lose of it. */
static void make_ridge(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                       const char *name, hu_chart_ridge *ridge) {
    const hu_exponents *exponents = &tensor->exponents;
    hu_format format;
    *ridge = (hu_chart_ridge){
        .name = name, .first = exponents->first, .bin = exponents->bin, .count = exponents->count};
    if (exponents->elements > 0) {
        ridge->zero = (double)exponents->zero / (double)exponents->elements;
        ridge->nonfinite = (double)exponents->nonfinite / (double)exponents->elements;
    }
    report_own_range(run, tensor, step, ridge);
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (parse_format(candidates[i], &format))
            ridge->candidate[i] = report_lost_in(exponents, &format);
}

/* All tensors of a role in a recorded step, at most MAX_RIDGES, in the order of the file. */
typedef struct panel {
    int64_t step;
    hu_chart_ridge *ridge;
    char (*names)[HU_LABEL_BYTES];
    size_t count, left_out;
} panel;

static hu_status make_panel(const hu_report_run *run, const hu_histogram_record *record, int wanted,
                            panel *p) {
    hu_status st;
    *p = (panel){.step = record->step};
    HU_TRY(HU_NEW_ARRAY(&p->ridge, MAX_RIDGES));
    HU_TRY(HU_NEW_ARRAY(&p->names, MAX_RIDGES));
    for (uint32_t i = 0; i < record->count; i++) {
        const hu_tensor_exponents *tensor = &record->tensor[i];
        if (panel_of(run, tensor) != wanted) continue;
        p->left_out += p->count == MAX_RIDGES;
        if (p->count == MAX_RIDGES) continue;
        char *name = p->names[p->count];
        hu_report_label(run, tensor->tensor, name);
        make_ridge(run, tensor, record->step, name, &p->ridge[p->count++]);
    }
done:
    return st;
}

static void draw_panel(hu_page *page, const panel *p, const hu_ridge_heads *heads, int role) {
    char label[300];
    snprintf(label, sizeof label, "%c%s, step %lld", panel_names[role][0] - 'a' + 'A',
             panel_names[role] + 1, (long long)p->step);
    hu_html_panel(page, label);
    hu_chart_ridges(page, p->ridge, p->count, heads, role, label);
    snprintf(label, sizeof label, "%zu more tensors are in histograms.jsonl.", p->left_out);
    if (p->left_out > 0) hu_html_note(page, label);
    hu_html_panel_end(page);
}

/* A role in the last recorded step, or in the first and the last over the same exponents. */
static void put_role(hu_page *page, const hu_report_run *run, int role, size_t ends) {
    enum { ENDS = 2 };
    const hu_history *history = run->history;
    size_t last = history->histogram_count - 1;
    panel p[ENDS] = {0};
    hu_ridge_heads heads = {.own = "own"};
    hu_status st = HU_OK;
    for (size_t i = 0; i < ends; i++) {
        size_t at = i + 1 < ends ? 0 : last;
        HU_TRY(make_panel(run, &history->histograms[at], role, &p[i]));
        hu_ridges_span(p[i].ridge, p[i].count, &heads.span);
    }
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++) {
        hu_format format;
        if (parse_format(candidates[i], &format))
            heads.candidate[i] = hu_report_range(candidates[i], &format);
    }
    for (size_t i = 0; i < ends; i++)
        if (p[i].count > 0) draw_panel(page, &p[i], &heads, role);
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    for (size_t i = 0; i < ENDS; i++) {
        hu_free(p[i].ridge);
        hu_free(p[i].names);
    }
}

/* Of each precision the first seed is drawn: the others look alike. */
static bool has_histograms(const hu_report_run *run) {
    return run->is_first && run->history && run->history->histogram_count > 0;
}

/* What several runs of a page share. */
typedef struct budget {
    int runs;
    size_t start; /* bytes of the page in front of the section */
} budget;

/* Whether the first step of a run is drawn beside its last one: of one run always, of several as
 * long as the page stays small. */
static bool has_both(const hu_page *page, const hu_report_run *run, const budget *b) {
    enum { RIDGE_BYTES = 800, MOST_BYTES = 150 * 1024 };
    const hu_history *history = run->history;
    const hu_histogram_record *last = &history->histograms[history->histogram_count - 1];
    size_t ridges = 0;
    for (uint32_t i = 0; i < last->count; i++) ridges += panel_of(run, &last->tensor[i]) < PANELS;
    return history->histogram_count > 1 &&
           (b->runs == 1 || page->out.size - b->start + 2 * RIDGE_BYTES * ridges <= MOST_BYTES);
}

static void put(hu_page *page, const hu_report_run *run, const void *context) {
    bool both = has_both(page, run, context);
    hu_html_panels(page);
    for (int role = 0; role < PANELS; role++) put_role(page, run, role, both ? 2 : 1);
    hu_html_panels_end(page);
    put_left_out(page, run);
    if (!both && run->history->histogram_count > 1)
        hu_html_note(page, "The last recorded step alone: halfulp report RUN has the first, too.");
}

void hu_report_exponents(hu_page *page, const hu_report *report) {
    budget b = {.start = page->out.size};
    for (size_t i = 0; i < report->count; i++) b.runs += has_histograms(&report->run[i]);
    const hu_report_part part = {
        .id = "exponents",
        .title = "Where the numbers are",
        .text = "Exponents of the tensors' numbers before rounding, each ridge as high as its "
                "fullest binade, in the first and in the last step of which there are any. "
                "Shaded: what the tensor's own format holds, at the place where "
                "its scale laid it, if it has one; lighter where only subnormal numbers are left; "
                "red is lost to overflow or to zero. Formats with a scale for each block, and "
                "integers, have no such range. The columns say how many of the numbers (in %) a "
                "format would lose; own: the format of the "
                "training, where it rounded the tensor. A tensor of zeros, or of infinities and "
                "NaN alone says so: of these no format is the cause. "
                "Gradients of weights that travel between workers are shown with the range that "
                "their scale gives them there.",
        .verb = "drawn",
        .has = has_histograms,
        .put = put,
        .context = &b,
        .most = MAX_RUNS_SHOWN,
        .bytes = 160 * 1024,
        .open = 1};
    hu_report_put_part(page, report, &part);
}
