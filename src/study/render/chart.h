/* render/chart.h - charts: their frame, their numbers, and pictures in rows. */
#ifndef HU_SHOW_CHART_H
#define HU_SHOW_CHART_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/html.h"

enum { HU_SERIES_COLOURS = 8, HU_CHART_WIDTH = 560 };

/* "c3 d1": classes of a series' colour and dashes. With the mark, which is a third way to tell it,
 * the first twelve series look different without colours. */
void hu_series_class(int series, char *text, size_t capacity);

/* "area c3 o1": an area's colour, and how strong it is. */
void hu_area_class(int series, char *text, size_t capacity);

/* Names with their colours and marks, as text that wraps. */
typedef struct hu_legend_item {
    const char *name;
    int series;
} hu_legend_item;
enum { HU_LEGEND_MARKS, HU_LEGEND_LINES, HU_LEGEND_AREAS };
void hu_legend_draw(hu_page *page, const hu_legend_item *item, size_t count, int kind);

/* ---- points: one number against another ---- */

/* One mark of a cloud of points, with its name beside it. */
typedef struct hu_chart_point {
    const char *label, *tip;
    double x, y;
    double least, most; /* range of y; NaN: none */
    int series;
    bool is_front;  /* the dashed line joins these */
    bool is_absent; /* has an x but no y (diverged): stands in a strip at the bottom */
    bool is_far;    /* so far below the rest that it would flatten them: there too, with its y */
} hu_chart_point;

typedef struct hu_chart_axes {
    const char *x_title, *y_title;
    const char *front_title; /* what the dashed line is, NULL: there is none */
    bool lower_is_better;    /* y grows downwards, so that better points lie higher */
} hu_chart_axes;

void hu_chart_points(hu_page *page, const hu_chart_point *point, size_t count,
                     const hu_chart_axes *axes);

/* ---- lines over steps ---- */

/* A place on the x axis, in steps. */
typedef struct hu_chart_mark {
    double x;
    const char *tip;
} hu_chart_mark;

/* One run: a curve, and the marks of its row below the plot. */
typedef struct hu_chart_line {
    const char *label;
    int series;
    const double *x, *y;        /* [count]; y that are not finite leave gaps */
    const double *least, *most; /* [count] of a band around the line; NULL: there is none */
    size_t count;
    bool has_marks; /* a mark at every point */
    hu_chart_mark *skipped, *promoted;
    size_t skipped_count, promoted_count;
    double ended; /* x where it diverged; NaN: it did not */
} hu_chart_line;

/* smooth: weight of the past in the running mean that is drawn, 0: none. top: largest y shown, NaN:
 * all. */
void hu_chart_lines(hu_page *page, const hu_chart_line *line, size_t count, double smooth,
                    double top, const char *x_title, const char *y_title);

/* The same over x that are powers of two, in steps of one doubling each; a mark at every point.
 * is_log: y in powers of ten. Points that are not finite, or not positive where they must be, leave
 * gaps; marks of skipped steps and the like are not drawn. */
void hu_chart_powers(hu_page *page, const hu_chart_line *line, size_t count, bool is_log,
                     const char *x_title, const char *y_title);

/* ---- numbers of formats ---- */

/* The y axis of a chart over magnitudes. */
typedef struct hu_binade_axis {
    const char *title;
    bool is_share;    /* shares, drawn as log10: ticks in per cent */
    double low, high; /* y at the ends */
} hu_binade_axis;

/* Lines over log2 of a magnitude (x), which are powers of two on the axis; with few marks on each
 * line, as the legend has them. Marks of steps are not drawn. */
void hu_chart_binades(hu_page *page, const hu_chart_line *line, size_t count,
                      const hu_binade_axis *axis);

/* The numbers of a format in a part of the line. */
typedef struct hu_number_row {
    const char *label;
    int series;
    const double *number; /* [count] ascending; log2 of them where the line is logarithmic */
    size_t count;
    double normal; /* numbers below it are subnormal */
    bool is_dense; /* too many to tell apart: a band from the first to the last */
} hu_number_row;

/* A line with a tick at each number, below one another; is_log: of powers of two. */
void hu_chart_numbers(hu_page *page, const hu_number_row *row, size_t count, double low,
                      double high, bool is_log, const char *title);

/* ---- exponent histograms ---- */

/* Where a format's numbers are, as log2: smallest kept, smallest normal, overflow. */
typedef struct hu_chart_range {
    const char *name;
    double vanish, normal, top;
} hu_chart_range;

enum { HU_RIDGE_CANDIDATES = 4 };

/* The histogram of one tensor; shares are of all its numbers, 0 to 1. */
typedef struct hu_chart_ridge {
    const char *name;
    int first;           /* exponent of bin 0 */
    const uint64_t *bin; /* [count] */
    uint32_t count;
    bool has_range; /* whether it was rounded */
    hu_chart_range range;
    double lost; /* share lost in that format */
    double candidate[HU_RIDGE_CANDIDATES];
    double zero;      /* share of zeros; 1: there is nothing else */
    double nonfinite; /* share of infinities and NaN, likewise */
} hu_chart_ridge;

/* Exponents from low up to below high; low >= high: none. */
typedef struct hu_ridge_span {
    double low, high;
} hu_ridge_span;

/* Widens the span to all exponents that any ridge has in a thousandth of its fullest binade. */
void hu_ridges_span(const hu_chart_ridge *ridge, size_t count, hu_ridge_span *span);

/* What stands above the ridges. */
typedef struct hu_ridge_heads {
    const char *own; /* title of the column of what each ridge's own range loses */
    hu_chart_range candidate[HU_RIDGE_CANDIDATES]; /* with a bar and a column each; name NULL: not
                                                      there */
    hu_ridge_span span; /* that the axis has at least, so that pictures can be compared */
} hu_ridge_heads;

/* A ridge for each tensor, of steps as wide as a binade. One without numbers that are not zero says
 * so. The column of the own ranges is left out where no ridge has one. */
void hu_chart_ridges(hu_page *page, const hu_chart_ridge *ridge, size_t count,
                     const hu_ridge_heads *heads, int series, const char *label);

/* ---- bits of groups or layers over steps ---- */

/* A stretch of steps in which the bits of a row did not change. */
typedef struct hu_chart_span {
    double from, to; /* steps */
    double bits;
} hu_chart_span;

/* One group or layer; spans follow one another. */
typedef struct hu_chart_row {
    const char *label, *note; /* note: right of the row */
    hu_chart_span *span;
    size_t count;
} hu_chart_row;

/* What a heat map says of itself. */
typedef struct hu_heat_words {
    const char *label, *title, *note_title;
    double least, most; /* bits of the lightest and the strongest colour */
    bool has_key;       /* the colours are told: of few whole numbers */
} hu_heat_words;

/* steps: the end of the x axis. */
void hu_chart_heat(hu_page *page, const hu_heat_words *words, const hu_chart_row *row, size_t count,
                   double steps);

/* ---- stacked bars ---- */

/* One bar of parts side by side. */
typedef struct hu_chart_bar {
    const char *label;
    const double *part; /* [parts] */
} hu_chart_bar;

/* part[parts]: the names of the parts, with their unit in `unit`. */
void hu_chart_bars(hu_page *page, const hu_chart_bar *bar, size_t count, const char *const *part,
                   size_t parts, const char *unit);

/* ---- picture ---- */

/* Charts as one SVG file of its own, below one another: the same calls that draw
 * them into an HTML page. Colours are fixed ones, those of a light page: papers and other programs
 * take such a file. */

/* What follows is drawn for a picture. page: as {0}. */
void hu_picture_begin(hu_page *page);

/* Width and height in pixels of what is drawn so far, with its margins. */
void hu_picture_extents(const hu_page *page, double *width, double *height);

/* The whole file, or the first failure; frees the page. label: what it shows, for those who cannot
 * see it. Owner frees *text with hu_free. */
hu_status hu_picture_finish(hu_page *page, const char *label, char **text);

#endif
