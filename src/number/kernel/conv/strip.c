#include "kernel/conv/strip.h"

#include <string.h>

#include "base/checked.h"

/* Most output and input pixels of a strip, unless one output row is more: enough that a tile's end
 * costs little, few enough that what a tile reads stays in the L1 cache. */
enum { OUTPUT_PIXELS = 256, INPUT_PIXELS = 512, ALIGNMENT = 64 };

/* Below so many channels, rows that are no multiple of 16 are cut into blocks across the taps. */
enum { FEW_CHANNELS = 64 };

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t parts(int64_t all, int64_t part) {
    return (all + part - 1) / part;
}

/* Input rows that `rows` output rows read. */
static int64_t rows_read(const hu_conv *c, int64_t rows) {
    return least(c->in_h, (rows - 1) * c->stride_h + (c->kernel_h - 1) * c->dilation_h + 1);
}

/* Whether a strip of so many images and rows keeps both bounds. */
static bool fits(const hu_conv *c, int64_t images, int64_t rows) {
    return images * rows * c->out_w <= OUTPUT_PIXELS &&
           images * rows_read(c, rows) * c->in_w <= INPUT_PIXELS;
}

hu_conv_strips hu_conv_strip(const hu_conv *c) {
    hu_conv_strips strip = {1, c->out_h};
    /* Whole images if one fits, as many as do; else rows of one image, in strips of about equal
     * length. */
    if (fits(c, 1, c->out_h)) {
        while (fits(c, strip.images + 1, c->out_h)) strip.images++;
        return strip;
    }
    int64_t rows = 1;
    while (rows < c->out_h && fits(c, 1, rows + 1)) rows++;
    strip.rows = parts(c->out_h, parts(c->out_h, rows));
    return strip;
}

/* ---- layout ---- */

/* ROWS pays where a tap's few channels leave most of 16 lanes empty; in place only where a pixel is
 * exactly one block and neighbours are met by neighbours. */
static hu_conv_layout layout_of(const hu_conv *c) {
    if (c->in_c < FEW_CHANNELS && c->in_c % HU_CONV_WIDTH != 0 && c->kernel_w > 1 &&
        c->dilation_w == 1)
        return HU_CONV_ROWS;
    bool is_in_place = c->in_c == HU_CONV_WIDTH && c->stride_h == 1 && c->stride_w == 1;
    return is_in_place ? HU_CONV_PLACE : HU_CONV_PANELS;
}

/* Pixels of more than 16 filters lie far apart: tiles read their few filters from a copy. */
static bool copies_dy(const hu_conv *c) {
    return c->out_c > HU_CONV_WIDTH;
}

int64_t hu_conv_tap_lanes(const hu_conv *c) {
    return layout_of(c) == HU_CONV_ROWS ? c->kernel_w * c->in_c : c->in_c;
}

/* ROWS: columns behind a row that the last window reads, at least as many as before it. */
static int64_t pad_behind(const hu_conv *c) {
    int64_t read = (c->out_w - 1) * c->stride_w + c->kernel_w - c->pad_w - c->in_w;
    return read > c->pad_w ? read : c->pad_w;
}

/* ROWS: floats of a row with its padding and what the last block reads beyond it. */
static int64_t padded_row(const hu_conv *c) {
    return (c->in_w + c->pad_w + pad_behind(c)) * c->in_c + HU_CONV_WIDTH;
}

/* Bytes of a strip's copy of x; count: images of the call, which may be fewer than a strip's. */
static size_t x_bytes(const hu_conv *c, int64_t count) {
    hu_conv_strips strip = hu_conv_strip(c);
    int64_t images = least(strip.images, count), rows = rows_read(c, strip.rows);
    int64_t planes = parts(rows, c->stride_h) * c->stride_h * parts(c->in_w, c->stride_w) *
                     c->stride_w * hu_conv_blocks(c->in_c) * HU_CONV_WIDTH;
    switch (layout_of(c)) {
    case HU_CONV_ROWS:
        return (size_t)(images * rows * padded_row(c)) * sizeof(float);
    case HU_CONV_PANELS:
        return (size_t)(images * planes) * sizeof(float);
    default:
        return 0;
    }
}

static size_t dy_bytes(const hu_conv *c, int64_t count) {
    hu_conv_strips strip = hu_conv_strip(c);
    int64_t pixels = least(strip.images, count) * strip.rows * c->out_w;
    int64_t filters = least(c->out_c, HU_CONV_GROUP);
    return copies_dy(c) ? (size_t)(pixels * filters) * sizeof(float) : 0;
}

/* ROWS: output columns first .. end-1 meet the image with all taps of a kernel row. */
static void inner_columns(const hu_conv *c, int64_t *first, int64_t *end) {
    int64_t last = c->in_w - c->kernel_w + c->pad_w;
    *first = parts(c->pad_w, c->stride_w);
    *end = last < 0 ? 0 : least(last / c->stride_w + 1, c->out_w);
    if (*first >= *end) *first = *end = c->out_w;
}

/* One mask of all lanes for every output column whose taps do not all lie inside the image. */
static size_t mask_bytes(const hu_conv *c) {
    int64_t first, end, blocks = hu_conv_blocks(hu_conv_tap_lanes(c));
    if (layout_of(c) != HU_CONV_ROWS) return 0;
    inner_columns(c, &first, &end);
    return (size_t)((first + c->out_w - end) * blocks * HU_CONV_WIDTH) * sizeof(uint32_t);
}

/* Scratch: masks, x, dy. */
static size_t x_offset(const hu_conv *c) {
    return hu_round_up(mask_bytes(c), ALIGNMENT);
}

static size_t dy_offset(const hu_conv *c, int64_t count) {
    return x_offset(c) + hu_round_up(x_bytes(c, count), ALIGNMENT);
}

size_t hu_conv_scratch_bytes(const hu_conv_plan *plan, int64_t count) {
    return dy_offset(&plan->conv, count) + dy_bytes(&plan->conv, count);
}

/* ---- x ---- */

/* All ones where lane i (tap i / in_c of the kernel row) reads a pixel of the image. */
static void fill_masks(const hu_conv *c, int64_t first, int64_t end, uint32_t *mask) {
    int64_t lanes = hu_conv_tap_lanes(c), all = hu_conv_blocks(lanes) * HU_CONV_WIDTH;
    for (int64_t column = 0; column < c->out_w; column++) {
        if (column >= first && column < end) continue;
        for (int64_t i = 0; i < all; i++, mask++) {
            int64_t in = column * c->stride_w - c->pad_w + i / c->in_c;
            *mask = i < lanes && in >= 0 && in < c->in_w ? UINT32_MAX : 0;
        }
    }
}

/* Each pixel meets its own place alone: the pixels of a strip are one run. */
static bool is_pixelwise(const hu_conv *c) {
    return c->kernel_h * c->kernel_w == 1 && c->stride_h * c->stride_w == 1 && c->pad_h == 0 &&
           c->pad_w == 0 && c->in_h == c->out_h && c->in_w == c->out_w;
}

void hu_conv_view_begin(const hu_conv *c, int64_t count, void *scratch, hu_conv_strip_view *view) {
    int64_t end;
    float *panel = (float *)((char *)scratch + dy_offset(c, count));
    *view = (hu_conv_strip_view){.conv = c,
                                 .kernels = hu_conv_kernels_of_isa(),
                                 .layout = layout_of(c),
                                 .is_pixelwise = is_pixelwise(c),
                                 .dy_panel = copies_dy(c) ? panel : NULL};
    if (view->layout != HU_CONV_ROWS) return;
    inner_columns(c, &view->before, &end);
    view->after = c->out_w - end;
    fill_masks(c, view->before, end, scratch);
    view->masks = scratch;
}

/* ROWS. The padding is -0: its factor is masked to +0, and the product -0 changes no sum (sweep.h).
 * Behind a row there are zeros for what the last block reads beyond it.
 */
static void copy_rows(hu_conv_strip_view *v, const float *x, float *to) {
    const hu_conv *c = v->conv;
    int64_t pad = c->pad_w * c->in_c, row = c->in_w * c->in_c, pitch = padded_row(c);
    int64_t end = pad + row + pad_behind(c) * c->in_c;
    v->x = to;
    v->x_block = HU_CONV_WIDTH;
    v->x_plane_row = pitch;
    v->x_row = pitch * c->stride_h;
    v->x_column = c->in_c * c->stride_w;
    v->x_image = (v->in1 - v->in0) * pitch;
    for (int64_t n = 0; n < v->images; n++)
        for (int64_t r = v->in0; r < v->in1; r++, to += pitch) {
            for (int64_t i = 0; i < pad; i++) to[i] = -0.0f;
            memcpy(to + pad, x + (n * c->in_h + r) * row, (size_t)row * sizeof *to);
            for (int64_t i = pad + row; i < end; i++) to[i] = -0.0f;
            for (int64_t i = end; i < pitch; i++) to[i] = 0;
        }
}

/* Whether a tap meets input places that are `residue` modulo stride, counted from `base`. */
static bool is_met(int64_t residue, int64_t base, int64_t kernel, int64_t stride, int64_t pad,
                   int64_t dilation) {
    for (int64_t k = 0; k < kernel && k < stride; k++)
        if ((k * dilation - pad - base - residue) % stride == 0) return true;
    return false;
}

/* Pixels step floats apart, 16 channels of each or the last `width`, filled up with zeros. */
static void copy_pixels(int64_t pixels, int64_t width, int64_t step, const float *from, float *to) {
    for (int64_t i = 0; i < pixels; i++, to += HU_CONV_WIDTH, from += step) {
        if (width == HU_CONV_WIDTH) {
            memcpy(to, from, HU_CONV_WIDTH * sizeof *to);
            continue;
        }
        for (int64_t j = 0; j < HU_CONV_WIDTH; j++) to[j] = j < width ? from[j] : 0;
    }
}

/* The planes of one image, one block; x at channel block and row in0. */
static void copy_planes(const hu_conv_strip_view *v, int64_t width, const float *x, float *to) {
    const hu_conv *c = v->conv;
    int64_t rows = v->in1 - v->in0;
    for (int64_t r = 0; r < rows; r++) {
        if (!is_met(r % c->stride_h, v->in0, c->kernel_h, c->stride_h, c->pad_h, c->dilation_h))
            continue;
        float *row = to + r % c->stride_h * v->x_plane_row + r / c->stride_h * v->x_row;
        for (int64_t p = 0; p < c->stride_w && p < c->in_w; p++) {
            if (!is_met(p, 0, c->kernel_w, c->stride_w, c->pad_w, c->dilation_w)) continue;
            copy_pixels(parts(c->in_w - p, c->stride_w), width, c->in_c * c->stride_w,
                        x + (r * c->in_w + p) * c->in_c, row + p * v->x_plane_column);
        }
    }
}

/* The pixels of a strip that is one run; four blocks at a time, which lie side by side in x. */
static void copy_run(const hu_conv_strip_view *v, const float *x, float *to) {
    enum { SIDE = 4, BYTES = HU_CONV_WIDTH * sizeof(float), AHEAD = 12 };
    int64_t pixels = hu_conv_strip_pixels(v), channels = v->conv->in_c, k = 0;
    for (; k + SIDE * HU_CONV_WIDTH <= channels; k += SIDE * HU_CONV_WIDTH, to += SIDE * v->x_block)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t b = 0; b < SIDE; b++) {
                __builtin_prefetch(x + (i + AHEAD) * channels + k + b * HU_CONV_WIDTH);
                memcpy(to + b * v->x_block + i * HU_CONV_WIDTH,
                       x + i * channels + k + b * HU_CONV_WIDTH, BYTES);
            }
    for (; k < channels; k += HU_CONV_WIDTH, to += v->x_block)
        copy_pixels(pixels, least(channels - k, HU_CONV_WIDTH), channels, x + k, to);
}

/* PANELS: strides are taken out of the way here, so that the pixels of one tap are neighbours
 * there. */
static void copy_panels(hu_conv_strip_view *v, const float *x, float *to) {
    const hu_conv *c = v->conv;
    int64_t rows = parts(v->in1 - v->in0, c->stride_h), row = c->in_w * c->in_c;
    v->x = to;
    v->x_column = HU_CONV_WIDTH;
    v->x_row = parts(c->in_w, c->stride_w) * HU_CONV_WIDTH;
    v->x_plane_column = rows * v->x_row;
    v->x_plane_row = c->stride_w * v->x_plane_column;
    v->x_image = c->stride_h * v->x_plane_row;
    v->x_block = v->images * v->x_image;
    if (v->is_pixelwise) {
        copy_run(v, x + v->in0 * row, to);
        return;
    }
    for (int64_t n = 0; n < v->images; n++)
        for (int64_t k = 0; k < c->in_c; k += HU_CONV_WIDTH)
            copy_planes(v, least(c->in_c - k, HU_CONV_WIDTH), x + (n * c->in_h + v->in0) * row + k,
                        to + k / HU_CONV_WIDTH * v->x_block + n * v->x_image);
}

/* PLACE: nothing is copied. */
static void place_x(hu_conv_strip_view *v, const float *x) {
    const hu_conv *c = v->conv;
    v->x = x + v->in0 * c->in_w * c->in_c;
    v->x_column = c->in_c;
    v->x_row = c->in_w * c->in_c;
    v->x_image = c->in_h * v->x_row;
}

/* ---- dy ---- */

/* Tiles of n neighbours of each pixel, each with its pixels side by side. */
static inline __attribute__((always_inline)) void
copy_n(int64_t pixels, int64_t tiles, int64_t n, int64_t step, const float *from, float *to) {
    for (int64_t k = 0; k < pixels; k++)
        for (int64_t t = 0; t < tiles; t++)
            memcpy(to + (t * pixels + k) * n, from + k * step + t * n, (size_t)n * sizeof *to);
}

/* The usual n as constants, so that they are copied without a call. */
static void copy_tiles(int64_t pixels, int64_t tiles, int64_t n, int64_t step, const float *from,
                       float *to) {
    switch (n) {
    case 4:
        copy_n(pixels, tiles, 4, step, from, to);
        break;
    case 5:
        copy_n(pixels, tiles, 5, step, from, to);
        break;
    case 6:
        copy_n(pixels, tiles, 6, step, from, to);
        break;
    case 8:
        copy_n(pixels, tiles, 8, step, from, to);
        break;
    default:
        copy_n(pixels, tiles, n, step, from, to);
    }
}

void hu_conv_view_filters(hu_conv_strip_view *v, int64_t first, int64_t filters) {
    int64_t pixels = hu_conv_strip_pixels(v), places = v->kernels->places, tiles, n;
    v->dy = v->dy_panel ? v->dy_panel : v->dy_first + first;
    if (!v->dy_panel) return;
    for (int64_t f = 0; f < filters; f += tiles * n) {
        n = hu_conv_share(filters - f, places);
        tiles = 1;
        while (hu_conv_share(filters - f - tiles * n, places) == n) tiles++;
        copy_tiles(pixels, tiles, n, v->conv->out_c, v->dy_first + first + f,
                   v->dy_panel + f * pixels);
    }
}

void hu_conv_view_strip(hu_conv_strip_view *v, const float *x, const float *dy, void *scratch) {
    const hu_conv *c = v->conv;
    float *x_panel = (float *)((char *)scratch + x_offset(c));
    if (v->layout == HU_CONV_ROWS)
        copy_rows(v, x, x_panel);
    else if (v->layout == HU_CONV_PANELS)
        copy_panels(v, x, x_panel);
    else
        place_x(v, x);
    v->dy_first = dy + v->y0 * c->out_w * c->out_c;
}
