/* Inception v2 (GoogLeNet with batch norms): ten modules of up to four branches, two 3x3
 * convolutions in place of 5x5; in the public Caffe form, which projects 128 channels behind two
 * pools, and with the original table's 96; small: an eighth of the channels. Biases are kept in
 * front of the norms, pools end as Caffe's do. Source: Ioffe and Szegedy, "Batch normalization". */
#include <stdio.h>

#include "model/families.h"
#include "model/layers.h"

enum { MODULES = 10, EIGHTH = 8 };

/* Channels: 1x1 (0: none); 3x3 and its reduction; two 3x3 and theirs; projection behind the pool
 * (0: it passes as it is, and the module halves the image). */
typedef struct module {
    const char *name;
    int64_t one, three_in, three, two_in, two, projected;
    bool has_max; /* the pool takes the largest, else the mean */
} module;

static const module modules[MODULES] = {
    {"3a", 64, 64, 64, 64, 96, 32, false},       {"3b", 64, 64, 96, 64, 96, 64, false},
    {"3c", 0, 128, 160, 64, 96, 0, true},        {"4a", 224, 64, 96, 96, 128, 128, false},
    {"4b", 192, 96, 128, 96, 128, 128, false},   {"4c", 160, 128, 160, 128, 160, 128, false},
    {"4d", 96, 128, 192, 160, 192, 128, false},  {"4e", 0, 128, 192, 192, 256, 0, true},
    {"5a", 352, 192, 320, 160, 224, 128, false}, {"5b", 352, 192, 320, 192, 224, 128, true}};

typedef struct net {
    hu_builder b;
    int64_t divisor;
    double width;
    const char *module; /* the present one */
} net;

static int64_t channels_of(const net *n, int64_t full) {
    int64_t channels = (int64_t)((double)full / (double)n->divisor * n->width + 0.5);
    return channels < 1 ? 1 : channels;
}

/* conv with bias -> batch norm -> relu */
static hu_value_id conv(net *n, const char *name, hu_value_id in, int64_t full, hu_window window) {
    hu_norm_form norm = {.epsilon = 1e-5f, .has_bias = true};
    return hu_layer_conv_bn_relu(&n->b, name, in, channels_of(n, full), window, norm);
}

static hu_value_id branch(net *n, const char *name, hu_value_id in, int64_t full, int64_t kernel,
                          int64_t stride) {
    char text[64];
    snprintf(text, sizeof text, "inc.%s.%s", n->module, name);
    return conv(n, text, in, full, hu_window_same(kernel, stride));
}

/* A pool of the module, and its projection where there is one. */
static hu_value_id pooled(net *n, const module *m, hu_value_id in, int64_t stride) {
    char text[64];
    snprintf(text, sizeof text, "inc.%s.pool", m->name);
    if (stride > 1) return hu_layer_max_pool(&n->b, text, in, hu_window_valid(3, stride), true);
    hu_value_id value = m->has_max ? hu_layer_max_pool(&n->b, text, in, hu_window_same(3, 1), false)
                                   : hu_layer_avg_pool(&n->b, text, in, hu_window_same(3, 1), true);
    return branch(n, "bp", value, m->projected, 1, 1);
}

static hu_value_id add_module(net *n, const module *m, hu_value_id in) {
    char text[64];
    hu_value_id part[4], inner;
    int count = 0;
    int64_t stride = m->projected ? 1 : 2;
    n->module = m->name;
    if (m->one) part[count++] = branch(n, "b1", in, m->one, 1, 1);
    inner = branch(n, "b2a", in, m->three_in, 1, 1);
    part[count++] = branch(n, "b2b", inner, m->three, 3, stride);
    inner = branch(n, "b3a", in, m->two_in, 1, 1);
    inner = branch(n, "b3b", inner, m->two, 3, 1);
    part[count++] = branch(n, "b3c", inner, m->two, 3, stride);
    part[count++] = pooled(n, m, in, stride);
    snprintf(text, sizeof text, "inc.%s.cat", m->name);
    return hu_build_concat(&n->b, text, count, part);
}

static hu_value_id halve(net *n, const char *name, hu_value_id in) {
    return hu_layer_max_pool(&n->b, name, in, hu_window_valid(3, 2), true);
}

/* projected: channels of the projections of 4c and 4d. */
static hu_status build(const hu_model_options *options, hu_graph *graph, int64_t divisor,
                       hu_window first, int64_t projected) {
    net n = {.b = hu_build_begin(options, graph), .divisor = divisor, .width = options->width};
    hu_value_id value = conv(&n, "conv1", hu_build_input(&n.b), 64, first);
    value = conv(&n, "conv2", halve(&n, "pool1", value), 64, hu_window_same(1, 1));
    value = conv(&n, "conv3", value, 192, hu_window_same(3, 1));
    value = halve(&n, "pool2", value);
    for (int i = 0; i < MODULES; i++) {
        module m = modules[i];
        if (m.name[0] == '4' && (m.name[1] == 'c' || m.name[1] == 'd')) m.projected = projected;
        value = add_module(&n, &m, value);
    }
    value = hu_build_global_pool(&n.b, "pool", value);
    hu_build_loss(&n.b, hu_layer_scores(&n.b, "fc", value));
    return n.b.status;
}

hu_status hu_model_inception_v2(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, 1, hu_window_same(7, 2), 128);
}

hu_status hu_model_inception_v2_table(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, 1, hu_window_same(7, 2), 96);
}

hu_status hu_model_inception_v2_s(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, EIGHTH, hu_window_same(3, 1), 128);
}
