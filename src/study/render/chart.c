#include "render/chart.h"

#include <math.h>
#include <stdio.h>

#include "render/html.h"
#include "render/svg.h"

void hu_series_class(int series, char *text, size_t capacity) {
    enum { DASHES = 4 };
    snprintf(text, capacity, "c%d d%d", series % HU_SERIES_COLOURS, series % DASHES);
}

void hu_area_class(int series, char *text, size_t capacity) {
    enum { STRENGTHS = 3 };
    snprintf(text, capacity, "area c%d o%d", series % HU_SERIES_COLOURS,
             series / HU_SERIES_COLOURS % STRENGTHS);
}

/* The look of a series in 22 x 14 pixels. */
static void draw_sample(hu_page *page, const hu_legend_item *item, int kind, double x, double y) {
    char style[64], name[96];
    hu_series_class(item->series, style, sizeof style);
    if (kind == HU_LEGEND_AREAS) {
        hu_area_class(item->series, name, sizeof name);
        hu_svg_rect(page, x + 4, y + 1, 14, 12, name, NULL);
        return;
    }
    if (kind == HU_LEGEND_LINES) {
        snprintf(name, sizeof name, "line %s", style);
        hu_svg_line(page, x, y + 7, x + 30, y + 7, name);
    }
    snprintf(name, sizeof name, "mark %s", style);
    hu_svg_mark(page, item->series, x + (kind == HU_LEGEND_LINES ? 15 : 11), y + 7,
                kind == HU_LEGEND_LINES ? 3.6 : 5.0, name, NULL);
}

/* In a picture that is a file of its own: in lines that break at its edge. */
static void draw_inside(hu_page *page, const hu_legend_item *item, size_t count, int kind) {
    enum { ROW = 19, SAMPLE = 38, GAP = 16 };
    double x = 0.0;
    hu_svg_put_titles(page);
    for (size_t i = 0; i < count; i++) {
        double width = SAMPLE + hu_svg_text_width(item[i].name) + GAP;
        if (x > 0.0 && x + width > HU_CHART_WIDTH) page->bottom += ROW, x = 0.0;
        draw_sample(page, &item[i], kind, x, page->bottom);
        hu_svg_text(page, x + SAMPLE, page->bottom + 11, "tick", item[i].name);
        x += width;
    }
    page->bottom += ROW + 6;
}

void hu_legend_draw(hu_page *page, const hu_legend_item *item, size_t count, int kind) {
    if (page->is_picture) {
        draw_inside(page, item, count, kind);
        return;
    }
    hu_page_put(page, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < count; i++) {
        hu_page_put(page, "<li><svg width=\"%d\" height=\"14\" aria-hidden=\"true\">",
                    kind == HU_LEGEND_LINES ? 30 : 22);
        draw_sample(page, &item[i], kind, 0.0, 0.0);
        hu_page_put(page, "</svg>");
        hu_page_text(page, item[i].name);
        hu_page_put(page, "</li>\n");
    }
    hu_page_put(page, "</ul>\n");
}

/* ---- Numbers of formats as ticks on a line ---- */

enum { TOP = 2, ROW = 44, LABEL = 13, TICK = 16, BELOW = 40, LABEL_WIDTH = 40 };

/* Numbers without a tick of their own: subnormal ones are lighter. */
static void draw_band(hu_page *page, const hu_axis_scale *x, const hu_number_row *row, double y) {
    char name[64];
    double from = fmax(row->number[0], x->low), to = fmin(row->number[row->count - 1], x->high);
    double normal = fmin(fmax(row->normal, from), to);
    double a = hu_axis_scale_at(x, from), b = hu_axis_scale_at(x, normal),
           c = hu_axis_scale_at(x, to);
    snprintf(name, sizeof name, "band sub c%d", row->series % HU_SERIES_COLOURS);
    if (b > a) hu_svg_rect(page, a, y, b - a, TICK, name, row->label);
    snprintf(name, sizeof name, "band c%d", row->series % HU_SERIES_COLOURS);
    if (c > b) hu_svg_rect(page, b, y, c - b, TICK, name, row->label);
}

/* Those of one kind as one shape; subnormal numbers have half a tick. */
static void draw_ticks(hu_page *page, const hu_axis_scale *x, const hu_number_row *row, double y,
                       bool is_normal) {
    char name[64];
    snprintf(name, sizeof name, "number%s c%d", is_normal ? "" : " sub",
             row->series % HU_SERIES_COLOURS);
    hu_svg_path(page, name);
    for (size_t i = 0; i < row->count; i++) {
        double number = row->number[i], at = hu_axis_scale_at(x, number);
        if (number < x->low || number > x->high || (number >= row->normal) != is_normal) continue;
        hu_svg_point(page, true, at, y + (is_normal ? 0 : TICK / 2));
        hu_svg_point(page, false, at, y + TICK);
    }
    hu_svg_path_end(page, false, row->label);
}

static void draw_axis(hu_page *page, const hu_axis_scale *x, double bottom, bool is_log) {
    hu_ticks ticks = hu_axis_scale_ticks(x, is_log ? 10 : 8);
    hu_svg_group(page, "axes");
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_axis_scale_at(x, ticks.at[i]);
        if (is_log && ticks.at[i] != floor(ticks.at[i])) continue;
        hu_svg_line(page, at, bottom, at, bottom + 5, "axis");
        if (is_log)
            hu_svg_power(page, at, bottom + 18, "tick middle", (int)ticks.at[i]);
        else
            hu_svg_format(page, at, bottom + 18, "tick middle", "%g", ticks.at[i]);
    }
    hu_svg_line(page, x->from, bottom, x->to, bottom, "axis");
    hu_svg_group_end(page);
}

void hu_chart_numbers(hu_page *page, const hu_number_row *row, size_t count, double low,
                      double high, bool is_log, const char *title) {
    double bottom = TOP + ROW * (double)count;
    hu_axis_scale x = hu_axis_scale_exact(low, high, 24, HU_CHART_WIDTH - 28);
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + BELOW, title);
    for (size_t i = 0; i < count; i++) {
        double y = TOP + ROW * (double)i;
        hu_svg_text_begin(page, 2, y + LABEL, "tick", row[i].label, HU_CHART_WIDTH - 10);
        if (row[i].is_dense) {
            draw_band(page, &x, &row[i], y + LABEL + 6);
            continue;
        }
        draw_ticks(page, &x, &row[i], y + LABEL + 6, false);
        draw_ticks(page, &x, &row[i], y + LABEL + 6, true);
    }
    draw_axis(page, &x, bottom, is_log);
    hu_svg_text(page, HU_CHART_WIDTH - 28, bottom + 34, "title end", title);
    hu_svg_end(page);
}

/* ---- picture ---- */

/* Charts as one SVG file of its own, below one another: the same calls that draw
 * them into an HTML page. Colours are fixed ones, those of a light page: papers and other programs
 * take such a file. */

enum { MARGIN = 16 };

void hu_picture_begin(hu_page *page) {
    page->is_picture = true;
    page->bottom = 0.0;
}

void hu_picture_extents(const hu_page *page, double *width, double *height) {
    *width = (page->width > 0.0 ? page->width : HU_CHART_WIDTH) + 2.0 * MARGIN;
    *height = page->bottom + 2.0 * MARGIN;
}

/* The height is known when all is drawn, hence a head that is written last. */
hu_status hu_picture_finish(hu_page *page, const char *label, char **text) {
    hu_page whole = {.status = page->status};
    double width, height;
    hu_picture_extents(page, &width, &height);
    hu_page_put(
        &whole,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" role=\"img\" "
        "aria-label=\"",
        width, height, width, height);
    hu_page_text(&whole, label);
    hu_page_put(&whole, "\">\n<style>\n");
    hu_html_put_fixed_style(&whole);
    hu_page_put(&whole,
                "</style>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"%s\"/>\n"
                "<g transform=\"translate(%d %d)\">\n",
                width, height, hu_html_light("bg", 2), MARGIN, MARGIN);
    if (whole.status == HU_OK)
        whole.status = hu_write_bytes(&whole.out, page->out.data, page->out.size);
    hu_page_put(&whole, "</g>\n</svg>\n");
    hu_page_free(page);
    return hu_page_finish(&whole, text);
}
