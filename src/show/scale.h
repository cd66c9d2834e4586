/* show/scale.h - from numbers to places in a picture, and round numbers for the axis. */
#ifndef HU_SHOW_SCALE_H
#define HU_SHOW_SCALE_H
#include "show/page.h"

/* Numbers low .. high lie linearly on pixels from .. to; to may be the smaller one. */
typedef struct hu_scale {
    double low, high; /* numbers at the ends */
    double from, to;  /* pixels of low and high */
} hu_scale;

enum { HU_TICKS = 24 };

/* Numbers of an axis, ascending. */
typedef struct hu_ticks {
    int count, digits; /* digits behind the point that tell them apart */
    double at[HU_TICKS];
} hu_ticks;

/* A scale whose ends are round numbers outside of low..high; equal or unknown ends are spread. */
hu_scale hu_scale_fit(double low, double high, double from, double to);

/* The same with the ends as they are. */
hu_scale hu_scale_exact(double low, double high, double from, double to);

/* Pixels of a value. */
double hu_scale_at(const hu_scale *scale, double value);

/* About `wanted` round numbers inside. */
hu_ticks hu_scale_ticks(const hu_scale *scale, int wanted);

/* Where a chart's axes are: left, right, top, bottom of the plot in pixels. */
typedef struct hu_frame {
    double left, right, top, bottom;
} hu_frame;

/* Room that the numbers of an axis on the left take, with what parts them from the plot. */
double hu_axis_room(const hu_scale *y);

/* Grid lines, numbers and titles of both axes. */
void hu_axes_draw(hu_page *page, const hu_frame *frame, const hu_scale *x, const char *x_title,
                  const hu_scale *y, const char *y_title);

#endif
