/* Exponent histograms as ridges, by role. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/format.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/own_range.h"
#include "show/chart.h"
#include "show/html.h"

enum { MAX_RUNS_SHOWN = 8, MAX_RIDGES = 120, NAME_BYTES = 128 };

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

/* The histogram of one tensor, the range of the format it was rounded to, and what the candidates
 * would lose of it. */
static void make_ridge(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                       const char *name, hu_chart_ridge *ridge) {
    const hu_exponents *exponents = &tensor->exponents;
    hu_format format;
    *ridge = (hu_chart_ridge){
        .name = name, .first = exponents->first, .bin = exponents->bin, .count = exponents->count};
    if (exponents->elements > 0)
        ridge->zero = (double)exponents->zero / (double)exponents->elements;
    hu_report_own_range(run, tensor, step, ridge);
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (parse_format(candidates[i], &format))
            ridge->candidate[i] = hu_report_lost_in(exponents, &format);
}

/* All tensors of a role in a recorded step, at most MAX_RIDGES, in the order of the file. */
typedef struct panel {
    int64_t step;
    hu_chart_ridge *ridge;
    char (*names)[NAME_BYTES];
    size_t count, left_out;
} panel;

static hu_status make_panel(const hu_report_run *run, const hu_histogram_record *record, int role,
                            panel *p) {
    hu_status st;
    *p = (panel){.step = record->step};
    HU_TRY(HU_NEW_ARRAY(&p->ridge, MAX_RIDGES));
    HU_TRY(HU_NEW_ARRAY(&p->names, MAX_RIDGES));
    for (uint32_t i = 0; i < record->count; i++) {
        const hu_tensor_exponents *tensor = &record->tensor[i];
        if (role_of(run->history->tensors.name[tensor->tensor]) != role) continue;
        if (tensor->exponents.elements == 0) continue;
        p->left_out += p->count == MAX_RIDGES;
        if (p->count == MAX_RIDGES) continue;
        char *name = p->names[p->count];
        short_name(run->history->tensors.name[tensor->tensor], role, name, NAME_BYTES);
        make_ridge(run, tensor, record->step, name, &p->ridge[p->count++]);
    }
done:
    return st;
}

static void draw_panel(hu_page *page, const panel *p, const hu_ridge_heads *heads, int role) {
    char label[300];
    snprintf(label, sizeof label, "%c%s, step %lld", role_names[role][0] - 'a' + 'A',
             role_names[role] + 1, (long long)p->step);
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
    for (uint32_t i = 0; i < last->count; i++)
        ridges += role_of(history->tensors.name[last->tensor[i].tensor]) >= 0;
    return history->histogram_count > 1 &&
           (b->runs == 1 || page->out.size - b->start + 2 * RIDGE_BYTES * ridges <= MOST_BYTES);
}

static void put(hu_page *page, const hu_report_run *run, const void *context) {
    bool both = has_both(page, run, context);
    hu_html_panels(page);
    for (int role = 0; role < ROLES; role++) put_role(page, run, role, both ? 2 : 1);
    hu_html_panels_end(page);
    if (!both && run->history->histogram_count > 1)
        hu_html_note(page, "The last recorded step alone: halfulp report RUN has the first, too.");
}

void hu_report_exponents(hu_page *page, const hu_report *report) {
    budget b = {.start = page->out.size};
    for (size_t i = 0; i < report->count; i++) b.runs += has_histograms(&report->run[i]);
    const hu_report_part part = {
        .id = "exponents",
        .title = "Where the numbers are",
        .text = "Exponents of every tensor's numbers before rounding, each ridge as high as its "
                "fullest binade, in the first and in the last step of which there are any. "
                "Shaded: what the tensor's own format holds, at the place where "
                "its scale laid it, if it has one; lighter where only subnormal numbers are left; "
                "red is lost to overflow or to zero. Formats with a scale for each block, and "
                "integers, have no such range. The columns say how many of the numbers (in %) a "
                "format would lose; own: the format of the "
                "training, where it rounded the tensor. A tensor of zeros alone says so. "
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
