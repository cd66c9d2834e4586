/* AlexNet in the form of Caffe (two groups, local response norms), as one tower without norms, and
 * small; VGG-16 ("D") in two sizes. All weights begin normal by fan in, biases at 0. Sources:
 * Krizhevsky et al. 2012; Caffe's bvlc_alexnet; Krizhevsky, "One weird trick"; Simonyan and
 * Zisserman, "Very deep convolutional networks". */
#include <stdio.h>

#include "model/internal.h"

/* Five convolutions and three linear layers. */
typedef struct tower {
    int64_t channels[5], hidden;
    hu_window first;
    int64_t groups; /* of the second, fourth and fifth convolution */
    bool has_norms; /* after the first two */
    int64_t side;   /* of the maps that the linear layers read; 0: as they come */
} tower;

/* conv -> relu -> norm where there is one -> max pool where there is one */
static hu_value_id layer(hu_builder *b, int number, hu_value_id in, int64_t channels,
                         hu_window window, bool has_norm, bool has_pool) {
    char name[32];
    snprintf(name, sizeof name, "conv%d", number);
    hu_value_id value = hu_layer_conv_relu(b, name, in, channels, window);
    snprintf(name, sizeof name, "norm%d", number);
    if (has_norm) value = hu_layer_local_norm(b, name, value);
    snprintf(name, sizeof name, "pool%d", number);
    return has_pool ? hu_layer_max_pool(b, name, value, hu_window_valid(3, 2), false) : value;
}

static hu_status build_tower(const hu_model_options *options, hu_graph *graph, const tower *t) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t c[5], hidden = hu_build_scaled(t->hidden, options->width);
    for (int i = 0; i < 5; i++) c[i] = hu_build_scaled(t->channels[i], options->width);
    hu_window five = hu_window_same(5, 1), three = hu_window_same(3, 1), grouped = three;
    five.groups = grouped.groups = t->groups;
    hu_value_id value = hu_build_input(&b);
    value = layer(&b, 1, value, c[0], t->first, t->has_norms, true);
    value = layer(&b, 2, value, c[1], five, t->has_norms, true);
    value = layer(&b, 3, value, c[2], three, false, false);
    value = layer(&b, 4, value, c[3], grouped, false, false);
    value = layer(&b, 5, value, c[4], grouped, false, true);
    if (t->side) value = hu_layer_adaptive_pool(&b, "pool", value, t->side);
    value = hu_layer_hidden(&b, "fc6", value, hidden, 0.5);
    value = hu_layer_hidden(&b, "fc7", value, hidden, 0.5);
    hu_build_loss(&b, hu_layer_scores(&b, "fc8", value));
    return b.status;
}

hu_status hu_model_alexnet(const hu_model_options *options, hu_graph *graph) {
    static const tower caffe = {{96, 256, 384, 384, 256}, 4096, {11, 11, 4, 0, 0, 1}, 2, true, 0};
    return build_tower(options, graph, &caffe);
}

hu_status hu_model_alexnet_one(const hu_model_options *options, hu_graph *graph) {
    static const tower one = {{64, 192, 384, 256, 256}, 4096, {11, 11, 4, 2, 2, 1}, 1, false, 6};
    return build_tower(options, graph, &one);
}

hu_status hu_model_alexnet_s(const hu_model_options *options, hu_graph *graph) {
    static const tower small = {{24, 64, 96, 96, 64}, 256, {5, 5, 2, 2, 2, 1}, 2, true, 0};
    return build_tower(options, graph, &small);
}

/* Five stages of 3x3 convolutions, each halved after its last. */
static hu_status build_vgg(const hu_model_options *options, hu_graph *graph, int64_t divisor) {
    static const int64_t channels[] = {64, 128, 256, 512, 512};
    static const int layers[] = {2, 2, 3, 3, 3};
    enum { STAGES = 5, HIDDEN = 4096 };
    hu_builder b = hu_build_begin(options, graph);
    char name[32];
    hu_value_id value = hu_build_input(&b);
    for (int s = 0; s < STAGES; s++) {
        for (int k = 0; k < layers[s]; k++) {
            snprintf(name, sizeof name, "conv%d_%d", s + 1, k + 1);
            value = hu_layer_conv_relu(&b, name, value,
                                       hu_build_scaled(channels[s] / divisor, options->width),
                                       hu_window_same(3, 1));
        }
        snprintf(name, sizeof name, "pool%d", s + 1);
        value = hu_layer_max_pool(&b, name, value, hu_window_valid(2, 2), false);
    }
    value =
        hu_layer_hidden(&b, "fc6", value, hu_build_scaled(HIDDEN / divisor, options->width), 0.5);
    value =
        hu_layer_hidden(&b, "fc7", value, hu_build_scaled(HIDDEN / divisor, options->width), 0.5);
    hu_build_loss(&b, hu_layer_scores(&b, "fc8", value));
    return b.status;
}

hu_status hu_model_vgg16(const hu_model_options *options, hu_graph *graph) {
    return build_vgg(options, graph, 1);
}

hu_status hu_model_vgg16_s(const hu_model_options *options, hu_graph *graph) {
    return build_vgg(options, graph, 8);
}
