/* show/svg.h - shapes of an inline SVG picture. Colours, fonts and strokes are CSS classes
 * (html_style.c), so that the page's light or dark scheme reaches them. Lengths in pixels of the
 * picture, y downward; numbers must be finite. A tip is what the mouse shows, NULL: none. */
#ifndef HU_SHOW_SVG_H
#define HU_SHOW_SVG_H
#include <stdbool.h>

#include "show/page.h"

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

#endif
