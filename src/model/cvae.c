/* cvae: a convolutional variational autoencoder of four convolutions and four transposed ones, in
 * two sizes. All layers begin as torch's do, transposed ones by the numbers that reach a place of
 * their output. Source: Kingma and Welling 2014; the network of the range study of Popescu et al.
 * in the form of its public sibling for contact maps. */
#include <stdio.h>

#include "model/families.h"
#include "model/layers.h"

/* Channels of all maps, features of the linear layers on both sides of the code, and its length. */
typedef struct sizes {
    int64_t maps, dense, code;
} sizes;

enum { KERNEL = 3, STRIDE = 2, LAYERS = 4 };

static const char *named(char name[32], const char *stem, int number) {
    snprintf(name, 32, "%s%d", stem, number);
    return name;
}

/* conv NAME with bias -> reluNAME */
static hu_value_id convolved(hu_builder *b, int number, hu_value_id in, int64_t channels,
                             int64_t stride) {
    char name[32];
    hu_init usual = hu_init_usual(KERNEL * KERNEL * hu_build_channels(b, in));
    hu_conv_form form = {.channels = channels,
                         .kernel = KERNEL,
                         .stride = stride,
                         .has_bias = true,
                         .weight = usual,
                         .bias = usual};
    hu_value_id value = hu_build_conv_as(b, named(name, "conv", number), in, &form);
    return hu_build_relu(b, named(name, "relu", number), value);
}

/* A place of the output is reached by kernel^2 / stride^2 places of the input. */
static hu_value_id deconvolved(hu_builder *b, int number, hu_value_id in, int64_t channels,
                               int64_t stride) {
    char name[32];
    hu_init usual = hu_init_usual(KERNEL * KERNEL * hu_build_channels(b, in) / (stride * stride));
    hu_deconv_form form = {.channels = channels,
                           .kernel = KERNEL,
                           .stride = stride,
                           .pad = (KERNEL - 1) / 2,
                           .extra = stride - 1,
                           .has_bias = true,
                           .weight = usual,
                           .bias = usual};
    return hu_layer_deconv(b, named(name, "deconv", number), in, &form);
}

static hu_value_id dense(hu_builder *b, const char *name, hu_value_id in, int64_t features) {
    hu_shape shape = hu_build_shape(b, in);
    hu_init usual = hu_init_usual(hu_shape_elements(&shape));
    return hu_build_linear(b, name, in, features, usual, usual);
}

/* image -> [dense]; map: the shape of the last convolution's output. */
static hu_value_id encoder(hu_builder *b, hu_value_id image, const sizes *s, hu_shape *map) {
    hu_value_id value = image;
    for (int i = 1; i <= LAYERS; i++) value = convolved(b, i, value, s->maps, i == 2 ? STRIDE : 1);
    *map = hu_build_shape(b, value);
    return hu_build_relu(b, "fc.relu", dense(b, "fc", value, s->dense));
}

/* [code] -> image of logits */
static hu_value_id decoder(hu_builder *b, hu_value_id code, const sizes *s, const hu_shape *map) {
    char name[32];
    hu_value_id value = hu_build_relu(b, "dfc1.relu", dense(b, "dfc1", code, s->dense));
    value = dense(b, "dfc2", value, hu_shape_elements(map));
    value = hu_build_relu(b, "dfc2.relu", hu_build_reshape(b, "map", value, map));
    for (int i = 1; i < LAYERS; i++) {
        value = deconvolved(b, i, value, s->maps, i == 3 ? STRIDE : 1);
        value = hu_build_relu(b, named(name, "derelu", i), value);
    }
    return deconvolved(b, LAYERS, value, hu_build_outputs(b), 1);
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const sizes *full) {
    hu_builder b = hu_build_begin(options, graph);
    sizes s = *full;
    hu_shape map;
    s.maps = hu_build_scaled(s.maps, options->width);
    s.dense = hu_build_scaled(s.dense, options->width);
    s.code = hu_build_size(&b, HU_SIZE_LATENT, s.code);
    s.dense = hu_build_size(&b, HU_SIZE_DENSE, s.dense);
    s.maps = hu_build_size(&b, HU_SIZE_MAPS, s.maps);
    hu_value_id value = encoder(&b, hu_build_input(&b), &s, &map);
    hu_value_id mean = dense(&b, "mean", value, s.code);
    hu_value_id spread = dense(&b, "logvar", value, s.code);
    hu_value_id code = hu_build_sample(&b, "z", mean, spread);
    hu_build_loss(&b, decoder(&b, code, &s, &map));
    hu_build_code_loss(&b, mean, spread);
    return b.status;
}

hu_status hu_model_cvae(const hu_model_options *options, hu_graph *graph) {
    static const sizes full = {64, 128, 3};
    return build(options, graph, &full);
}

hu_status hu_model_cvae_s(const hu_model_options *options, hu_graph *graph) {
    static const sizes small = {16, 64, 8};
    return build(options, graph, &small);
}
