#include <math.h>
#include <stdio.h>

#include "model/internal.h"

/* ---- squeezenet ---- */

/* SqueezeNet for small images, with batch norms and biases, as in Lee et al.: a convolution, eight
 * fire modules, and a 1x1 convolution to the classes. */

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

/* ---- shufflenet ---- */

/* ShuffleNet-v2 (Ma et al.), for small images in the CIFAR form of Lee et al.: three stages, each
 * of a unit that halves the image and further units of one depthwise convolution. */

enum { FIRST_CHANNELS = 24, LAST_CHANNELS = 1024 };

/* PREFIXconvN and PREFIXbnN, and PREFIXreluN if it has one. groups 0: dense. */
typedef struct layer {
    int number;
    int64_t channels, kernel, stride;
    bool is_depthwise, has_relu;
} layer;

static hu_value_id add_layer(hu_builder *b, const char *prefix, hu_value_id in, layer l) {
    char name[128];
    int64_t groups = l.is_depthwise ? l.channels : 1;
    int64_t fan_in = l.kernel * l.kernel * hu_build_channels(b, in) / groups;
    hu_conv_form form = {.channels = l.channels,
                         .kernel = l.kernel,
                         .stride = l.stride,
                         .groups = groups,
                         .weight = hu_init_usual(fan_in)};
    snprintf(name, sizeof name, "%sconv%d", prefix, l.number);
    hu_value_id value = hu_build_conv_as(b, name, in, &form);
    snprintf(name, sizeof name, "%sbn%d", prefix, l.number);
    value = hu_build_norm(b, name, value);
    snprintf(name, sizeof name, "%srelu%d", prefix, l.number);
    return l.has_relu ? hu_build_relu(b, name, value) : value;
}

/* 1x1, depthwise 3x3, 1x1 to `half` channels. */
static hu_value_id branch(hu_builder *b, const char *prefix, hu_value_id in, int64_t half,
                          int64_t stride) {
    in = add_layer(b, prefix, in, (layer){1, half, 1, 1, false, true});
    in = add_layer(b, prefix, in, (layer){2, half, 3, stride, true, false});
    return add_layer(b, prefix, in, (layer){3, half, 1, 1, false, true});
}

/* Both branches see the whole input and halve it. */
static hu_value_id down_unit(hu_builder *b, const char *prefix, hu_value_id in, int64_t half) {
    char name[64];
    int64_t channels = hu_build_channels(b, in);
    snprintf(name, sizeof name, "%sleft.", prefix);
    hu_value_id left = add_layer(b, name, in, (layer){1, channels, 3, 2, true, false});
    left = add_layer(b, name, left, (layer){2, half, 1, 1, false, true});
    snprintf(name, sizeof name, "%sright.", prefix);
    hu_value_id right = branch(b, name, in, half, 2);
    snprintf(name, sizeof name, "%scat", prefix);
    return hu_build_interleave(b, name, left, right);
}

/* The first half passes, the second goes through the branch. */
static hu_value_id basic_unit(hu_builder *b, const char *prefix, hu_value_id in) {
    char name[64];
    hu_value_id half[2];
    snprintf(name, sizeof name, "%ssplit", prefix);
    hu_build_halves(b, name, in, half);
    half[1] = branch(b, prefix, half[1], hu_build_channels(b, half[0]), 1);
    snprintf(name, sizeof name, "%scat", prefix);
    return hu_build_interleave(b, name, half[0], half[1]);
}

/* Channels of half of the first stage's output: 58 times the width, to the nearest even number, of
 * two the smaller. Lee et al.: 58, 28, 14, 6 for widths 1, .5, .25, .1. */
static int64_t first_half(double width) {
    int64_t half = 2 * (int64_t)ceil(58 * width / 2 - 0.5);
    return half < 2 ? 2 : half;
}

/* For large images the first convolution has stride 2 and a max pool after it (Ma et al.). The
 * first and the last convolution keep their channels at every width. Weights: U(+-1 /
 * sqrt(fan_in)). */
hu_status hu_model_shufflenet_v2(const hu_model_options *options, hu_graph *graph) {
    static const int units[] = {4, 8, 4};
    enum { STAGES = 3 };
    hu_builder b = hu_build_begin(options, graph);
    char prefix[32];
    int64_t half = first_half(options->width);
    hu_value_id value = hu_build_input(&b);
    bool is_large = hu_build_is_large(&b, value);
    value = add_layer(&b, "", value, (layer){1, FIRST_CHANNELS, 3, is_large ? 2 : 1, false, true});
    if (is_large) value = hu_build_padded_max_pool(&b, "pool1", value, 3, 2, 1);
    for (int s = 0; s < STAGES; s++, half *= 2)
        for (int k = 0; k < units[s]; k++) {
            snprintf(prefix, sizeof prefix, "layer%d.%d.", s + 1, k);
            value = k == 0 ? down_unit(&b, prefix, value, half) : basic_unit(&b, prefix, value);
        }
    value = add_layer(&b, "", value, (layer){2, LAST_CHANNELS, 1, 1, false, true});
    value = hu_build_global_pool(&b, "pool", value);
    hu_init usual = hu_init_usual(LAST_CHANNELS);
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), usual, usual);
    hu_build_loss(&b, value);
    return b.status;
}

/* ---- mobilenet ---- */

/* MobileNet-v2 for small images (Sandler et al.; CIFAR form of Lee et al.): inverted residual
 * blocks with plain ReLUs. */

/* 1x1 to `expansion` times the channels, depthwise 3x3, 1x1; where nothing shrinks plus the input
 * (projected where the channels change). Kaiming weights, fan out. */
static hu_value_id block(hu_builder *b, const char *prefix, hu_value_id in, int64_t expansion,
                         int64_t channels, int64_t stride) {
    char name[128];
    int64_t in_channels = hu_build_channels(b, in), inner = expansion * in_channels;
    hu_conv_form depthwise = {.channels = inner,
                              .kernel = 3,
                              .stride = stride,
                              .groups = inner,
                              .weight = hu_init_fan_out(3, inner)};
    hu_value_id value = hu_build_conv_bn_relu(b, prefix, "1", in, inner, 1, 1), shortcut = in;
    snprintf(name, sizeof name, "%sconv2", prefix);
    value = hu_build_conv_as(b, name, value, &depthwise);
    snprintf(name, sizeof name, "%sbn2", prefix);
    value = hu_build_norm(b, name, value);
    snprintf(name, sizeof name, "%srelu2", prefix);
    value = hu_build_relu(b, name, value);
    snprintf(name, sizeof name, "%sconv3", prefix);
    value = hu_build_conv(b, name, value, channels, 1, 1);
    snprintf(name, sizeof name, "%sbn3", prefix);
    value = hu_build_norm(b, name, value);
    /* A block that shrinks the picture has no sum: there is nothing of its size to add. */
    if (stride != 1) return value;
    if (in_channels != channels) {
        snprintf(name, sizeof name, "%sshortcut.conv", prefix);
        shortcut = hu_build_conv(b, name, in, channels, 1, 1);
        snprintf(name, sizeof name, "%sshortcut.bn", prefix);
        shortcut = hu_build_norm(b, name, shortcut);
    }
    snprintf(name, sizeof name, "%sadd", prefix);
    return hu_build_add(b, name, value, shortcut);
}

/* Linear layer: N(0, 0.01), bias 0. */
hu_status hu_model_mobilenet_v2(const hu_model_options *options, hu_graph *graph) {
    static const struct {
        int expansion, channels, blocks, stride;
    } stage[] = {{1, 16, 1, 1}, {6, 24, 2, 1},  {6, 32, 3, 2}, {6, 64, 4, 2},
                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    hu_builder b = hu_build_begin(options, graph);
    char prefix[32];
    double last = options->width > 1 ? options->width : 1;
    hu_value_id value = hu_build_input(&b);
    value = hu_build_conv_bn_relu(&b, "", "1", value, hu_build_width(32, options->width), 3, 1);
    for (size_t s = 0; s < sizeof stage / sizeof *stage; s++)
        for (int k = 0; k < stage[s].blocks; k++) {
            snprintf(prefix, sizeof prefix, "layer%d.%d.", (int)s + 1, k);
            value = block(&b, prefix, value, stage[s].expansion,
                          hu_build_width(stage[s].channels, options->width),
                          k == 0 ? stage[s].stride : 1);
        }
    value = hu_build_conv_bn_relu(&b, "", "2", value, hu_build_width(1280, last), 1, 1);
    value = hu_build_global_pool(&b, "pool", value);
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), (hu_init){HU_INIT_NORMAL, 0.01f},
                            (hu_init){HU_INIT_CONSTANT, 0.0f});
    hu_build_loss(&b, value);
    return b.status;
}
