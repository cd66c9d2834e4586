/* model/imagenet_layers.h - layers of the classifiers for ILSVRC: convolutions of two extents with
 * a name of their own, windows that end in several ways, and what stands between linear layers. As
 * builder.h: the first error sticks.
 */
#ifndef HU_MODEL_IMAGENET_LAYERS_H
#define HU_MODEL_IMAGENET_LAYERS_H
#include "model/builder.h"

/* Kernel, stride and padding along both axes; groups 0: one. */
typedef struct hu_window {
    int64_t kernel_h, kernel_w, stride, pad_h, pad_w, groups;
} hu_window;

/* A square kernel that keeps the size at stride 1; the same without padding; 1xK and Kx1. */
hu_window hu_window_same(int64_t kernel, int64_t stride);
hu_window hu_window_valid(int64_t kernel, int64_t stride);
hu_window hu_window_row(int64_t kernel);
hu_window hu_window_column(int64_t kernel);

/* Kaiming normal, fan in, for ReLU: how all weights here begin. */
hu_init hu_layer_start(int64_t fan_in);

/* NAME with a bias; start of the weights. */
hu_value_id hu_layer_conv(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                          hu_window window, bool has_bias);

/* A transposed convolution: a stride makes the image larger. [H, W] become (H - 1) stride - 2 pad +
 * kernel + extra. */
typedef struct hu_deconv_form {
    int64_t channels, kernel, stride, pad, extra;
    bool has_bias;
    hu_init weight, bias;
} hu_deconv_form;
hu_value_id hu_layer_deconv(hu_builder *b, const char *name, hu_value_id in,
                            const hu_deconv_form *form);

/* conv NAME with bias -> NAME.relu. */
hu_value_id hu_layer_conv_relu(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                               hu_window window);

/* conv NAME.0 -> batch norm NAME.1 -> NAME.relu; with model.norm=off conv with a bias -> relu. */
typedef struct hu_norm_form {
    float epsilon;
    bool has_bias; /* of the convolution, in front of the norm */
} hu_norm_form;
hu_value_id hu_layer_conv_bn_relu(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                                  hu_window window, hu_norm_form norm);

hu_value_id hu_layer_max_pool(hu_builder *b, const char *name, hu_value_id in, hu_window window,
                              bool ceil);
hu_value_id hu_layer_avg_pool(hu_builder *b, const char *name, hu_value_id in, hu_window window,
                              bool counts_padding);
hu_value_id hu_layer_adaptive_pool(hu_builder *b, const char *name, hu_value_id in, int64_t side);

/* Over 5 channels, alpha 1e-4, beta 0.75, k 1: Caffe's. */
hu_value_id hu_layer_local_norm(hu_builder *b, const char *name, hu_value_id in);

/* Nothing where dropout is 0. */
hu_value_id hu_layer_dropout(hu_builder *b, const char *name, hu_value_id in, double share);

/* Linear NAME -> NAME.relu -> NAME.drop. */
hu_value_id hu_layer_hidden(hu_builder *b, const char *name, hu_value_id in, int64_t features,
                            double dropout);

/* The last linear layer: one number for each output of the task. */
hu_value_id hu_layer_scores(hu_builder *b, const char *name, hu_value_id in);

#endif
