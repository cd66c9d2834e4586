/* Curves over steps, with rows of ticks below for skipped steps and changes of precision. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { PLOT_HEIGHT = 290, ROW = 15, MAX_POINTS = 200, MAX_TICKS = 1200, MARKS = 6 };

typedef struct plot {
    hu_frame frame;
    hu_scale x, y;
} plot;

/* Whether a run has a row below the plot. */
static bool has_row(const hu_chart_line *line) {
    return line->skipped_count > 0 || line->promoted_count > 0 || !isnan(line->ended);
}

static size_t strip_rows(const hu_chart_line *line, size_t count) {
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) rows += has_row(&line[i]);
    return rows;
}

/* Scales that hold every finite point; `top` cuts the y of a run that explodes. */
static plot make_plot(const hu_chart_line *line, size_t count, double top) {
    double x_high = 1.0, y_low = INFINITY, y_high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < line[i].count; k++) {
            x_high = fmax(x_high, line[i].x[k]);
            const double *least = line[i].least ? line[i].least : line[i].y;
            const double *most = line[i].most ? line[i].most : line[i].y;
            if (!isfinite(line[i].y[k])) continue;
            y_low = fmin(y_low, least[k]);
            y_high = fmax(y_high, most[k]);
        }
    if (isfinite(top)) y_high = fmin(y_high, top);
    plot made = {.frame = {54, HU_CHART_WIDTH - 24, 26, PLOT_HEIGHT - 44}};
    made.y = hu_scale_fit(fmin(y_low, y_high), y_high, made.frame.bottom, made.frame.top);
    made.frame.left = fmax(made.frame.left, hu_axis_room(&made.y));
    made.x = hu_scale_exact(0.0, x_high, made.frame.left, made.frame.right);
    return made;
}

/* Height of a value; what lies outside the plot stands at its edge. */
static double clamped(const plot *p, double value) {
    return hu_scale_at(&p->y, fmin(fmax(value, p->y.low), p->y.high));
}

/* What is drawn of a curve, in pixels. */
typedef struct trace {
    double x[MAX_POINTS + 1], y[MAX_POINTS + 1];
    bool is_new[MAX_POINTS + 1]; /* behind a gap: numbers that are not finite */
    size_t count;
} trace;

/* Every nth point, each the mean of those it stands for, so that a long run stays a small file. y:
 * of the line, or of an edge of its band. */
static void make_trace(const plot *p, const hu_chart_line *line, const double *y, double smooth,
                       trace *made) {
    size_t every = line->count / MAX_POINTS + 1;
    double mean = NAN;
    made->count = 0;
    bool is_new = true;
    for (size_t k = 0; k < line->count; k += every) {
        double sum = 0.0, at = 0.0;
        int used = 0;
        for (size_t j = k; j < line->count && j < k + every; j++) {
            if (!isfinite(y[j])) continue;
            mean = isnan(mean) ? y[j] : smooth * mean + (1.0 - smooth) * y[j];
            sum += mean;
            at += line->x[j];
            used++;
        }
        if (used > 0) {
            made->x[made->count] = hu_scale_at(&p->x, at / used);
            made->y[made->count] = clamped(p, sum / used);
            made->is_new[made->count++] = is_new;
        }
        is_new = used == 0;
    }
}

/* Between the least and the most of a line, behind it. */
static void draw_band(hu_page *page, const plot *p, const hu_chart_line *line, double smooth,
                      const char *style) {
    char name[96];
    trace least, most;
    if (!line->least) return;
    make_trace(p, line, line->least, smooth, &least);
    make_trace(p, line, line->most, smooth, &most);
    snprintf(name, sizeof name, "spread %s", style);
    /* A piece for each stretch without a gap; both edges have the same gaps. */
    for (size_t from = 0, to; from < least.count; from = to) {
        for (to = from + 1; to < least.count && !least.is_new[to]; to++) continue;
        hu_svg_path(page, name);
        for (size_t k = from; k < to; k++) hu_svg_point(page, k == from, most.x[k], most.y[k]);
        for (size_t k = to; k-- > from;) hu_svg_point(page, false, least.x[k], least.y[k]);
        hu_svg_path_end(page, true, NULL);
    }
}

static void draw_trace(hu_page *page, const trace *made, const char *name, const char *tip) {
    hu_svg_path(page, name);
    for (size_t k = 0; k < made->count; k++)
        hu_svg_point(page, made->is_new[k], made->x[k], made->y[k]);
    hu_svg_path_end(page, false, tip);
}

/* A few marks that tell the line from others as the legend does, at places of its own. */
static void draw_few_marks(hu_page *page, const trace *made, const hu_chart_line *line,
                           const char *style) {
    char name[96];
    snprintf(name, sizeof name, "mark %s", style);
    size_t stride = made->count / MARKS + 1;
    for (size_t k = (size_t)line->series % stride; k < made->count; k += stride)
        hu_svg_mark(page, line->series, made->x[k], made->y[k], 3.4, name, line->label);
}

/* A mark at every point, with its numbers as tip. */
static void draw_marks(hu_page *page, const plot *p, const hu_chart_line *line, const char *style) {
    char name[96], tip[256];
    snprintf(name, sizeof name, "mark %s", style);
    for (size_t k = 0; k < line->count; k++) {
        if (!isfinite(line->y[k])) continue;
        snprintf(tip, sizeof tip, "%.150s: %.4g at %.0f", line->label, line->y[k], line->x[k]);
        hu_svg_mark(page, line->series, hu_scale_at(&p->x, line->x[k]), clamped(p, line->y[k]), 3.4,
                    name, tip);
    }
}

/* Where a run diverged: a cross at the height it had. */
static void draw_end(hu_page *page, const plot *p, const hu_chart_line *line, const char *style) {
    char name[96], tip[256];
    double height = p->y.high;
    if (isnan(line->ended)) return;
    for (size_t k = 0; k < line->count; k++)
        if (isfinite(line->y[k])) height = line->y[k];
    snprintf(name, sizeof name, "mark %s", style);
    snprintf(tip, sizeof tip, "%.150s diverged at step %.0f", line->label, line->ended);
    hu_svg_mark(page, 4, hu_scale_at(&p->x, line->ended), clamped(p, height), 6.5, name, tip);
}

/* A curve with its marks; one that is drawn smooth shows its raw points faintly if there is room.
 */
static void draw_line(hu_page *page, const plot *p, const hu_chart_line *line, double smooth,
                      bool is_alone) {
    char style[64], name[96];
    trace made;
    hu_series_class(line->series, style, sizeof style);
    draw_band(page, p, line, smooth, style);
    if (is_alone && smooth > 0.0 && !line->least) {
        snprintf(name, sizeof name, "raw %s", style);
        make_trace(p, line, line->y, 0.0, &made);
        draw_trace(page, &made, name, line->label);
    }
    snprintf(name, sizeof name, "line %s", style);
    make_trace(p, line, line->y, smooth, &made);
    draw_trace(page, &made, name, line->label);
    if (line->has_marks)
        draw_marks(page, p, line, style);
    else
        draw_few_marks(page, &made, line, style);
    draw_end(page, p, line, style);
}

/* A tick for every skipped step, a triangle for every change of precision, in the run's own row. */
static void draw_strip(hu_page *page, const plot *p, const hu_chart_line *line, double y) {
    char style[64], name[96];
    hu_series_class(line->series, style, sizeof style);
    hu_svg_line(page, p->frame.left, y + 5, p->frame.right, y + 5, "grid");
    snprintf(name, sizeof name, "skip %s", style);
    /* Of very many ticks every nth, for the size of the file. */
    size_t every = line->skipped_count / MAX_TICKS + 1;
    for (size_t k = 0; k < line->skipped_count; k += every) {
        double x = hu_scale_at(&p->x, line->skipped[k].x);
        hu_svg_rect(page, x - 0.75, y, 1.5, 10, name, line->skipped[k].tip);
    }
    snprintf(name, sizeof name, "mark %s", style);
    every = line->promoted_count / MAX_TICKS + 1;
    for (size_t k = 0; k < line->promoted_count; k += every)
        hu_svg_mark(page, 2, hu_scale_at(&p->x, line->promoted[k].x), y + 5, 4.0, name,
                    line->promoted[k].tip);
    if (!isnan(line->ended))
        hu_svg_mark(page, 4, hu_scale_at(&p->x, line->ended), y + 5, 5.0, name, line->label);
}

/* What the signs of the rows are, of those that are there. */
static void draw_strip_title(hu_page *page, const hu_chart_line *line, size_t count) {
    bool skipped = false, promoted = false, ended = false;
    for (size_t i = 0; i < count; i++) {
        skipped = skipped || line[i].skipped_count > 0;
        promoted = promoted || line[i].promoted_count > 0;
        ended = ended || !isnan(line[i].ended);
    }
    hu_svg_format(page, 2, PLOT_HEIGHT + 8, "title", "%s%s%s", skipped ? "| skipped steps   " : "",
                  promoted ? "▲ changes of precision   " : "", ended ? "✕ diverged" : "");
}

/* Below the plot, a row for each run that had something to tell. */
static void draw_strips(hu_page *page, const plot *p, const hu_chart_line *line, size_t count) {
    double y = PLOT_HEIGHT + 18;
    if (strip_rows(line, count) == 0) return;
    draw_strip_title(page, line, count);
    for (size_t i = 0; i < count; i++) {
        if (!has_row(&line[i])) continue;
        hu_svg_format(page, p->frame.left - 8, y + 9, "tick end", "%zu",
                      line[i].skipped_count + line[i].promoted_count);
        draw_strip(page, p, &line[i], y);
        y += ROW;
    }
}

void hu_chart_lines(hu_page *page, const hu_chart_line *line, size_t count, double smooth,
                    double top, const char *x_title, const char *y_title) {
    plot p = make_plot(line, count, top);
    size_t rows = strip_rows(line, count);
    double height = PLOT_HEIGHT + (rows ? 24.0 + ROW * (double)rows : 0.0);
    hu_svg_begin(page, HU_CHART_WIDTH, height, y_title);
    hu_axes_draw(page, &p.frame, &p.x, x_title, &p.y, y_title);
    /* The first run is drawn last, so that it lies on top. */
    for (size_t i = count; i-- > 0;) draw_line(page, &p, &line[i], smooth, count <= 2);
    draw_strips(page, &p, line, count);
    hu_svg_end(page);
}
