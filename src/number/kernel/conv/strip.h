/* kernel/conv/strip.h - a strip of the weight gradient: what its tiles read, in place or copied
 * into panels where pixels are close together. */
#ifndef HU_KERNEL_CONV_STRIP_H
#define HU_KERNEL_CONV_STRIP_H
#include "kernel/conv/conv.h"
#include "kernel/conv/sweep.h"

/* How x is read. PLACE: where it is. PANELS: [block of 16 channels][image][row modulo stride]
 * [column modulo stride][row][column][16]: the pixels that a tap meets are neighbours. ROWS, for
 * few channels: rows with their padding, where the taps of a kernel row and their channels lie side
 * by side, 16 of these to a block. */
typedef enum hu_conv_layout { HU_CONV_PLACE, HU_CONV_PANELS, HU_CONV_ROWS } hu_conv_layout;

/* Filters whose dy is copied together: they read whole cache lines, and stay in the cache. */
enum { HU_CONV_GROUP = 32 };

/* Output rows y0 .. y1-1 and input rows in0 .. in1-1 of some images, and a group of filters. Steps
 * are in floats. */
typedef struct hu_conv_strip_view {
    const hu_conv *conv;
    const hu_conv_kernels *kernels;
    hu_conv_layout layout;
    bool is_pixelwise; /* each pixel meets its own place alone: a strip is one run of pixels */
    int64_t images, y0, y1, in0, in1;
    const float *x, *dy;
    int64_t x_image, x_block, x_plane_row, x_plane_column; /* planes: rows, columns modulo stride */
    int64_t x_row, x_column; /* from output row (column) to the next, in a plane */
    const float *dy_first;   /* of the strip */
    float *dy_panel;         /* room for a group of filters; NULL: dy is read where it is */
    const uint32_t *masks;   /* ROWS: [columns before and after][blocks][16] */
    int64_t before, after;   /* ROWS: output columns where not all taps lie inside the image */
} hu_conv_strip_view;

/* Lanes of one tap: channels, or with ROWS taps of a kernel row and their channels; taps along w.
 */
int64_t hu_conv_tap_lanes(const hu_conv *conv);

/* Once for all strips of a call of count images: layout and masks. Then for each strip, with
 * images, y0, y1, in0 and in1 set: places x and dy of its first image. Then for each group of
 * filters first .. first+filters-1 <= first+HU_CONV_GROUP-1: places their dy, [tile of
 * hu_conv_share][pixel][filter] where it is copied. */
void hu_conv_view_begin(const hu_conv *conv, int64_t count, void *scratch,
                        hu_conv_strip_view *view);
void hu_conv_view_strip(hu_conv_strip_view *view, const float *x, const float *dy, void *scratch);
void hu_conv_view_filters(hu_conv_strip_view *view, int64_t first, int64_t filters);

/* Where the image has so few channels that most lanes of a tap would be idle, lanes are filters:
 * the weight gradient of a strip of images whose first places are x and dy, rows y0 .. y1-1. Reads
 * them where they are. hu_conv_is_few says where it can. */
bool hu_conv_is_few(const hu_conv *conv);
void hu_conv_few_strip(const hu_conv_strip_view *view, const float *x, const float *dy, bool adds,
                       float *dw);

/* Output places low .. high-1 within first .. end-1 whose tap k lies inside the image. */
void hu_conv_reach(int64_t k, int64_t in, int64_t stride, int64_t pad, int64_t dilation,
                   int64_t first, int64_t end, int64_t *low, int64_t *high);

/* Output pixels of the strip: they lie one behind the other. */
static inline int64_t hu_conv_strip_pixels(const hu_conv_strip_view *view) {
    return view->images * (view->y1 - view->y0) * view->conv->out_w;
}

#endif
