/* Exponent histograms as ridges, by role. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/format.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/expected.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { MAX_RUNS_SHOWN = 8, MAX_RIDGES = 120, NAME_BYTES = 128 };

static const char *const candidates[HU_RIDGE_CANDIDATES] = {"fp16", "1/6/9", "e5m2", "e4m3fn"};

hu_chart_range hu_report_range(const char *name, const hu_format *format) {
    hu_format_limits limits = hu_format_limits_of(format);
    return (hu_chart_range){name, log2(limits.underflow_threshold), limits.emin,
                            log2(limits.overflow_threshold)};
}

/* Whether the name is that of a plain format. One with a scale ("e4m3fn:scale=current") is not: its
 * range moves with the tensor. */
static bool parse_format(const char *text, hu_format *format) {
    return hu_format_parse(text, format) == HU_OK;
}

double hu_report_bits(const char *format) {
    char text[128];
    hu_format parsed;
    if (strcmp(format, "float32") == 0) return 32.0;
    snprintf(text, sizeof text, "%.120s", format);
    char *scale = strstr(text, ":scale");
    /* A scale of the whole tensor costs nothing per number. */
    if (scale) *scale = '\0';
    if (parse_format(text, &parsed)) return hu_format_bits(&parsed);
    /* Block formats: bits of an element, and 8 bits of scale shared by 32 elements (nvfp4: 16). */
    if (strncmp(text, "mxfp8", 5) == 0 || strcmp(text, "mxint8") == 0) return 8.25;
    if (strncmp(text, "mxfp6", 5) == 0) return 6.25;
    if (strncmp(text, "mxfp4", 5) == 0) return 4.25;
    return strcmp(text, "nvfp4") == 0 ? 4.5 : 0.0;
}

/* --- roles -------------------------------------------------------------------------------------*/

enum { ACT, ACT_GRAD, WEIGHT, WEIGHT_GRAD, ROLES };
static const char *const role_ends[ROLES] = {".out", ".out.grad", ".weight", ".weight.grad"};
static const char *const role_names[ROLES] = {"activations", "gradients of activations", "weights",
                                              "gradients of weights"};

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), more = strlen(end);
    return length >= more && strcmp(text + length - more, end) == 0;
}

/* Activations and weights; biases are many, small and alike. -1: not shown. */
static int role_of(const char *name) {
    if (strcmp(name, "input") == 0) return ACT;
    for (int role = ROLES - 1; role >= 0; role--)
        if (ends_with(name, role_ends[role])) return role;
    return -1;
}

/* The tensor's name without what its panel says already. */
static void short_name(const char *full, int role, char *name, size_t capacity) {
    size_t length = strlen(full);
    if (ends_with(full, role_ends[role])) length -= strlen(role_ends[role]);
    snprintf(name, capacity, "%.*s", (int)length, full);
}

/* --- one panel ---------------------------------------------------------------------------------*/

/* Format of a tensor in the latest record at or before the step; NULL: it was not rounded. */
static const char *format_at(const hu_history *history, uint32_t tensor, int64_t step) {
    const char *found = NULL;
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_numerics_record *record = &history->numerics[i];
        if (record->step > step && found) break;
        for (uint32_t k = 0; k < record->tensor_count; k++)
            if (record->tensor[k].tensor == tensor)
                found = history->formats.name[record->tensor[k].format];
    }
    return found && strcmp(found, "float32") != 0 ? found : NULL;
}

/* Share of a tensor's numbers that a format would turn into zeros or overflow. */
static double lost_in(const hu_exponents *exponents, const hu_format *format) {
    hu_lost lost = hu_exponents_lost(exponents, format, 0);
    return lost.overflow.share + lost.underflow.share;
}

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
    if (!format || !read_way(run, &way) || !parse_format(format, &way.format)) return;
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

/* The histogram of one tensor, the range of the format it was rounded to, and what the candidates
 * would lose of it. */
static void make_ridge(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                       const char *name, hu_chart_ridge *ridge) {
    const hu_history *history = run->history;
    const hu_exponents *exponents = &tensor->exponents;
    const char *own = format_at(history, tensor->tensor, step);
    hu_format format;
    *ridge = (hu_chart_ridge){
        .name = name, .first = exponents->first, .bin = exponents->bin, .count = exponents->count};
    if (exponents->elements > 0)
        ridge->zero = (double)exponents->zero / (double)exponents->elements;
    if (own && parse_format(own, &format)) {
        ridge->has_range = true;
        ridge->range = hu_report_range(own, &format);
        ridge->lost = lost_in(exponents, &format);
    }
    add_way(run, tensor, step, ridge);
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (parse_format(candidates[i], &format)) ridge->candidate[i] = lost_in(exponents, &format);
}

/* All tensors of a role, at most MAX_RIDGES, in the order of the file. */
static void draw_panel(hu_page *page, const hu_report_run *run, const hu_histogram_record *record,
                       int role) {
    hu_chart_ridge *ridge = NULL;
    char(*names)[NAME_BYTES] = NULL;
    size_t count = 0, left_out = 0;
    hu_ridge_heads heads = {.own = "own"};
    char label[300];
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&ridge, MAX_RIDGES));
    HU_TRY(HU_NEW_ARRAY(&names, MAX_RIDGES));
    for (uint32_t i = 0; i < record->count; i++) {
        const hu_tensor_exponents *tensor = &record->tensor[i];
        if (role_of(run->history->tensors.name[tensor->tensor]) != role) continue;
        if (tensor->exponents.elements == 0) continue;
        left_out += count == MAX_RIDGES;
        if (count == MAX_RIDGES) continue;
        char *name = names[count];
        short_name(run->history->tensors.name[tensor->tensor], role, name, NAME_BYTES);
        make_ridge(run, tensor, record->step, name, &ridge[count++]);
    }
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++) {
        hu_format format;
        if (parse_format(candidates[i], &format))
            heads.candidate[i] = hu_report_range(candidates[i], &format);
    }
    if (count > 0) {
        snprintf(label, sizeof label, "%c%s, step %lld", role_names[role][0] - 'a' + 'A',
                 role_names[role] + 1, (long long)record->step);
        hu_html_panel(page, label);
        hu_chart_ridges(page, ridge, count, &heads, role, label);
        snprintf(label, sizeof label, "%zu more tensors are in histograms.jsonl.", left_out);
        if (left_out > 0) hu_html_note(page, label);
        hu_html_panel_end(page);
    }
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    hu_free(ridge);
    hu_free(names);
}

/* Of each precision the first seed is drawn: the others look alike. */
static bool has_histograms(const hu_report_run *run) {
    return run->is_first && run->history && run->history->histogram_count > 0;
}

static void put(hu_page *page, const hu_report_run *run, const void *unused) {
    const hu_history *history = run->history;
    (void)unused;
    hu_html_panels(page);
    for (int role = 0; role < ROLES; role++)
        draw_panel(page, run, &history->histograms[history->histogram_count - 1], role);
    hu_html_panels_end(page);
}

void hu_report_exponents(hu_page *page, const hu_report *report) {
    const hu_report_part part = {
        .id = "exponents",
        .title = "Where the numbers are",
        .text = "Exponents of every tensor's numbers before rounding, each ridge as high as its "
                "fullest binade. Shaded: what the tensor's own format holds, lighter where only "
                "subnormal numbers are left; red is lost to overflow or to zero. The columns say "
                "how many of the numbers (in %) a format would lose; own: the format of the "
                "training, where it rounded the tensor. A tensor of zeros alone says so. "
                "Gradients of weights that travel between workers are shown with the range that "
                "their scale gives them there.",
        .verb = "drawn",
        .has = has_histograms,
        .put = put,
        .most = MAX_RUNS_SHOWN,
        .bytes = 120 * 1024,
        .open = 1};
    hu_report_put_part(page, report, &part);
}
