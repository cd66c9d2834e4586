/* ShuffleNet-v2 (Ma et al.), for small images in the CIFAR form of Lee et al.: three stages, each
 * of a unit that halves the image and further units of one depthwise convolution. */
#include <math.h>
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"

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

/* For large images the first convolution has stride 2 and a max pool behind it (Ma et al.). The
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
