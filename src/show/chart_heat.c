/* Bits of every group over the steps. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { LEFT = 92, RIGHT = 640, TOP = 34, ROW = 18, LEVELS = 7 };

/* Four bits and fewer: 0; 32: LEVELS - 1; logarithmic between. */
static int level_of(double bits) {
    double level = (log2(fmax(bits, 1.0)) - 2.0) / 3.0 * (LEVELS - 1);
    return (int)lround(fmin(fmax(level, 0.0), LEVELS - 1));
}

/* A stretch of steps in which the group's bits did not change; wide ones show their number. */
static void draw_span(hu_page *page, const hu_scale *x, const hu_chart_row *row,
                      const hu_chart_span *span, double y) {
    char name[32], tip[256];
    double from = hu_scale_at(x, span->from), to = hu_scale_at(x, span->to);
    snprintf(name, sizeof name, "heat h%d", level_of(span->bits));
    snprintf(tip, sizeof tip, "%.120s: %.4g bits, steps %.0f to %.0f", row->label, span->bits,
             span->from, span->to);
    hu_svg_rect(page, from, y, fmax(to - from, 0.5), ROW - 2, name, tip);
    if (to - from > 40.0)
        hu_svg_format(page, 0.5 * (from + to), y + 12,
                      level_of(span->bits) >= 4 ? "bits dark middle" : "bits middle",
                      span->bits == floor(span->bits) ? "%.0f" : "%.1f", span->bits);
}

void hu_chart_heat(hu_page *page, const hu_chart_row *row, size_t count, double steps) {
    hu_scale x = hu_scale_exact(0.0, steps, LEFT, RIGHT);
    double bottom = TOP + ROW * (double)count;
    hu_ticks ticks = hu_scale_ticks(&x, 7);
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 40, HU_CHART_LEAST, "bits of every group");
    hu_svg_text(page, 2, 13, "title", "mean bits of a group's numbers");
    for (size_t i = 0; i < count; i++) {
        double y = TOP + ROW * (double)i;
        hu_svg_text(page, LEFT - 8, y + 12, "tick end", row[i].label);
        for (size_t k = 0; k < row[i].count; k++) draw_span(page, &x, &row[i], &row[i].span[k], y);
        hu_svg_text(page, RIGHT + 10, y + 12, "tick", row[i].note);
    }
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_scale_at(&x, ticks.at[i]);
        hu_svg_line(page, at, bottom, at, bottom + 4, "axis");
        hu_svg_format(page, at, bottom + 17, "tick middle", "%.*f", ticks.digits, ticks.at[i]);
    }
    hu_svg_text(page, RIGHT, bottom + 34, "title end", "step");
    hu_svg_text(page, RIGHT + 10, TOP - 8, "title", "share of all");
    hu_svg_end(page);
}
