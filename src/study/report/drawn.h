/* report/drawn.h - SVG files drawn as PDF and PNG, by a module that is loaded when it is asked for:
 * librsvg and cairo bring thirty libraries along, which other calls of the program do without. The
 * module sees nothing of the program but this header. */
#ifndef HU_REPORT_DRAWN_H
#define HU_REPORT_DRAWN_H
#include <stddef.h>

/* Changes with what follows: a module of another build is refused. */
#define HU_DRAWN_VERSION 1u

#define HU_DRAWN_FUNCTION "hu_draw_figures"
enum { HU_DRAWN_PDF, HU_DRAWN_PNG, HU_DRAWN_ERROR = 256 };

/* One picture; width and height as its own head says, in pixels of 1/96 inch. */
typedef struct hu_drawn_figure {
    const char *svg; /* borrowed */
    size_t bytes;
    double width, height;
} hu_drawn_figure;

/* Takes bytes of the file in their order; returns 0, or another number to end it. */
typedef int hu_drawn_put(void *context, const unsigned char *data, unsigned bytes);

/* Draws figures: a PDF has a page for each, a PNG one figure, with two dots for each pixel. Returns
 * 0, or another number and why in error. */
typedef int hu_draw_figures_fn(unsigned version, int form, const hu_drawn_figure *figure,
                               size_t count, hu_drawn_put *put, void *context,
                               char error[HU_DRAWN_ERROR]);
#endif
