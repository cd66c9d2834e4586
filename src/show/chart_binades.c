/* Lines over magnitudes: what a format does to numbers of every binade. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { HEIGHT = 280, MARKS = 6, LABEL_WIDTH = 40 };

typedef struct plot {
    hu_frame frame;
    hu_scale x, y;
} plot;

static plot make_plot(const hu_chart_line *line, size_t count, const hu_binade_axis *axis) {
    plot p = {.frame = {66, HU_CHART_WIDTH - 12, 26, HEIGHT - 42}};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < line[i].count; k++) {
            low = fmin(low, line[i].x[k]);
            high = fmax(high, line[i].x[k]);
        }
    p.x = hu_scale_exact(low, high, p.frame.left, p.frame.right);
    p.y = hu_scale_exact(axis->low, axis->high, p.frame.bottom, p.frame.top);
    return p;
}

/* A tick with its number; a share as per cent. */
static void draw_tick(hu_page *page, const plot *p, double at, bool is_share) {
    double y = hu_scale_at(&p->y, at);
    hu_svg_line(page, p->frame.left, y, p->frame.right, y, "grid");
    hu_svg_format(page, p->frame.left - 7, y + 4, "tick end", is_share ? "%g %%" : "%g",
                  is_share ? 100.0 * pow(10.0, at) : at);
}

static void draw_axes(hu_page *page, const plot *p, const hu_binade_axis *axis) {
    int every = 1;
    double width = p->frame.right - p->frame.left, binades = p->x.high - p->x.low;
    int rows = (int)(axis->high - axis->low) / 8 + 1;
    while (binades / every * LABEL_WIDTH > width) every *= 2;
    hu_svg_group(page, "axes");
    for (int n = (int)ceil(axis->low); n <= (int)floor(axis->high); n += rows)
        draw_tick(page, p, n, axis->is_share);
    for (int n = (int)ceil(p->x.low / every) * every; n <= (int)floor(p->x.high); n += every) {
        double at = hu_scale_at(&p->x, n);
        hu_svg_line(page, at, p->frame.bottom, at, p->frame.bottom + 5, "axis");
        hu_svg_power(page, at, p->frame.bottom + 19, "tick middle", n);
    }
    hu_svg_line(page, p->frame.left, p->frame.bottom, p->frame.right, p->frame.bottom, "axis");
    hu_svg_text(page, p->frame.right, p->frame.bottom + 36, "title end", "magnitude");
    hu_svg_text(page, 2, 13, "title", axis->title);
    hu_svg_group_end(page);
}

static double height_of(const plot *p, double y) {
    return hu_scale_at(&p->y, fmin(fmax(y, p->y.low), p->y.high));
}

/* Marks of lines that run together stand at different places. */
static void draw_line(hu_page *page, const plot *p, const hu_chart_line *line, size_t turn) {
    char style[64], name[96];
    hu_series_class(line->series, style, sizeof style);
    snprintf(name, sizeof name, "line %s", style);
    hu_svg_path(page, name);
    for (size_t k = 0; k < line->count; k++)
        hu_svg_point(page, k == 0, hu_scale_at(&p->x, line->x[k]), height_of(p, line->y[k]));
    hu_svg_path_end(page, false, line->label);
    snprintf(name, sizeof name, "mark %s", style);
    for (size_t m = 0; m < MARKS && line->count > 0; m++) {
        size_t k = (line->count - 1) * (2 * m + 1) / (2 * MARKS) + turn;
        if (k >= line->count) k = line->count - 1;
        hu_svg_mark(page, line->series, hu_scale_at(&p->x, line->x[k]), height_of(p, line->y[k]),
                    3.6, name, line->label);
    }
}

void hu_chart_binades(hu_page *page, const hu_chart_line *line, size_t count,
                      const hu_binade_axis *axis) {
    plot p = make_plot(line, count, axis);
    hu_svg_begin(page, HU_CHART_WIDTH, HEIGHT, axis->title);
    draw_axes(page, &p, axis);
    for (size_t i = count; i-- > 0;) draw_line(page, &p, &line[i], i);
    hu_svg_end(page);
}
