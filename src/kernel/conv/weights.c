/* kernel/conv/weights.c - weight gradient: per strip of the batch, tiles of filters x channels of
 * one tap over the output pixels whose tap lies inside the image. */
#include <string.h>

#include "base/checked.h"
#include "kernel/conv/plan.h"
#include "kernel/conv/sweep.h"

/* Pixels of a strip: enough that a tile's end costs little, few enough that what they read stays in
 * the L1 cache. */
enum { STRIP_PIXELS = 128, ALIGNMENT = 64 };

/* Images of up to so many channels are read in place, others copied into panels: pixels whose
 * distance is a power of two would fall on few sets of the cache. */
enum { CHANNELS_IN_PLACE = 32 };

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

hu_conv_strips hu_conv_strip(const hu_conv *c) {
    int64_t pixels = c->out_h * c->out_w;
    if (pixels <= STRIP_PIXELS) return (hu_conv_strips){STRIP_PIXELS / pixels, c->out_h};
    int64_t rows = STRIP_PIXELS / c->out_w;
    return (hu_conv_strips){1, rows > 1 ? rows : 1};
}

/* Input rows that `rows` output rows read. */
static int64_t rows_read(const hu_conv *c, int64_t rows) {
    return least(c->in_h, (rows - 1) * c->stride_h + (c->kernel_h - 1) * c->dilation_h + 1);
}

/* x is read in place where panels of 16 channels lie in it whole. */
static bool copies_x(const hu_conv *c) {
    return c->in_c > CHANNELS_IN_PLACE || c->in_c % HU_CONV_WIDTH != 0;
}

static bool copies_dy(const hu_conv *c) {
    return c->out_c > CHANNELS_IN_PLACE;
}

static size_t x_panel_bytes(const hu_conv *c, int64_t count) {
    hu_conv_strips strip = hu_conv_strip(c);
    int64_t pixels = least(strip.images, count) * rows_read(c, strip.rows) * c->in_w;
    int64_t channels = hu_conv_blocks(c->in_c) * HU_CONV_WIDTH;
    return copies_x(c) ? (size_t)(pixels * channels) * sizeof(float) : 0;
}

static size_t dy_panel_bytes(const hu_conv *c, int64_t count) {
    hu_conv_strips strip = hu_conv_strip(c);
    int64_t pixels = least(strip.images, count) * strip.rows * c->out_w;
    return copies_dy(c) ? (size_t)(pixels * c->out_c) * sizeof(float) : 0;
}

size_t hu_conv_scratch_bytes(const hu_conv_plan *plan, int64_t count) {
    return hu_round_up(x_panel_bytes(&plan->conv, count), ALIGNMENT) +
           dy_panel_bytes(&plan->conv, count);
}

/* One strip: output rows y0 .. y1-1 and input rows in0 .. in1-1 of some images; where x and dy are
 * read, in floats: channel blocks (filters) lie x_block (dy_filter) apart. */
typedef struct strip {
    const hu_conv *conv;
    const hu_conv_kernels *kernels;
    int64_t images, y0, y1, in0, in1;
    const float *x, *dy;
    int64_t x_block, x_image, x_row, x_column;
    int64_t dy_filter, dy_image, dy_row, dy_column; /* dy_filter: of a tile's first filter */
    bool adds;
    float *dw;
} strip;

/* [block][image][row][column][16], the last block filled up with zeros. */
static void copy_x(strip *s, const float *x, float *panel) {
    const hu_conv *c = s->conv;
    int64_t pixels = (s->in1 - s->in0) * c->in_w, depth = c->in_c;
    s->x_column = HU_CONV_WIDTH;
    s->x_row = c->in_w * HU_CONV_WIDTH;
    s->x_image = pixels * HU_CONV_WIDTH;
    s->x_block = s->images * s->x_image;
    s->x = panel;
    x += s->in0 * c->in_w * depth;
    for (int64_t n = 0; n < s->images; n++, x += c->in_h * c->in_w * depth, panel += s->x_image) {
        for (int64_t k = 0; k < depth; k += HU_CONV_WIDTH) {
            float *to = panel + k / HU_CONV_WIDTH * s->x_block;
            const float *from = x + k;
            if (depth - k >= HU_CONV_WIDTH) {
                for (int64_t i = 0; i < pixels; i++, to += HU_CONV_WIDTH, from += depth)
                    memcpy(to, from, HU_CONV_WIDTH * sizeof *to);
                continue;
            }
            for (int64_t i = 0; i < pixels; i++, to += HU_CONV_WIDTH, from += depth)
                for (int64_t j = 0; j < HU_CONV_WIDTH; j++) to[j] = j < depth - k ? from[j] : 0;
        }
    }
}

static void place_x(strip *s, const float *x, float *panel) {
    const hu_conv *c = s->conv;
    if (copies_x(c)) {
        copy_x(s, x, panel);
        return;
    }
    s->x = x + s->in0 * c->in_w * c->in_c;
    s->x_block = HU_CONV_WIDTH;
    s->x_column = c->in_c;
    s->x_row = c->in_w * c->in_c;
    s->x_image = c->in_h * s->x_row;
}

/* [tile of filters][image][pixel][filter] */
static void copy_dy(const strip *s, const float *dy, float *panel) {
    const hu_conv *c = s->conv;
    int64_t pixels = (s->y1 - s->y0) * c->out_w, image = c->out_h * c->out_w * c->out_c, n;
    dy += s->y0 * c->out_w * c->out_c;
    for (int64_t f = 0; f < c->out_c; f += n) {
        n = hu_conv_share(c->out_c - f, s->kernels->places);
        for (int64_t i = 0; i < s->images; i++)
            for (int64_t k = 0; k < pixels; k++, panel += n)
                memcpy(panel, dy + i * image + k * c->out_c + f, (size_t)n * sizeof *panel);
    }
}

static void place_dy(strip *s, const float *dy, float *panel) {
    const hu_conv *c = s->conv;
    s->dy_image = (s->y1 - s->y0) * c->out_w;
    if (copies_dy(c)) {
        copy_dy(s, dy, panel);
        s->dy = panel;
        return;
    }
    s->dy = dy + s->y0 * c->out_w * c->out_c;
}

/* Output places low .. high-1 within first .. end-1 whose tap k lies inside the image. */
static void reach(int64_t k, int64_t in, int64_t stride, int64_t pad, int64_t dilation,
                  int64_t first, int64_t end, int64_t *low, int64_t *high) {
    int64_t offset = pad - k * dilation;
    *low = offset > 0 ? (offset + stride - 1) / stride : 0;
    *high = in - 1 + offset < 0 ? 0 : (in - 1 + offset) / stride + 1;
    if (*low < first) *low = first;
    if (*high > end) *high = end;
    if (*low >= *high) *low = *high = first;
}

/* All taps of one tile: filters f .. f+n-1, channels of one block. */
static void run_taps(const strip *s, int64_t block, int64_t f, int64_t n) {
    const hu_conv *c = s->conv;
    int64_t row0, row1, column0, column1, filter = c->kernel_h * c->kernel_w * c->in_c;
    bool is_copy = copies_dy(c);
    int64_t dy_column = is_copy ? n : c->out_c, dy_row = c->out_w * dy_column;
    const float *dy = s->dy + (is_copy ? f * s->images * s->dy_image : f);
    float *dw = s->dw + f * filter + block * HU_CONV_WIDTH;
    hu_conv_outer o = {
        .filters = n,
        .images = s->images,
        .width = least(c->in_c - block * HU_CONV_WIDTH, HU_CONV_WIDTH),
        .x_image = s->x_image,
        .x_row = s->x_row * c->stride_h,
        .x_column = s->x_column * c->stride_w,
        .dy_image = is_copy ? s->dy_image * n : c->out_h * dy_row,
        .dy_row = dy_row,
        .dy_column = dy_column,
        .dw_filter = filter,
        .adds = s->adds,
    };
    for (int64_t kh = 0; kh < c->kernel_h; kh++) {
        reach(kh, c->in_h, c->stride_h, c->pad_h, c->dilation_h, s->y0, s->y1, &row0, &row1);
        int64_t in_row = row0 * c->stride_h - c->pad_h + kh * c->dilation_h - s->in0;
        for (int64_t kw = 0; kw < c->kernel_w; kw++, dw += c->in_c) {
            reach(kw, c->in_w, c->stride_w, c->pad_w, c->dilation_w, 0, c->out_w, &column0,
                  &column1);
            int64_t in_column = column0 * c->stride_w - c->pad_w + kw * c->dilation_w;
            o.rows = row1 - row0;
            o.columns = column1 - column0;
            o.dw = dw;
            o.x = s->x;
            o.dy = dy;
            if (o.rows > 0 && o.columns > 0) {
                o.x += block * s->x_block + in_row * s->x_row + in_column * s->x_column;
                o.dy += (row0 - s->y0) * dy_row + column0 * dy_column;
            } else {
                o.rows = 0;
            }
            s->kernels->outer(&o);
        }
    }
}

static void run_strip(const strip *s) {
    const hu_conv *c = s->conv;
    for (int64_t block = 0; block < hu_conv_blocks(c->in_c); block++)
        for (int64_t f = 0, n; f < c->out_c; f += n) {
            n = hu_conv_share(c->out_c - f, s->kernels->places);
            run_taps(s, block, f, n);
        }
}

void hu_conv_weight_gradient(const hu_conv_plan *plan, int64_t count, const float *x,
                             const float *dy, bool adds, void *scratch, float *dw) {
    const hu_conv *c = &plan->conv;
    hu_conv_strips strips = hu_conv_strip(c);
    float *x_panel = scratch;
    float *dy_panel = (float *)((char *)scratch + hu_round_up(x_panel_bytes(c, count), ALIGNMENT));
    strip s = {.conv = c, .kernels = hu_conv_kernels_of_isa(), .adds = adds, .dw = dw};
    for (int64_t n = 0; n < count; n += strips.images) {
        s.images = least(strips.images, count - n);
        for (int64_t y = 0; y < c->out_h; y += strips.rows) {
            s.y0 = y;
            s.y1 = least(y + strips.rows, c->out_h);
            s.in0 = y * c->stride_h - c->pad_h;
            s.in1 =
                least(s.in0 + (s.y1 - 1 - y) * c->stride_h + (c->kernel_h - 1) * c->dilation_h + 1,
                      c->in_h);
            if (s.in0 < 0) s.in0 = 0;
            if (s.in0 > s.in1) s.in0 = s.in1 = 0;
            place_x(&s, x + n * c->in_h * c->in_w * c->in_c, x_panel);
            place_dy(&s, dy + n * c->out_h * c->out_w * c->out_c, dy_panel);
            run_strip(&s);
            s.adds = true;
        }
    }
}
