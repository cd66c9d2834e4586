#include <string.h>

#include "base/checked.h"
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

/* Where the image has so few channels that most lanes of a tap would be idle, lanes are filters:
 * the weight gradient of a strip of images whose first places are x and dy, rows y0 .. y1-1. Reads
 * them where they are. conv_is_few says where it can. */
static bool conv_is_few(const hu_conv *conv);
static void conv_few_strip(const hu_conv_strip_view *view, const float *x, const float *dy,
                           bool adds, float *turned);
static void turn_few(const hu_conv *conv, bool is_back, float *dw, float *turned);

/* Where a pixel is one block of 16 channels, and the instruction set has registers for the sums of
 * several taps: likewise, each gradient meeting the taps of a kernel row at once. */
static bool conv_is_taps(const hu_conv *conv);
static void conv_taps_strip(const hu_conv_strip_view *view, const float *x, const float *dy,
                            bool adds, float *dw);

/* Output pixels of the strip: they lie one after the other. */
static inline int64_t hu_conv_strip_pixels(const hu_conv_strip_view *view) {
    return view->images * (view->y1 - view->y0) * view->conv->out_w;
}

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

/* Lanes of one tap: channels, or with ROWS taps of a kernel row and their channels; taps along w.
 */
static int64_t conv_tap_lanes(const hu_conv *c) {
    return layout_of(c) == HU_CONV_ROWS ? c->kernel_w * c->in_c : c->in_c;
}

/* Pixels of more than 16 filters lie far apart: tiles read their few filters from a copy, unless
 * each would be read from it a few times only. But pixels of a page and more share few sets of the
 * caches, and are copied always. */
static bool copies_dy(const hu_conv *c) {
    enum { FEW_TIMES = 8, PAGE = 4096 / sizeof(float) };
    int64_t side = hu_conv_kernels_of_isa()->outer_blocks;
    int64_t tiles = parts(hu_conv_blocks(conv_tap_lanes(c)), side);
    int64_t taps = c->kernel_h * (layout_of(c) == HU_CONV_ROWS ? 1 : c->kernel_w);
    return c->out_c > HU_CONV_WIDTH && (c->out_c >= PAGE || taps * tiles > FEW_TIMES);
}

/* ROWS: columns after a row that the last window reads, at least as many as before it. */
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

/* The same on every instruction set, also where dy is not copied: plans say it. */
static size_t dy_bytes(const hu_conv *c, int64_t count) {
    hu_conv_strips strip = hu_conv_strip(c);
    int64_t pixels = least(strip.images, count) * strip.rows * c->out_w;
    int64_t filters = least(c->out_c, HU_CONV_GROUP);
    return c->out_c > HU_CONV_WIDTH ? (size_t)(pixels * filters) * sizeof(float) : 0;
}

/* The windows of columns *first .. *end-1, of `extent` places from x_first + column * step on, lie
 * wholly inside 0 .. x_end-1. */
static void find_inner(int64_t x_first, int64_t extent, int64_t step, int64_t x_end,
                       int64_t columns, int64_t *first, int64_t *end) {
    int64_t before = x_first < 0 ? -x_first : 0, last = x_end - extent - x_first;
    *first = least(parts(before, step), columns);
    *end = least(last < 0 ? 0 : last / step + 1, columns);
    if (*end < *first) *end = *first;
}

/* ROWS: output columns first .. end-1 meet the image with all taps of a kernel row. */
static void inner_columns(const hu_conv *c, int64_t *first, int64_t *end) {
    find_inner(-c->pad_w, c->kernel_w, c->stride_w, c->in_w, c->out_w, first, end);
}

/* One mask of all lanes for every output column whose taps do not all lie inside the image. */
static size_t mask_bytes(const hu_conv *c) {
    int64_t first, end, blocks = hu_conv_blocks(conv_tap_lanes(c));
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
    const hu_conv *c = &plan->conv;
    size_t bytes = dy_offset(c, count) + dy_bytes(c, count), turned = 0;
    if (conv_is_few(c))
        turned = (size_t)(c->out_c * c->kernel_h * c->kernel_w * c->in_c) * sizeof(float);
    return turned > bytes ? hu_round_up(turned, ALIGNMENT) : bytes;
}

/* ---- x ---- */

/* All ones where lane i (tap i / in_c of the kernel row) reads a pixel of the image. */
static void fill_masks(const hu_conv *c, int64_t first, int64_t end, uint32_t *mask) {
    int64_t lanes = conv_tap_lanes(c), all = hu_conv_blocks(lanes) * HU_CONV_WIDTH;
    for (int64_t column = 0; column < c->out_w; column++) {
        if (column >= first && column < end) continue;
        for (int64_t i = 0; i < all; i++, mask++) {
            int64_t in = column * c->stride_w - c->pad_w + i / c->in_c;
            *mask = i < lanes && in >= 0 && in < c->in_w ? UINT32_MAX : 0;
        }
    }
}

/* Each output pixel meets one place alone, which lies inside the image: the pixels of a strip are
 * one run, whose places are copied side by side or lie so. */
static bool is_pixelwise(const hu_conv *c) {
    bool is_whole = c->out_h == c->in_h && c->out_w == c->in_w;
    return c->kernel_h * c->kernel_w == 1 && c->pad_h == 0 && c->pad_w == 0 &&
           (c->out_h - 1) * c->stride_h < c->in_h && (c->out_w - 1) * c->stride_w < c->in_w &&
           (is_whole || layout_of(c) != HU_CONV_PLACE);
}

/* Once for all strips of a call of count images: layout and masks. Then for each strip, with
 * images, y0, y1, in0 and in1 set: places x and dy of its first image. Then for each group of
 * filters first .. first+filters-1 <= first+HU_CONV_GROUP-1: places their dy, [tile of
 * hu_conv_share][pixel][filter] where it is copied. */
static void conv_view_begin(const hu_conv *c, int64_t count, void *scratch,
                            hu_conv_strip_view *view) {
    int64_t end;
    float *panel = (float *)((char *)scratch + dy_offset(c, count));
    *view = (hu_conv_strip_view){.conv = c,
                                 .kernels = hu_conv_kernels_of_isa(),
                                 .layout = layout_of(c),
                                 .is_pixelwise = is_pixelwise(c),
                                 .dy_panel = copies_dy(c) ? panel : NULL};
    if (view->layout != HU_CONV_ROWS || conv_is_few(c)) return;
    inner_columns(c, &view->before, &end);
    view->after = c->out_w - end;
    fill_masks(c, view->before, end, scratch);
    view->masks = scratch;
}

/* ROWS. The padding is -0: its factor is masked to +0, and the product -0 changes no sum (sweep.h).
 * After a row there are zeros for what the last block reads beyond it.
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

/* The last `width` channels of pixels step floats apart, filled up with zeros. */
static void copy_rest(int64_t pixels, int64_t width, int64_t step, const float *from, float *to) {
    for (int64_t i = 0; i < pixels; i++, to += HU_CONV_WIDTH, from += step)
        for (int64_t j = 0; j < HU_CONV_WIDTH; j++) to[j] = j < width ? from[j] : 0;
}

/* All blocks of some rows of pixels that lie in a plane; x, to: of the first. */
static void copy_plane(const hu_conv_strip_view *v, hu_conv_blocks_copy c) {
    int64_t channels = v->conv->in_c, rest = channels % HU_CONV_WIDTH;
    c.blocks = channels / HU_CONV_WIDTH;
    c.to_block = v->x_block;
    v->kernels->copy_blocks(&c);
    for (int64_t r = 0; rest && r < c.rows; r++)
        copy_rest(c.columns, rest, c.from_column, c.from + r * c.from_row + channels - rest,
                  c.to + c.blocks * c.to_block + r * c.to_row);
}

/* The planes of one image; x at row in0. */
static void copy_planes(const hu_conv_strip_view *v, const float *x, float *to) {
    const hu_conv *c = v->conv;
    int64_t row = c->in_w * c->in_c;
    for (int64_t q = 0; q < c->stride_h && q < v->in1 - v->in0; q++) {
        if (!is_met(q, v->in0, c->kernel_h, c->stride_h, c->pad_h, c->dilation_h)) continue;
        for (int64_t p = 0; p < c->stride_w && p < c->in_w; p++) {
            if (!is_met(p, 0, c->kernel_w, c->stride_w, c->pad_w, c->dilation_w)) continue;
            copy_plane(v,
                       (hu_conv_blocks_copy){.from = x + q * row + p * c->in_c,
                                             .to = to + q * v->x_plane_row + p * v->x_plane_column,
                                             .rows = parts(v->in1 - v->in0 - q, c->stride_h),
                                             .columns = parts(c->in_w - p, c->stride_w),
                                             .from_row = c->stride_h * row,
                                             .from_column = c->stride_w * c->in_c,
                                             .to_row = v->x_row});
        }
    }
}

/* What the pixels of a strip meet, as one run. */
static void copy_run(hu_conv_strip_view *v, const float *x, float *to) {
    const hu_conv *c = v->conv;
    int64_t rows = v->y1 - v->y0, row = c->in_w * c->in_c;
    hu_conv_blocks_copy copy = {.rows = rows,
                                .columns = c->out_w,
                                .from_row = c->stride_h * row,
                                .from_column = c->stride_w * c->in_c,
                                .to_row = c->out_w * HU_CONV_WIDTH};
    if (copy.from_row == copy.columns * copy.from_column) {
        copy.columns *= rows;
        copy.rows = 1;
    }
    v->x = to;
    v->x_column = HU_CONV_WIDTH;
    v->x_block = hu_conv_strip_pixels(v) * HU_CONV_WIDTH;
    for (int64_t n = 0; n < v->images; n++) {
        copy.from = x + (n * c->in_h + v->in0) * row;
        copy.to = to + n * rows * copy.to_row;
        copy_plane(v, copy);
    }
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
    for (int64_t n = 0; n < v->images; n++)
        copy_planes(v, x + (n * c->in_h + v->in0) * row, to + n * v->x_image);
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

static void conv_view_filters(hu_conv_strip_view *v, int64_t first, int64_t filters) {
    int64_t pixels = hu_conv_strip_pixels(v), places = v->kernels->places, tiles, n;
    v->dy = v->dy_panel ? v->dy_panel : v->dy_first + first;
    if (!v->dy_panel) return;
    for (int64_t f = 0; f < filters; f += tiles * n) {
        n = hu_conv_share(filters - f, places);
        tiles = 1;
        while (hu_conv_share(filters - f - tiles * n, places) == n) tiles++;
        v->kernels->copy_tiles(pixels, tiles, n, v->conv->out_c, v->dy_first + first + f,
                               v->dy_panel + f * pixels);
    }
}

static void conv_view_strip(hu_conv_strip_view *v, const float *x, const float *dy, void *scratch) {
    const hu_conv *c = v->conv;
    float *x_panel = (float *)((char *)scratch + x_offset(c));
    if (v->layout == HU_CONV_ROWS)
        copy_rows(v, x, x_panel);
    else if (v->layout == HU_CONV_PANELS && v->is_pixelwise)
        copy_run(v, x, x_panel);
    else if (v->layout == HU_CONV_PANELS)
        copy_panels(v, x, x_panel);
    else
        place_x(v, x);
    v->dy_first = dy + v->y0 * c->out_w * c->out_c;
}

/* ---- weights ---- */

/* Weight gradient: per strip of the batch, tiles of filters x channels of
 * one tap over the output pixels whose tap lies inside the image. */

/* Output places low .. high-1 within first .. end-1 whose tap k lies inside the image. */
static void conv_reach(int64_t k, int64_t in, int64_t stride, int64_t pad, int64_t dilation,
                       int64_t first, int64_t end, int64_t *low, int64_t *high) {
    int64_t offset = pad - k * dilation;
    *low = offset > 0 ? (offset + stride - 1) / stride : 0;
    *high = in - 1 + offset < 0 ? 0 : (in - 1 + offset) / stride + 1;
    if (*low < first) *low = first;
    if (*high > end) *high = end;
    if (*low >= *high) *low = *high = first;
}

/* One kernel row of a tile: the output rows and the input row that its first one meets. */
typedef struct tap_row {
    int64_t rows;
    const float *x, *dy;
    float *dw;
} tap_row;

/* A tap that meets no pixel: its sum is +0, which still has to be written or added. */
static void run_empty(const hu_conv_strip_view *v, hu_conv_outer *o) {
    o->rows = 0;
    v->kernels->outer(o);
}

/* Rows, and images, that lie one after the other are one. */
static void join_rows(hu_conv_outer *o) {
    if (o->x_row != o->columns * o->x_column || o->dy_row != o->columns * o->dy_column) return;
    o->columns *= o->rows;
    o->rows = 1;
    if (o->x_image != o->columns * o->x_column || o->dy_image != o->columns * o->dy_column) return;
    o->columns *= o->images;
    o->images = 1;
}

/* The taps of a kernel row one by one, each over the columns that it reaches. */
static void run_columns(const hu_conv_strip_view *v, const tap_row *t, hu_conv_outer *o) {
    const hu_conv *c = v->conv;
    int64_t low, high;
    for (int64_t kw = 0; kw < c->kernel_w; kw++) {
        conv_reach(kw, c->in_w, c->stride_w, c->pad_w, c->dilation_w, 0, c->out_w, &low, &high);
        int64_t in = low * c->stride_w - c->pad_w + kw * c->dilation_w;
        o->dw = t->dw + kw * c->in_c;
        o->x = t->x;
        o->dy = t->dy;
        o->images = v->images;
        o->rows = t->rows;
        o->columns = high - low;
        if (t->rows == 0 || low == high) {
            run_empty(v, o);
            continue;
        }
        if (v->layout == HU_CONV_PLACE)
            o->x += in * v->x_column;
        else
            o->x += in % c->stride_w * v->x_plane_column + in / c->stride_w * v->x_column;
        o->dy += low * o->dy_column;
        join_rows(o);
        v->kernels->outer(o);
    }
}

/* All taps of a kernel row at once: columns at the border feel masks. */
static void run_whole_row(const hu_conv_strip_view *v, const tap_row *t, int64_t block,
                          hu_conv_outer *o) {
    o->mask = v->masks + block * HU_CONV_WIDTH;
    o->before = v->before;
    o->after = v->after;
    o->columns = v->conv->out_w - v->before - v->after;
    o->dw = t->dw;
    o->x = t->x;
    o->dy = t->dy;
    o->rows = t->rows;
    v->kernels->outer(o);
}

/* The one tap of a pixelwise convolution, over all pixels of the strip; o: its steps. */
static void run_pixels(const hu_conv_strip_view *v, const tap_row *t, hu_conv_outer *o) {
    o->images = o->rows = 1;
    o->columns = hu_conv_strip_pixels(v);
    o->x = t->x;
    o->dy = t->dy;
    o->dw = t->dw;
    v->kernels->outer(o);
}

/* All taps of one tile: filters f .. f+n-1 of the group, lanes of the blocks of a tile from `block`
 * on. */
static void run_taps(const hu_conv_strip_view *v, int64_t block, int64_t f, int64_t n, bool adds,
                     float *dw) {
    const hu_conv *c = v->conv;
    int64_t row = c->kernel_w * c->in_c, lanes = conv_tap_lanes(c),
            pixel = v->dy_panel ? n : c->out_c;
    /* dy as it lies in the batch, or in the copy. */
    int64_t image = (v->dy_panel ? v->y1 - v->y0 : c->out_h) * c->out_w * pixel, low, high;
    const float *x = v->x + block * v->x_block;
    const float *dy = v->dy + (v->dy_panel ? f * hu_conv_strip_pixels(v) : f);
    hu_conv_outer o = {
        .images = v->images,
        .filters = n,
        .width = least(lanes - block * HU_CONV_WIDTH, v->kernels->outer_blocks * HU_CONV_WIDTH),
        .x_image = v->x_image,
        .x_row = v->x_row,
        .x_column = v->x_column,
        .x_block = v->x_block,
        .dy_image = image,
        .dy_row = c->out_w * pixel,
        .dy_column = pixel,
        .dw_filter = c->kernel_h * row,
        .mask_column = hu_conv_blocks(lanes) * HU_CONV_WIDTH,
        .adds = adds};
    if (v->is_pixelwise) {
        run_pixels(v, &(tap_row){.x = x, .dy = dy, .dw = dw}, &o);
        return;
    }
    for (int64_t kh = 0; kh < c->kernel_h; kh++) {
        conv_reach(kh, c->in_h, c->stride_h, c->pad_h, c->dilation_h, v->y0, v->y1, &low, &high);
        int64_t in = low * c->stride_h - c->pad_h + kh * c->dilation_h - v->in0;
        tap_row t = {.rows = high - low, .x = x, .dy = dy, .dw = dw + kh * row};
        if (t.rows > 0) {
            t.dy += (low - v->y0) * o.dy_row;
            if (v->layout == HU_CONV_PANELS)
                t.x += in % c->stride_h * v->x_plane_row + in / c->stride_h * v->x_row;
            else
                t.x += in * (v->layout == HU_CONV_ROWS ? v->x_plane_row : v->x_row);
        }
        if (v->layout == HU_CONV_ROWS)
            run_whole_row(v, &t, block, &o);
        else
            run_columns(v, &t, &o);
    }
}

/* A group of filters, tile by tile; dw: of its first. What all tiles read of x stays in the cache.
 */
static void run_group(const hu_conv_strip_view *v, int64_t filters, bool adds, float *dw) {
    const hu_conv *c = v->conv;
    int64_t filter = c->kernel_h * c->kernel_w * c->in_c,
            blocks = hu_conv_blocks(conv_tap_lanes(c));
    for (int64_t block = 0; block < blocks; block += v->kernels->outer_blocks)
        for (int64_t f = 0, n; f < filters; f += n) {
            n = hu_conv_share(filters - f, v->kernels->places);
            run_taps(v, block, f, n, adds, dw + f * filter + block * HU_CONV_WIDTH);
        }
}

/* Filters outside: the gradients of a group are few pages of memory, which all blocks of channels
 * fill. */
static void run_strip(hu_conv_strip_view *v, bool adds, float *dw) {
    const hu_conv *c = v->conv;
    int64_t filter = c->kernel_h * c->kernel_w * c->in_c;
    for (int64_t f = 0, n; f < c->out_c; f += n) {
        n = least(c->out_c - f, HU_CONV_GROUP);
        conv_view_filters(v, f, n);
        run_group(v, n, adds, dw + f * filter);
    }
}

/* The input rows that output rows y0 .. y1-1 read. */
static void find_rows(hu_conv_strip_view *v) {
    const hu_conv *c = v->conv;
    int64_t first = v->y0 * c->stride_h - c->pad_h;
    int64_t end = first + (v->y1 - 1 - v->y0) * c->stride_h + (c->kernel_h - 1) * c->dilation_h + 1;
    v->in0 = first > 0 ? first : 0;
    v->in1 = least(end, c->in_h);
    if (v->in0 >= v->in1) v->in0 = v->in1 = 0;
}

void hu_conv_weight_gradient(const hu_conv_plan *plan, int64_t count, const float *x,
                             const float *dy, bool adds, void *scratch, float *dw) {
    const hu_conv *c = &plan->conv;
    hu_conv_strips strips = hu_conv_strip(c);
    hu_conv_strip_view v;
    bool is_few = conv_is_few(c), is_taps = conv_is_taps(c);
    conv_view_begin(c, count, scratch, &v);
    if (is_few && adds) turn_few(c, false, dw, scratch);
    for (int64_t n = 0; n < count; n += strips.images) {
        v.images = least(strips.images, count - n);
        for (v.y0 = 0; v.y0 < c->out_h; v.y0 += strips.rows) {
            v.y1 = least(v.y0 + strips.rows, c->out_h);
            const float *first_x = x + n * c->in_h * c->in_w * c->in_c;
            const float *first_dy = dy + n * c->out_h * c->out_w * c->out_c;
            if (is_few) {
                conv_few_strip(&v, first_x, first_dy, adds, scratch);
            } else if (is_taps) {
                conv_taps_strip(&v, first_x, first_dy, adds, dw);
            } else {
                find_rows(&v);
                conv_view_strip(&v, first_x, first_dy, scratch);
                run_strip(&v, adds, dw);
            }
            /* The first strip of the call overwrites dw unless the caller adds; the others add. */
            adds = true;
        }
    }
    if (is_few && count > 0) turn_few(c, true, dw, scratch);
}

/* ---- windows of the pixels of a strip, where they lie ---- */

static hu_conv_windows windows_of(const hu_conv_strip_view *v) {
    const hu_conv *c = v->conv;
    return (hu_conv_windows){.images = v->images,
                             .columns = c->out_w,
                             .x_image = c->in_h * c->in_w * c->in_c,
                             .x_row = c->stride_h * c->in_w * c->in_c,
                             .x_column = c->stride_w * c->in_c,
                             .x_end = c->in_w * c->in_c,
                             .dy_image = c->out_h * c->out_w * c->out_c,
                             .dy_row = c->out_w * c->out_c,
                             .dy_column = c->out_c};
}

/* The pixels that row kh of the kernel reaches; x, dy: of the strip's first image. */
static void take_kernel_row(const hu_conv_strip_view *v, int64_t kh, const float *x,
                            const float *dy, hu_conv_windows *w) {
    const hu_conv *c = v->conv;
    int64_t low, high;
    conv_reach(kh, c->in_h, c->stride_h, c->pad_h, c->dilation_h, v->y0, v->y1, &low, &high);
    w->rows = high - low;
    w->x = w->rows ? x + (low * c->stride_h - c->pad_h + kh * c->dilation_h) * w->x_end : x;
    w->dy = dy + low * w->dy_row;
}

/* Windows of `extent` floats, that of column 0 at x_first. */
static void place_windows(int64_t x_first, int64_t extent, hu_conv_windows *w) {
    w->x_first = x_first;
    find_inner(x_first, extent, w->x_column, w->x_end, w->columns, &w->inner, &w->inner_end);
}

/* ---- weights few ---- */

/* Weight gradient of layers with few input channels, such as the first
 * of a network for pictures: lanes are filters, so that none is idle, and every float of a kernel
 * row has a sum of its own. Strips are added up in scratch, a row of filters for each weight, which
 * becomes dw after the last. The order of sums is that of the definition (kernel/conv/conv.h). */

enum { MOST_CHANNELS = 4 };

static bool conv_is_few(const hu_conv *c) {
    return c->in_c <= MOST_CHANNELS && c->out_c % HU_CONV_WIDTH == 0 && c->dilation_h == 1 &&
           c->dilation_w == 1;
}

/* dw [filter][term] -> turned [term][filter], or back. */
static void turn_few(const hu_conv *c, bool is_back, float *dw, float *turned) {
    int64_t terms = c->kernel_h * c->kernel_w * c->in_c;
    for (int64_t f = 0; f < c->out_c; f++)
        for (int64_t m = 0; m < terms; m++) {
            float *to = dw + f * terms + m, *at = turned + m * c->out_c + f;
            if (is_back)
                *to = *at;
            else
                *at = *to;
        }
}

/* All filters of some terms of a kernel row; turned: of the first of both. */
static void run_terms(const hu_conv_strip_view *v, hu_conv_few *o, float *turned) {
    int64_t all = v->conv->out_c, most = v->kernels->few_filters;
    const float *dy = o->windows.dy;
    for (int64_t f = 0; f < all; f += o->filters) {
        o->filters = all - f < most ? most / 2 : most;
        o->windows.dy = dy + f;
        o->sums = turned + f;
        v->kernels->few(o);
    }
    o->windows.dy = dy;
}

static void conv_few_strip(const hu_conv_strip_view *v, const float *x, const float *dy, bool adds,
                           float *turned) {
    const hu_conv *c = v->conv;
    int64_t row = c->kernel_w * c->in_c;
    hu_conv_few o = {.windows = windows_of(v), .sums_term = c->out_c, .adds = adds};
    for (int64_t kh = 0; kh < c->kernel_h; kh++) {
        take_kernel_row(v, kh, x, dy, &o.windows);
        for (int64_t first = 0; first < row; first += o.terms) {
            o.terms = hu_conv_share(row - first, v->kernels->few_terms);
            place_windows(first - c->pad_w * c->in_c, o.terms, &o.windows);
            run_terms(v, &o, turned + (kh * row + first) * c->out_c);
        }
    }
}

/* ---- several taps at once ---- */

static bool conv_is_taps(const hu_conv *c) {
    return hu_conv_kernels_of_isa()->taps && c->in_c == HU_CONV_WIDTH && c->kernel_w > 1;
}

/* All filters of some taps of a kernel row; dw: of the first of both. */
static void run_tap_tiles(const hu_conv_strip_view *v, hu_conv_taps *o, float *dw) {
    const float *dy = o->windows.dy;
    for (int64_t f = 0; f < v->conv->out_c; f += o->filters) {
        o->filters = hu_conv_share(v->conv->out_c - f, v->kernels->places);
        o->windows.dy = dy + f;
        o->dw = dw + f * o->dw_filter;
        v->kernels->taps(o);
    }
    o->windows.dy = dy;
}

static void conv_taps_strip(const hu_conv_strip_view *v, const float *x, const float *dy, bool adds,
                            float *dw) {
    const hu_conv *c = v->conv;
    int64_t row = c->kernel_w * c->in_c;
    hu_conv_taps o = {.windows = windows_of(v),
                      .x_tap = c->dilation_w * c->in_c,
                      .dw_filter = c->kernel_h * row,
                      .adds = adds};
    for (int64_t kh = 0; kh < c->kernel_h; kh++) {
        take_kernel_row(v, kh, x, dy, &o.windows);
        for (int64_t kw = 0; kw < c->kernel_w; kw += o.taps) {
            o.taps = hu_conv_share(c->kernel_w - kw, HU_CONV_TAPS);
            place_windows(kw * o.x_tap - c->pad_w * c->in_c, (o.taps - 1) * o.x_tap + c->in_c,
                          &o.windows);
            run_tap_tiles(v, &o, dw + kh * row + kw * c->in_c);
        }
    }
}
