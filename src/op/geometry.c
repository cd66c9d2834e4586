#include "op/geometry.h"

#include "op/expect.h"

/* Windows that begin in the padded image and end there. */
static int64_t windows(int64_t extent, int64_t kernel, int64_t stride, int64_t padding,
                       int64_t dilation) {
    return (extent + padding - (kernel - 1) * dilation - 1) / stride + 1;
}

/* The extent that so many windows come from. */
static int64_t extent_of(int64_t count, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation) {
    return (count - 1) * stride + (kernel - 1) * dilation + 1 - padding;
}

hu_product hu_product_conv2d(const hu_conv_attrs *a, const hu_shape *in) {
    int64_t h = in->extent[0], w = in->extent[1], channels = in->extent[2];
    int64_t pad_h = 2 * a->pad_h + a->more_h, pad_w = 2 * a->pad_w + a->more_w;
    hu_product p = {
        .in_h = h,
        .in_w = w,
        .in_c = channels,
        .out_c = a->out_channels,
        .kernel_h = a->kernel_h,
        .kernel_w = a->kernel_w,
        .stride_h = a->stride_h,
        .stride_w = a->stride_w,
        .pad_h = a->pad_h,
        .pad_w = a->pad_w,
        .dilation_h = a->dilation_h,
        .dilation_w = a->dilation_w,
        .groups = a->groups,
        .has_bias = a->has_bias,
    };
    if (a->transposed) {
        p.in_h = extent_of(h, a->kernel_h, a->stride_h, pad_h, a->dilation_h) + a->extra_h;
        p.in_w = extent_of(w, a->kernel_w, a->stride_w, pad_w, a->dilation_w) + a->extra_w;
        p.in_c = a->out_channels;
        p.out_c = channels;
    }
    p.out_h = windows(p.in_h, a->kernel_h, a->stride_h, pad_h, a->dilation_h);
    p.out_w = windows(p.in_w, a->kernel_w, a->stride_w, pad_w, a->dilation_w);
    return p;
}

int64_t hu_linear_inputs(const hu_linear_attrs *a, const hu_shape *in) {
    return a->rows ? hu_channels(in) : hu_shape_elements(in);
}

hu_product hu_product_linear(const hu_linear_attrs *a, const hu_shape *in) {
    int64_t in_features = hu_linear_inputs(a, in), rows = hu_shape_elements(in) / in_features;
    hu_product made = a->transposed ? hu_product_rows(rows, a->out_features, in_features)
                                    : hu_product_rows(rows, in_features, a->out_features);
    made.has_bias = a->has_bias;
    made.is_linear = !a->rows;
    return made;
}

/* Weights of two extents belong to a linear layer, of four to a convolution. */
static bool is_linear(const hu_node_info *info) {
    enum { LINEAR_RANK = 2 };
    return info->param[0].rank == LINEAR_RANK;
}

bool hu_product_is_transposed(const hu_node_info *info) {
    if (is_linear(info)) return ((const hu_linear_attrs *)info->attrs)->transposed;
    return ((const hu_conv_attrs *)info->attrs)->transposed;
}

hu_product hu_product_of(const hu_node_info *info) {
    return is_linear(info) ? hu_product_linear(info->attrs, &info->in[0])
                           : hu_product_conv2d(info->attrs, &info->in[0]);
}
