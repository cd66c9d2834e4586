#include "kernel/conv/strip.h"

/* ---- weights ---- */

/* Weight gradient: per strip of the batch, tiles of filters x channels of
 * one tap over the output pixels whose tap lies inside the image. */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void hu_conv_reach(int64_t k, int64_t in, int64_t stride, int64_t pad, int64_t dilation,
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

/* The taps of a kernel row one by one, each over the columns that it reaches. */
static void run_columns(const hu_conv_strip_view *v, const tap_row *t, hu_conv_outer *o) {
    const hu_conv *c = v->conv;
    int64_t low, high;
    for (int64_t kw = 0; kw < c->kernel_w; kw++) {
        hu_conv_reach(kw, c->in_w, c->stride_w, c->pad_w, c->dilation_w, 0, c->out_w, &low, &high);
        int64_t in = low * c->stride_w - c->pad_w + kw * c->dilation_w;
        o->dw = t->dw + kw * c->in_c;
        o->x = t->x;
        o->dy = t->dy;
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
    int64_t row = c->kernel_w * c->in_c, lanes = hu_conv_tap_lanes(c),
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
        hu_conv_reach(kh, c->in_h, c->stride_h, c->pad_h, c->dilation_h, v->y0, v->y1, &low, &high);
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
            blocks = hu_conv_blocks(hu_conv_tap_lanes(c));
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
        hu_conv_view_filters(v, f, n);
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
    bool is_few = hu_conv_is_few(c);
    hu_conv_view_begin(c, count, scratch, &v);
    for (int64_t n = 0; n < count; n += strips.images) {
        v.images = least(strips.images, count - n);
        for (v.y0 = 0; v.y0 < c->out_h; v.y0 += strips.rows) {
            v.y1 = least(v.y0 + strips.rows, c->out_h);
            const float *first_x = x + n * c->in_h * c->in_w * c->in_c;
            const float *first_dy = dy + n * c->out_h * c->out_w * c->out_c;
            if (is_few) {
                hu_conv_few_strip(&v, first_x, first_dy, adds, dw);
            } else {
                find_rows(&v);
                hu_conv_view_strip(&v, first_x, first_dy, scratch);
                run_strip(&v, adds, dw);
            }
            /* The first strip of the call overwrites dw unless the caller adds; the others add. */
            adds = true;
        }
    }
}

/* ---- weights few ---- */

/* Weight gradient of layers with few input channels, such as the first
 * of a network for pictures: lanes are filters, so that none is idle, and every float of a kernel
 * row has a sum of its own. The order of sums is that of the definition (kernel/conv/conv.h). */

enum { MOST_CHANNELS = 4, MOST_FILTERS = 2 * HU_CONV_WIDTH };

bool hu_conv_is_few(const hu_conv *c) {
    return c->in_c <= MOST_CHANNELS && c->out_c % HU_CONV_WIDTH == 0 && c->dilation_h == 1 &&
           c->dilation_w == 1;
}

/* Columns whose terms all lie inside a row of x. */
static void find_inner(hu_conv_few *o) {
    int64_t before = o->x_first < 0 ? -o->x_first : 0, last = o->x_end - o->terms - o->x_first;
    o->inner = (before + o->x_column - 1) / o->x_column;
    o->inner_end = last < 0 ? 0 : last / o->x_column + 1;
    if (o->inner > o->columns) o->inner = o->columns;
    if (o->inner_end > o->columns) o->inner_end = o->columns;
    if (o->inner_end < o->inner) o->inner_end = o->inner;
}

/* dw = or += the sums; filter: floats from one to the next. */
static void put(const hu_conv_few *o, int64_t filter, bool adds, float *dw) {
    for (int64_t f = 0; f < o->filters; f++)
        for (int64_t m = 0; m < o->terms; m++) {
            float sum = o->sums[m * o->filters + f], *to = dw + f * filter + m;
            *to = adds ? *to + sum : sum;
        }
}

/* All filters of some terms of a kernel row; dw: of the first of both. */
static void run_terms(const hu_conv_strip_view *v, hu_conv_few *o, bool adds, float *dw) {
    const hu_conv *c = v->conv;
    int64_t filter = c->kernel_h * c->kernel_w * c->in_c, most = v->kernels->few_filters;
    const float *dy = o->dy;
    for (int64_t f = 0; f < c->out_c; f += o->filters) {
        o->filters = c->out_c - f < most ? most / 2 : most;
        o->dy = dy + f;
        v->kernels->few(o);
        put(o, filter, adds, dw + f * filter);
    }
    o->dy = dy;
}

void hu_conv_few_strip(const hu_conv_strip_view *v, const float *x, const float *dy, bool adds,
                       float *dw) {
    const hu_conv *c = v->conv;
    float sums[HU_CONV_FEW_TERMS * MOST_FILTERS];
    int64_t row = c->kernel_w * c->in_c, low, high;
    hu_conv_few o = {.sums = sums,
                     .images = v->images,
                     .columns = c->out_w,
                     .x_image = c->in_h * c->in_w * c->in_c,
                     .x_row = c->stride_h * c->in_w * c->in_c,
                     .x_column = c->stride_w * c->in_c,
                     .x_end = c->in_w * c->in_c,
                     .dy_image = c->out_h * c->out_w * c->out_c,
                     .dy_row = c->out_w * c->out_c,
                     .dy_column = c->out_c};
    for (int64_t kh = 0; kh < c->kernel_h; kh++) {
        hu_conv_reach(kh, c->in_h, c->stride_h, c->pad_h, c->dilation_h, v->y0, v->y1, &low, &high);
        o.rows = high - low;
        o.x = o.rows ? x + (low * c->stride_h - c->pad_h + kh * c->dilation_h) * o.x_end : x;
        o.dy = dy + low * o.dy_row;
        for (int64_t first = 0; first < row; first += o.terms) {
            o.terms = hu_conv_share(row - first, HU_CONV_FEW_TERMS);
            o.x_first = first - c->pad_w * c->in_c;
            find_inner(&o);
            run_terms(v, &o, adds, dw + kh * row + first);
        }
    }
}
