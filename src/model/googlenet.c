/* GoogLeNet in the form of Caffe: nine modules of four branches, biases, local response norms, two
 * further heads in training; in that of torchvision, with batch norms and 3x3 in place of 5x5.
 * Small: an eighth of the channels, and a stem for small images. Sources: Szegedy et al., "Going
 * deeper with convolutions"; Caffe's bvlc_googlenet. */
#include <stdio.h>

#include "model/families.h"
#include "model/layers.h"

enum { MODULES = 9, HEADS = 2 };

/* Channels: 1x1; 3x3 and its reduction; 5x5 and its reduction; projection behind the pool. */
typedef struct module {
    int64_t b1, b2a, b2b, b3a, b3b, b4;
} module;

static const module modules[MODULES] = {
    {64, 96, 128, 16, 32, 32},     {128, 128, 192, 32, 96, 64},   {192, 96, 208, 16, 48, 64},
    {160, 112, 224, 24, 64, 64},   {128, 128, 256, 24, 64, 64},   {112, 144, 288, 32, 64, 64},
    {256, 160, 320, 32, 128, 128}, {256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}};

/* Which modules a pool stands behind (the last one is the end), and which a further head. */
static const bool has_pool[MODULES] = {[1] = true, [6] = true};
static const bool has_head[MODULES] = {[2] = true, [5] = true};

typedef struct form {
    int64_t divisor;
    hu_window first;       /* of the first convolution */
    int64_t head_pool;     /* side of the maps that further heads read; 0: 5x5 means, three apart */
    bool has_batch_norms;  /* behind every convolution, in place of biases and local norms */
    int64_t branch_kernel; /* of the third branch */
    int64_t last_pool;     /* kernel of the pool in front of the last two modules */
} form;

enum { HEAD_HIDDEN = 1024 };

typedef struct net {
    hu_builder b;
    const form *form;
    double width;
    hu_value_id head[HEADS];
    int heads;
} net;

/* At other widths than 1 to the nearest whole number, at least 1. */
static int64_t channels_of(const net *n, int64_t full) {
    double wanted = (double)full / (double)n->form->divisor * n->width;
    int64_t rounded = (int64_t)(wanted + 0.5);
    return rounded < 1 ? 1 : rounded;
}

/* conv -> relu, or conv -> batch norm -> relu */
static hu_value_id conv(net *n, const char *name, hu_value_id in, int64_t full, hu_window window) {
    int64_t channels = channels_of(n, full);
    if (!n->form->has_batch_norms) return hu_layer_conv_relu(&n->b, name, in, channels, window);
    return hu_layer_conv_bn_relu(&n->b, name, in, channels, window,
                                 (hu_norm_form){.epsilon = 1e-3f});
}

/* Called inc.NUMBER.BRANCH. */
static hu_value_id branch(net *n, int number, const char *name, hu_value_id in, int64_t full,
                          int64_t kernel) {
    char text[64];
    snprintf(text, sizeof text, "inc.%d.%s", number, name);
    return conv(n, text, in, full, hu_window_same(kernel, 1));
}

static hu_value_id add_module(net *n, int number, hu_value_id in) {
    const module *m = &modules[number];
    char text[64];
    hu_value_id part[4];
    part[0] = branch(n, number, "b1", in, m->b1, 1);
    part[1] = branch(n, number, "b2b", branch(n, number, "b2a", in, m->b2a, 1), m->b2b, 3);
    part[2] = branch(n, number, "b3b", branch(n, number, "b3a", in, m->b3a, 1), m->b3b,
                     n->form->branch_kernel);
    snprintf(text, sizeof text, "inc.%d.pool", number);
    part[3] = hu_layer_max_pool(&n->b, text, in, hu_window_same(3, 1), false);
    part[3] = branch(n, number, "b4", part[3], m->b4, 1);
    snprintf(text, sizeof text, "inc.%d.cat", number);
    return hu_build_concat(&n->b, text, 4, part);
}

/* Means -> conv 128 -> linear -> scores. */
static hu_value_id add_head(net *n, int number, hu_value_id in) {
    char text[64];
    snprintf(text, sizeof text, "auxp.%d", number);
    hu_value_id value = n->form->head_pool
                            ? hu_layer_adaptive_pool(&n->b, text, in, n->form->head_pool)
                            : hu_layer_avg_pool(&n->b, text, in, hu_window_valid(5, 3), false);
    snprintf(text, sizeof text, "auxc.%d", number);
    value = conv(n, text, value, 128, hu_window_same(1, 1));
    snprintf(text, sizeof text, "auxf1.%d", number);
    value = hu_layer_hidden(&n->b, text, value, channels_of(n, HEAD_HIDDEN), 0.7);
    snprintf(text, sizeof text, "auxf2.%d", number);
    return hu_layer_scores(&n->b, text, value);
}

static hu_value_id halve(net *n, int number, hu_value_id in, int64_t kernel) {
    char text[32];
    snprintf(text, sizeof text, "pool%d", number);
    return hu_layer_max_pool(&n->b, text, in, hu_window_valid(kernel, 2), true);
}

/* Local norms stand where there are no batch norms. */
static hu_value_id local(net *n, const char *name, hu_value_id in) {
    return n->form->has_batch_norms ? in : hu_layer_local_norm(&n->b, name, in);
}

static hu_value_id add_stem(net *n, hu_value_id value) {
    value = halve(n, 1, conv(n, "conv1", value, 64, n->form->first), 3);
    value = conv(n, "conv2", local(n, "norm1", value), 64, hu_window_same(1, 1));
    value = conv(n, "conv3", value, 192, hu_window_same(3, 1));
    return halve(n, 2, local(n, "norm2", value), 3);
}

/* The further heads are closed behind the first one, whose metric counts. */
static hu_status build_googlenet(const hu_model_options *options, hu_graph *graph, const form *as) {
    net n = {.b = hu_build_begin(options, graph), .form = as, .width = options->width};
    char text[32];
    hu_value_id value = add_stem(&n, hu_build_input(&n.b));
    for (int m = 0; m < MODULES; m++) {
        value = add_module(&n, m, value);
        if (has_head[m]) {
            n.head[n.heads] = add_head(&n, n.heads, value);
            n.heads++;
        }
        if (has_pool[m])
            value = m < MODULES / 2 ? halve(&n, 3, value, 3) : halve(&n, 4, value, as->last_pool);
    }
    value = hu_build_global_pool(&n.b, "pool", value);
    value = hu_layer_dropout(&n.b, "drop", value, 0.4);
    hu_build_loss(&n.b, hu_layer_scores(&n.b, "fc", value));
    for (int h = 0; h < n.heads; h++) {
        snprintf(text, sizeof text, "aux%d", h);
        hu_build_more_loss(&n.b, text, n.head[h], 0.3f);
    }
    return n.b.status;
}

hu_status hu_model_googlenet(const hu_model_options *options, hu_graph *graph) {
    static const form caffe = {1, {7, 7, 2, 3, 3, 1}, 0, false, 5, 3};
    return build_googlenet(options, graph, &caffe);
}

hu_status hu_model_googlenet_s(const hu_model_options *options, hu_graph *graph) {
    static const form small = {8, {3, 3, 1, 1, 1, 1}, 4, false, 5, 3};
    return build_googlenet(options, graph, &small);
}

hu_status hu_model_googlenet_bn(const hu_model_options *options, hu_graph *graph) {
    static const form norms = {1, {7, 7, 2, 3, 3, 1}, 4, true, 3, 2};
    return build_googlenet(options, graph, &norms);
}
