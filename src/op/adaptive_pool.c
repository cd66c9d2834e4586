/* adaptive_avg_pool: [H, W, C] -> [out_h, out_w, C], means over windows whose extents follow from
 * those of the image. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/expect.h"
#include "op/pool.h"

/* Keeps extent x output far from overflow. */
enum { MAX_OUT = 1 << 20 };

static const hu_attribute adaptive_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "out", offsetof(hu_adaptive_pool_attrs, out_h), NAN},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
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
typedef struct window {
    int64_t h0, h1, w0, w1;
} window;

static void span(int64_t i, int64_t extent, int64_t outputs, int64_t *first, int64_t *end) {
    *first = i * extent / outputs;
    *end = ((i + 1) * extent + outputs - 1) / outputs;
}

static window window_at(const hu_node_info *info, int64_t oh, int64_t ow) {
    const int64_t *in = info->in[0].extent, *out = info->out[0].extent;
    window w;
    span(oh, in[0], out[0], &w.h0, &w.h1);
    span(ow, in[1], out[1], &w.w0, &w.w1);
    return w;
}

static double taps_of(const window *w) {
    return (double)((w->h1 - w->h0) * (w->w1 - w->w0));
}

/* y [C] = mean of x [H, W, C] over the window: a sum in double, in row order, one rounding. */
static void mean_of(const hu_node_info *info, const window *w, const float *x, double *sum,
                    float *y) {
    int64_t width = info->in[0].extent[1], channels = hu_channels(&info->in[0]);
    memset(sum, 0, (size_t)channels * sizeof *sum);
    for (int64_t h = w->h0; h < w->h1; h++)
        for (int64_t v = w->w0; v < w->w1; v++)
            for (int64_t c = 0; c < channels; c++)
                sum[c] += (double)x[(h * width + v) * channels + c];
    for (int64_t c = 0; c < channels; c++) y[c] = (float)(sum[c] / taps_of(w));
}

/* dx [H, W, C] += dy [C] / taps at each place of the window. */
static void spread(const hu_node_info *info, const window *w, const float *dy, float *dx) {
    int64_t width = info->in[0].extent[1], channels = hu_channels(&info->in[0]);
    float taps = (float)taps_of(w);
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
                window w = window_at(info, oh, ow);
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
