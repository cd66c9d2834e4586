/* A metric against memory: marks with ranges, the front as a staircase, names where there is room.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { HEIGHT = 380, PLACES = 8, MAX_BOXES = 512, STRIP = 34 };

typedef struct box {
    double x, y, width, height;
    bool is_range; /* a thin line, which a name may cross if need be */
} box;

typedef struct layout {
    hu_frame frame;
    hu_scale x, y;
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
    plot.y = sense > 0.0 ? hu_scale_exact(y_low, y_high, plot.frame.bottom, plot.frame.top)
                         : hu_scale_exact(-y_high, -y_low, plot.frame.top, plot.frame.bottom);
    plot.frame.left = fmax(plot.frame.left, hu_axis_room(&plot.y));
    plot.x = hu_scale_exact(x_low - x_pad, x_high + x_pad, plot.frame.left, plot.frame.right);
    return plot;
}

/* Points without a y, or far below, stand in the strip, above its words. */
static double y_of(const layout *plot, const hu_chart_point *point) {
    return is_low(point) ? plot->frame.bottom + STRIP - 11 : hu_scale_at(&plot->y, point->y);
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
        double x = hu_scale_at(&plot->x, next->x), y = y_of(plot, next);
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
    double x = hu_scale_at(&plot->x, point->x), y = y_of(plot, point);
    take(plot, (box){x - 7, y - 7, 14, 14, false});
    if (!(fabs(point->most - point->least) > 0.0) || is_low(point)) return;
    double low = hu_scale_at(&plot->y, point->least), high = hu_scale_at(&plot->y, point->most);
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
    hu_svg_mark(page, point->series, hu_scale_at(&plot->x, point->x), y_of(plot, point),
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
        if (point[i].is_absent)
            snprintf(text + used, capacity - used, " diverged");
        else if (point[i].is_far)
            snprintf(text + used, capacity - used, ": %.1f", point[i].y);
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

/* The strip below the axis, and what it is. */
static void draw_strip(hu_page *page, const layout *plot) {
    const hu_frame *frame = &plot->frame;
    hu_svg_rect(page, frame->left, frame->bottom + 1, frame->right - frame->left, STRIP - 1,
                "strip", NULL);
    hu_svg_text(page, frame->left + 4, frame->bottom + 12, "tick", "far below, or diverged:");
}

/* Axes whose numbers stand below the strip. */
static void draw_axes(hu_page *page, const layout *plot, const hu_chart_axes *axes,
                      bool has_front) {
    hu_frame frame = plot->frame;
    if (plot->has_low) draw_strip(page, plot);
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
