/* render/svg.h - shapes of an inline SVG picture. Colours, fonts and strokes are CSS classes
 * (html.c), so that the page's light or dark scheme reaches them. Lengths in pixels of the
 * picture, y downward; numbers must be finite. A tip is what the mouse shows, NULL: none. */
#ifndef HU_SHOW_SVG_H
#define HU_SHOW_SVG_H
#include <stdbool.h>

#include "render/html.h"

/* The titles that wait for a chart (page.h), where a picture is a file of its own; hu_svg_begin
 * does it, too. */
void hu_svg_put_titles(hu_page *page);

/* Opens a picture that grows and shrinks with the page; label: what it shows, for those who cannot
 * see it. Ends with hu_svg_end. */
void hu_svg_begin(hu_page *page, double width, double height, const char *label);
void hu_svg_end(hu_page *page);

/* A group with a class, for what belongs together. */
void hu_svg_group(hu_page *page, const char *class_name);
void hu_svg_group_end(hu_page *page);

/* A line from (x1, y1) to (x2, y2); a rectangle by its upper left corner. */
void hu_svg_line(hu_page *page, double x1, double y1, double x2, double y2, const char *class_name);
void hu_svg_rect(hu_page *page, double x, double y, double width, double height,
                 const char *class_name, const char *tip);

/* Text at its baseline; the class says "end" or "middle" where x is not its start. */
void hu_svg_text(hu_page *page, double x, double y, const char *class_name, const char *text);

/* hu_svg_text of a printf form. */
void hu_svg_format(hu_page *page, double x, double y, const char *class_name, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));

/* A mark around a point: 0 circle, 1 square, 2 triangle, 3 diamond, 4 cross, 5 triangle downward;
 * other numbers begin again. */
void hu_svg_mark(hu_page *page, int shape, double x, double y, double radius,
                 const char *class_name, const char *tip);

/* A path: begin, then points, then end. is_new starts a new piece. */
void hu_svg_path(hu_page *page, const char *class_name);
void hu_svg_point(hu_page *page, bool is_new, double x, double y);

/* From the point before upright to the height y, then level to x. */
void hu_svg_step(hu_page *page, double x, double y);
void hu_svg_path_end(hu_page *page, bool is_closed, const char *tip);

/* "2" with a raised exponent: "2⁻¹⁰", as text (capacity from 32) and drawn. */
void hu_power_text(int exponent, char *text, size_t capacity);
void hu_svg_power(hu_page *page, double x, double y, const char *class_name, int exponent);

/* Rough width of a text in the pictures' small type, in pixels. */
double hu_svg_text_width(const char *text);

/* hu_svg_text of the beginning of a text, as far as it fits into a width; of the end of one, which
 * tells more of a tensor's name. "…" stands for the rest. */
void hu_svg_text_begin(hu_page *page, double x, double y, const char *class_name, const char *text,
                       double width);
void hu_svg_text_tail(hu_page *page, double x, double y, const char *class_name, const char *text,
                      double width);

/* ---- From numbers to places in a picture, and round numbers for the axis ---- */

/* Numbers low .. high lie linearly on pixels from .. to; to may be the smaller one. */
typedef struct hu_axis_scale {
    double low, high; /* numbers at the ends */
    double from, to;  /* pixels of low and high */
} hu_axis_scale;

enum { HU_TICKS = 24 };

/* Numbers of an axis, ascending. */
typedef struct hu_ticks {
    int count, digits; /* digits after the point that tell them apart */
    double at[HU_TICKS];
} hu_ticks;

/* A scale whose ends are round numbers outside of low..high; equal or unknown ends are spread. */
hu_axis_scale hu_axis_scale_fit(double low, double high, double from, double to);

/* The same with the ends as they are. */
hu_axis_scale hu_axis_scale_exact(double low, double high, double from, double to);

/* Pixels of a value. */
double hu_axis_scale_at(const hu_axis_scale *scale, double value);

/* About `wanted` round numbers inside. */
hu_ticks hu_axis_scale_ticks(const hu_axis_scale *scale, int wanted);

/* Where a chart's axes are: left, right, top, bottom of the plot in pixels. */
typedef struct hu_frame {
    double left, right, top, bottom;
} hu_frame;

/* Room that the numbers of an axis on the left take, with what parts them from the plot. */
double hu_axis_room(const hu_axis_scale *y);

/* Grid lines, numbers and titles of both axes. */
void hu_axes_draw(hu_page *page, const hu_frame *frame, const hu_axis_scale *x, const char *x_title,
                  const hu_axis_scale *y, const char *y_title);

#endif
