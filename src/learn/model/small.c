#include <math.h>
#include <stdio.h>

#include "model/internal.h"

/* ---- cnn ---- */

/* cnn-s: the small network of the demo, three convolutions and a linear head. */

/* At width 1: 16, 32 and 64 channels of 3x3, halved twice; a mean over the picture; a linear
 * head. */
hu_status hu_model_cnn_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t channels = hu_build_width(64, options->width);
    hu_value_id value = hu_build_input(&b);
    value = hu_build_conv(&b, "conv1", value, hu_build_width(16, options->width), 3, 1);
    value = hu_build_max_pool(&b, "pool1", value, 2, 2);
    value = hu_build_norm(&b, "bn1", value);
    value = hu_build_relu(&b, "relu1", value);
    value = hu_build_conv(&b, "conv2", value, hu_build_width(32, options->width), 3, 1);
    value = hu_build_max_pool(&b, "pool2", value, 2, 2);
    value = hu_build_norm(&b, "bn2", value);
    value = hu_build_relu(&b, "relu2", value);
    value = hu_build_conv_bn_relu(&b, "", "3", value, channels, 3, 1);
    value = hu_build_global_pool(&b, "pool", value);
    /* torch.nn.Linear's bounds, 1 / sqrt(fan in). */
    hu_init uniform = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)channels)};
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), uniform, uniform);
    hu_build_loss(&b, value);
    return b.status;
}

/* ---- dense ---- */

/* dense-s: four convolutions at full resolution and a class score for every pixel. */

/* Four layers of 5x5 see 17x17 pixels around each pixel. */
enum { LAYERS = 4, CHANNELS = 16, KERNEL = 5, NAME_BYTES = 16 };

hu_status hu_model_dense_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b);
    int64_t channels = hu_build_width(CHANNELS, options->width);
    for (int i = 1; i <= LAYERS; i++) {
        char number[NAME_BYTES];
        snprintf(number, sizeof number, "%d", i);
        value = hu_build_conv_bn_relu(&b, "", number, value, channels, KERNEL, 1);
    }
    /* A product of 1x1: the same linear layer at every pixel. */
    hu_conv_form head = {.channels = hu_build_outputs(&b),
                         .kernel = 1,
                         .stride = 1,
                         .has_bias = true,
                         .weight = hu_init_usual(channels),
                         .bias = hu_init_usual(channels)};
    hu_build_loss(&b, hu_build_conv_as(&b, "scores", value, &head));
    return b.status;
}

/* ---- autoencoder ---- */

/* autoencoder: a picture through a narrow code and back, fully connected (Hinton and Salakhutdinov
 * 2006, with relu); autoencoder-tied: the decoder uses the weights of the encoder. */

/* Features of the two hidden widths at width 1. */
enum { HIDDEN = 128, CODE = 32 };

/* A layer with the initial weights that frameworks give it. */
static hu_value_id layer(hu_builder *b, const char *name, hu_value_id in, int64_t out) {
    hu_shape shape = hu_build_shape(b, in);
    hu_init usual = hu_init_usual(hu_shape_elements(&shape));
    return hu_build_linear(b, name, in, out, usual, usual);
}

/* A layer that goes back through the weights of layer OF. */
static hu_value_id tied(hu_builder *b, const char *name, hu_value_id in, const char *of,
                        int64_t out) {
    return hu_build_linear_tied(b, name, in, of, out, hu_init_usual(hu_build_channels(b, in)));
}

static hu_status build(const hu_model_options *options, hu_graph *graph, bool is_tied) {
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b);
    hu_shape picture = hu_build_shape(&b, value);
    int64_t pixels = hu_shape_elements(&picture);
    int64_t hidden = hu_build_width(HIDDEN, options->width);
    int64_t code = hu_build_width(CODE, options->width);
    value = layer(&b, "encode1", value, hidden);
    value = hu_build_relu(&b, "relu1", value);
    value = layer(&b, "encode2", value, code);
    value = hu_build_relu(&b, "code", value);
    value = is_tied ? tied(&b, "decode2", value, "encode2", hidden)
                    : layer(&b, "decode2", value, hidden);
    value = hu_build_relu(&b, "relu2", value);
    value = is_tied ? tied(&b, "decode1", value, "encode1", pixels)
                    : layer(&b, "decode1", value, pixels);
    value = hu_build_reshape(&b, "picture", value, &picture);
    hu_build_loss(&b, value);
    return b.status;
}

hu_status hu_model_autoencoder(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, false);
}

hu_status hu_model_autoencoder_tied(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, true);
}
