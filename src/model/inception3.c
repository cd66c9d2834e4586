/* Inception v3 in the form of torchvision, with its further head, and small: one module of each
 * kind, an eighth of the channels, a stem for small images, no further head. Batch norm (epsilon
 * 1e-3) behind every convolution; means count padded zeros. Source: Szegedy et al., "Rethinking the
 * Inception architecture". */
#include <stdio.h>

#include "model/families.h"
#include "model/layers.h"

typedef struct net {
    hu_builder b;
    int64_t divisor; /* of the published channels */
    double width;
    char prefix[16]; /* of the present module */
} net;

static int64_t channels_of(const net *n, int64_t full) {
    int64_t channels = (int64_t)((double)(full / n->divisor) * n->width + 0.5);
    return channels < 1 ? 1 : channels;
}

static const char *named(const net *n, const char *name, char text[64]) {
    snprintf(text, 64, "%s%s", n->prefix, name);
    return text;
}

/* conv -> batch norm -> relu */
static hu_value_id conv(net *n, const char *name, hu_value_id in, int64_t full, hu_window window) {
    char text[64];
    return hu_layer_conv_bn_relu(&n->b, named(n, name, text), in, channels_of(n, full), window,
                                 (hu_norm_form){.epsilon = 1e-3f});
}

static hu_value_id point(net *n, const char *name, hu_value_id in, int64_t full) {
    return conv(n, name, in, full, hu_window_same(1, 1));
}

/* 3x3 means at stride 1. */
static hu_value_id mean(net *n, const char *name, hu_value_id in) {
    char text[64];
    return hu_layer_avg_pool(&n->b, named(n, name, text), in, hu_window_same(3, 1), true);
}

static hu_value_id halve(net *n, const char *name, hu_value_id in) {
    char text[64];
    return hu_layer_max_pool(&n->b, named(n, name, text), in, hu_window_valid(3, 2), false);
}

static hu_value_id join(net *n, const char *name, int count, const hu_value_id *parts) {
    char text[64];
    return hu_build_concat(&n->b, named(n, name, text), count, parts);
}

/* 35 x 35: 1x1 | 5x5 | two 3x3 | mean */
static hu_value_id module_a(net *n, hu_value_id in, int64_t projected) {
    hu_window three = hu_window_same(3, 1);
    hu_value_id part[4];
    part[0] = point(n, "a1", in, 64);
    part[1] = conv(n, "a5b", point(n, "a5a", in, 48), 64, hu_window_same(5, 1));
    part[2] = conv(n, "a3b", point(n, "a3a", in, 64), 96, three);
    part[2] = conv(n, "a3c", part[2], 96, three);
    part[3] = point(n, "ap", mean(n, "aavg", in), projected);
    return join(n, "acat", 4, part);
}

/* To 17 x 17. */
static hu_value_id module_b(net *n, hu_value_id in) {
    hu_value_id part[3];
    part[0] = conv(n, "r3", in, 384, hu_window_valid(3, 2));
    part[1] = conv(n, "rdb", point(n, "rda", in, 64), 96, hu_window_same(3, 1));
    part[1] = conv(n, "rdc", part[1], 96, hu_window_valid(3, 2));
    part[2] = halve(n, "rpool", in);
    return join(n, "rcat", 3, part);
}

/* 1x1 | 1x7, 7x1 | twice 7x1, 1x7 | mean; c channels inside */
static hu_value_id module_c(net *n, hu_value_id in, int64_t c) {
    hu_window row = hu_window_row(7), column = hu_window_column(7);
    hu_value_id part[4];
    part[0] = point(n, "c1", in, 192);
    part[1] = conv(n, "c7b", point(n, "c7a", in, c), c, row);
    part[1] = conv(n, "c7c", part[1], 192, column);
    part[2] = conv(n, "cdb", point(n, "cda", in, c), c, column);
    part[2] = conv(n, "cdc", part[2], c, row);
    part[2] = conv(n, "cdd", part[2], c, column);
    part[2] = conv(n, "cde", part[2], 192, row);
    part[3] = point(n, "cp", mean(n, "cavg", in), 192);
    return join(n, "ccat", 4, part);
}

/* To 8 x 8. */
static hu_value_id module_d(net *n, hu_value_id in) {
    hu_value_id part[3];
    part[0] = conv(n, "d3b", point(n, "d3a", in, 192), 320, hu_window_valid(3, 2));
    part[1] = conv(n, "d7b", point(n, "d7a", in, 192), 192, hu_window_row(7));
    part[1] = conv(n, "d7c", part[1], 192, hu_window_column(7));
    part[1] = conv(n, "d7d", part[1], 192, hu_window_valid(3, 2));
    part[2] = halve(n, "dpool", in);
    return join(n, "dcat", 3, part);
}

/* 1x1 | 1x3 beside 3x1 | the same behind a 3x3 | mean */
static hu_value_id module_e(net *n, hu_value_id in) {
    hu_window row = hu_window_row(3), column = hu_window_column(3);
    hu_value_id part[6];
    part[0] = point(n, "e1", in, 320);
    hu_value_id left = point(n, "e3", in, 384);
    part[1] = conv(n, "e3a", left, 384, row);
    part[2] = conv(n, "e3b", left, 384, column);
    hu_value_id right = conv(n, "edb", point(n, "eda", in, 448), 384, hu_window_same(3, 1));
    part[3] = conv(n, "edc", right, 384, row);
    part[4] = conv(n, "edd", right, 384, column);
    part[5] = point(n, "ep", mean(n, "eavg", in), 192);
    return join(n, "ecat", 6, part);
}

static void close(net *n, hu_value_id value) {
    value = hu_build_global_pool(&n->b, "pool", value);
    value = hu_layer_dropout(&n->b, "drop", value, 0.5);
    hu_build_loss(&n->b, hu_layer_scores(&n->b, "fc", value));
}

/* Modules of one kind are told apart by their number: "a.0.". */
static void begin(net *n, char kind, int number) {
    snprintf(n->prefix, sizeof n->prefix, "%c.%d.", kind, number);
}

static hu_value_id full_stem(net *n, hu_value_id value) {
    value = conv(n, "stem1", value, 32, hu_window_valid(3, 2));
    value = conv(n, "stem2", value, 32, hu_window_valid(3, 1));
    value = conv(n, "stem3", value, 64, hu_window_same(3, 1));
    value = point(n, "stem4", halve(n, "pool1", value), 80);
    value = conv(n, "stem5", value, 192, hu_window_valid(3, 1));
    return halve(n, "pool2", value);
}

/* Means over 5x5, three apart; 5x5 convolution without padding; means over what is left. */
static hu_value_id further_head(net *n, hu_value_id value) {
    hu_builder *b = &n->b;
    value = hu_layer_avg_pool(b, "auxp", value, hu_window_valid(5, 3), false);
    value = conv(n, "auxc1", value, 128, hu_window_same(1, 1));
    value = conv(n, "auxc2", value, 768, hu_window_valid(5, 1));
    return hu_layer_scores(b, "auxf", hu_build_global_pool(b, "auxm", value));
}

hu_status hu_model_inception_v3(const hu_model_options *options, hu_graph *graph) {
    static const int64_t inner[] = {128, 160, 160, 192};
    net n = {.b = hu_build_begin(options, graph), .divisor = 1, .width = options->width};
    hu_value_id value = full_stem(&n, hu_build_input(&n.b));
    for (int k = 0; k < 3; k++) {
        begin(&n, 'a', k);
        value = module_a(&n, value, k == 0 ? 32 : 64);
    }
    begin(&n, 'b', 0);
    value = module_b(&n, value);
    for (int k = 0; k < 4; k++) {
        begin(&n, 'c', k);
        value = module_c(&n, value, inner[k]);
    }
    n.prefix[0] = '\0';
    hu_value_id further = further_head(&n, value);
    begin(&n, 'd', 0);
    value = module_d(&n, value);
    for (int k = 0; k < 2; k++) {
        begin(&n, 'e', k);
        value = module_e(&n, value);
    }
    close(&n, value);
    hu_build_more_loss(&n.b, "aux", further, 0.4f);
    return n.b.status;
}

hu_status hu_model_inception_v3_s(const hu_model_options *options, hu_graph *graph) {
    net n = {.b = hu_build_begin(options, graph), .divisor = 8, .width = options->width};
    hu_value_id value = hu_build_input(&n.b);
    value = conv(&n, "stem1", value, 32, hu_window_same(3, 1));
    value = conv(&n, "stem2", value, 64, hu_window_same(3, 1));
    value = point(&n, "stem3", halve(&n, "pool1", value), 80);
    value = conv(&n, "stem4", value, 192, hu_window_same(3, 1));
    value = module_a(&n, halve(&n, "pool2", value), 64);
    value = module_b(&n, value);
    value = module_c(&n, value, 128);
    value = module_e(&n, module_d(&n, value));
    close(&n, value);
    return n.b.status;
}
