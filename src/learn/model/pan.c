/* PAN: a network of few weights that enlarges pictures. Blocks of two branches, of which one weighs
 * its pixels; nearest enlargement between convolutions; what is learned is the difference to the
 * picture enlarged bilinearly. Source: Zhao et al., "Efficient image super-resolution using pixel
 * attention"; Fu et al. (LDP), table 5, train it. */
#include <stdio.h>

#include "model/internal.h"
#include "op/attributes.h"

enum { NAME_BYTES = 64, TWICE = 2 };

static const float SLOPE = 0.2f;

typedef struct form {
    double features, upper; /* channels of the trunk, and after the enlargement */
    int blocks;
} form;

typedef struct net {
    hu_builder b;
    char prefix[NAME_BYTES]; /* of the block being made, with the dot */
} net;

/* "PREFIXname" */
static const char *named(net *n, const char *name, char text[2 * NAME_BYTES]) {
    snprintf(text, 2 * NAME_BYTES, "%s%s", n->prefix, name);
    return text;
}

/* To the nearest whole number, at least 1. */
static int64_t channels_of(double full, double width) {
    int64_t rounded = (int64_t)(full * width + 0.5);
    return rounded < 1 ? 1 : rounded;
}

static hu_value_id conv(net *n, const char *name, hu_value_id in, int64_t channels, int64_t kernel,
                        bool has_bias) {
    char text[2 * NAME_BYTES];
    hu_init start = hu_init_usual(kernel * kernel * hu_build_channels(&n->b, in));
    hu_conv_form made = {.channels = channels,
                         .kernel = kernel,
                         .stride = 1,
                         .has_bias = has_bias,
                         .weight = start,
                         .bias = start};
    return hu_build_conv_as(&n->b, named(n, name, text), in, &made);
}

static hu_value_id leaky(net *n, const char *name, hu_value_id in) {
    char text[2 * NAME_BYTES];
    hu_leaky_relu_attrs attrs = {SLOPE};
    return hu_build_node(&n->b, &hu_op_leaky_relu, named(n, name, text), NULL, &attrs, 1, &in);
}

/* in times the sigmoid of a 1x1 convolution, called NAME, of `of`. */
static hu_value_id weigh(net *n, const char *name, hu_value_id of, hu_value_id in) {
    char text[2 * NAME_BYTES], gate[NAME_BYTES];
    hu_value_id part[2] = {in, conv(n, name, of, hu_build_channels(&n->b, in), 1, true)};
    snprintf(gate, sizeof gate, "%s.sigmoid", name);
    part[1] = hu_build_node(&n->b, &hu_op_sigmoid, named(n, gate, text), NULL, NULL, 1, &part[1]);
    snprintf(gate, sizeof gate, "%s.mul", name);
    return hu_build_node(&n->b, &hu_op_mul, named(n, gate, text), NULL, NULL, 2, part);
}

/* Half of the channels through one 3x3 convolution; half through one that is weighed pixel by
 * pixel, and another; joined and added to what came in. */
static hu_value_id block(net *n, hu_value_id in) {
    char text[2 * NAME_BYTES];
    int64_t channels = hu_build_channels(&n->b, in), half = (channels + 1) / 2;
    hu_value_id part[2];
    part[0] = leaky(n, "lrelu1_a", conv(n, "conv1_a", in, half, 1, false));
    part[0] = leaky(n, "lrelu2_a", conv(n, "k1", part[0], half, 3, false));
    part[1] = leaky(n, "lrelu1_b", conv(n, "conv1_b", in, half, 1, false));
    part[1] = weigh(n, "k2", part[1], conv(n, "k3", part[1], half, 3, false));
    part[1] = leaky(n, "lrelu2_b", conv(n, "k4", part[1], half, 3, false));
    hu_value_id value = hu_build_concat(&n->b, named(n, "cat", text), 2, part);
    value = conv(n, "conv3", value, channels, 1, false);
    return hu_build_add(&n->b, named(n, "add", text), value, in);
}

/* Nearest, a convolution, weights of its pixels, another convolution. */
static hu_value_id enlarge(net *n, int number, hu_value_id in, int64_t factor, int64_t channels) {
    char name[NAME_BYTES];
    hu_enlarge_attrs attrs = {factor, factor};
    snprintf(name, sizeof name, "nearest%d", number);
    in = hu_build_node(&n->b, &hu_op_nearest, name, NULL, &attrs, 1, &in);
    snprintf(name, sizeof name, "upconv%d", number);
    in = conv(n, name, in, channels, 3, true);
    snprintf(name, sizeof name, "att%d", number);
    in = weigh(n, name, in, in);
    snprintf(name, sizeof name, "att%d.lrelu", number);
    in = leaky(n, name, in);
    snprintf(name, sizeof name, "hrconv%d", number);
    in = conv(n, name, in, channels, 3, true);
    snprintf(name, sizeof name, "hrconv%d.lrelu", number);
    return leaky(n, name, in);
}

/* Four times in two steps of two, any other factor in one. */
static hu_value_id enlarge_all(net *n, hu_value_id value, int64_t factor, int64_t channels) {
    if (factor != TWICE * TWICE) return enlarge(n, 1, value, factor, channels);
    value = enlarge(n, 1, value, TWICE, channels);
    return enlarge(n, 2, value, TWICE, channels);
}

static hu_status build_pan(const hu_model_options *options, hu_graph *graph, const form *as) {
    net n = {.b = hu_build_begin(options, graph)};
    const hu_task_shapes *shapes = &n.b.choice.shapes;
    const int64_t *to = shapes->value[1].extent;
    hu_value_id image = hu_build_input(&n.b);
    hu_value_id first =
        conv(&n, "conv_first", image, channels_of(as->features, options->width), 3, true);
    hu_value_id value = first;
    int64_t blocks = hu_build_size(&n.b, HU_SIZE_LAYERS, as->blocks);
    int64_t upper = hu_build_size(&n.b, HU_SIZE_MAPS, channels_of(as->upper, options->width));
    for (int64_t i = 0; i < blocks; i++) {
        snprintf(n.prefix, sizeof n.prefix, "trunk.%lld.", (long long)i);
        value = block(&n, value);
    }
    n.prefix[0] = '\0';
    value = conv(&n, "trunk_conv", value, hu_build_channels(&n.b, first), 3, true);
    value = hu_build_add(&n.b, "add", value, first);
    int64_t factor = shapes->value[0].rank == 3 ? to[0] / shapes->value[0].extent[0] : 1;
    value = enlarge_all(&n, value, factor, upper);
    value = conv(&n, "conv_last", value, hu_build_outputs(&n.b), 3, true);
    hu_build_loss(&n.b, hu_build_add(&n.b, "out", value,
                                     hu_build_bilinear(&n.b, "bilinear", image, to[0], to[1])));
    return n.b.status;
}

hu_status hu_model_pan(const hu_model_options *options, hu_graph *graph) {
    static const form full = {.features = 40, .upper = 24, .blocks = 16};
    return build_pan(options, graph, &full);
}

hu_status hu_model_pan_s(const hu_model_options *options, hu_graph *graph) {
    static const form small = {.features = 16, .upper = 12, .blocks = 4};
    return build_pan(options, graph, &small);
}
