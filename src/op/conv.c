/* conv2d: [H, W, C] -> [out_h, out_w, out_channels], dense, grouped or depthwise; transposed: the
 * other way round, so that a stride makes the image larger. */
#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "base/error.h"
#include "op/expect.h"
#include "op/geometry.h"
#include "op/product.h"

/* Keeps every sum of kernel, stride, padding and dilation far from overflow. */
enum { MAX_WINDOW = 1 << 20 };

typedef struct axis {
    char name;
    int64_t kernel, stride, pad, more, dilation;
    bool transposed;
    int64_t extra;
} axis;

static hu_status check_axis(const axis *a) {
    if (a->kernel < 1 || a->kernel > MAX_WINDOW || a->stride < 1 || a->stride > MAX_WINDOW ||
        a->pad < 0 || a->pad > MAX_WINDOW || a->dilation < 1 || a->dilation > MAX_WINDOW)
        return hu_fail(HU_ERR_SHAPE,
                       "conv2d: along %c kernel %" PRId64 ", stride %" PRId64 ", pad %" PRId64
                       ", dilation %" PRId64 "; expected 1..%d, pad 0..%d",
                       a->name, a->kernel, a->stride, a->pad, a->dilation, MAX_WINDOW, MAX_WINDOW);
    if (a->more < -a->pad || a->more > MAX_WINDOW)
        return hu_fail(HU_ERR_SHAPE,
                       "conv2d: along %c pad %" PRId64 ", more %" PRId64
                       "; expected more from -pad to %d",
                       a->name, a->pad, a->more, MAX_WINDOW);
    if (a->extra < 0 || a->extra >= (a->transposed ? a->stride : 1))
        return hu_fail(HU_ERR_SHAPE, "conv2d: along %c extra %" PRId64 "; expected %s", a->name,
                       a->extra,
                       a->transposed ? "0 or more, less than the stride"
                                     : "none, only transposed layers have it");
    return HU_OK;
}

/* Transposed: (extent - 1) stride - 2 pad - more + window + extra. */
static hu_status transposed_extent(const axis *a, int64_t extent, int64_t *out) {
    int64_t window = (a->kernel - 1) * a->dilation + 1, reach;
    int64_t ends = window - 2 * a->pad - a->more + a->extra;
    bool fits = hu_mul_i64(extent - 1, a->stride, &reach) && hu_add_i64(reach, ends, out);
    if (fits && *out >= 1) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "conv2d: extent %" PRId64 " along %c, stride %" PRId64 ", a window of %" PRId64
                   " and padding %" PRId64 " and %" PRId64 " leave no output that fits 63 bits",
                   extent, a->name, a->stride, window, a->pad, a->pad + a->more);
}

/* Outputs along one axis: floor((extent + 2 pad + more - window) / stride) + 1. */
static hu_status axis_shape(const axis *a, int64_t extent, int64_t *out) {
    hu_status st = check_axis(a);
    if (st != HU_OK) return st;
    if (a->transposed) return transposed_extent(a, extent, out);
    int64_t window = (a->kernel - 1) * a->dilation + 1, padded;
    if (!hu_add_i64(extent, 2 * a->pad + a->more, &padded) || padded < window)
        return hu_fail(HU_ERR_SHAPE,
                       "conv2d: extent %" PRId64 " along %c with padding %" PRId64 " and %" PRId64
                       " is less than the window of %" PRId64,
                       extent, a->name, a->pad, a->pad + a->more, window);
    *out = (padded - window) / a->stride + 1;
    return HU_OK;
}

/* Each group has the same number of input and of output channels. */
static hu_status check_channels(const hu_conv_attrs *a, int64_t in_channels) {
    if (a->groups >= 1 && a->out_channels >= 1 && in_channels % a->groups == 0 &&
        a->out_channels % a->groups == 0)
        return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "conv2d: %" PRId64 " groups for %" PRId64 " input and %" PRId64
                   " output channels; expected a common divisor",
                   a->groups, in_channels, a->out_channels);
}

/* [out_channels, kernel_h, kernel_w, in_channels / groups]; transposed: in and out exchanged. */
static hu_shape weight_shape(const hu_conv_attrs *a, const hu_shape *in) {
    int64_t from = hu_channels(in), to = a->out_channels;
    if (a->transposed) return (hu_shape){4, {from, a->kernel_h, a->kernel_w, to / a->groups}};
    return (hu_shape){4, {to, a->kernel_h, a->kernel_w, from / a->groups}};
}

/* x [H, W, C] -> y [out_h, out_w, out_channels] */
static hu_status conv_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)n_in;
    const hu_conv_attrs *a = attrs;
    axis h = {'H',       a->kernel_h,   a->stride_h,   a->pad_h,
              a->more_h, a->dilation_h, a->transposed, a->extra_h};
    axis w = {'W',       a->kernel_w,   a->stride_w,   a->pad_w,
              a->more_w, a->dilation_w, a->transposed, a->extra_w};
    hu_status st;
    HU_TRY(hu_expect_rank("conv2d", in, 3));
    HU_TRY(check_channels(a, hu_channels(in)));
    *n_out = 1;
    out[0] = (hu_shape){3, {1, 1, a->out_channels}};
    HU_TRY(axis_shape(&h, in->extent[0], &out[0].extent[0]));
    HU_TRY(axis_shape(&w, in->extent[1], &out[0].extent[1]));
    HU_TRY(hu_shape_check(&out[0]));
    hu_shape weights = weight_shape(a, in);
    HU_TRY(hu_shape_check(&weights));
done:
    return st;
}

/* weight, and bias [out_channels] where there is one */
static hu_status conv_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                             int *count) {
    const hu_conv_attrs *a = attrs;
    *count = 0;
    list[(*count)++] = (hu_param_decl){"weight", weight_shape(a, in), a->weight_init, true};
    if (a->has_bias)
        list[(*count)++] =
            (hu_param_decl){"bias", (hu_shape){1, {a->out_channels}}, a->bias_init, true};
    return HU_OK;
}

static const hu_attribute conv_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_conv_attrs, out_channels), NAN},
    {HU_ATTRIBUTE_PAIR, "kernel", offsetof(hu_conv_attrs, kernel_h), NAN},
    {HU_ATTRIBUTE_PAIR, "stride", offsetof(hu_conv_attrs, stride_h), 1},
    {HU_ATTRIBUTE_PAIR, "pad", offsetof(hu_conv_attrs, pad_h), 0},
    {HU_ATTRIBUTE_PAIR, "more", offsetof(hu_conv_attrs, more_h), 0},
    {HU_ATTRIBUTE_PAIR, "dilation", offsetof(hu_conv_attrs, dilation_h), 1},
    {HU_ATTRIBUTE_WHOLE, "groups", offsetof(hu_conv_attrs, groups), 1},
    {HU_ATTRIBUTE_FLAG, "bias", offsetof(hu_conv_attrs, has_bias), 1},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_conv_attrs, transposed), 0},
    {HU_ATTRIBUTE_PAIR, "extra", offsetof(hu_conv_attrs, extra_h), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

/* He et al.: normal, variance 2 / (kernel x output channels); biases 0. */
static void conv_usual(void *attrs, const hu_shape *in) {
    hu_conv_attrs *a = attrs;
    (void)in;
    double fan_out = (double)a->kernel_h * (double)a->kernel_w * (double)a->out_channels;
    a->weight_init = (hu_init){HU_INIT_NORMAL, sqrtf(2.0f / (float)fan_out)};
}

const hu_op hu_op_conv2d = {
    .name = "conv2d",
    .attrs_bytes = sizeof(hu_conv_attrs),
    .attributes = conv_attributes,
    .usual = conv_usual,
    .shape = conv_shape,
    .params = conv_params,
    HU_PRODUCT_RECORD,
};
