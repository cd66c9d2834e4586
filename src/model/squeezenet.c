/* SqueezeNet for small images, with batch norms and biases, as in Lee et al.: a convolution, eight
 * fire modules, and a 1x1 convolution to the classes. */
#include <math.h>
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"

/* Weights N(0, sqrt(2 / (k^2 c_in))), bias as usual. */
static hu_value_id conv(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                        int64_t kernel) {
    int64_t fan_in = kernel * kernel * hu_build_channels(b, in);
    hu_conv_form form = {.channels = channels,
                         .kernel = kernel,
                         .stride = 1,
                         .has_bias = true,
                         .weight = {HU_INIT_NORMAL, sqrtf(2.0f / (float)fan_in)},
                         .bias = hu_init_usual(fan_in)};
    return hu_build_conv_as(b, name, in, &form);
}

/* PREFIX.conv and PREFIX.bn. */
static hu_value_id conv_bn(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels,
                           int64_t kernel) {
    char name[128];
    snprintf(name, sizeof name, "%sconv", prefix);
    hu_value_id value = conv(b, name, in, channels, kernel);
    snprintf(name, sizeof name, "%sbn", prefix);
    return hu_build_norm(b, name, value);
}

/* 1x1 to `squeeze` channels, and from there 1x1 and 3x3 to `expand` channels each. */
static hu_value_id fire(hu_builder *b, int number, hu_value_id in, int64_t squeeze,
                        int64_t expand) {
    char name[64];
    hu_value_id branch[2];
    snprintf(name, sizeof name, "fire%d.squeeze.", number);
    hu_value_id value = conv_bn(b, name, in, squeeze, 1);
    snprintf(name, sizeof name, "fire%d.squeeze.relu", number);
    value = hu_build_relu(b, name, value);
    snprintf(name, sizeof name, "fire%d.expand1x1.", number);
    branch[0] = conv_bn(b, name, value, expand, 1);
    snprintf(name, sizeof name, "fire%d.expand3x3.", number);
    branch[1] = conv_bn(b, name, value, expand, 3);
    snprintf(name, sizeof name, "fire%d.cat", number);
    value = hu_build_concat(b, name, 2, branch);
    snprintf(name, sizeof name, "fire%d.relu", number);
    return hu_build_relu(b, name, value);
}

/* The last module keeps its 2 x 256 channels at widths below 1. */
hu_status hu_model_squeezenet(const hu_model_options *options, hu_graph *graph) {
    static const int squeeze[] = {16, 16, 32, 32, 48, 48, 64, 64};
    static const int expand[] = {64, 64, 128, 128, 192, 192, 256, 256};
    enum { FIRES = 8, FIRST = 2, LAST = FIRST + FIRES - 1 };
    hu_builder b = hu_build_begin(options, graph);
    char name[32];
    hu_value_id value = hu_build_input(&b);
    value = conv(&b, "conv1", value, hu_build_width(96, options->width), 3);
    value = hu_build_norm(&b, "bn1", value);
    value = hu_build_relu(&b, "relu1", value);
    value = hu_build_max_pool(&b, "pool1", value, 2, 2);
    for (int i = 0; i < FIRES; i++) {
        double width = i + FIRST == LAST && options->width < 1 ? 1 : options->width;
        value = fire(&b, i + FIRST, value, hu_build_width(squeeze[i], options->width),
                     hu_build_width(expand[i], width));
        snprintf(name, sizeof name, "pool%d", i + FIRST);
        if (i + FIRST == 4 || i + FIRST == 8) value = hu_build_max_pool(&b, name, value, 2, 2);
    }
    value = conv(&b, "conv10", value, hu_build_outputs(&b), 1);
    value = hu_build_global_pool(&b, "pool10", value);
    value = hu_build_flatten(&b, "flatten", value);
    hu_build_loss(&b, value);
    return b.status;
}
