/* A metric against memory: marks with ranges, the front as a staircase, names where there is room.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { HEIGHT = 430, PLACES = 8, MAX_BOXES = 256 };

typedef struct box {
    double x, y, width, height;
    bool is_range; /* a thin line, which a name may cross if need be */
} box;

typedef struct layout {
    hu_frame frame;
    hu_scale x, y;
    double sense; /* 1, or -1 where a lower y is better: the axis then grows downwards */
    double least; /* sense x y below it stand at the bottom */
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
    if (wanted->x < frame->left || wanted->x + wanted->width > frame->right + 10) return false;
    if (wanted->y < frame->top - 12 || wanted->y + wanted->height > frame->bottom) return false;
    for (size_t i = 0; i < plot->boxes; i++)
        if (!(may_cross && plot->taken[i].is_range) && overlaps(wanted, &plot->taken[i]))
            return false;
    return true;
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The lowest sense x y drawn to scale. Few points far below the rest would flatten it: they stand
 * at the bottom, with their number. */
static double least_drawn(const hu_chart_point *point, size_t count, double sense) {
    double y[MAX_BOXES];
    size_t n = 0;
    for (size_t i = 0; i < count && n < MAX_BOXES; i++)
        if (!point[i].is_absent) y[n++] = sense * point[i].y;
    if (n == 0) return 0.0;
    qsort(y, n, sizeof *y, descending);
    double spread = fmax(5.0 * (y[0] - y[n / 2]), 2.0);
    while (n > 1 && y[n - 1] < y[0] - spread) n--;
    return y[n - 1];
}

static bool is_below(const layout *plot, const hu_chart_point *point) {
    return !point->is_absent && plot->sense * point->y < plot->least;
}

/* Scales with room for names; points below the plot's lowest get a strip of their own at the
 * bottom. What is better lies above, so that a front always is a staircase upwards. */
static layout make_layout(const hu_chart_point *point, size_t count, double sense) {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    layout plot = {.frame = {58, HU_CHART_WIDTH - 16, 30, HEIGHT - 44},
                   .sense = sense,
                   .least = least_drawn(point, count, sense)};
    bool has_low = false;
    for (size_t i = 0; i < count; i++) {
        x_low = fmin(x_low, point[i].x);
        x_high = fmax(x_high, point[i].x);
        has_low = has_low || point[i].is_absent || is_below(&plot, &point[i]);
        if (point[i].is_absent || is_below(&plot, &point[i])) continue;
        double y = sense * point[i].y, a = sense * point[i].least, b = sense * point[i].most;
        y_low = fmin(y_low, fmin(y, fmin(a, b)));
        y_high = fmax(y_high, fmax(y, fmax(a, b)));
    }
    double x_pad = 0.05 * (x_high - x_low), y_pad = 0.06 * (y_high - y_low);
    y_low -= has_low ? 4.0 * y_pad : y_pad;
    plot.x = hu_scale_exact(x_low - x_pad, x_high + x_pad, plot.frame.left, plot.frame.right);
    y_high += y_pad;
    plot.y = sense > 0.0 ? hu_scale_exact(y_low, y_high, plot.frame.bottom, plot.frame.top)
                         : hu_scale_exact(-y_high, -y_low, plot.frame.top, plot.frame.bottom);
    return plot;
}

/* Points without a y, or far below, stand at the bottom. */
static double y_of(const layout *plot, const hu_chart_point *point) {
    bool is_low = point->is_absent || is_below(plot, point);
    return is_low ? plot->frame.bottom - 9 : hu_scale_at(&plot->y, point->y);
}

/* The front from small to large x: nothing lies left of and above the staircase. */
static void draw_front(hu_page *page, const layout *plot, const hu_chart_point *point,
                       size_t count) {
    double last = -INFINITY, height = 0.0;
    bool is_new = true;
    hu_svg_path(page, "front");
    for (;;) {
        const hu_chart_point *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (point[i].is_front && point[i].x > last && (!next || point[i].x < next->x))
                next = &point[i];
        if (!next) break;
        double x = hu_scale_at(&plot->x, next->x), y = y_of(plot, next);
        hu_svg_point(page, is_new, x, is_new ? plot->frame.bottom : height);
        hu_svg_point(page, false, x, y);
        is_new = false;
        last = next->x;
        height = y;
    }
    if (!is_new) hu_svg_point(page, false, plot->frame.right, height);
    hu_svg_path_end(page, false, NULL);
}

/* The range over seeds; the places of range and mark are taken. */
static void draw_range(hu_page *page, layout *plot, const hu_chart_point *point) {
    char style[64], name[96];
    double x = hu_scale_at(&plot->x, point->x), y = y_of(plot, point);
    bool is_low = point->is_absent || is_below(plot, point);
    take(plot, (box){x - 7, y - 7, 14, 14, false});
    if (!isfinite(point->least) || !isfinite(point->most) || is_low) return;
    double low = hu_scale_at(&plot->y, point->least), high = hu_scale_at(&plot->y, point->most);
    hu_series_class(point->series, style, sizeof style);
    snprintf(name, sizeof name, "range %s", style);
    hu_svg_line(page, x, low, x, high, name);
    if (fabs(low - high) > 4.0)
        take(plot, (box){x - 2, fmin(low, high), 4, fabs(low - high), true});
}

static void draw_mark(hu_page *page, const layout *plot, const hu_chart_point *point) {
    char style[64], name[96];
    int shape = point->is_absent ? 4 : is_below(plot, point) ? 5 : point->series;
    hu_series_class(point->series, style, sizeof style);
    snprintf(name, sizeof name, "mark %s%s", style, point->is_absent ? " absent" : "");
    hu_svg_mark(page, shape, hu_scale_at(&plot->x, point->x), y_of(plot, point),
                point->is_front ? 6.5 : 5.0, name, point->tip);
}

/* Closer than 3 pixels: their marks cannot be told apart, so one name stands for both. */
static bool coincide(const layout *plot, const hu_chart_point *a, const hu_chart_point *b) {
    double dx = hu_scale_at(&plot->x, a->x) - hu_scale_at(&plot->x, b->x);
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
        size_t used = strlen(text);
        if (!coincide(plot, &point[i], &point[own]) || used + 2 > capacity) continue;
        snprintf(text + used, capacity - used, "%s%.60s", used ? ", " : "", point[i].label);
        used = strlen(text);
        if (is_below(plot, &point[i]))
            snprintf(text + used, capacity - used, " %.1f", point[i].y);
        else if (point[i].is_absent)
            snprintf(text + used, capacity - used, " diverged");
    }
}

/* Right, left, above, below, then the corners; no name where all of these are taken. */
static void draw_name(hu_page *page, layout *plot, const hu_chart_point *point, const char *text) {
    double x = hu_scale_at(&plot->x, point->x), y = y_of(plot, point);
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

void hu_chart_points(hu_page *page, const hu_chart_point *point, size_t count,
                     const hu_chart_axes *axes) {
    layout plot = make_layout(point, count, axes->lower_is_better ? -1.0 : 1.0);
    hu_svg_begin(page, HU_CHART_WIDTH, HEIGHT, HU_CHART_LEAST, axes->y_title);
    hu_axes_draw(page, &plot.frame, &plot.x, axes->x_title, &plot.y, axes->y_title);
    draw_front(page, &plot, point, count);
    for (size_t i = 0; i < count; i++) draw_range(page, &plot, &point[i]);
    /* Names are placed when all marks and ranges are known; marks are drawn last, over the lines.
     */
    draw_names(page, &plot, point, count);
    for (size_t i = 0; i < count; i++) draw_mark(page, &plot, &point[i]);
    if (axes->front_title) {
        double x = HU_CHART_WIDTH - 20 - hu_svg_text_width(axes->front_title);
        hu_svg_line(page, x - 36, 9, x - 8, 9, "front");
        hu_svg_text(page, HU_CHART_WIDTH - 16, 13, "name end", axes->front_title);
    }
    hu_svg_end(page);
}
