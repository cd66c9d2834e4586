#include <math.h>
#include <stdio.h>

#include "render/chart.h"
#include "render/svg.h"

/* ---- Memory by role: one bar for each run ---- */

enum { TOP = 4, LABEL = 15, BAR = 16, ROW = 40, TOTAL = 52 };

/* Length of a whole bar. */
static double total_of(const hu_chart_bar *bar, size_t parts) {
    double total = 0.0;
    for (size_t i = 0; i < parts; i++) total += bar->part[i];
    return total;
}

/* One bar: its label above it, its parts side by side, its sum. */
static void draw_bar(hu_page *page, const hu_axis_scale *x, const hu_chart_bar *bar,
                     const char *const *part, size_t parts, double y, const char *unit) {
    char name[64], tip[256];
    double sum = 0.0, total = total_of(bar, parts);
    hu_svg_text_begin(page, 2, y + LABEL - 3, "name", bar->label, HU_CHART_WIDTH - 8);
    for (size_t i = 0; i < parts; i++) {
        double from = hu_axis_scale_at(x, sum), to = hu_axis_scale_at(x, sum + bar->part[i]);
        sum += bar->part[i];
        /* Below a twentieth of a pixel nothing would be seen. */
        if (to - from < 0.05) continue;
        hu_area_class((int)i, name, sizeof name);
        snprintf(tip, sizeof tip, "%.80s: %.80s %.3g %s", bar->label, part[i], bar->part[i], unit);
        hu_svg_rect(page, from, y + LABEL, to - from, BAR, name, tip);
    }
    hu_svg_format(page, hu_axis_scale_at(x, total) + 7, y + LABEL + 12, "tick", "%.1f", total);
}

void hu_chart_bars(hu_page *page, const hu_chart_bar *bar, size_t count, const char *const *part,
                   size_t parts, const char *unit) {
    double high = 0.0, bottom = TOP + ROW * (double)count;
    for (size_t i = 0; i < count; i++) high = fmax(high, total_of(&bar[i], parts));
    hu_axis_scale x = hu_axis_scale_exact(0.0, high, 2, HU_CHART_WIDTH - TOTAL);
    hu_ticks ticks = hu_axis_scale_ticks(&x, 6);
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 40, "memory by role");
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_axis_scale_at(&x, ticks.at[i]);
        hu_svg_line(page, at, TOP, at, bottom, "grid");
        hu_svg_format(page, at, bottom + 14, i == 0 ? "tick" : "tick middle", "%.*f", ticks.digits,
                      ticks.at[i]);
    }
    hu_svg_text(page, HU_CHART_WIDTH - TOTAL, bottom + 32, "title end", unit);
    for (size_t i = 0; i < count; i++)
        draw_bar(page, &x, &bar[i], part, parts, TOP + ROW * (double)i, unit);
    hu_svg_end(page);
}

/* ---- Lines over magnitudes: what a format does to numbers of every binade ---- */

enum { HEIGHT = 280, MARKS = 6, LABEL_WIDTH = 40 };

typedef struct binades_plot {
    hu_frame frame;
    hu_axis_scale x, y;
} binades_plot;

static binades_plot binades_make_plot(const hu_chart_line *line, size_t count,
                                      const hu_binade_axis *axis) {
    binades_plot p = {.frame = {66, HU_CHART_WIDTH - 12, 26, HEIGHT - 42}};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < line[i].count; k++) {
            low = fmin(low, line[i].x[k]);
            high = fmax(high, line[i].x[k]);
        }
    p.x = hu_axis_scale_exact(low, high, p.frame.left, p.frame.right);
    p.y = hu_axis_scale_exact(axis->low, axis->high, p.frame.bottom, p.frame.top);
    return p;
}

/* A tick with its number; a share as per cent. */
static void binades_draw_tick(hu_page *page, const binades_plot *p, double at, bool is_share) {
    double y = hu_axis_scale_at(&p->y, at);
    hu_svg_line(page, p->frame.left, y, p->frame.right, y, "grid");
    hu_svg_format(page, p->frame.left - 7, y + 4, "tick end", is_share ? "%g %%" : "%g",
                  is_share ? 100.0 * pow(10.0, at) : at);
}

static void draw_axes(hu_page *page, const binades_plot *p, const hu_binade_axis *axis) {
    int every = 1;
    double width = p->frame.right - p->frame.left, binades = p->x.high - p->x.low;
    int rows = (int)(axis->high - axis->low) / 8 + 1;
    while (binades / every * LABEL_WIDTH > width) every *= 2;
    hu_svg_group(page, "axes");
    for (int n = (int)ceil(axis->low); n <= (int)floor(axis->high); n += rows)
        binades_draw_tick(page, p, n, axis->is_share);
    for (int n = (int)ceil(p->x.low / every) * every; n <= (int)floor(p->x.high); n += every) {
        double at = hu_axis_scale_at(&p->x, n);
        hu_svg_line(page, at, p->frame.bottom, at, p->frame.bottom + 5, "axis");
        hu_svg_power(page, at, p->frame.bottom + 19, "tick middle", n);
    }
    hu_svg_line(page, p->frame.left, p->frame.bottom, p->frame.right, p->frame.bottom, "axis");
    hu_svg_text(page, p->frame.right, p->frame.bottom + 36, "title end", "magnitude");
    hu_svg_text(page, 2, 13, "title", axis->title);
    hu_svg_group_end(page);
}

static double binades_height_of(const binades_plot *p, double y) {
    return hu_axis_scale_at(&p->y, fmin(fmax(y, p->y.low), p->y.high));
}

/* Marks of lines that run together stand at different places. */
static void binades_draw_line(hu_page *page, const binades_plot *p, const hu_chart_line *line,
                              size_t turn) {
    char style[64], name[96];
    hu_series_class(line->series, style, sizeof style);
    snprintf(name, sizeof name, "line %s", style);
    hu_svg_path(page, name);
    for (size_t k = 0; k < line->count; k++)
        hu_svg_point(page, k == 0, hu_axis_scale_at(&p->x, line->x[k]),
                     binades_height_of(p, line->y[k]));
    hu_svg_path_end(page, false, line->label);
    snprintf(name, sizeof name, "mark %s", style);
    for (size_t m = 0; m < MARKS && line->count > 0; m++) {
        size_t k = (line->count - 1) * (2 * m + 1) / (2 * MARKS) + turn;
        if (k >= line->count) k = line->count - 1;
        hu_svg_mark(page, line->series, hu_axis_scale_at(&p->x, line->x[k]),
                    binades_height_of(p, line->y[k]), 3.6, name, line->label);
    }
}

void hu_chart_binades(hu_page *page, const hu_chart_line *line, size_t count,
                      const hu_binade_axis *axis) {
    binades_plot p = binades_make_plot(line, count, axis);
    hu_svg_begin(page, HU_CHART_WIDTH, HEIGHT, axis->title);
    draw_axes(page, &p, axis);
    for (size_t i = count; i-- > 0;) binades_draw_line(page, &p, &line[i], i);
    hu_svg_end(page);
}

/* ---- chart powers ---- */

/* Curves over numbers that double from one to the next: group sizes, workers. */

enum { PLOT_HEIGHT = 320, MAX_X_TICKS = 10 };

/* x: log2; y: the numbers, or log10 of them. */
typedef struct powers_plot {
    hu_frame frame;
    hu_axis_scale x, y;
    bool is_log;
} powers_plot;

static double powers_height_of(const powers_plot *p, double y) {
    return p->is_log ? log10(y) : y;
}

/* Points that have a place. */
static bool is_shown(const powers_plot *p, const hu_chart_line *line, size_t k) {
    return isfinite(line->y[k]) && line->x[k] > 0.0 && (!p->is_log || line->y[k] > 0.0);
}

/* The nearest 1, 2 or 5 times a power of ten, as log10, not above (-1) or not below (1). */
static double outward(double y, int side) {
    static const double round[] = {0.0, 0.30102999566398120, 0.69897000433601880, 1.0};
    double power = floor(y), part = y - power;
    int at = side < 0 ? 3 : 0;
    if (!isfinite(y)) return y;
    while (side < 0 ? round[at] > part + 1e-9 : round[at] < part - 1e-9) at += side;
    return power + round[at];
}

static powers_plot powers_make_plot(const hu_chart_line *line, size_t count, bool is_log) {
    powers_plot p = {.frame = {66, HU_CHART_WIDTH - 24, 28, PLOT_HEIGHT - 44}, .is_log = is_log};
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < line[i].count; k++) {
            if (!is_shown(&p, &line[i], k)) continue;
            x_low = fmin(x_low, log2(line[i].x[k]));
            x_high = fmax(x_high, log2(line[i].x[k]));
            y_low = fmin(y_low, powers_height_of(&p, line[i].y[k]));
            y_high = fmax(y_high, powers_height_of(&p, line[i].y[k]));
        }
    /* Half a doubling of room, so that no mark lies on the frame. */
    p.x = hu_axis_scale_exact(floor(x_low) - 0.5, ceil(x_high) + 0.5, p.frame.left, p.frame.right);
    p.y = is_log ? hu_axis_scale_exact(outward(y_low, -1), outward(y_high, 1), p.frame.bottom,
                                       p.frame.top)
                 : hu_axis_scale_fit(0.0, y_high, p.frame.bottom, p.frame.top);
    return p;
}

/* A tick at every power of two; every second, third, ... where they are many. */
static void draw_across(hu_page *page, const powers_plot *p, const char *title) {
    int low = (int)ceil(p->x.low), high = (int)floor(p->x.high);
    int every = (high - low) / MAX_X_TICKS + 1;
    for (int n = low; n <= high; n += every) {
        double at = hu_axis_scale_at(&p->x, n);
        hu_svg_line(page, at, p->frame.bottom, at, p->frame.bottom + 5, "axis");
        hu_svg_format(page, at, p->frame.bottom + 19, "tick middle", "%.0f", ldexp(1.0, n));
    }
    hu_svg_line(page, p->frame.left, p->frame.bottom, p->frame.right, p->frame.bottom, "axis");
    hu_svg_text(page, p->frame.right, p->frame.bottom + 37, "title end", title);
}

static void powers_draw_tick(hu_page *page, const powers_plot *p, double at, int digits,
                             double value) {
    double height = hu_axis_scale_at(&p->y, at);
    hu_svg_line(page, p->frame.left, height, p->frame.right, height, "grid");
    if (p->is_log)
        hu_svg_format(page, p->frame.left - 8, height + 4, "tick end", "%g", value);
    else
        hu_svg_format(page, p->frame.left - 8, height + 4, "tick end", "%.*f", digits, value);
}

/* Every power of ten; twice and five times that too where few of them are present. */
static void draw_powers_of_ten(hu_page *page, const powers_plot *p) {
    bool is_fine = p->y.high - p->y.low < 2.5;
    for (int n = (int)floor(p->y.low); n <= (int)ceil(p->y.high); n++)
        for (int m = 1; m <= (is_fine ? 5 : 1); m += m == 1 ? 1 : 3) {
            double at = n + log10(m);
            if (at < p->y.low - 1e-9 || at > p->y.high + 1e-9) continue;
            powers_draw_tick(page, p, at, 0, m * pow(10.0, n));
        }
}

static void draw_up(hu_page *page, const powers_plot *p, const char *title) {
    hu_ticks ticks = hu_axis_scale_ticks(&p->y, 6);
    if (p->is_log)
        draw_powers_of_ten(page, p);
    else
        for (int i = 0; i < ticks.count; i++)
            powers_draw_tick(page, p, ticks.at[i], ticks.digits, ticks.at[i]);
    hu_svg_text(page, 2, 13, "title", title);
}

static void powers_draw_line(hu_page *page, const powers_plot *p, const hu_chart_line *line) {
    char style[64], name[96], tip[256];
    bool is_new = true;
    hu_series_class(line->series, style, sizeof style);
    snprintf(name, sizeof name, "line %s", style);
    hu_svg_path(page, name);
    for (size_t k = 0; k < line->count; k++) {
        if (is_shown(p, line, k))
            hu_svg_point(page, is_new, hu_axis_scale_at(&p->x, log2(line->x[k])),
                         hu_axis_scale_at(&p->y, powers_height_of(p, line->y[k])));
        is_new = !is_shown(p, line, k);
    }
    hu_svg_path_end(page, false, line->label);
    snprintf(name, sizeof name, "mark %s", style);
    for (size_t k = 0; k < line->count; k++) {
        if (!is_shown(p, line, k)) continue;
        snprintf(tip, sizeof tip, "%.150s: %.4g at %.0f", line->label, line->y[k], line->x[k]);
        hu_svg_mark(page, line->series, hu_axis_scale_at(&p->x, log2(line->x[k])),
                    hu_axis_scale_at(&p->y, powers_height_of(p, line->y[k])), 4.5, name, tip);
    }
}

void hu_chart_powers(hu_page *page, const hu_chart_line *line, size_t count, bool is_log,
                     const char *x_title, const char *y_title) {
    powers_plot p = powers_make_plot(line, count, is_log);
    hu_svg_begin(page, HU_CHART_WIDTH, PLOT_HEIGHT, y_title);
    hu_svg_group(page, "axes");
    draw_up(page, &p, y_title);
    draw_across(page, &p, x_title);
    hu_svg_group_end(page);
    for (size_t i = count; i-- > 0;) powers_draw_line(page, &p, &line[i]);
    hu_svg_end(page);
}
