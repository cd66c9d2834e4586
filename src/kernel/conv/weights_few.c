/* kernel/conv/weights_few.c - weight gradient of layers with few input channels, such as the first
 * of a network for pictures: lanes are filters, so that none is idle, and every float of a kernel
 * row has a sum of its own. The order of sums is that of the definition (kernel/conv/conv.h). */
#include "kernel/conv/strip.h"

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
