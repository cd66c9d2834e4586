/* Accuracy against memory: marks with ranges, the front as a staircase, names where there is room.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/chart.h"
#include "report/scale.h"
#include "report/svg.h"

enum { HEIGHT = 430, PLACES = 8, MAX_BOXES = 256 };

typedef struct box {
    double x, y, width, height;
} box;

typedef struct layout {
    hu_frame frame;
    hu_scale x, y;
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

static bool is_free(const layout *plot, const box *wanted) {
    const hu_frame *frame = &plot->frame;
    if (wanted->x < frame->left || wanted->x + wanted->width > frame->right + 10) return false;
    if (wanted->y < frame->top - 12 || wanted->y + wanted->height > frame->bottom) return false;
    for (size_t i = 0; i < plot->boxes; i++)
        if (overlaps(wanted, &plot->taken[i])) return false;
    return true;
}

static layout make_layout(const hu_chart_point *point, size_t count) {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        x_low = fmin(x_low, point[i].x);
        x_high = fmax(x_high, point[i].x);
        if (point[i].is_absent) continue;
        y_low = fmin(y_low, fmin(point[i].y, point[i].least));
        y_high = fmax(y_high, fmax(point[i].y, point[i].most));
    }
    layout plot = {.frame = {58, HU_CHART_WIDTH - 16, 30, HEIGHT - 44}};
    double pad = 0.04 * (x_high - x_low);
    plot.x = hu_scale_fit(x_low - pad, x_high + pad, plot.frame.left, plot.frame.right);
    plot.y = hu_scale_fit(y_low, y_high, plot.frame.bottom, plot.frame.top);
    return plot;
}

static double y_of(const layout *plot, const hu_chart_point *point) {
    return point->is_absent ? plot->frame.bottom - 8 : hu_scale_at(&plot->y, point->y);
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

static void draw_point(hu_page *page, layout *plot, const hu_chart_point *point) {
    char style[64], name[96];
    double x = hu_scale_at(&plot->x, point->x), y = y_of(plot, point);
    hu_series_class(point->series, style, sizeof style);
    if (isfinite(point->least) && isfinite(point->most) && !point->is_absent) {
        double low = hu_scale_at(&plot->y, point->least);
        double high = hu_scale_at(&plot->y, point->most);
        snprintf(name, sizeof name, "range %s", style);
        hu_svg_line(page, x, low, x, high, name);
        if (low - high > 4.0) take(plot, (box){x - 1, high, 2, low - high});
    }
    snprintf(name, sizeof name, "mark %s%s", style, point->is_absent ? " absent" : "");
    hu_svg_mark(page, point->is_absent ? 4 : point->series, x, y, point->is_front ? 6.5 : 5.0, name,
                point->tip);
    take(plot, (box){x - 6, y - 6, 12, 12});
}

/* Right, left, above, below, then the corners; no name where all of these are taken. */
static void draw_name(hu_page *page, layout *plot, const hu_chart_point *point) {
    double x = hu_scale_at(&plot->x, point->x), y = y_of(plot, point);
    double width = hu_svg_text_width(point->label), height = 14.0;
    const double dx[PLACES] = {10, -width - 10, -width / 2, -width / 2,
                               8,  8,           -width - 8, -width - 8};
    const double dy[PLACES] = {-7, -7, -22, 9, -19, 6, -19, 6};
    for (int i = 0; i < PLACES; i++) {
        box wanted = {x + dx[i], y + dy[i], width, height};
        if (!is_free(plot, &wanted)) continue;
        take(plot, wanted);
        hu_svg_text(page, wanted.x, wanted.y + 11, point->is_front ? "name strong" : "name",
                    point->label);
        return;
    }
}

void hu_chart_points(hu_page *page, const hu_chart_point *point, size_t count, const char *x_title,
                     const char *y_title, const char *front_title) {
    layout plot = make_layout(point, count);
    hu_svg_begin(page, HU_CHART_WIDTH, HEIGHT, HU_CHART_LEAST, y_title);
    hu_axes_draw(page, &plot.frame, &plot.x, x_title, &plot.y, y_title);
    draw_front(page, &plot, point, count);
    for (size_t i = 0; i < count; i++) draw_point(page, &plot, &point[i]);
    for (int front = 1; front >= 0; front--)
        for (size_t i = 0; i < count; i++)
            if (point[i].is_front == (front == 1)) draw_name(page, &plot, &point[i]);
    hu_svg_line(page, HU_CHART_WIDTH - 200, 9, HU_CHART_WIDTH - 172, 9, "front");
    hu_svg_text(page, HU_CHART_WIDTH - 166, 13, "name", front_title);
    hu_svg_end(page);
}
