#include "model/internal.h"

#include <math.h>
#include <stdio.h>

#include "op/attributes.h"

enum { NAME_BYTES = 256 };

hu_window hu_window_same(int64_t kernel, int64_t stride) {
    return (hu_window){kernel, kernel, stride, (kernel - 1) / 2, (kernel - 1) / 2, 1};
}

hu_window hu_window_valid(int64_t kernel, int64_t stride) {
    return (hu_window){kernel, kernel, stride, 0, 0, 1};
}

hu_window hu_window_row(int64_t kernel) {
    return (hu_window){1, kernel, 1, 0, (kernel - 1) / 2, 1};
}

hu_window hu_window_column(int64_t kernel) {
    return (hu_window){kernel, 1, 1, (kernel - 1) / 2, 0, 1};
}

hu_init hu_layer_start(int64_t fan_in) {
    return (hu_init){HU_INIT_NORMAL, sqrtf(2.0f / (float)fan_in)};
}

hu_value_id hu_layer_conv(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                          hu_window w, bool has_bias) {
    int64_t groups = w.groups ? w.groups : 1;
    int64_t depth = hu_build_channels(b, in) / groups;
    hu_conv_attrs attrs = {.out_channels = channels,
                           .kernel_h = w.kernel_h,
                           .kernel_w = w.kernel_w,
                           .stride_h = w.stride,
                           .stride_w = w.stride,
                           .pad_h = w.pad_h,
                           .pad_w = w.pad_w,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .groups = groups,
                           .has_bias = has_bias,
                           .weight_init = hu_layer_start(w.kernel_h * w.kernel_w * depth)};
    return hu_build_node(b, &hu_op_conv2d, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_layer_deconv(hu_builder *b, const char *name, hu_value_id in,
                            const hu_deconv_form *form) {
    hu_conv_attrs attrs = {.out_channels = form->channels,
                           .kernel_h = form->kernel,
                           .kernel_w = form->kernel,
                           .stride_h = form->stride,
                           .stride_w = form->stride,
                           .pad_h = form->pad,
                           .pad_w = form->pad,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .groups = 1,
                           .has_bias = form->has_bias,
                           .weight_init = form->weight,
                           .bias_init = form->bias,
                           .transposed = true,
                           .extra_h = form->extra,
                           .extra_w = form->extra};
    return hu_build_node(b, &hu_op_conv2d, name, NULL, &attrs, 1, &in);
}

/* "NAME.SUFFIX" */
static const char *joined(char text[NAME_BYTES], const char *name, const char *suffix) {
    snprintf(text, NAME_BYTES, "%s.%s", name, suffix);
    return text;
}

hu_value_id hu_layer_conv_relu(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                               hu_window window) {
    char text[NAME_BYTES];
    hu_value_id value = hu_layer_conv(b, name, in, channels, window, true);
    return hu_build_relu(b, joined(text, name, "relu"), value);
}

hu_value_id hu_layer_conv_bn_relu(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                                  hu_window window, hu_norm_form norm) {
    char text[NAME_BYTES];
    hu_batch_norm_attrs batch = {.epsilon = norm.epsilon, .momentum = 0.1f};
    bool is_off = b->norm == HU_MODEL_NORM_OFF;
    hu_value_id value =
        hu_layer_conv(b, joined(text, name, "0"), in, channels, window, norm.has_bias || is_off);
    joined(text, name, "1");
    if (b->norm == HU_MODEL_NORM_RANGE)
        value = hu_build_norm(b, text, value);
    else if (!is_off)
        value = hu_build_node(b, &hu_op_batch_norm, text, NULL, &batch, 1, &value);
    return hu_build_relu(b, joined(text, name, "relu"), value);
}

static hu_value_id pool(hu_builder *b, const hu_op *op, const char *name, hu_value_id in,
                        hu_window w, bool ceil, bool counts_padding) {
    hu_pool_attrs attrs = {.kernel_h = w.kernel_h,
                           .kernel_w = w.kernel_w,
                           .stride_h = w.stride,
                           .stride_w = w.stride,
                           .pad_h = w.pad_h,
                           .pad_w = w.pad_w,
                           .ceil = ceil,
                           .counts_padding = counts_padding};
    return hu_build_node(b, op, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_layer_max_pool(hu_builder *b, const char *name, hu_value_id in, hu_window window,
                              bool ceil) {
    return pool(b, &hu_op_max_pool, name, in, window, ceil, false);
}

hu_value_id hu_layer_avg_pool(hu_builder *b, const char *name, hu_value_id in, hu_window window,
                              bool counts_padding) {
    return pool(b, &hu_op_avg_pool, name, in, window, false, counts_padding);
}

hu_value_id hu_layer_adaptive_pool(hu_builder *b, const char *name, hu_value_id in, int64_t side) {
    hu_adaptive_pool_attrs attrs = {side, side};
    return hu_build_node(b, &hu_op_adaptive_avg_pool, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_layer_local_norm(hu_builder *b, const char *name, hu_value_id in) {
    hu_local_norm_attrs attrs = {.size = 5, .alpha = 1e-4f, .beta = 0.75f, .k = 1.0f};
    return hu_build_node(b, &hu_op_local_norm, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_layer_dropout(hu_builder *b, const char *name, hu_value_id in, double share) {
    hu_dropout_attrs attrs = {.probability = (float)(b->dropout < 0.0 ? share : b->dropout)};
    if (!(attrs.probability > 0.0f)) return in;
    return hu_build_node(b, &hu_op_dropout, name, NULL, &attrs, 1, &in);
}

/* Numbers that a linear layer reads of a sample. */
static int64_t features_of(const hu_builder *b, hu_value_id value) {
    hu_shape shape = hu_build_shape(b, value);
    return b->status == HU_OK ? hu_shape_elements(&shape) : 1;
}

hu_value_id hu_layer_hidden(hu_builder *b, const char *name, hu_value_id in, int64_t features,
                            double dropout) {
    char text[NAME_BYTES];
    hu_value_id value = hu_build_linear(b, name, in, features, hu_layer_start(features_of(b, in)),
                                        (hu_init){HU_INIT_CONSTANT, 0.0f});
    value = hu_build_relu(b, joined(text, name, "relu"), value);
    return hu_layer_dropout(b, joined(text, name, "drop"), value, dropout);
}

hu_value_id hu_layer_scores(hu_builder *b, const char *name, hu_value_id in) {
    return hu_build_linear(b, name, in, hu_build_outputs(b), hu_layer_start(features_of(b, in)),
                           (hu_init){HU_INIT_CONSTANT, 0.0f});
}
