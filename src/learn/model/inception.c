#include <stdio.h>

#include "model/internal.h"

/* ---- googlenet ---- */

/* GoogLeNet in the form of Caffe: nine modules of four branches, biases, local response norms, two
 * further heads in training; in that of torchvision, with batch norms and 3x3 in place of 5x5.
 * Small: an eighth of the channels, and a stem for small images. Sources: Szegedy et al., "Going
 * deeper with convolutions"; Caffe's bvlc_googlenet. */

enum { MODULES = 9, HEADS = 2 };

/* Channels: 1x1; 3x3 and its reduction; 5x5 and its reduction; projection after the pool. */
typedef struct module {
    int64_t b1, b2a, b2b, b3a, b3b, b4;
} module;

static const module modules[MODULES] = {
    {64, 96, 128, 16, 32, 32},     {128, 128, 192, 32, 96, 64},   {192, 96, 208, 16, 48, 64},
    {160, 112, 224, 24, 64, 64},   {128, 128, 256, 24, 64, 64},   {112, 144, 288, 32, 64, 64},
    {256, 160, 320, 32, 128, 128}, {256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}};

/* Which modules a pool stands after (the last one is the end), and which a further head. */
static const bool has_pool[MODULES] = {[1] = true, [6] = true};
static const bool has_head[MODULES] = {[2] = true, [5] = true};

typedef struct form {
    int64_t divisor;
    hu_window first;       /* of the first convolution */
    int64_t head_pool;     /* side of the maps that further heads read; 0: 5x5 means, three apart */
    bool has_batch_norms;  /* after every convolution, in place of biases and local norms */
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

/* The further heads are closed after the first one, whose metric counts. */
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

/* ---- inception2 ---- */

/* Inception v2 (GoogLeNet with batch norms): ten modules of up to four branches, two 3x3
 * convolutions in place of 5x5; in the public Caffe form, which projects 128 channels after two
 * pools, and with the original table's 96; small: an eighth of the channels. Biases are kept in
 * front of the norms, pools end as Caffe's do. Source: Ioffe and Szegedy, "Batch normalization". */

enum { INCEPTION2_MODULES = 10, EIGHTH = 8 };

/* Channels: 1x1 (0: none); 3x3 and its reduction; two 3x3 and theirs; projection after the pool
 * (0: it passes as it is, and the module halves the image). */
typedef struct inception2_module {
    const char *name;
    int64_t one, three_in, three, two_in, two, projected;
    bool has_max; /* the pool takes the largest, else the mean */
} inception2_module;

static const inception2_module inception2_modules[INCEPTION2_MODULES] = {
    {"3a", 64, 64, 64, 64, 96, 32, false},       {"3b", 64, 64, 96, 64, 96, 64, false},
    {"3c", 0, 128, 160, 64, 96, 0, true},        {"4a", 224, 64, 96, 96, 128, 128, false},
    {"4b", 192, 96, 128, 96, 128, 128, false},   {"4c", 160, 128, 160, 128, 160, 128, false},
    {"4d", 96, 128, 192, 160, 192, 128, false},  {"4e", 0, 128, 192, 192, 256, 0, true},
    {"5a", 352, 192, 320, 160, 224, 128, false}, {"5b", 352, 192, 320, 192, 224, 128, true}};

typedef struct inception2_net {
    hu_builder b;
    int64_t divisor;
    double width;
    const char *module; /* the present one */
} inception2_net;

static int64_t inception2_channels_of(const inception2_net *n, int64_t full) {
    int64_t channels = (int64_t)((double)full / (double)n->divisor * n->width + 0.5);
    return channels < 1 ? 1 : channels;
}

/* conv with bias -> batch norm -> relu */
static hu_value_id inception2_conv(inception2_net *n, const char *name, hu_value_id in,
                                   int64_t full, hu_window window) {
    hu_norm_form norm = {.epsilon = 1e-5f, .has_bias = true};
    return hu_layer_conv_bn_relu(&n->b, name, in, inception2_channels_of(n, full), window, norm);
}

static hu_value_id inception2_branch(inception2_net *n, const char *name, hu_value_id in,
                                     int64_t full, int64_t kernel, int64_t stride) {
    char text[64];
    snprintf(text, sizeof text, "inc.%s.%s", n->module, name);
    return inception2_conv(n, text, in, full, hu_window_same(kernel, stride));
}

/* A pool of the module, and its projection where there is one. */
static hu_value_id pooled(inception2_net *n, const inception2_module *m, hu_value_id in,
                          int64_t stride) {
    char text[64];
    snprintf(text, sizeof text, "inc.%s.pool", m->name);
    if (stride > 1) return hu_layer_max_pool(&n->b, text, in, hu_window_valid(3, stride), true);
    hu_value_id value = m->has_max ? hu_layer_max_pool(&n->b, text, in, hu_window_same(3, 1), false)
                                   : hu_layer_avg_pool(&n->b, text, in, hu_window_same(3, 1), true);
    return inception2_branch(n, "bp", value, m->projected, 1, 1);
}

static hu_value_id inception2_add_module(inception2_net *n, const inception2_module *m,
                                         hu_value_id in) {
    char text[64];
    hu_value_id part[4], inner;
    int count = 0;
    int64_t stride = m->projected ? 1 : 2;
    n->module = m->name;
    if (m->one) part[count++] = inception2_branch(n, "b1", in, m->one, 1, 1);
    inner = inception2_branch(n, "b2a", in, m->three_in, 1, 1);
    part[count++] = inception2_branch(n, "b2b", inner, m->three, 3, stride);
    inner = inception2_branch(n, "b3a", in, m->two_in, 1, 1);
    inner = inception2_branch(n, "b3b", inner, m->two, 3, 1);
    part[count++] = inception2_branch(n, "b3c", inner, m->two, 3, stride);
    part[count++] = pooled(n, m, in, stride);
    snprintf(text, sizeof text, "inc.%s.cat", m->name);
    return hu_build_concat(&n->b, text, count, part);
}

static hu_value_id inception2_halve(inception2_net *n, const char *name, hu_value_id in) {
    return hu_layer_max_pool(&n->b, name, in, hu_window_valid(3, 2), true);
}

/* projected: channels of the projections of 4c and 4d. */
static hu_status build(const hu_model_options *options, hu_graph *graph, int64_t divisor,
                       hu_window first, int64_t projected) {
    inception2_net n = {
        .b = hu_build_begin(options, graph), .divisor = divisor, .width = options->width};
    hu_value_id value = inception2_conv(&n, "conv1", hu_build_input(&n.b), 64, first);
    value = inception2_conv(&n, "conv2", inception2_halve(&n, "pool1", value), 64,
                            hu_window_same(1, 1));
    value = inception2_conv(&n, "conv3", value, 192, hu_window_same(3, 1));
    value = inception2_halve(&n, "pool2", value);
    for (int i = 0; i < INCEPTION2_MODULES; i++) {
        inception2_module m = inception2_modules[i];
        if (m.name[0] == '4' && (m.name[1] == 'c' || m.name[1] == 'd')) m.projected = projected;
        value = inception2_add_module(&n, &m, value);
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

/* ---- inception3 ---- */

/* Inception v3 in the form of torchvision, with its further head, and small: one module of each
 * kind, an eighth of the channels, a stem for small images, no further head. Batch norm (epsilon
 * 1e-3) after every convolution; means count padded zeros. Source: Szegedy et al., "Rethinking the
 * Inception architecture". */

typedef struct inception3_net {
    hu_builder b;
    int64_t divisor; /* of the published channels */
    double width;
    char prefix[16]; /* of the present module */
} inception3_net;

static int64_t inception3_channels_of(const inception3_net *n, int64_t full) {
    int64_t channels = (int64_t)((double)(full / n->divisor) * n->width + 0.5);
    return channels < 1 ? 1 : channels;
}

static const char *named(const inception3_net *n, const char *name, char text[64]) {
    snprintf(text, 64, "%s%s", n->prefix, name);
    return text;
}

/* conv -> batch norm -> relu */
static hu_value_id inception3_conv(inception3_net *n, const char *name, hu_value_id in,
                                   int64_t full, hu_window window) {
    char text[64];
    return hu_layer_conv_bn_relu(&n->b, named(n, name, text), in, inception3_channels_of(n, full),
                                 window, (hu_norm_form){.epsilon = 1e-3f});
}

static hu_value_id point(inception3_net *n, const char *name, hu_value_id in, int64_t full) {
    return inception3_conv(n, name, in, full, hu_window_same(1, 1));
}

/* 3x3 means at stride 1. */
static hu_value_id mean(inception3_net *n, const char *name, hu_value_id in) {
    char text[64];
    return hu_layer_avg_pool(&n->b, named(n, name, text), in, hu_window_same(3, 1), true);
}

static hu_value_id inception3_halve(inception3_net *n, const char *name, hu_value_id in) {
    char text[64];
    return hu_layer_max_pool(&n->b, named(n, name, text), in, hu_window_valid(3, 2), false);
}

static hu_value_id join(inception3_net *n, const char *name, int count, const hu_value_id *parts) {
    char text[64];
    return hu_build_concat(&n->b, named(n, name, text), count, parts);
}

/* 35 x 35: 1x1 | 5x5 | two 3x3 | mean */
static hu_value_id module_a(inception3_net *n, hu_value_id in, int64_t projected) {
    hu_window three = hu_window_same(3, 1);
    hu_value_id part[4];
    part[0] = point(n, "a1", in, 64);
    part[1] = inception3_conv(n, "a5b", point(n, "a5a", in, 48), 64, hu_window_same(5, 1));
    part[2] = inception3_conv(n, "a3b", point(n, "a3a", in, 64), 96, three);
    part[2] = inception3_conv(n, "a3c", part[2], 96, three);
    part[3] = point(n, "ap", mean(n, "aavg", in), projected);
    return join(n, "acat", 4, part);
}

/* To 17 x 17. */
static hu_value_id module_b(inception3_net *n, hu_value_id in) {
    hu_value_id part[3];
    part[0] = inception3_conv(n, "r3", in, 384, hu_window_valid(3, 2));
    part[1] = inception3_conv(n, "rdb", point(n, "rda", in, 64), 96, hu_window_same(3, 1));
    part[1] = inception3_conv(n, "rdc", part[1], 96, hu_window_valid(3, 2));
    part[2] = inception3_halve(n, "rpool", in);
    return join(n, "rcat", 3, part);
}

/* 1x1 | 1x7, 7x1 | twice 7x1, 1x7 | mean; c channels inside */
static hu_value_id module_c(inception3_net *n, hu_value_id in, int64_t c) {
    hu_window row = hu_window_row(7), column = hu_window_column(7);
    hu_value_id part[4];
    part[0] = point(n, "c1", in, 192);
    part[1] = inception3_conv(n, "c7b", point(n, "c7a", in, c), c, row);
    part[1] = inception3_conv(n, "c7c", part[1], 192, column);
    part[2] = inception3_conv(n, "cdb", point(n, "cda", in, c), c, column);
    part[2] = inception3_conv(n, "cdc", part[2], c, row);
    part[2] = inception3_conv(n, "cdd", part[2], c, column);
    part[2] = inception3_conv(n, "cde", part[2], 192, row);
    part[3] = point(n, "cp", mean(n, "cavg", in), 192);
    return join(n, "ccat", 4, part);
}

/* To 8 x 8. */
static hu_value_id module_d(inception3_net *n, hu_value_id in) {
    hu_value_id part[3];
    part[0] = inception3_conv(n, "d3b", point(n, "d3a", in, 192), 320, hu_window_valid(3, 2));
    part[1] = inception3_conv(n, "d7b", point(n, "d7a", in, 192), 192, hu_window_row(7));
    part[1] = inception3_conv(n, "d7c", part[1], 192, hu_window_column(7));
    part[1] = inception3_conv(n, "d7d", part[1], 192, hu_window_valid(3, 2));
    part[2] = inception3_halve(n, "dpool", in);
    return join(n, "dcat", 3, part);
}

/* 1x1 | 1x3 beside 3x1 | the same after a 3x3 | mean */
static hu_value_id module_e(inception3_net *n, hu_value_id in) {
    hu_window row = hu_window_row(3), column = hu_window_column(3);
    hu_value_id part[6];
    part[0] = point(n, "e1", in, 320);
    hu_value_id left = point(n, "e3", in, 384);
    part[1] = inception3_conv(n, "e3a", left, 384, row);
    part[2] = inception3_conv(n, "e3b", left, 384, column);
    hu_value_id right =
        inception3_conv(n, "edb", point(n, "eda", in, 448), 384, hu_window_same(3, 1));
    part[3] = inception3_conv(n, "edc", right, 384, row);
    part[4] = inception3_conv(n, "edd", right, 384, column);
    part[5] = point(n, "ep", mean(n, "eavg", in), 192);
    return join(n, "ecat", 6, part);
}

static void close(inception3_net *n, hu_value_id value) {
    value = hu_build_global_pool(&n->b, "pool", value);
    value = hu_layer_dropout(&n->b, "drop", value, 0.5);
    hu_build_loss(&n->b, hu_layer_scores(&n->b, "fc", value));
}

/* Modules of one kind are told apart by their number: "a.0.". */
static void begin(inception3_net *n, char kind, int number) {
    snprintf(n->prefix, sizeof n->prefix, "%c.%d.", kind, number);
}

static hu_value_id full_stem(inception3_net *n, hu_value_id value) {
    value = inception3_conv(n, "stem1", value, 32, hu_window_valid(3, 2));
    value = inception3_conv(n, "stem2", value, 32, hu_window_valid(3, 1));
    value = inception3_conv(n, "stem3", value, 64, hu_window_same(3, 1));
    value = point(n, "stem4", inception3_halve(n, "pool1", value), 80);
    value = inception3_conv(n, "stem5", value, 192, hu_window_valid(3, 1));
    return inception3_halve(n, "pool2", value);
}

/* Means over 5x5, three apart; 5x5 convolution without padding; means over what is left. */
static hu_value_id further_head(inception3_net *n, hu_value_id value) {
    hu_builder *b = &n->b;
    value = hu_layer_avg_pool(b, "auxp", value, hu_window_valid(5, 3), false);
    value = inception3_conv(n, "auxc1", value, 128, hu_window_same(1, 1));
    value = inception3_conv(n, "auxc2", value, 768, hu_window_valid(5, 1));
    return hu_layer_scores(b, "auxf", hu_build_global_pool(b, "auxm", value));
}

hu_status hu_model_inception_v3(const hu_model_options *options, hu_graph *graph) {
    static const int64_t inner[] = {128, 160, 160, 192};
    inception3_net n = {.b = hu_build_begin(options, graph), .divisor = 1, .width = options->width};
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
    inception3_net n = {.b = hu_build_begin(options, graph), .divisor = 8, .width = options->width};
    hu_value_id value = hu_build_input(&n.b);
    value = inception3_conv(&n, "stem1", value, 32, hu_window_same(3, 1));
    value = inception3_conv(&n, "stem2", value, 64, hu_window_same(3, 1));
    value = point(&n, "stem3", inception3_halve(&n, "pool1", value), 80);
    value = inception3_conv(&n, "stem4", value, 192, hu_window_same(3, 1));
    value = module_a(&n, inception3_halve(&n, "pool2", value), 64);
    value = module_b(&n, value);
    value = module_c(&n, value, 128);
    value = module_e(&n, module_d(&n, value));
    close(&n, value);
    return n.b.status;
}
