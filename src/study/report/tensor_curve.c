#include "report/tensor_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/rules.h"
#include "render/chart.h"
#include "render/csv.h"
#include "render/html.h"
#include "report/internal.h"

enum { MOST_LINES = 12 };

hu_status hu_tensor_curve_read(const char *folder, const char *pattern, hu_tensor_curve *curve) {
    hu_status st;
    char nearest[256];
    *curve = (hu_tensor_curve){.folder = folder, .pattern = pattern};
    HU_TRY(hu_history_read_some(folder, &curve->history));
    const hu_names *names = &curve->history->tensors;
    HU_TRY(HU_NEW_ARRAY(&curve->tensor, (size_t)names->count + 1));
    for (uint32_t t = 0; t < names->count; t++)
        if (hu_glob_match(pattern, names->name[t])) curve->tensor[curve->count++] = t;
    if (curve->count > 0) return HU_OK;
    hu_nearest(pattern, (const char *const *)names->name, names->count, nearest, sizeof nearest);
    st = hu_fail(HU_ERR_UNKNOWN, "%s: found no tensor '%.100s', nearest: %s", folder, pattern,
                 nearest);
done:
    return st;
}

void hu_tensor_curve_free(hu_tensor_curve *curve) {
    hu_history_free(curve->history);
    hu_free(curve->tensor);
    *curve = (hu_tensor_curve){0};
}

/* The record of a tensor in a row; NULL: the row has none, or no numbers of it. */
static const hu_tensor_record *record_of(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t k = 0; k < row->tensor_count; k++)
        if (row->tensor[k].tensor == tensor)
            return row->tensor[k].counts.elements > 0 ? &row->tensor[k] : NULL;
    return NULL;
}

/* ---- what there is of a row ---- */

enum { COUNTS = 5, SHARES = 6 };
static const char *const count_names[COUNTS] = {"subnormal", "underflow", "overflow", "zero",
                                                "nan"};
static const char *const share_names[SHARES] = {"subnormal_share",      "underflow_share",
                                                "overflow_share",       "most_subnormal_share",
                                                "most_underflow_share", "most_overflow_share"};

static void counts_of(const hu_tensor_record *record, uint64_t counts[COUNTS]) {
    const hu_round_counts *c = &record->counts;
    const uint64_t all[COUNTS] = {c->subnormal, c->underflow, c->overflow, c->zero, c->nan};
    memcpy(counts, all, sizeof all);
}

static void shares_of(const hu_tensor_record *record, double shares[SHARES]) {
    const hu_round_counts *c = &record->counts;
    double elements = (double)c->elements;
    const double all[SHARES] = {(double)c->subnormal / elements, (double)c->underflow / elements,
                                (double)c->overflow / elements,  record->most_subnormal,
                                record->most_underflow,          record->most_overflow};
    memcpy(shares, all, sizeof all);
}

/* ---- CSV and JSON ---- */

static hu_status put_row(hu_byte_writer *out, const hu_history *history,
                         const hu_numerics_record *row, const hu_tensor_record *record) {
    hu_status st;
    uint64_t counts[COUNTS];
    double shares[SHARES];
    counts_of(record, counts);
    shares_of(record, shares);
    HU_TRY(hu_csv_put_cell(out, history->tensors.name[record->tensor]));
    HU_TRY(hu_csv_put_word(out, history->formats.name[record->format]));
    HU_TRY(hu_csv_put_real(out, (double)row->step));
    HU_TRY(hu_csv_put_real(out, (double)row->steps));
    HU_TRY(hu_csv_put_real(out, (double)row->skipped));
    HU_TRY(hu_csv_put_real(out, (double)record->counts.elements));
    for (int i = 0; i < COUNTS; i++) HU_TRY(hu_csv_put_real(out, (double)counts[i]));
    for (int i = 0; i < SHARES; i++) HU_TRY(hu_csv_put_real(out, shares[i]));
    HU_TRY(hu_csv_put_text(out, "\n"));
done:
    return st;
}

static hu_status put_titles(hu_byte_writer *out) {
    hu_status st = hu_csv_put_text(out, "tensor,format,step,steps,skipped,elements");
    for (int i = 0; i < COUNTS && st == HU_OK; i++) st = hu_csv_put_word(out, count_names[i]);
    for (int i = 0; i < SHARES && st == HU_OK; i++) st = hu_csv_put_word(out, share_names[i]);
    return st == HU_OK ? hu_csv_put_text(out, "\n") : st;
}

hu_status hu_tensor_curve_csv(const hu_tensor_curve *curve, char **text) {
    hu_status st;
    hu_byte_writer out = {0};
    const hu_history *history = curve->history;
    *text = NULL;
    HU_TRY(put_titles(&out));
    for (uint32_t t = 0; t < curve->count; t++)
        for (size_t i = 0; i < history->numerics_count; i++) {
            const hu_numerics_record *row = &history->numerics[i];
            const hu_tensor_record *record = record_of(row, curve->tensor[t]);
            if (record) HU_TRY(put_row(&out, history, row, record));
        }
    HU_TRY(HU_NEW_ARRAY(text, out.size + 1));
    memcpy(*text, out.data, out.size);
done:
    hu_writer_free(&out);
    return st;
}

static json_t *row_json(const hu_history *history, const hu_numerics_record *row,
                        const hu_tensor_record *record) {
    uint64_t counts[COUNTS];
    double shares[SHARES];
    counts_of(record, counts);
    shares_of(record, shares);
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:b, s:I}", "tensor", history->tensors.name[record->tensor],
                  "format", history->formats.name[record->format], "step", (json_int_t)row->step,
                  "steps", (json_int_t)row->steps, "skipped", row->skipped, "elements",
                  (json_int_t)record->counts.elements);
    for (int i = 0; object && i < COUNTS; i++)
        json_object_set_new(object, count_names[i], json_integer((json_int_t)counts[i]));
    for (int i = 0; object && i < SHARES; i++)
        json_object_set_new(object, share_names[i], hu_json_number(shares[i]));
    return object;
}

json_t *hu_tensor_curve_json(const hu_tensor_curve *curve) {
    json_t *rows = json_array();
    const hu_history *history = curve->history;
    for (uint32_t t = 0; rows && t < curve->count; t++)
        for (size_t i = 0; i < history->numerics_count; i++) {
            const hu_numerics_record *row = &history->numerics[i];
            const hu_tensor_record *record = record_of(row, curve->tensor[t]);
            if (record) json_array_append_new(rows, row_json(history, row, record));
        }
    return json_pack("{s:s, s:s, s:o}", "run", curve->folder, "pattern", curve->pattern, "rows",
                     rows);
}

/* ---- pictures ---- */

/* Per cent of one share over the steps; a gap where the tensor was not counted. Returns the
 * largest. */
static double fill_line(const hu_history *history, uint32_t tensor, int which, double *x,
                        double *y) {
    double most = 0.0;
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_tensor_record *record = record_of(&history->numerics[i], tensor);
        double shares[SHARES];
        x[i] = (double)history->numerics[i].step + 1.0;
        y[i] = (double)NAN;
        if (!record) continue;
        shares_of(record, shares);
        y[i] = 100.0 * shares[which];
        most = fmax(most, y[i]);
    }
    return most;
}

/* The first kind is drawn always: no subnormal number is an answer, too. */
static hu_status draw_kind(hu_page *page, const hu_tensor_curve *curve, int which) {
    static const char *const headings[] = {"Subnormal numbers", "Underflow", "Overflow"};
    static const char *const titles[] = {"subnormal, % of the tensor's numbers",
                                         "became zero, % of the tensor's numbers",
                                         "too large, % of the tensor's numbers"};
    const hu_history *history = curve->history;
    size_t rows = history->numerics_count;
    hu_chart_line line[MOST_LINES];
    hu_legend_item item[MOST_LINES];
    double *room = NULL, most = 0.0;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&room, 2 * rows * curve->count + 1));
    for (uint32_t t = 0; t < curve->count; t++) {
        double *x = room + 2 * rows * t, *y = x + rows;
        const char *name = history->tensors.name[curve->tensor[t]];
        most = fmax(most, fill_line(history, curve->tensor[t], which, x, y));
        line[t] = (hu_chart_line){
            .label = name, .series = (int)t, .x = x, .y = y, .count = rows, .ended = (double)NAN};
        item[t] = (hu_legend_item){name, (int)t};
    }
    if (which == 0 || most > 0.0) {
        hu_html_heading(page, headings[which]);
        hu_legend_draw(page, item, curve->count, HU_LEGEND_LINES);
        hu_chart_lines(page, line, curve->count, 0.0, (double)NAN, "steps done", titles[which]);
    }
done:
    hu_free(room);
    return st;
}

static hu_status write_figure(const hu_tensor_curve *curve, hu_figure_form form, const char *path) {
    hu_page page = {0};
    hu_figures figures = {0};
    hu_status st;
    if (curve->count > MOST_LINES)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found %u tensors that match '%.100s', expected at most %d in a "
                       "picture",
                       path, curve->count, curve->pattern, MOST_LINES);
    hu_picture_begin(&page);
    for (int which = 0; which < SHARES / 2; which++) HU_TRY(draw_kind(&page, curve, which));
    HU_TRY(hu_figures_add(&figures, &page, curve->pattern));
    HU_TRY(hu_figures_write(&figures, form, path));
done:
    hu_page_free(&page);
    hu_figures_free(&figures);
    return st;
}

hu_status hu_tensor_curve_write(const hu_tensor_curve *curve, const char *path) {
    enum { CSV, JSON, SVG, PDF, PNG };
    static const char *const endings[] = {"csv", "json", "svg", "pdf", "png", NULL};
    char *text = NULL;
    int ending;
    hu_status st = hu_ending_find(path, endings, &ending);
    if (st != HU_OK) return st;
    if (ending >= SVG)
        return write_figure(curve,
                            ending == SVG   ? HU_FIGURE_SVG
                            : ending == PDF ? HU_FIGURE_PDF
                                            : HU_FIGURE_PNG,
                            path);
    if (ending == JSON)
        HU_TRY(hu_json_pretty(hu_tensor_curve_json(curve), &text));
    else
        HU_TRY(hu_tensor_curve_csv(curve, &text));
    HU_TRY(hu_file_replace(path, text, strlen(text)));
done:
    hu_free(text);
    return st;
}
