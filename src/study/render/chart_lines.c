#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "render/chart.h"
#include "render/svg.h"

/* ---- chart lines ---- */

/* Curves over steps, with rows of ticks below for skipped steps and changes of precision. */

enum { PLOT_HEIGHT = 290, ROW = 15, MAX_POINTS = 200, MAX_TICKS = 1200, MARKS = 6 };

typedef struct line_plot {
    hu_frame frame;
    hu_axis_scale x, y;
} line_plot;

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
static line_plot make_plot(const hu_chart_line *line, size_t count, double top) {
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
    line_plot made = {.frame = {54, HU_CHART_WIDTH - 24, 26, PLOT_HEIGHT - 44}};
    made.y = hu_axis_scale_fit(fmin(y_low, y_high), y_high, made.frame.bottom, made.frame.top);
    made.frame.left = fmax(made.frame.left, hu_axis_room(&made.y));
    made.x = hu_axis_scale_exact(0.0, x_high, made.frame.left, made.frame.right);
    return made;
}

/* Height of a value; what lies outside the plot stands at its edge. */
static double clamped(const line_plot *p, double value) {
    return hu_axis_scale_at(&p->y, fmin(fmax(value, p->y.low), p->y.high));
}

/* What is drawn of a curve, in pixels. */
typedef struct trace {
    double x[MAX_POINTS + 1], y[MAX_POINTS + 1];
    bool is_new[MAX_POINTS + 1]; /* after a gap: numbers that are not finite */
    size_t count;
} trace;

/* Every nth point, each the mean of those it stands for, so that a long run stays a small file. y:
 * of the line, or of an edge of its band. */
static void make_trace(const line_plot *p, const hu_chart_line *line, const double *y,
                       double smooth, trace *made) {
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
            made->x[made->count] = hu_axis_scale_at(&p->x, at / used);
            made->y[made->count] = clamped(p, sum / used);
            made->is_new[made->count++] = is_new;
        }
        is_new = used == 0;
    }
}

/* Between the least and the most of a line, after it. */
static void draw_band(hu_page *page, const line_plot *p, const hu_chart_line *line, double smooth,
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
static void draw_marks(hu_page *page, const line_plot *p, const hu_chart_line *line,
                       const char *style) {
    char name[96], tip[256];
    snprintf(name, sizeof name, "mark %s", style);
    for (size_t k = 0; k < line->count; k++) {
        if (!isfinite(line->y[k])) continue;
        snprintf(tip, sizeof tip, "%.150s: %.4g at %.0f", line->label, line->y[k], line->x[k]);
        hu_svg_mark(page, line->series, hu_axis_scale_at(&p->x, line->x[k]), clamped(p, line->y[k]),
                    3.4, name, tip);
    }
}

/* Where a run diverged: a cross at the height it had. */
static void draw_end(hu_page *page, const line_plot *p, const hu_chart_line *line,
                     const char *style) {
    char name[96], tip[256];
    double height = p->y.high;
    if (isnan(line->ended)) return;
    for (size_t k = 0; k < line->count; k++)
        if (isfinite(line->y[k])) height = line->y[k];
    snprintf(name, sizeof name, "mark %s", style);
    snprintf(tip, sizeof tip, "%.150s diverged at step %.0f", line->label, line->ended);
    hu_svg_mark(page, 4, hu_axis_scale_at(&p->x, line->ended), clamped(p, height), 6.5, name, tip);
}

/* A curve with its marks; one that is drawn smooth shows its raw points faintly if there is room.
 */
static void draw_line(hu_page *page, const line_plot *p, const hu_chart_line *line, double smooth,
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
static void draw_strip(hu_page *page, const line_plot *p, const hu_chart_line *line, double y) {
    char style[64], name[96];
    hu_series_class(line->series, style, sizeof style);
    hu_svg_line(page, p->frame.left, y + 5, p->frame.right, y + 5, "grid");
    snprintf(name, sizeof name, "skip %s", style);
    /* Of very many ticks every nth, for the size of the file. */
    size_t every = line->skipped_count / MAX_TICKS + 1;
    for (size_t k = 0; k < line->skipped_count; k += every) {
        double x = hu_axis_scale_at(&p->x, line->skipped[k].x);
        hu_svg_rect(page, x - 0.75, y, 1.5, 10, name, line->skipped[k].tip);
    }
    snprintf(name, sizeof name, "mark %s", style);
    every = line->promoted_count / MAX_TICKS + 1;
    for (size_t k = 0; k < line->promoted_count; k += every)
        hu_svg_mark(page, 2, hu_axis_scale_at(&p->x, line->promoted[k].x), y + 5, 4.0, name,
                    line->promoted[k].tip);
    if (!isnan(line->ended))
        hu_svg_mark(page, 4, hu_axis_scale_at(&p->x, line->ended), y + 5, 5.0, name, line->label);
}

/* What the signs of the rows are, of those that are present. */
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
static void draw_strips(hu_page *page, const line_plot *p, const hu_chart_line *line,
                        size_t count) {
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
    line_plot p = make_plot(line, count, top);
    size_t rows = strip_rows(line, count);
    double height = PLOT_HEIGHT + (rows ? 24.0 + ROW * (double)rows : 0.0);
    hu_svg_begin(page, HU_CHART_WIDTH, height, y_title);
    hu_axes_draw(page, &p.frame, &p.x, x_title, &p.y, y_title);
    /* The first run is drawn last, so that it lies on top. */
    for (size_t i = count; i-- > 0;) draw_line(page, &p, &line[i], smooth, count <= 2);
    draw_strips(page, &p, line, count);
    hu_svg_end(page);
}

/* ---- chart points ---- */

/* A metric against memory: marks with ranges, the front as a staircase, names where there is room.
 */

enum { HEIGHT = 380, PLACES = 8, MAX_BOXES = 512, STRIP = 34 };

typedef struct box {
    double x, y, width, height;
    bool is_range; /* a thin line, which a name may cross if need be */
} box;

typedef struct layout {
    hu_frame frame;
    hu_axis_scale x, y;
    double sense; /* 1, or -1 where a lower y is better: the axis then grows downwards */
    bool has_low; /* a strip at the bottom for points without a place on the axis */
    box taken[MAX_BOXES];
    size_t boxes;
} layout;

static bool overlaps(const box *a, const box *b) {
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

static void take(layout *plot, box made) {
    if (plot->boxes < MAX_BOXES) plot->taken[plot->boxes++] = made;
}

/* Whether a name fits there: inside the plot and over nothing that is taken. */
static bool is_free(const layout *plot, const box *wanted, bool may_cross) {
    const hu_frame *frame = &plot->frame;
    double bottom = frame->bottom + (plot->has_low ? STRIP : 0);
    if (wanted->x < frame->left || wanted->x + wanted->width > frame->right) return false;
    if (wanted->y < frame->top - 6 || wanted->y + wanted->height > bottom) return false;
    for (size_t i = 0; i < plot->boxes; i++)
        if (!(may_cross && plot->taken[i].is_range) && overlaps(wanted, &plot->taken[i]))
            return false;
    return true;
}

static bool is_low(const hu_chart_point *point) {
    return point->is_absent || point->is_far;
}

/* Scales with room for names; points that diverged, or are far below the rest, get a strip of
 * their own at the bottom. What is better lies above, so that a front always is a staircase
 * upwards. Numbers that hardly differ do not fill the picture: their axis has a unit at least. */
static layout make_layout(const hu_chart_point *point, size_t count, double sense) {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    layout plot = {.frame = {52, HU_CHART_WIDTH - 24, 26, HEIGHT - 62}, .sense = sense};
    for (size_t i = 0; i < count; i++) {
        x_low = fmin(x_low, point[i].x);
        x_high = fmax(x_high, point[i].x);
        plot.has_low = plot.has_low || is_low(&point[i]);
        if (is_low(&point[i])) continue;
        double y = sense * point[i].y, a = sense * point[i].least, b = sense * point[i].most;
        y_low = fmin(y_low, fmin(y, fmin(a, b)));
        y_high = fmax(y_high, fmax(y, fmax(a, b)));
    }
    double x_pad = 0.06 * (x_high - x_low), y_pad = 0.06 * (y_high - y_low);
    if (y_high - y_low < 1.0) y_pad = 0.5 * (1.0 - (y_high - y_low));
    if (plot.has_low) plot.frame.bottom -= STRIP;
    y_low -= y_pad;
    y_high += y_pad;
    plot.y = sense > 0.0 ? hu_axis_scale_exact(y_low, y_high, plot.frame.bottom, plot.frame.top)
                         : hu_axis_scale_exact(-y_high, -y_low, plot.frame.top, plot.frame.bottom);
    plot.frame.left = fmax(plot.frame.left, hu_axis_room(&plot.y));
    plot.x = hu_axis_scale_exact(x_low - x_pad, x_high + x_pad, plot.frame.left, plot.frame.right);
    return plot;
}

/* Points without a y, or far below, stand in the strip, above its words. */
static double y_of(const layout *plot, const hu_chart_point *point) {
    return is_low(point) ? plot->frame.bottom + STRIP - 11 : hu_axis_scale_at(&plot->y, point->y);
}

/* Names keep off the dashed line. */
static void take_piece(layout *plot, double x, double y, double to_x, double to_y) {
    take(plot,
         (box){fmin(x, to_x) - 2, fmin(y, to_y) - 2, fabs(to_x - x) + 4, fabs(to_y - y) + 4, true});
}

/* The front from small to large x: nothing lies left of and above the staircase. */
static void draw_front(hu_page *page, layout *plot, const hu_chart_point *point, size_t count) {
    double last = -INFINITY, height = 0.0, before = 0.0;
    bool is_new = true;
    hu_svg_path(page, "front");
    for (;;) {
        const hu_chart_point *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (point[i].is_front && point[i].x > last && (!next || point[i].x < next->x))
                next = &point[i];
        if (!next) break;
        double x = hu_axis_scale_at(&plot->x, next->x), y = y_of(plot, next);
        hu_svg_point(page, is_new, x, is_new ? plot->frame.bottom : height);
        hu_svg_point(page, false, x, y);
        if (!is_new) take_piece(plot, before, height, x, height);
        take_piece(plot, x, is_new ? plot->frame.bottom : height, x, y);
        is_new = false;
        last = next->x;
        before = x;
        height = y;
    }
    if (!is_new) hu_svg_point(page, false, plot->frame.right, height);
    if (!is_new) take_piece(plot, before, height, plot->frame.right, height);
    hu_svg_path_end(page, false, NULL);
}

/* The range over seeds, with caps; the places of range and mark are taken. */
static void draw_range(hu_page *page, layout *plot, const hu_chart_point *point) {
    enum { CAP = 4 };
    char style[64], name[96];
    double x = hu_axis_scale_at(&plot->x, point->x), y = y_of(plot, point);
    take(plot, (box){x - 7, y - 7, 14, 14, false});
    if (!(fabs(point->most - point->least) > 0.0) || is_low(point)) return;
    double low = hu_axis_scale_at(&plot->y, point->least),
           high = hu_axis_scale_at(&plot->y, point->most);
    hu_series_class(point->series, style, sizeof style);
    snprintf(name, sizeof name, "range %s", style);
    hu_svg_line(page, x, low, x, high, name);
    snprintf(name, sizeof name, "cap %s", style);
    hu_svg_line(page, x - CAP, low, x + CAP, low, name);
    hu_svg_line(page, x - CAP, high, x + CAP, high, name);
    if (fabs(low - high) > 4.0)
        take(plot, (box){x - 2, fmin(low, high), 4, fabs(low - high), true});
}

/* The mark that the legend has, wherever the point lies. */
static void draw_mark(hu_page *page, const layout *plot, const hu_chart_point *point) {
    char style[64], name[96];
    hu_series_class(point->series, style, sizeof style);
    snprintf(name, sizeof name, "mark %s%s", style, point->is_absent ? " absent" : "");
    hu_svg_mark(page, point->series, hu_axis_scale_at(&plot->x, point->x), y_of(plot, point),
                point->is_front ? 6.5 : 5.0, name, point->tip);
}

/* Closer than 3 pixels: their marks cannot be told apart, so one name stands for both. */
static bool coincide(const layout *plot, const hu_chart_point *a, const hu_chart_point *b) {
    double dx = hu_axis_scale_at(&plot->x, a->x) - hu_axis_scale_at(&plot->x, b->x);
    double dy = y_of(plot, a) - y_of(plot, b);
    return a->is_front == b->is_front && dx * dx + dy * dy < 9.0;
}

/* Names of the point and of those that lie on it; "" if an earlier one has named it. */
static void make_text(const layout *plot, const hu_chart_point *point, size_t count, size_t own,
                      char *text, size_t capacity) {
    text[0] = '\0';
    for (size_t i = 0; i < own; i++)
        if (coincide(plot, &point[i], &point[own])) return;
    for (size_t i = own; i < count; i++) {
        if (!coincide(plot, &point[i], &point[own])) continue;
        hu_note_add(text, capacity, ", ", "%.60s", point[i].label);
        if (point[i].is_absent)
            hu_note_add(text, capacity, "", " diverged");
        else if (point[i].is_far)
            hu_note_add(text, capacity, "", ": %.1f", point[i].y);
    }
}

/* Right, left, above, below, then the corners; no name where all of these are taken. */
static void draw_name(hu_page *page, layout *plot, const hu_chart_point *point, const char *text) {
    double x = hu_axis_scale_at(&plot->x, point->x), y = y_of(plot, point);
    double width = hu_svg_text_width(text) * (point->is_front ? 1.06 : 1.0), height = 14.0;
    const double dx[PLACES] = {10, -width - 10, -width / 2, -width / 2,
                               8,  8,           -width - 8, -width - 8};
    const double dy[PLACES] = {-7, -7, -22, 9, -19, 6, -19, 6};
    char name[32];
    for (int i = 0; *text && i < 2 * PLACES; i++) {
        box wanted = {x + dx[i % PLACES], y + dy[i % PLACES], width, height, false};
        if (!is_free(plot, &wanted, i >= PLACES)) continue;
        take(plot, wanted);
        double side = dx[i % PLACES] > 0.0 ? 0.0 : dx[i % PLACES] < -width ? 1.0 : 0.5;
        snprintf(name, sizeof name, "name%s%s", point->is_front ? " strong" : "",
                 side == 0.0   ? ""
                 : side == 1.0 ? " end"
                               : " middle");
        hu_svg_text(page, wanted.x + side * width, wanted.y + 11, name, text);
        return;
    }
}

static void draw_names(hu_page *page, layout *plot, const hu_chart_point *point, size_t count) {
    char text[200];
    /* Points of the front choose their places first. */
    for (int front = 1; front >= 0; front--)
        for (size_t i = 0; i < count; i++) {
            if (point[i].is_front != (front == 1)) continue;
            make_text(plot, point, count, i, text, sizeof text);
            draw_name(page, plot, &point[i], text);
        }
}

/* The strip below the axis, and what it is. */
static void points_draw_strip(hu_page *page, const layout *plot) {
    const hu_frame *frame = &plot->frame;
    hu_svg_rect(page, frame->left, frame->bottom + 1, frame->right - frame->left, STRIP - 1,
                "strip", NULL);
    hu_svg_text(page, frame->left + 4, frame->bottom + 12, "tick", "far below, or diverged:");
}

/* Axes whose numbers stand below the strip. */
static void draw_axes(hu_page *page, const layout *plot, const hu_chart_axes *axes,
                      bool has_front) {
    hu_frame frame = plot->frame;
    if (plot->has_low) points_draw_strip(page, plot);
    if (plot->has_low) frame.bottom += STRIP;
    hu_axes_draw(page, &frame, &plot->x, axes->x_title, &plot->y, axes->y_title);
    if (!axes->front_title || !has_front) return;
    hu_svg_line(page, 2, HEIGHT - 9, 30, HEIGHT - 9, "front");
    hu_svg_text(page, 38, HEIGHT - 5, "title", axes->front_title);
}

void hu_chart_points(hu_page *page, const hu_chart_point *point, size_t count,
                     const hu_chart_axes *axes) {
    layout plot = make_layout(point, count, axes->lower_is_better ? -1.0 : 1.0);
    hu_svg_begin(page, HU_CHART_WIDTH, HEIGHT, axes->y_title);
    bool has_front = false;
    for (size_t i = 0; i < count; i++) has_front = has_front || point[i].is_front;
    draw_axes(page, &plot, axes, has_front);
    if (plot.has_low) take(&plot, (box){plot.frame.left, plot.frame.bottom, 150, 14, false});
    draw_front(page, &plot, point, count);
    for (size_t i = 0; i < count; i++) draw_range(page, &plot, &point[i]);
    /* Names are placed when all marks and ranges are known; marks are drawn last, over the lines.
     */
    draw_names(page, &plot, point, count);
    for (size_t i = 0; i < count; i++) draw_mark(page, &plot, &point[i]);
    hu_svg_end(page);
}
