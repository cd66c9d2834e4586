/* Numbers of formats as ticks on a line. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { TOP = 2, ROW = 44, LABEL = 13, TICK = 16, BELOW = 40, LABEL_WIDTH = 40 };

/* Numbers without a tick of their own: subnormal ones are lighter. */
static void draw_band(hu_page *page, const hu_scale *x, const hu_number_row *row, double y) {
    char name[64];
    double from = fmax(row->number[0], x->low), to = fmin(row->number[row->count - 1], x->high);
    double normal = fmin(fmax(row->normal, from), to);
    double a = hu_scale_at(x, from), b = hu_scale_at(x, normal), c = hu_scale_at(x, to);
    snprintf(name, sizeof name, "band sub c%d", row->series % HU_SERIES_COLOURS);
    if (b > a) hu_svg_rect(page, a, y, b - a, TICK, name, row->label);
    snprintf(name, sizeof name, "band c%d", row->series % HU_SERIES_COLOURS);
    if (c > b) hu_svg_rect(page, b, y, c - b, TICK, name, row->label);
}

/* Those of one kind as one shape; subnormal numbers have half a tick. */
static void draw_ticks(hu_page *page, const hu_scale *x, const hu_number_row *row, double y,
                       bool is_normal) {
    char name[64];
    snprintf(name, sizeof name, "number%s c%d", is_normal ? "" : " sub",
             row->series % HU_SERIES_COLOURS);
    hu_svg_path(page, name);
    for (size_t i = 0; i < row->count; i++) {
        double number = row->number[i], at = hu_scale_at(x, number);
        if (number < x->low || number > x->high || (number >= row->normal) != is_normal) continue;
        hu_svg_point(page, true, at, y + (is_normal ? 0 : TICK / 2));
        hu_svg_point(page, false, at, y + TICK);
    }
    hu_svg_path_end(page, false, row->label);
}

static void draw_axis(hu_page *page, const hu_scale *x, double bottom, bool is_log) {
    hu_ticks ticks = hu_scale_ticks(x, is_log ? 10 : 8);
    hu_svg_group(page, "axes");
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_scale_at(x, ticks.at[i]);
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
    hu_scale x = hu_scale_exact(low, high, 24, HU_CHART_WIDTH - 28);
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
