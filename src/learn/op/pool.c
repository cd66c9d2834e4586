#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "kernel/pool/pool.h"
#include "op/attributes.h"

/* ---- windows ---- */

static const hu_attribute pool_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "kernel", offsetof(hu_pool_attrs, kernel_h), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_PAIR, "stride", offsetof(hu_pool_attrs, stride_h), 0, 0, INFINITY},
    {HU_ATTRIBUTE_PAIR, "pad", offsetof(hu_pool_attrs, pad_h), 0, 0, INFINITY},
    {HU_ATTRIBUTE_PAIR, "more", offsetof(hu_pool_attrs, more_h), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "ceil", offsetof(hu_pool_attrs, ceil), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* Windows lie side by side unless a stride is given. */
static void pool_usual(void *attrs, const hu_shape *in) {
    hu_pool_attrs *a = attrs;
    (void)in;
    if (a->stride_h == 0) a->stride_h = a->kernel_h;
    if (a->stride_w == 0) a->stride_w = a->kernel_w;
}

typedef struct axis {
    int64_t kernel, stride, pad, more;
    bool ceil;
} axis;

/* Outputs along one axis: windows that begin inside the padded image and end there. With ceil one
 * more may end after it, if it begins inside the image or the padding before it. So each window
 * has a tap inside the image. */
static hu_status pooled(const char *op, const axis *a, int64_t extent, int64_t *out) {
    int64_t behind = a->pad + a->more, padded, left;
    if (a->kernel < 1 || a->stride < 1 || a->pad < 0 || a->pad >= a->kernel || behind < 0 ||
        behind >= a->kernel || !hu_add_i64(extent, a->pad, &padded) ||
        !hu_add_i64(padded, behind, &padded) || !hu_add_i64(padded, a->stride, &left))
        return hu_fail(HU_ERR_SHAPE,
                       "%s: kernel %" PRId64 ", stride %" PRId64 ", pad %" PRId64 ", more %" PRId64
                       "; expected kernel and stride >= 1, 0 <= pad < kernel and "
                       "0 <= pad + more < kernel",
                       op, a->kernel, a->stride, a->pad, a->more);
    left = padded - a->kernel;
    if (a->ceil) left += a->stride - 1;
    if (left < 0)
        return hu_fail(HU_ERR_SHAPE,
                       "%s: extent %" PRId64 " with padding %" PRId64 " and %" PRId64
                       " is less than kernel %" PRId64,
                       op, extent, a->pad, behind, a->kernel);
    *out = left / a->stride + 1;
    if (a->ceil && (*out - 1) * a->stride >= extent + a->pad) --*out;
    return HU_OK;
}

/* x [H, W, C] -> y [out_h, out_w, C] */
static hu_status pool_shape(const char *op, const hu_pool_attrs *a, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    hu_status st;
    const axis h = {a->kernel_h, a->stride_h, a->pad_h, a->more_h, a->ceil};
    const axis w = {a->kernel_w, a->stride_w, a->pad_w, a->more_w, a->ceil};
    HU_TRY(hu_expect_rank(op, in, 3));
    *n_out = 1;
    out[0] = in[0];
    HU_TRY(pooled(op, &h, in->extent[0], &out[0].extent[0]));
    HU_TRY(pooled(op, &w, in->extent[1], &out[0].extent[1]));
done:
    return st;
}

/* One output pixel: rows h0..h1-1 and columns w0..w1-1 of the input lie in the window, whose first
 * tap (perhaps in the padding) is (top, left). */
typedef struct window {
    int64_t top, left, h0, h1, w0, w1;
} window;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The window of output pixel (oh, ow), cut at the borders of the image. */
static window window_at(const hu_pool_attrs *a, const hu_shape *in, int64_t oh, int64_t ow) {
    window w = {.top = oh * a->stride_h - a->pad_h, .left = ow * a->stride_w - a->pad_w};
    w.h0 = w.top < 0 ? 0 : w.top;
    w.w0 = w.left < 0 ? 0 : w.left;
    w.h1 = least(w.top + a->kernel_h, in->extent[0]);
    w.w1 = least(w.left + a->kernel_w, in->extent[1]);
    return w;
}

/* What is done at each output pixel: x and y point at the sample and at the pixel's channels
 * (values or gradients) of output pixel number `pixel`. */
typedef void pixel_fn(const hu_op_call *call, const window *w, float *x, float *y, int64_t pixel);

/* x [count, H, W, C], y [count, out_h, out_w, C]: output pixels in order. */
static void each_pixel(const hu_op_call *call, pixel_fn *pixel, float *x, float *y) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    int64_t x_step = hu_shape_elements(in), channels = hu_channels(in), at = 0;
    for (int64_t n = 0; n < call->count; n++)
        for (int64_t oh = 0; oh < out->extent[0]; oh++)
            for (int64_t ow = 0; ow < out->extent[1]; ow++, at++) {
                window w = window_at(call->info->attrs, in, oh, ow);
                pixel(call, &w, x + n * x_step, y + at * channels, at);
            }
}

/* ---- max_pool: 2, 4 or 8 bits per output element name the tap ---- */

static hu_status max_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    hu_status st;
    const hu_pool_attrs *a = attrs;
    (void)n_in;
    HU_TRY(pool_shape("max_pool", a, in, n_out, out));
    if (a->kernel_h > 256 / a->kernel_w)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "max_pool: kernel %" PRId64 "x%" PRId64 ", expected at most 256 taps",
                       a->kernel_h, a->kernel_w);
done:
    return st;
}

/* Indices per byte: as many as hold a power-of-two number of bits each. */
static int64_t taps_per_byte(const hu_node_info *info) {
    const hu_pool_attrs *a = info->attrs;
    int64_t taps = a->kernel_h * a->kernel_w;
    return taps <= 4 ? 4 : taps <= 16 ? 2 : 1;
}

/* Of the channels of one output pixel. */
static int64_t tap_bytes(const hu_node_info *info) {
    int64_t per_byte = taps_per_byte(info);
    return (hu_channels(&info->out[0]) + per_byte - 1) / per_byte;
}

static size_t max_mask_bytes(const hu_node_info *info) {
    int64_t pixels = hu_shape_elements(&info->out[0]) / hu_channels(&info->out[0]);
    return (size_t)(pixels * tap_bytes(info));
}

/* Room for the indices of one output pixel, a byte each. */
static size_t max_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state, (void)pass;
    return (size_t)(tap_bytes(info) * taps_per_byte(info));
}

/* taps [bytes * per_byte], one byte each -> packed [bytes], the first in the lowest bits. */
static void pack_taps(int64_t bytes, int64_t per_byte, const uint8_t *restrict taps,
                      uint8_t *restrict packed) {
    if (per_byte == 1) memcpy(packed, taps, (size_t)bytes);
    for (int64_t i = 0; per_byte == 2 && i < bytes; i++)
        packed[i] = (uint8_t)(taps[2 * i] | taps[2 * i + 1] << 4);
    for (int64_t i = 0; per_byte == 4 && i < bytes; i++, taps += 4)
        packed[i] = (uint8_t)(taps[0] | taps[1] << 2 | taps[2] << 4 | taps[3] << 6);
}

/* The way back. */
static void unpack_taps(int64_t bytes, int64_t per_byte, const uint8_t *restrict packed,
                        uint8_t *restrict taps) {
    if (per_byte == 1) memcpy(taps, packed, (size_t)bytes);
    for (int64_t i = 0; per_byte == 2 && i < bytes; i++) {
        taps[2 * i] = packed[i] & 15;
        taps[2 * i + 1] = packed[i] >> 4;
    }
    for (int64_t i = 0; per_byte == 4 && i < bytes; i++)
        for (int64_t k = 0; k < 4; k++) taps[4 * i + k] = (uint8_t)(packed[i] >> 2 * k & 3);
}

/* The window of a picture of so many columns, as the kernel looks at it. */
static hu_pool_window seen_of(const hu_node_info *info, const window *w) {
    const hu_pool_attrs *a = info->attrs;
    int64_t channels = hu_channels(&info->in[0]);
    return (hu_pool_window){.channels = channels,
                            .row_step = info->in[0].extent[1] * channels,
                            .rows = w->h1 - w->h0,
                            .columns = w->w1 - w->w0,
                            .first_tap = (w->h0 - w->top) * a->kernel_w + (w->w0 - w->left),
                            .taps_per_row = a->kernel_w};
}

static float *first_of(const hu_pool_window *seen, const window *w, float *x) {
    return x + w->h0 * seen->row_step + w->w0 * seen->channels;
}

/* y [C] = the largest of the window; its taps go into the mask. */
static void max_pixel(const hu_op_call *call, const window *w, float *x, float *y, int64_t pixel) {
    const hu_pool_window seen = seen_of(call->info, w);
    int64_t bytes = tap_bytes(call->info), per_byte = taps_per_byte(call->info);
    uint8_t *taps = call->scratch;
    for (int64_t c = seen.channels; c < bytes * per_byte; c++) taps[c] = 0;
    hu_pool()->largest(&seen, first_of(&seen, w, x), y, taps);
    pack_taps(bytes, per_byte, taps, call->mask + pixel * bytes);
}

/* dy [C] is added to dx at the tap that the mask names. */
static void max_pixel_backward(const hu_op_call *call, const window *w, float *dx, float *dy,
                               int64_t pixel) {
    const hu_pool_window seen = seen_of(call->info, w);
    int64_t bytes = tap_bytes(call->info);
    uint8_t *taps = call->scratch;
    unpack_taps(bytes, taps_per_byte(call->info), call->mask + pixel * bytes, taps);
    hu_pool()->spread(&seen, dy, taps, first_of(&seen, w, dx));
}

/* each_pixel's arrays are written on one side only, which the pixel function decides. */
static float *unconst(const float *p) {
    return (float *)p;
}

/* din[0] [count, H, W, C] = 0: windows may overlap, and each adds its part. */
static void clear(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    memset(call->din[0], 0, (size_t)n * sizeof(float));
}

static void max_forward(const hu_op_call *call) {
    each_pixel(call, max_pixel, unconst(call->in[0]), call->out[0]);
}

static void max_backward(const hu_op_call *call) {
    if (!call->din[0]) return;
    clear(call);
    each_pixel(call, max_pixel_backward, call->din[0], unconst(call->dout[0]));
}

const hu_op hu_op_max_pool = {.name = "max_pool",
                              .attrs_bytes = sizeof(hu_pool_attrs),
                              .attributes = pool_attributes,
                              .usual = pool_usual,
                              .min_in = 1,
                              .max_in = 1,
                              .shape = max_shape,
                              .saves = HU_SAVE_NOTHING,
                              .mask_bytes = max_mask_bytes,
                              .scratch_bytes = max_scratch_bytes,
                              .forward = max_forward,
                              .backward = max_backward};

/* ---- avg_pool: mean over the taps inside the image, or inside the padded one ---- */

static const hu_attribute avg_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "kernel", offsetof(hu_pool_attrs, kernel_h), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_PAIR, "stride", offsetof(hu_pool_attrs, stride_h), 0, 0, INFINITY},
    {HU_ATTRIBUTE_PAIR, "pad", offsetof(hu_pool_attrs, pad_h), 0, 0, INFINITY},
    {HU_ATTRIBUTE_PAIR, "more", offsetof(hu_pool_attrs, more_h), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "ceil", offsetof(hu_pool_attrs, ceil), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "count_padding", offsetof(hu_pool_attrs, counts_padding), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static hu_status avg_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)n_in;
    return pool_shape("avg_pool", attrs, in, n_out, out);
}

static void accumulate(int64_t channels, const float *restrict x, float *restrict sum) {
    for (int64_t c = 0; c < channels; c++) sum[c] += x[c];
}

/* Taps that a mean divides by: those inside the image, or inside the padded one. What a window of
 * ceil reads after the padding never counts. */
static float taps_of(const hu_node_info *info, const window *w) {
    const hu_pool_attrs *a = info->attrs;
    const int64_t *in = info->in[0].extent;
    if (!a->counts_padding) return (float)((w->h1 - w->h0) * (w->w1 - w->w0));
    int64_t bottom = least(w->top + a->kernel_h, in[0] + a->pad_h + a->more_h);
    int64_t right = least(w->left + a->kernel_w, in[1] + a->pad_w + a->more_w);
    return (float)((bottom - w->top) * (right - w->left));
}

/* y [C] = mean of the window, summed in row order. */
static void avg_pixel(const hu_op_call *call, const window *w, float *x, float *y, int64_t pixel) {
    const hu_node_info *info = call->info;
    int64_t width = info->in[0].extent[1], channels = hu_channels(&info->in[0]);
    float count = taps_of(info, w);
    (void)pixel;
    memset(y, 0, (size_t)channels * sizeof *y);
    for (int64_t h = w->h0; h < w->h1; h++)
        for (int64_t v = w->w0; v < w->w1; v++)
            accumulate(channels, x + (h * width + v) * channels, y);
    for (int64_t c = 0; c < channels; c++) y[c] /= count;
}

static void accumulate_share(int64_t channels, const float *restrict dy, float count,
                             float *restrict dx) {
    for (int64_t c = 0; c < channels; c++) dx[c] += dy[c] / count;
}

/* Every tap inside the image gets dy / taps, the same division as forward. */
static void avg_pixel_backward(const hu_op_call *call, const window *w, float *dx, float *dy,
                               int64_t pixel) {
    const hu_node_info *info = call->info;
    int64_t width = info->in[0].extent[1], channels = hu_channels(&info->in[0]);
    (void)pixel;
    for (int64_t h = w->h0; h < w->h1; h++)
        for (int64_t v = w->w0; v < w->w1; v++)
            accumulate_share(channels, dy, taps_of(info, w), dx + (h * width + v) * channels);
}

static void avg_forward(const hu_op_call *call) {
    each_pixel(call, avg_pixel, unconst(call->in[0]), call->out[0]);
}

static void avg_backward(const hu_op_call *call) {
    if (!call->din[0]) return;
    clear(call);
    each_pixel(call, avg_pixel_backward, call->din[0], unconst(call->dout[0]));
}

const hu_op hu_op_avg_pool = {.name = "avg_pool",
                              .attrs_bytes = sizeof(hu_pool_attrs),
                              .attributes = avg_attributes,
                              .usual = pool_usual,
                              .min_in = 1,
                              .max_in = 1,
                              .shape = avg_shape,
                              .saves = HU_SAVE_NOTHING,
                              .forward = avg_forward,
                              .backward = avg_backward};

/* ---- max_pool1d and avg_pool1d: rows [T, C] as an image of one column ---- */

static const hu_attribute rows_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "kernel", offsetof(hu_pool1d_attrs, kernel), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "stride", offsetof(hu_pool1d_attrs, stride), 0, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "pad", offsetof(hu_pool1d_attrs, pad), 0, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "more", offsetof(hu_pool1d_attrs, more), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "ceil", offsetof(hu_pool1d_attrs, ceil), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static const hu_attribute avg_rows_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "kernel", offsetof(hu_pool1d_attrs, kernel), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "stride", offsetof(hu_pool1d_attrs, stride), 0, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "pad", offsetof(hu_pool1d_attrs, pad), 0, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "more", offsetof(hu_pool1d_attrs, more), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "ceil", offsetof(hu_pool1d_attrs, ceil), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "count_padding", offsetof(hu_pool1d_attrs, counts_padding), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static void rows_usual(void *attrs, const hu_shape *in) {
    hu_pool1d_attrs *a = attrs;
    (void)in;
    if (a->stride == 0) a->stride = a->kernel;
}

/* A node over rows as one over images. */
typedef struct column {
    hu_pool_attrs attrs;
    hu_shape in, out;
    hu_node_info info;
} column;

static hu_pool_attrs column_attrs(const hu_pool1d_attrs *a) {
    return (hu_pool_attrs){.kernel_h = a->kernel,
                           .kernel_w = 1,
                           .stride_h = a->stride,
                           .stride_w = 1,
                           .pad_h = a->pad,
                           .more_h = a->more,
                           .ceil = a->ceil,
                           .counts_padding = a->counts_padding};
}

static hu_shape column_shape(const hu_shape *rows) {
    return (hu_shape){3, {rows->extent[0], 1, rows->extent[1]}};
}

/* The column's info points into it. */
static void make_column(const hu_node_info *info, column *c) {
    c->attrs = column_attrs(info->attrs);
    c->in = column_shape(&info->in[0]);
    c->out = column_shape(&info->out[0]);
    c->info = *info;
    c->info.attrs = &c->attrs;
    c->info.in = &c->in;
    c->info.out = &c->out;
}

/* x [T, C] -> y [out, C] */
static hu_status rows_shape(const char *op, const hu_pool1d_attrs *a, const hu_shape *in,
                            int *n_out, hu_shape *out) {
    hu_status st;
    HU_TRY(hu_expect_rank(op, in, 2));
    const hu_pool_attrs attrs = column_attrs(a);
    const hu_shape image = column_shape(in);
    HU_TRY(pool_shape(op, &attrs, &image, n_out, out));
    out[0] = (hu_shape){2, {out[0].extent[0], in->extent[1]}};
done:
    return st;
}

static hu_status max_rows_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    enum { TAPS_MOST = 256 };
    const hu_pool1d_attrs *a = attrs;
    (void)n_in;
    hu_status st = rows_shape("max_pool1d", a, in, n_out, out);
    if (st == HU_OK && a->kernel > TAPS_MOST)
        return hu_fail(HU_ERR_UNSUPPORTED, "max_pool1d: kernel %" PRId64 ", expected at most %d",
                       a->kernel, TAPS_MOST);
    return st;
}

static size_t max_rows_mask_bytes(const hu_node_info *info) {
    column c;
    make_column(info, &c);
    return max_mask_bytes(&c.info);
}

static size_t max_rows_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    column c;
    make_column(info, &c);
    return max_scratch_bytes(&c.info, state, pass);
}

/* One of the functions of images on a call of rows. */
static void run_column(const hu_op_call *call, void (*run)(const hu_op_call *call)) {
    column c;
    hu_op_call image = *call;
    make_column(call->info, &c);
    image.info = &c.info;
    run(&image);
}

static void max_rows_forward(const hu_op_call *call) {
    run_column(call, max_forward);
}

static void max_rows_backward(const hu_op_call *call) {
    run_column(call, max_backward);
}

const hu_op hu_op_max_pool1d = {.name = "max_pool1d",
                                .attrs_bytes = sizeof(hu_pool1d_attrs),
                                .attributes = rows_attributes,
                                .usual = rows_usual,
                                .min_in = 1,
                                .max_in = 1,
                                .selects_input = true,
                                .shape = max_rows_shape,
                                .saves = HU_SAVE_NOTHING,
                                .mask_bytes = max_rows_mask_bytes,
                                .scratch_bytes = max_rows_scratch_bytes,
                                .forward = max_rows_forward,
                                .backward = max_rows_backward};

static hu_status avg_rows_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    (void)n_in;
    return rows_shape("avg_pool1d", attrs, in, n_out, out);
}

static void avg_rows_forward(const hu_op_call *call) {
    run_column(call, avg_forward);
}

static void avg_rows_backward(const hu_op_call *call) {
    run_column(call, avg_backward);
}

const hu_op hu_op_avg_pool1d = {.name = "avg_pool1d",
                                .attrs_bytes = sizeof(hu_pool1d_attrs),
                                .attributes = avg_rows_attributes,
                                .usual = rows_usual,
                                .min_in = 1,
                                .max_in = 1,
                                .shape = avg_rows_shape,
                                .saves = HU_SAVE_NOTHING,
                                .forward = avg_rows_forward,
                                .backward = avg_rows_backward};

/* ---- mean over all extents but the last ---- */

static hu_status mean_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    hu_status st;
    (void)attrs, (void)n_in;
    HU_TRY(hu_expect_rank_least("mean", in, 1));
    *n_out = 1;
    out[0] = (hu_shape){.rank = 1, .extent = {hu_channels(in)}};
done:
    return st;
}

/* x [H, W, C] -> y [1, 1, C]; [T, C] -> [1, C] */
static hu_status global_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    hu_status st;
    (void)attrs, (void)n_in;
    HU_TRY(hu_expect_rank_least("global_avg_pool", in, 2));
    *n_out = 1;
    out[0] = (hu_shape){.rank = in->rank};
    for (int i = 0; i < in->rank; i++) out[0].extent[i] = i < in->rank - 1 ? 1 : hu_channels(in);
done:
    return st;
}

/* Sums [C] in double. */
static size_t mean_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? (size_t)hu_channels(&info->in[0]) * sizeof(double) : 0;
}

/* x [rows, C] -> y [C]: sums in double, in row order, one rounding. */
static void mean_of_sample(int64_t rows, int64_t channels, const float *restrict x,
                           double *restrict sum, float *restrict y) {
    memset(sum, 0, (size_t)channels * sizeof *sum);
    for (int64_t r = 0; r < rows; r++, x += channels)
        for (int64_t c = 0; c < channels; c++) sum[c] += (double)x[c];
    for (int64_t c = 0; c < channels; c++) y[c] = (float)(sum[c] / (double)rows);
}

/* x [count, rows, C] -> y [count, C] */
static void mean_forward(const hu_op_call *call) {
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    int64_t channels = hu_channels(&call->info->in[0]);
    for (int64_t n = 0; n < call->count; n++)
        mean_of_sample(elements / channels, channels, call->in[0] + n * elements, call->scratch,
                       call->out[0] + n * channels);
}

/* dy [count, C] -> dx [count, rows, C]: all rows of a sample are alike. */
static void mean_backward(const hu_op_call *call) {
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    int64_t channels = hu_channels(&call->info->in[0]), rows = elements / channels;
    if (!call->din[0]) return;
    for (int64_t n = 0; n < call->count; n++) {
        float *first = call->din[0] + n * elements;
        for (int64_t c = 0; c < channels; c++)
            first[c] = call->dout[0][n * channels + c] / (float)rows;
        for (int64_t r = 1; r < rows; r++)
            memcpy(first + r * channels, first, (size_t)channels * sizeof *first);
    }
}

const hu_op hu_op_mean = {.name = "mean",
                          .min_in = 1,
                          .max_in = 1,
                          .shape = mean_shape,
                          .saves = HU_SAVE_NOTHING,
                          .scratch_bytes = mean_scratch_bytes,
                          .forward = mean_forward,
                          .backward = mean_backward};

const hu_op hu_op_global_avg_pool = {.name = "global_avg_pool",
                                     .min_in = 1,
                                     .max_in = 1,
                                     .shape = global_shape,
                                     .saves = HU_SAVE_NOTHING,
                                     .scratch_bytes = mean_scratch_bytes,
                                     .forward = mean_forward,
                                     .backward = mean_backward};

/* ---- adaptive pool ---- */

/* adaptive_avg_pool: [H, W, C] -> [out_h, out_w, C], means over windows whose extents follow from
 * those of the image. */

/* Keeps extent x output far from overflow. */
enum { MAX_OUT = 1 << 20 };

static const hu_attribute adaptive_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "out", offsetof(hu_adaptive_pool_attrs, out_h), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* Windows along one side of the image: more of them than places are right, they share places. */
static hu_status check_side(const char *side, int64_t outputs, int64_t extent) {
    const int64_t most = INT64_MAX / MAX_OUT - 1;
    if (outputs < 1 || outputs > MAX_OUT)
        return hu_fail(HU_ERR_SHAPE,
                       "adaptive_avg_pool: out: found %" PRId64 " %s, expected 1 to %d", outputs,
                       side, MAX_OUT);
    if (extent >= 1 && extent <= most) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "adaptive_avg_pool: input: found %" PRId64 " %s, expected 1 to %" PRId64, extent,
                   side, most);
}

static hu_status adaptive_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_adaptive_pool_attrs *a = attrs;
    (void)n_in;
    hu_status st;
    HU_TRY(hu_expect_rank("adaptive_avg_pool", in, 3));
    HU_TRY(check_side("rows", a->out_h, in->extent[0]));
    HU_TRY(check_side("columns", a->out_w, in->extent[1]));
    *n_out = 1;
    out[0] = (hu_shape){3, {a->out_h, a->out_w, hu_channels(in)}};
done:
    return st;
}

/* Sums [C] in double. */
static size_t adaptive_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? (size_t)hu_channels(&info->in[0]) * sizeof(double) : 0;
}

/* Rows h0 .. h1-1 and columns w0 .. w1-1 of the image. */
typedef struct adaptive_pool_window {
    int64_t h0, h1, w0, w1;
} adaptive_pool_window;

static void span(int64_t i, int64_t extent, int64_t outputs, int64_t *first, int64_t *end) {
    *first = i * extent / outputs;
    *end = ((i + 1) * extent + outputs - 1) / outputs;
}

static adaptive_pool_window adaptive_pool_window_at(const hu_node_info *info, int64_t oh,
                                                    int64_t ow) {
    const int64_t *in = info->in[0].extent, *out = info->out[0].extent;
    adaptive_pool_window w;
    span(oh, in[0], out[0], &w.h0, &w.h1);
    span(ow, in[1], out[1], &w.w0, &w.w1);
    return w;
}

static double adaptive_pool_taps_of(const adaptive_pool_window *w) {
    return (double)((w->h1 - w->h0) * (w->w1 - w->w0));
}

/* y [C] = mean of x [H, W, C] over the window: a sum in double, in row order, one rounding. */
static void mean_of(const hu_node_info *info, const adaptive_pool_window *w, const float *x,
                    double *sum, float *y) {
    int64_t width = info->in[0].extent[1], channels = hu_channels(&info->in[0]);
    memset(sum, 0, (size_t)channels * sizeof *sum);
    for (int64_t h = w->h0; h < w->h1; h++)
        for (int64_t v = w->w0; v < w->w1; v++)
            for (int64_t c = 0; c < channels; c++)
                sum[c] += (double)x[(h * width + v) * channels + c];
    for (int64_t c = 0; c < channels; c++) y[c] = (float)(sum[c] / adaptive_pool_taps_of(w));
}

/* dx [H, W, C] += dy [C] / taps at each place of the window. */
static void spread(const hu_node_info *info, const adaptive_pool_window *w, const float *dy,
                   float *dx) {
    int64_t width = info->in[0].extent[1], channels = hu_channels(&info->in[0]);
    float taps = (float)adaptive_pool_taps_of(w);
    for (int64_t h = w->h0; h < w->h1; h++)
        for (int64_t v = w->w0; v < w->w1; v++)
            for (int64_t c = 0; c < channels; c++)
                dx[(h * width + v) * channels + c] += dy[c] / taps;
}

/* Output places in order; windows may overlap, so that gradients are added. */
static void each_window(const hu_op_call *call, hu_pass pass) {
    const hu_node_info *info = call->info;
    const int64_t *out = info->out[0].extent;
    int64_t in_step = hu_shape_elements(&info->in[0]), channels = out[2], at = 0;
    for (int64_t n = 0; n < call->count; n++)
        for (int64_t oh = 0; oh < out[0]; oh++)
            for (int64_t ow = 0; ow < out[1]; ow++, at += channels) {
                adaptive_pool_window w = adaptive_pool_window_at(info, oh, ow);
                if (pass == HU_FORWARD)
                    mean_of(info, &w, call->in[0] + n * in_step, call->scratch, call->out[0] + at);
                else
                    spread(info, &w, call->dout[0] + at, call->din[0] + n * in_step);
            }
}

static void adaptive_forward(const hu_op_call *call) {
    each_window(call, HU_FORWARD);
}

static void adaptive_backward(const hu_op_call *call) {
    if (!call->din[0]) return;
    int64_t elements = call->count * hu_shape_elements(&call->info->in[0]);
    memset(call->din[0], 0, (size_t)elements * sizeof(float));
    each_window(call, HU_BACKWARD);
}

const hu_op hu_op_adaptive_avg_pool = {.name = "adaptive_avg_pool",
                                       .attrs_bytes = sizeof(hu_adaptive_pool_attrs),
                                       .attributes = adaptive_attributes,
                                       .min_in = 1,
                                       .max_in = 1,
                                       .shape = adaptive_shape,
                                       .saves = HU_SAVE_NOTHING,
                                       .scratch_bytes = adaptive_scratch_bytes,
                                       .forward = adaptive_forward,
                                       .backward = adaptive_backward};
