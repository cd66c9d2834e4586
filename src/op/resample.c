/* nearest: images enlarged by repeating pixels; pixel_shuffle: by making pixels of channels. */
#include "op/resample.h"

#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "base/error.h"
#include "op/expect.h"

/* ---- nearest: every pixel becomes factor_h x factor_w pixels ---- */

static hu_status enlarge_extents(const char *op, const hu_enlarge_attrs *a, const hu_shape *in,
                                 hu_shape *out) {
    hu_status st;
    HU_TRY(hu_expect_rank(op, in, 3));
    *out = *in;
    if (a->factor_h < 1 || a->factor_w < 1)
        return hu_fail(HU_ERR_SHAPE, "%s: factor %" PRId64 "x%" PRId64 ", expected at least 1", op,
                       a->factor_h, a->factor_w);
    if (!hu_mul_i64(in->extent[0], a->factor_h, &out->extent[0]) ||
        !hu_mul_i64(in->extent[1], a->factor_w, &out->extent[1]))
        return hu_fail(HU_ERR_SHAPE, "%s: factor %" PRId64 "x%" PRId64 " does not fit 63 bits", op,
                       a->factor_h, a->factor_w);
done:
    return st;
}

/* x [H, W, C] -> y [H factor_h, W factor_w, C] */
static hu_status nearest_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)n_in;
    *n_out = 1;
    hu_status st = enlarge_extents("nearest", attrs, &in[0], &out[0]);
    return st == HU_OK ? hu_shape_check(&out[0]) : st;
}

/* The source pixel of the target pixel number p of an image. */
static int64_t nearest_source(const hu_node_info *info, int64_t p) {
    const hu_enlarge_attrs *a = info->attrs;
    int64_t width = info->out[0].extent[1];
    return p / width / a->factor_h * info->in[0].extent[1] + p % width / a->factor_w;
}

static void nearest_forward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    int64_t channels = hu_channels(in), pixels = out->extent[0] * out->extent[1];
    int64_t from = hu_shape_elements(in), to = hu_shape_elements(out);
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t p = 0; p < pixels; p++) {
            const float *x = call->in[0] + s * from + nearest_source(call->info, p) * channels;
            float *y = call->out[0] + s * to + p * channels;
            for (int64_t c = 0; c < channels; c++) y[c] = x[c];
        }
}

/* The targets of each source are added in the order of rows. */
static void nearest_backward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    int64_t channels = hu_channels(in), pixels = out->extent[0] * out->extent[1];
    int64_t from = hu_shape_elements(in), to = hu_shape_elements(out);
    if (!call->din[0]) return;
    for (int64_t i = 0; i < call->count * from; i++) call->din[0][i] = 0;
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t p = 0; p < pixels; p++) {
            float *dx = call->din[0] + s * from + nearest_source(call->info, p) * channels;
            const float *dy = call->dout[0] + s * to + p * channels;
            for (int64_t c = 0; c < channels; c++) dx[c] += dy[c];
        }
}

static const hu_attribute enlarge_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "factor", offsetof(hu_enlarge_attrs, factor_h), NAN},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_nearest = {.name = "nearest",
                             .attrs_bytes = sizeof(hu_enlarge_attrs),
                             .attributes = enlarge_attributes,
                             .min_in = 1,
                             .max_in = 1,
                             .selects_input = true,
                             .shape = nearest_shape,
                             .saves = HU_SAVE_NOTHING,
                             .forward = nearest_forward,
                             .backward = nearest_backward};

/* ---- pixel_shuffle: channels become pixels (Shi et al., 2016) ---- */

/* x [H, W, C factor_h factor_w] -> y [H factor_h, W factor_w, C] */
static hu_status shuffle_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    const hu_enlarge_attrs *a = attrs;
    hu_status st;
    int64_t parts;
    (void)n_in;
    *n_out = 1;
    HU_TRY(enlarge_extents("pixel_shuffle", a, &in[0], &out[0]));
    if (!hu_mul_i64(a->factor_h, a->factor_w, &parts) || hu_channels(in) % parts != 0)
        return hu_fail(HU_ERR_SHAPE,
                       "pixel_shuffle: %" PRId64 " channels cannot be shared among %" PRId64
                       "x%" PRId64 " pixels",
                       hu_channels(in), a->factor_h, a->factor_w);
    out[0].extent[2] = hu_channels(in) / parts;
    st = hu_shape_check(&out[0]);
done:
    return st;
}

/* Where channel 0 of the large image's pixel (y, x) stands in the deep one [H, W, C parts]; channel
 * c is c parts further. y counts rows from the first sample on: samples are whole rows of both. */
static int64_t deep_place(const hu_op_call *call, int64_t y, int64_t x) {
    const hu_enlarge_attrs *a = call->info->attrs;
    const hu_shape *in = &call->info->in[0];
    int64_t pixel = y / a->factor_h * in->extent[1] + x / a->factor_w;
    return pixel * in->extent[2] + y % a->factor_h * a->factor_w + x % a->factor_w;
}

static void shuffle_forward(const hu_op_call *call) {
    const hu_enlarge_attrs *a = call->info->attrs;
    const hu_shape *out = &call->info->out[0];
    int64_t width = out->extent[1], channels = out->extent[2], parts = a->factor_h * a->factor_w;
    for (int64_t y = 0; y < call->count * out->extent[0]; y++)
        for (int64_t x = 0; x < width; x++) {
            const float *from = call->in[0] + deep_place(call, y, x);
            float *to = call->out[0] + (y * width + x) * channels;
            for (int64_t c = 0; c < channels; c++) to[c] = from[c * parts];
        }
}

static void shuffle_backward(const hu_op_call *call) {
    const hu_enlarge_attrs *a = call->info->attrs;
    const hu_shape *out = &call->info->out[0];
    int64_t width = out->extent[1], channels = out->extent[2], parts = a->factor_h * a->factor_w;
    if (!call->din[0]) return;
    for (int64_t y = 0; y < call->count * out->extent[0]; y++)
        for (int64_t x = 0; x < width; x++) {
            float *to = call->din[0] + deep_place(call, y, x);
            const float *from = call->dout[0] + (y * width + x) * channels;
            for (int64_t c = 0; c < channels; c++) to[c * parts] = from[c];
        }
}

const hu_op hu_op_pixel_shuffle = {.name = "pixel_shuffle",
                                   .attrs_bytes = sizeof(hu_enlarge_attrs),
                                   .attributes = enlarge_attributes,
                                   .min_in = 1,
                                   .max_in = 1,
                                   .selects_input = true,
                                   .selects_gradient = true,
                                   .shape = shuffle_shape,
                                   .saves = HU_SAVE_NOTHING,
                                   .forward = shuffle_forward,
                                   .backward = shuffle_backward};
