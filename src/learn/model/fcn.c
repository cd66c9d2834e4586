/* Fully convolutional networks on a dilated ResNet: class scores at an eighth (small: a fourth) of
 * the resolution, enlarged to that of the label map; in training a second head on the third stage.
 * Sources: Long et al., "Fully convolutional networks for semantic segmentation"; FCN-R50-D8 of
 * MMSegmentation, which Han et al. (APS), section 4.1, train. */
#include <stdio.h>

#include "model/internal.h"

enum { STAGES = 4, STEM_MAX = 3, NAME_BYTES = 96 };

static const double HEAD_DROPOUT = 0.1;
static const float SECOND_WEIGHT = 0.4f;

/* What tells the two networks apart. */
typedef struct form {
    int64_t stem[STEM_MAX]; /* channels of the convolutions in front, 0: none; the first halves */
    bool has_pool;          /* a max pool after them, which halves again */
    int blocks[STAGES];
    int64_t width[STAGES], stride[STAGES], dilation[STAGES];
    int64_t expansion; /* 1: basic blocks; else of bottlenecks */
    int64_t head, second_head;
    int64_t least; /* pixels of a picture's side, of which the last map has three */
    /* The first block of a dilated stage keeps half of its dilation, as MMSegmentation's. */
    bool contracts;
    bool is_fan_out; /* weights begin normal by fan out, else as frameworks give them */
} form;

typedef struct net {
    hu_builder b;
    const form *form;
    double width;
    char prefix[NAME_BYTES]; /* of the block being made, with the dot */
} net;

/* Kernel, stride and dilation of a convolution. */
typedef struct window {
    int64_t kernel, stride, dilation;
} window;

static const window one = {1, 1, 1}, three = {3, 1, 1};

static int64_t width_of(const net *n, int64_t channels) {
    return hu_build_width((double)channels, n->width);
}

/* conv -> norm, of the given names after the prefix. */
static hu_value_id conv_norm(net *n, const char *conv, const char *norm, hu_value_id in,
                             int64_t channels, window w) {
    char text[2 * NAME_BYTES];
    hu_conv_form made = {.channels = channels,
                         .kernel = w.kernel,
                         .stride = w.stride,
                         .dilation = w.dilation,
                         .weight = hu_init_fan_out(w.kernel, channels)};
    if (!n->form->is_fan_out)
        made.weight = hu_init_usual(w.kernel * w.kernel * hu_build_channels(&n->b, in));
    snprintf(text, sizeof text, "%s%s", n->prefix, conv);
    in = hu_build_conv_as(&n->b, text, in, &made);
    snprintf(text, sizeof text, "%s%s", n->prefix, norm);
    return hu_build_norm(&n->b, text, in);
}

static hu_value_id relu(net *n, const char *name, hu_value_id in) {
    char text[2 * NAME_BYTES];
    snprintf(text, sizeof text, "%s%s", n->prefix, name);
    return hu_build_relu(&n->b, text, in);
}

/* conv NAME.0 -> norm NAME.1 -> NAME.relu, outside of blocks. */
static hu_value_id layer(net *n, const char *name, hu_value_id in, int64_t channels, window w) {
    snprintf(n->prefix, sizeof n->prefix, "%s.", name);
    in = relu(n, "relu", conv_norm(n, "0", "1", in, channels, w));
    n->prefix[0] = '\0';
    return in;
}

/* Convolutions of a block after each other: conv1, bn1, relu1, conv2 ... without the last relu. */
static hu_value_id body(net *n, hu_value_id value, int64_t channels, window spread) {
    if (n->form->expansion == 1) {
        value = relu(n, "relu1", conv_norm(n, "conv1", "bn1", value, channels, spread));
        spread.stride = 1;
        return conv_norm(n, "conv2", "bn2", value, channels, spread);
    }
    value = relu(n, "relu1", conv_norm(n, "conv1", "bn1", value, channels, one));
    value = relu(n, "relu2", conv_norm(n, "conv2", "bn2", value, channels, spread));
    return conv_norm(n, "conv3", "bn3", value, n->form->expansion * channels, one);
}

/* The shortcut is a product where the shape changes. */
static hu_value_id block(net *n, hu_value_id in, int64_t channels, window spread) {
    char text[2 * NAME_BYTES];
    int64_t out = n->form->expansion * channels;
    hu_value_id value = body(n, in, channels, spread), shortcut = in;
    if (spread.stride != 1 || hu_build_channels(&n->b, in) != out)
        shortcut = conv_norm(n, "sc.0", "sc.1", in, out, (window){1, spread.stride, 1});
    snprintf(text, sizeof text, "%sadd", n->prefix);
    return relu(n, "relu", hu_build_add(&n->b, text, value, shortcut));
}

static hu_value_id stage(net *n, int s, hu_value_id value) {
    const form *f = n->form;
    for (int k = 0; k < f->blocks[s]; k++) {
        window spread = {3, k == 0 ? f->stride[s] : 1, f->dilation[s]};
        if (k == 0 && f->contracts && spread.dilation > 1) spread.dilation /= 2;
        snprintf(n->prefix, sizeof n->prefix, "layer%d.%d.", s + 1, k);
        value = block(n, value, width_of(n, f->width[s]), spread);
    }
    n->prefix[0] = '\0';
    return value;
}

/* Called "stem" where it is one convolution, else stem1, stem2 ... */
static hu_value_id add_stem(net *n, hu_value_id value) {
    const int64_t *channels = n->form->stem;
    char name[16];
    for (int i = 0; i < STEM_MAX && channels[i]; i++) {
        if (channels[1])
            snprintf(name, sizeof name, "stem%d", i + 1);
        else
            snprintf(name, sizeof name, "stem");
        value = layer(n, name, value, width_of(n, channels[i]), (window){3, i ? 1 : 2, 1});
    }
    if (n->form->has_pool) value = hu_build_padded_max_pool(&n->b, "pool", value, 3, 2, 1);
    return value;
}

/* Dropout, a score for every class at every place, and these as large as the label map. */
static hu_value_id scores(net *n, const char *name, hu_value_id value) {
    char text[NAME_BYTES];
    const int64_t *map = n->b.choice.shapes.value[1].extent;
    int64_t channels = hu_build_channels(&n->b, value);
    hu_conv_form made = {.channels = hu_build_outputs(&n->b),
                         .kernel = 1,
                         .stride = 1,
                         .has_bias = true,
                         .weight = hu_init_usual(channels),
                         .bias = hu_init_usual(channels)};
    if (n->form->is_fan_out) {
        made.weight = (hu_init){HU_INIT_NORMAL, 0.01f};
        made.bias = (hu_init){HU_INIT_CONSTANT, 0.0f};
    }
    snprintf(text, sizeof text, "%s.drop", name);
    value = hu_layer_dropout(&n->b, text, value, HEAD_DROPOUT);
    value = hu_build_conv_as(&n->b, name, value, &made);
    snprintf(text, sizeof text, "%s.up", name);
    return hu_build_bilinear(&n->b, text, value, map[0], map[1]);
}

/* Two convolutions; what they make stands beside what they read. */
static hu_value_id add_head(net *n, hu_value_id in) {
    int64_t channels = width_of(n, n->form->head);
    hu_value_id part[2] = {in, layer(n, "head1", in, channels, three)};
    part[1] = layer(n, "head2", part[1], channels, three);
    hu_value_id value = hu_build_concat(&n->b, "cat", 2, part);
    return scores(n, "cls", layer(n, "headcat", value, channels, three));
}

static hu_status build_fcn(const hu_model_options *options, hu_graph *graph, const form *as) {
    net n = {.b = hu_build_begin(options, graph), .form = as, .width = options->width};
    hu_value_id picture = hu_build_input(&n.b), third = HU_NONE;
    hu_detector_expect_size(&n.b, picture, as->least);
    hu_value_id value = add_stem(&n, picture);
    for (int s = 0; s < STAGES; s++) {
        value = stage(&n, s, value);
        if (s == 2) third = value;
    }
    hu_build_loss(&n.b, add_head(&n, value));
    value = layer(&n, "aux1", third, width_of(&n, as->second_head), three);
    hu_build_more_loss(&n.b, "aux", scores(&n, "auxcls", value), SECOND_WEIGHT);
    return n.b.status;
}

hu_status hu_model_fcn_r50(const hu_model_options *options, hu_graph *graph) {
    static const form full = {.stem = {32, 32, 64},
                              .has_pool = true,
                              .blocks = {3, 4, 6, 3},
                              .width = {64, 128, 256, 512},
                              .stride = {1, 2, 1, 1},
                              .dilation = {1, 1, 2, 4},
                              .expansion = 4,
                              .head = 512,
                              .second_head = 256,
                              .least = 17,
                              .contracts = true,
                              .is_fan_out = true};
    return build_fcn(options, graph, &full);
}

hu_status hu_model_fcn_s(const hu_model_options *options, hu_graph *graph) {
    static const form small = {.stem = {16},
                               .blocks = {2, 2, 2, 2},
                               .width = {16, 32, 64, 64},
                               .stride = {1, 2, 1, 1},
                               .dilation = {1, 1, 2, 4},
                               .expansion = 1,
                               .head = 32,
                               .second_head = 16,
                               .least = 9};
    return build_fcn(options, graph, &small);
}
