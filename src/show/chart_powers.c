/* Curves over numbers that double from one to the next: group sizes, workers. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { PLOT_HEIGHT = 320, MAX_X_TICKS = 10 };

/* x: log2; y: the numbers, or log10 of them. */
typedef struct plot {
    hu_frame frame;
    hu_scale x, y;
    bool is_log;
} plot;

static double height_of(const plot *p, double y) {
    return p->is_log ? log10(y) : y;
}

/* Points that have a place. */
static bool is_shown(const plot *p, const hu_chart_line *line, size_t k) {
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

static plot make_plot(const hu_chart_line *line, size_t count, bool is_log) {
    plot p = {.frame = {66, HU_CHART_WIDTH - 24, 28, PLOT_HEIGHT - 44}, .is_log = is_log};
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < line[i].count; k++) {
            if (!is_shown(&p, &line[i], k)) continue;
            x_low = fmin(x_low, log2(line[i].x[k]));
            x_high = fmax(x_high, log2(line[i].x[k]));
            y_low = fmin(y_low, height_of(&p, line[i].y[k]));
            y_high = fmax(y_high, height_of(&p, line[i].y[k]));
        }
    /* Half a doubling of room, so that no mark lies on the frame. */
    p.x = hu_scale_exact(floor(x_low) - 0.5, ceil(x_high) + 0.5, p.frame.left, p.frame.right);
    p.y = is_log
              ? hu_scale_exact(outward(y_low, -1), outward(y_high, 1), p.frame.bottom, p.frame.top)
              : hu_scale_fit(0.0, y_high, p.frame.bottom, p.frame.top);
    return p;
}

/* A tick at every power of two; every second, third, ... where they are many. */
static void draw_across(hu_page *page, const plot *p, const char *title) {
    int low = (int)ceil(p->x.low), high = (int)floor(p->x.high);
    int every = (high - low) / MAX_X_TICKS + 1;
    for (int n = low; n <= high; n += every) {
        double at = hu_scale_at(&p->x, n);
        hu_svg_line(page, at, p->frame.bottom, at, p->frame.bottom + 5, "axis");
        hu_svg_format(page, at, p->frame.bottom + 19, "tick middle", "%.0f", ldexp(1.0, n));
    }
    hu_svg_line(page, p->frame.left, p->frame.bottom, p->frame.right, p->frame.bottom, "axis");
    hu_svg_text(page, p->frame.right, p->frame.bottom + 37, "title end", title);
}

static void draw_tick(hu_page *page, const plot *p, double at, int digits, double value) {
    double height = hu_scale_at(&p->y, at);
    hu_svg_line(page, p->frame.left, height, p->frame.right, height, "grid");
    if (p->is_log)
        hu_svg_format(page, p->frame.left - 8, height + 4, "tick end", "%g", value);
    else
        hu_svg_format(page, p->frame.left - 8, height + 4, "tick end", "%.*f", digits, value);
}

/* Every power of ten; twice and five times that too where few of them are there. */
static void draw_powers_of_ten(hu_page *page, const plot *p) {
    bool is_fine = p->y.high - p->y.low < 2.5;
    for (int n = (int)floor(p->y.low); n <= (int)ceil(p->y.high); n++)
        for (int m = 1; m <= (is_fine ? 5 : 1); m += m == 1 ? 1 : 3) {
            double at = n + log10(m);
            if (at < p->y.low - 1e-9 || at > p->y.high + 1e-9) continue;
            draw_tick(page, p, at, 0, m * pow(10.0, n));
        }
}

static void draw_up(hu_page *page, const plot *p, const char *title) {
    hu_ticks ticks = hu_scale_ticks(&p->y, 6);
    if (p->is_log)
        draw_powers_of_ten(page, p);
    else
        for (int i = 0; i < ticks.count; i++)
            draw_tick(page, p, ticks.at[i], ticks.digits, ticks.at[i]);
    hu_svg_text(page, 2, 13, "title", title);
}

static void draw_line(hu_page *page, const plot *p, const hu_chart_line *line) {
    char style[64], name[96], tip[256];
    bool is_new = true;
    hu_series_class(line->series, style, sizeof style);
    snprintf(name, sizeof name, "line %s", style);
    hu_svg_path(page, name);
    for (size_t k = 0; k < line->count; k++) {
        if (is_shown(p, line, k))
            hu_svg_point(page, is_new, hu_scale_at(&p->x, log2(line->x[k])),
                         hu_scale_at(&p->y, height_of(p, line->y[k])));
        is_new = !is_shown(p, line, k);
    }
    hu_svg_path_end(page, false, line->label);
    snprintf(name, sizeof name, "mark %s", style);
    for (size_t k = 0; k < line->count; k++) {
        if (!is_shown(p, line, k)) continue;
        snprintf(tip, sizeof tip, "%.150s: %.4g at %.0f", line->label, line->y[k], line->x[k]);
        hu_svg_mark(page, line->series, hu_scale_at(&p->x, log2(line->x[k])),
                    hu_scale_at(&p->y, height_of(p, line->y[k])), 4.5, name, tip);
    }
}

void hu_chart_powers(hu_page *page, const hu_chart_line *line, size_t count, bool is_log,
                     const char *x_title, const char *y_title) {
    plot p = make_plot(line, count, is_log);
    hu_svg_begin(page, HU_CHART_WIDTH, PLOT_HEIGHT, y_title);
    hu_svg_group(page, "axes");
    draw_up(page, &p, y_title);
    draw_across(page, &p, x_title);
    hu_svg_group_end(page);
    for (size_t i = count; i-- > 0;) draw_line(page, &p, &line[i]);
    hu_svg_end(page);
}
