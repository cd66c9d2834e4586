/* Parameters, multiply-accumulates and channels of the published networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "graph/graph.h"
#include "model/internal.h"
#include "model/model.h"
#include "model_of.h"

static const hu_shape cifar = {3, {32, 32, 3}};

static hu_graph *build(const char *name, double width, hu_shape image, int64_t classes) {
    return model_of(name, width, &image, classes);
}

/* Multiply-accumulates of the convolutions alone. */
static int64_t conv_macs(const hu_graph *graph) {
    int64_t macs = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        hu_node_info info = hu_graph_node_info(&graph->node[n], 1, 1);
        if (graph->node[n].op == &hu_op_conv2d) macs += hu_op_conv2d.macs(&info);
    }
    return macs;
}

static void check(const char *name, double width, int64_t classes, int64_t parameters, int64_t macs,
                  int64_t head) {
    hu_graph *graph = build(name, width, cifar, classes);
    assert_int_equal(hu_graph_parameters(graph), parameters);
    if (macs) assert_int_equal(conv_macs(graph), macs);
    assert_int_equal(hu_graph_macs(graph) - conv_macs(graph), head * classes);
    hu_graph_free(graph);
}

/* The table of words, and four blocks of attention (4 (128 + 1) 128), norms and two layers; MACs of
 * the eight places and, in attention, of pairs that may see each other. */
static void test_language_models(void **state) {
    (void)state;
    const int64_t block = 4 * 129 * 128 + 4 * 128 + 129 * 512 + 513 * 128;
    hu_graph *graph = build("transformer-lm-s", 1, cifar, 7266);
    assert_int_equal(hu_graph_parameters(graph), 7266 * 128 + 4 * block);
    assert_int_equal(hu_graph_parameters(graph), 1723136);
    assert_true(hu_graph_find(graph, "blocks.3.attn.out.bias") != HU_NONE);
    assert_int_equal(graph->value[hu_graph_find(graph, "emb.weight")].use_count, 2);
    hu_graph_free(graph);
}

/* A table whose rows are the scores' weights too, their biases, and two layers of four gates. The
 * vocabularies are those of WikiText-2 and -103. */
static void test_recurrent_language_models(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t words, width, parameters;
    } rows[] = {{"lstm-lm-s", 7266, 128, 1201506},
                {"lstm-lm", 33278, 650, 28434378},
                {"lstm-lm", 267735, 650, 181065885}};
    enum { TOKENS = 8 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t width = rows[i].width, words = rows[i].words;
        hu_graph *graph = build(rows[i].name, 1, cifar, words);
        assert_int_equal(hu_graph_parameters(graph), rows[i].parameters);
        assert_int_equal(hu_graph_macs(graph), TOKENS * (2 * 8 * width + words) * width);
        assert_int_equal(graph->value[hu_graph_find(graph, "emb.weight")].use_count, 2);
        assert_true(hu_graph_find(graph, "lstm.bias_hh_l1") != HU_NONE);
        assert_true(hu_graph_find(graph, "out.bias") != HU_NONE);
        hu_graph_free(graph);
    }
}

static void test_thin_residual_networks(void **state) {
    (void)state;
    check("resnet20", 1, 10, 272474, 40812544, 64);
    check("resnet38", 1, 10, 564122, 83279872, 64);
    check("resnet74", 1, 10, 1147418, 168214528, 64);
    check("resnet20", 1, 100, 278324, 40812544, 64);
    check("resnet38", 1, 100, 569972, 83279872, 64);
    check("resnet74", 1, 100, 1153268, 168214528, 64);
}

static void test_resnet18(void **state) {
    (void)state;
    check("resnet18", 1, 10, 11173962, 0, 512);
    check("resnet18", .5, 10, 2797610, 0, 256);
    check("resnet18", 1, 100, 11220132, 0, 512);
    check("resnet18", .5, 100, 2820740, 0, 256);
    static const struct { double width, millions; } macs[] = {{1, 555.4}, {.5, 139.3}};
    for (int i = 0; i < 2; i++) {
        hu_graph *graph = build("resnet18", macs[i].width, cifar, 10);
        assert_true(fabs((double)hu_graph_macs(graph) / 1e6 - macs[i].millions) < 0.05);
        hu_graph_free(graph);
    }
}

static void check_extents(const hu_graph *graph, const char *name, hu_shape expected) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    if (!hu_shape_equal(&graph->value[v].shape, &expected)) fail_msg("shape of '%s'", name);
}

/* Blocks of width w: w c_in + 9 w^2 + 4 w^2 for the convolutions and 2 (w + w + 4 w) for the norms,
 * the first of a stage 4 w c_in + 8 w more for its shortcut:
 *   stage 1 (64):   75,008 + 2 x 70,400      =    215,808
 *   stage 2 (128): 379,392 + 3 x 280,064     =  1,219,584
 *   stage 3 (256): 1,512,448 + 5 x 1,117,184 =  7,098,368
 *   stage 4 (512): 6,039,552 + 2 x 4,462,592 = 14,964,736
 * and 23,498,496 together. Stem 7x7: 9,408 + 128; 3x3: 1,728 + 128. Head: 2,048 c + c. */
static void test_resnet50(void **state) {
    (void)state;
    const hu_shape large = {3, {224, 224, 3}}, least = {3, {96, 96, 3}}, tall = {3, {200, 95, 3}};
    check("resnet50", 1, 10, 23498496 + 1856 + 20490, 1297809408, 2048);
    check("resnet50", 1, 100, 23498496 + 1856 + 204900, 1297809408, 2048);
    hu_graph *graph = build("resnet50", 1, large, 1000);
    assert_int_equal(hu_graph_parameters(graph), 25557032);
    assert_int_equal(hu_graph_macs(graph), 4089184256); /* torchvision's form: stride in the 3x3 */
    check_extents(graph, "conv1.out", (hu_shape){3, {112, 112, 64}});
    check_extents(graph, "pool1.out", (hu_shape){3, {56, 56, 64}});
    check_extents(graph, "layer2.0.conv1.out", (hu_shape){3, {56, 56, 128}});
    check_extents(graph, "layer2.0.conv2.out", (hu_shape){3, {28, 28, 128}});
    check_extents(graph, "layer4.2.relu3.out", (hu_shape){3, {7, 7, 2048}});
    assert_int_not_equal(hu_graph_find(graph, "layer1.0.shortcut.conv.weight"), HU_NONE);
    assert_int_equal(hu_graph_find(graph, "layer1.1.shortcut.conv.weight"), HU_NONE);
    hu_graph_free(graph);
    graph = build("resnet50", .5, least, 10);
    check_extents(graph, "pool1.out", (hu_shape){3, {24, 24, 32}});
    check_extents(graph, "layer4.2.relu3.out", (hu_shape){3, {3, 3, 1024}});
    hu_graph_free(graph);
    graph = build("resnet50", .1, tall, 10);
    assert_int_equal(hu_graph_find(graph, "pool1.out"), HU_NONE);
    check_extents(graph, "layer4.2.relu3.out", (hu_shape){3, {25, 12, 208}});
    hu_graph_free(graph);
}

/* Convolutions of 9 c_in c_out and norms of 2 c_out: prep 1,728 + 128, layer1 73,728 + 256 and
 * twice 147,456 + 256, layer2 294,912 + 512, layer3 1,179,648 + 1,024 and twice 2,359,296 + 1,024;
 * linear 512 x 10 without bias. Multiply-accumulates: each weight of a convolution times the pixels
 * before its pool, 32^2, 32^2, 16^2, 16^2, 8^2, 4^2. */
static void test_davidnet(void **state) {
    (void)state;
    check("davidnet", 1, 10, 6573120, 379256832, 512);
    hu_graph *graph = build("davidnet", 1, cifar, 10);
    check_extents(graph, "layer1.pool.out", (hu_shape){3, {16, 16, 128}});
    check_extents(graph, "layer3.add.out", (hu_shape){3, {4, 4, 512}});
    check_extents(graph, "pool.out", (hu_shape){3, {1, 1, 512}});
    check_extents(graph, "logits.out", (hu_shape){1, {10}});
    assert_int_equal(hu_graph_find(graph, "fc.bias"), HU_NONE);
    assert_int_equal(hu_graph_find(graph, "layer2.add.out"), HU_NONE);
    hu_value_id fc = hu_graph_find(graph, "fc.weight");
    assert_true(graph->value[fc].init.kind == HU_INIT_UNIFORM);
    assert_true(graph->value[fc].init.scale == 1.0f / sqrtf(512.0f));
    hu_graph_free(graph);
    graph = build("davidnet", .25, (hu_shape){3, {28, 28, 1}}, 7);
    check_extents(graph, "layer3.add.out", (hu_shape){3, {3, 3, 128}});
    check_extents(graph, "logits.out", (hu_shape){1, {7}});
    hu_graph_free(graph);
}

/* Parameters for 10 and 100 classes; multiply-accumulates for 10. */
typedef struct published {
    const char *name;
    double width;
    int64_t parameters[2], macs;
} published;

static void test_small_networks(void **state) {
    (void)state;
    static const published table[] = {
        {"squeezenet", 1, {734986, 781156}, 52543488},
        {"squeezenet", .5, {232202, 278372}, 14516224},
        {"squeezenet", .25, {84778, 130948}, 4349952},
        {"squeezenet", .1, {36482, 82652}, 1497088},
        {"shufflenet-v2", 1, {1263854, 1356104}, 45002112},
        {"shufflenet-v2", .5, {433034, 525284}, 13715712},
        {"shufflenet-v2", .25, {180222, 272472}, 5265536},
        {"shufflenet-v2", .1, {74302, 166552}, 2194048},
        {"mobilenet-v2", 1, {2296922, 2412212}, 91154944},
        {"mobilenet-v2", .5, {715834, 831124}, 28796416},
        {"mobilenet-v2", .25, {254050, 369340}, 8942592},
        {"mobilenet-v2", .1, {89226, 204516}, 3057280},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int c = 0; c < 2; c++) {
            hu_graph *graph = build(table[i].name, table[i].width, cifar, c ? 100 : 10);
            assert_int_equal(hu_graph_parameters(graph), table[i].parameters[c]);
            if (c == 0) assert_int_equal(hu_graph_macs(graph), table[i].macs);
            hu_graph_free(graph);
        }
}

static int64_t channels_of(const hu_graph *graph, const char *name) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    return graph->value[v].shape.extent[graph->value[v].shape.rank - 1];
}

/* Channels at the widths 1, .5, .25, .1. */
static void check_widths(const char *model, const char *value, const int64_t expected[4]) {
    static const double widths[] = {1, .5, .25, .1};
    for (int w = 0; w < 4; w++) {
        hu_graph *graph = build(model, widths[w], cifar, 10);
        assert_int_equal(channels_of(graph, value), expected[w]);
        hu_graph_free(graph);
    }
}

static void test_small_network_widths(void **state) {
    (void)state;
    check_widths("shufflenet-v2", "relu1.out", (const int64_t[]){24, 24, 24, 24});
    check_widths("shufflenet-v2", "layer1.3.cat.out", (const int64_t[]){116, 56, 28, 12});
    check_widths("shufflenet-v2", "layer2.7.cat.out", (const int64_t[]){232, 112, 56, 24});
    check_widths("shufflenet-v2", "layer3.3.cat.out", (const int64_t[]){464, 224, 112, 48});
    check_widths("shufflenet-v2", "relu2.out", (const int64_t[]){1024, 1024, 1024, 1024});
    check_widths("squeezenet", "conv1.out", (const int64_t[]){96, 48, 24, 12});
    check_widths("squeezenet", "fire2.relu.out", (const int64_t[]){128, 64, 32, 16});
    check_widths("squeezenet", "fire5.relu.out", (const int64_t[]){256, 128, 64, 24});
    check_widths("squeezenet", "fire6.squeeze.relu.out", (const int64_t[]){48, 24, 12, 8});
    check_widths("squeezenet", "fire7.relu.out", (const int64_t[]){384, 192, 96, 40});
    check_widths("squeezenet", "fire8.relu.out", (const int64_t[]){512, 256, 128, 48});
    check_widths("squeezenet", "fire9.relu.out", (const int64_t[]){512, 512, 512, 512});
    check_widths("mobilenet-v2", "relu2.out", (const int64_t[]){1280, 1280, 1280, 1280});
    check_widths("mobilenet-v2", "layer7.0.add.out", (const int64_t[]){320, 160, 80, 32});
}

/* Convolutions and linear layers in the order in which they run: the image's group and one each. */
static int count_products(const hu_graph *graph) {
    int products = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) products += graph->node[n].op->is_product;
    return products;
}

static void test_groups_of_small_networks(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int products;
    } table[] = {{"resnet18", 21}, {"mobilenet-v2", 58}, {"shufflenet-v2", 57}, {"squeezenet", 26}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_graph *graph = build(table[i].name, 1, cifar, 10);
        assert_int_equal(count_products(graph), table[i].products);
        hu_graph_free(graph);
    }
    hu_graph *graph = build("shufflenet-v2", 1, cifar, 10);
    assert_int_equal(channels_of(graph, "layer1.1.split.out0"), 58);
    assert_int_equal(channels_of(graph, "layer1.1.split.out1"), 58);
    hu_graph_free(graph);
    graph = build("squeezenet", 1, cifar, 10);
    assert_int_equal(channels_of(graph, "fire2.expand3x3.conv.bias"), 64);
    hu_graph_free(graph);
}

static void check_channels(double width, const int64_t expected[4]) {
    hu_graph *graph = build("resnet18", width, cifar, 10);
    for (int s = 0; s < 4; s++) {
        char name[64];
        snprintf(name, sizeof name, "layer%d.1.conv2.out", s + 1);
        hu_value_id v = hu_graph_find(graph, name);
        assert_int_not_equal(v, HU_NONE);
        assert_int_equal(graph->value[v].shape.extent[2], expected[s]);
        assert_int_equal(graph->value[v].shape.extent[0], 32 >> s);
    }
    hu_graph_free(graph);
}

static void test_widths(void **state) {
    (void)state;
    check_channels(1, (const int64_t[]){64, 128, 256, 512});
    check_channels(.5, (const int64_t[]){32, 64, 128, 256});
    check_channels(.25, (const int64_t[]){16, 32, 64, 128});
    check_channels(.1, (const int64_t[]){8, 12, 24, 52});
    assert_int_equal(hu_build_width(3, .1), 4);
    /* 8 would be the nearest multiple of 8, but less than 9/10 of the product. */
    assert_int_equal(hu_build_width(11.9, 1), 16);
}

/* Shortcuts are projected where, and only where, the shape changes; names are stable. */
static void test_structure(void **state) {
    (void)state;
    hu_graph *graph = build("resnet20", 1, cifar, 10);
    assert_int_equal(hu_graph_find(graph, "layer1.0.shortcut.conv.weight"), HU_NONE);
    assert_int_not_equal(hu_graph_find(graph, "layer2.0.shortcut.conv.weight"), HU_NONE);
    assert_int_equal(hu_graph_find(graph, "layer2.1.shortcut.conv.weight"), HU_NONE);
    assert_int_not_equal(hu_graph_find(graph, "layer3.2.bn2.running_var"), HU_NONE);
    assert_int_not_equal(hu_graph_find(graph, "fc.weight"), HU_NONE);
    assert_int_not_equal(hu_graph_find(graph, "fc.bias"), HU_NONE);
    assert_int_not_equal(hu_graph_find(graph, "fc.product.out"), HU_NONE);
    hu_graph_free(graph);
    graph = build("cnn-s", 1, (hu_shape){3, {28, 28, 1}}, 10);
    int64_t convs = 9 * (1 * 16 + 16 * 32 + 32 * 64), norms = 2 * (16 + 32 + 64);
    assert_int_equal(hu_graph_parameters(graph), convs + norms + 64 * 10 + 10);
    hu_graph_free(graph);
}

static void refuse(hu_model_options options, hu_status expected, const char *part) {
    hu_graph *graph = (hu_graph *)&options;
    uint64_t live = hu_memory_count().live_blocks;
    assert_int_equal(hu_model_build(&options, &graph), expected);
    assert_null(graph);
    assert_int_equal(hu_memory_count().live_blocks, live);
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
}

static void test_refusals(void **state) {
    (void)state;
    refuse((hu_model_options){.name = "resnet81", .width = 1, .image = cifar, .classes = 10},
           HU_ERR_UNKNOWN, "resnet18");
    refuse((hu_model_options){.name = "", .width = 1, .image = cifar, .classes = 10},
           HU_ERR_UNKNOWN, "not known");
    refuse((hu_model_options){.name = "resnet18", .width = 0, .image = cifar, .classes = 10},
           HU_ERR_ARGUMENT, "width 0");
    refuse((hu_model_options){.name = "resnet18", .width = -1, .image = cifar, .classes = 10},
           HU_ERR_ARGUMENT, "width -1");
    refuse((hu_model_options){.name = "resnet18", .width = NAN, .image = cifar, .classes = 10},
           HU_ERR_ARGUMENT, "width");
    refuse((hu_model_options){.name = "resnet18", .width = INFINITY, .image = cifar, .classes = 10},
           HU_ERR_ARGUMENT, "width inf");
    refuse((hu_model_options){.name = "resnet18", .width = 1, .image = cifar, .classes = 1},
           HU_ERR_ARGUMENT, "1 classes");
    refuse((hu_model_options){.name = "cnn-s", .width = 1, .image = {3, {2, 2, 1}}, .classes = 10},
           HU_ERR_SHAPE, "node 'pool2'");
    refuse((hu_model_options){.name = "cnn-s", .width = 1, .image = {2, {28, 28}}, .classes = 10},
           HU_ERR_SHAPE, "node 'conv1'");
    refuse((hu_model_options){.name = "cnn-s", .width = 1, .image = {3, {28, 0, 1}}, .classes = 10},
           HU_ERR_SHAPE, "");
}

static uint32_t count_ops(const hu_graph *graph, const hu_op *op) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) count += graph->node[n].op == op;
    return count;
}

/* Every norm of a model is of the kind that was asked for, with the name that it has anyway. */
static void test_norms(void **state) {
    (void)state;
    int with_norms = 0;
    for (int m = 0; m < hu_model_count; m++) {
        hu_model_options options = {.name = hu_model_table[m].name,
                                    .width = .25,
                                    .image = image_for(&hu_model_table[m]),
                                    .classes = 10};
        hu_graph *batch, *range;
        if (strcmp(hu_model_table[m].task, "classify") != 0) continue;
        assert_int_equal(hu_model_build(&options, &batch), HU_OK);
        options.norm = HU_MODEL_NORM_RANGE;
        uint32_t norms = count_ops(batch, &hu_op_batch_norm);
        hu_status st = hu_model_build(&options, &range);
        assert_int_equal(st, norms > 0 ? HU_OK : HU_ERR_ARGUMENT);
        if (norms == 0) {
            hu_graph_free(batch);
            continue;
        }
        with_norms++;
        assert_int_equal(count_ops(range, &hu_op_range_norm), norms);
        assert_int_equal(count_ops(range, &hu_op_batch_norm), 0);
        assert_int_equal(hu_graph_parameters(range), hu_graph_parameters(batch));
        for (uint32_t n = 0; n < range->node_count; n++)
            assert_string_equal(range->node[n].name, batch->node[n].name);
        hu_graph_free(batch);
        hu_graph_free(range);
    }
    assert_true(with_norms > 10);
}

/* Gamma begins as shares of one, all different; running statistics as zero and one. */
static void test_range_norm_begins(void **state) {
    (void)state;
    hu_model_options options = {
        .name = "resnet20", .width = 1, .norm = HU_MODEL_NORM_RANGE, .image = cifar, .classes = 10};
    hu_graph *graph;
    hu_weights weights;
    double sum = 0;
    assert_int_equal(hu_model_build(&options, &graph), HU_OK);
    assert_int_equal(hu_weights_create(graph, &weights), HU_OK);
    hu_weights_draw(&weights, graph, 5, 1);
    const float *gamma = hu_weights_of(&weights, hu_graph_find(graph, "layer3.2.bn2.weight"));
    const float *scale =
        hu_weights_of(&weights, hu_graph_find(graph, "layer3.2.bn2.running_scale"));
    for (int c = 0; c < 64; c++) {
        assert_true(gamma[c] >= 0.0f && gamma[c] < 1.0f && scale[c] == 1.0f);
        assert_true(c == 0 || gamma[c] != gamma[c - 1]);
        sum += (double)gamma[c];
    }
    assert_true(sum > 0.3 * 64 && sum < 0.7 * 64);
    hu_weights_free(&weights);
    hu_graph_free(graph);
}

static void test_every_model_builds(void **state) {
    (void)state;
    for (int m = 0; m < hu_model_count; m++) {
        hu_graph *graph = build(hu_model_table[m].name, .25, image_for(&hu_model_table[m]), 7);
        assert_true(hu_model_table[m].help[0] != '\0');
        if (strcmp(hu_model_table[m].task, "classify") == 0)
            assert_int_equal(graph->value[hu_graph_find(graph, "log_softmax.out")].elements, 7);
        hu_graph_free(graph);
    }
}

/* Multiply-accumulates of the nodes called aux*. */
static int64_t further_macs(const hu_graph *graph) {
    int64_t macs = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        hu_node_info info = hu_graph_node_info(node, 1, 1);
        if (strncmp(node->name, "aux", 3) == 0 && node->op->macs) macs += node->op->macs(&info);
    }
    return macs;
}

/* Of the networks for ILSVRC: at the sizes that they were published for, and small. MACs of further
 * heads, which are there in training alone, apart. */
static void networks_for_large_images(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t side, classes, parameters, macs, further_macs;
    } table[] = {
        {"alexnet", 227, 1000, 60965224, 724406816, 0},
        {"alexnet-one-tower", 224, 1000, 61100840, 714188480, 0},
        {"vgg16", 224, 1000, 138357544, 15470264320, 0},
        {"googlenet", 224, 1000, 13378280, 1582671872, 8372224},
        {"googlenet-bn", 224, 1000, 13004888, 1498376192, 8372224},
        {"inception-v2", 224, 1000, 11295240, 2032600064, 0},
        {"inception-v2-table", 224, 1000, 11204936, 2018851840, 0},
        {"inception-v3", 299, 1000, 27161264, 5713216096, 5683200},
        {"preresnet50", 224, 1000, 25549352, 4089184256, 0},
        {"resnet50", 224, 1000, 25557032, 4089184256, 0},
        {"resnet18", 224, 1000, 11689512, 1814073344, 0},
        {"shufflenet-v2", 224, 1000, 2278604, 144907992, 0},
        {"alexnet-s", 64, 10, 361834, 12475136, 0},
        {"googlenet-s", 64, 10, 165976, 8454912 - 101376, 101376},
        {"inception3-s", 64, 10, 154622, 8224768, 0},
        {"preresnet50-s", 64, 10, 374802, 81889792, 0},
        {"deit-tiny", 224, 1000, 5717416, 1074851328 + 178831872, 0},
        {"deit-s", 32, 10, 208074, 12976768 + 2163200, 0},
        {"pan", 64, 2, 272419, 2002747392, 0},
        {"pan-s", 24, 2, 18319, 42384384, 0},
        {"fcn-r50", 769, 19, 49497734, 453744588128, 22244381440},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const hu_shape image = {3, {table[i].side, table[i].side, 3}};
        hu_graph *graph = build(table[i].name, 1, image, table[i].classes);
        int64_t further = further_macs(graph);
        if (hu_graph_parameters(graph) != table[i].parameters ||
            hu_graph_macs(graph) - further != table[i].macs || further != table[i].further_macs)
            fail_msg("%s: %lld parameters, %lld macs and %lld of further heads", table[i].name,
                     (long long)hu_graph_parameters(graph),
                     (long long)(hu_graph_macs(graph) - further), (long long)further);
        hu_graph_free(graph);
    }
}

/* Of CamVid's pictures at a third of their size, scores as large as the label map; what stands
 * further back sees further: dilated kernels of 3x3 reach 5 and 9 pixels. */
static void test_fcn_s(void **state) {
    (void)state;
    hu_graph *graph = build("fcn-s", 1, (hu_shape){3, {120, 160, 3}}, 11);
    assert_int_equal(hu_graph_parameters(graph), 387862);
    assert_int_equal(hu_graph_macs(graph), 497913600);
    check_extents(graph, "stem.relu.out", (hu_shape){3, {60, 80, 16}});
    check_extents(graph, "layer4.1.relu.out", (hu_shape){3, {30, 40, 64}});
    check_extents(graph, "cat.out", (hu_shape){3, {30, 40, 96}});
    check_extents(graph, "cls.up.out", (hu_shape){3, {120, 160, 11}});
    check_extents(graph, "auxcls.up.out", (hu_shape){3, {120, 160, 11}});
    assert_int_equal(graph->loss_count, 2);
    assert_true(graph->loss[0].weight == 1.0f && graph->loss[1].weight == 0.4f);
    hu_graph_free(graph);
    graph = build("fcn-s", .5, (hu_shape){3, {33, 21, 3}}, 2); /* no size is a multiple of 4 */
    check_extents(graph, "cls.up.out", (hu_shape){3, {33, 21, 2}});
    hu_graph_free(graph);
}

/* Networks for grey pictures of 28 pixels: parameters, and multiply-accumulates where published. */
static void autoencoders_with_drawn_codes(void **state) {
    (void)state;
    const hu_shape grey = {3, {28, 28, 1}};
    hu_graph *graph = build("cvae", 1, grey, 10);
    assert_int_equal(hu_graph_parameters(graph), 3448007);
    check_extents(graph, "relu4.out", (hu_shape){3, {14, 14, 64}});
    check_extents(graph, "z.out", (hu_shape){1, {3}});
    check_extents(graph, "deconv3.out", (hu_shape){3, {28, 28, 64}});
    hu_graph_free(graph);
    graph = build("cvae-s", 1, grey, 10);
    assert_int_equal(hu_graph_parameters(graph), 420449);
    assert_int_equal(hu_graph_macs(graph), 3338240);
    check_extents(graph, "deconv4.out", grey);
    hu_graph_free(graph);
    /* The sizes of the large one make it of the small one, whatever the width. */
    hu_dataset data = {.name = NULL};
    hu_dataset_set_images(&data, 28, 28, 1, 10);
    hu_task_choice choice;
    assert_int_equal(hu_model_choose("cvae-s", NULL, NULL, &data, &choice), HU_OK);
    hu_model_options options = {
        .name = "cvae-s", .width = 0.5, .choice = &choice, .sizes = {.chosen = {3, 128, 64}}};
    assert_int_equal(hu_model_build(&options, &graph), HU_OK);
    assert_int_equal(hu_graph_parameters(graph), 3448007);
    hu_graph_free(graph);
}

/* Two networks: parameters and multiply-accumulates of each, once, however often it is applied. */
static void adversaries(void **state) {
    (void)state;
    const struct {
        const char *name;
        hu_shape image;
        int64_t parameters[2], macs[2];
    } rows[] = {
        {"dcgan", {3, {128, 128, 3}}, {15376833, 12817187}, {178258944, 686882816}},
        {"dcgan-s", {3, {32, 32, 1}}, {107169, 74209}, {1179712, 1146880}},
    };
    for (int i = 0; i < 2; i++) {
        hu_dataset data = {.name = NULL};
        hu_graph *graph;
        hu_task_choice choice;
        hu_dataset_set_images(&data, rows[i].image.extent[0], rows[i].image.extent[1],
                              rows[i].image.extent[2], 10);
        assert_int_equal(hu_model_choose(rows[i].name, NULL, NULL, &data, &choice), HU_OK);
        hu_model_options options = {.name = rows[i].name, .width = 1, .choice = &choice};
        assert_int_equal(hu_model_build(&options, &graph), HU_OK);
        assert_int_equal(graph->phase_count, 2);
        for (int t = 0; t < 2; t++) {
            assert_int_equal(hu_graph_phase_parameters(graph, t), rows[i].parameters[t]);
            assert_int_equal(hu_graph_phase_macs(graph, t), rows[i].macs[t]);
        }
        assert_int_equal(hu_graph_parameters(graph), rows[i].parameters[0] + rows[i].parameters[1]);
        assert_int_equal(hu_graph_macs(graph), rows[i].macs[0] + rows[i].macs[1]);
        check_extents(graph, "gen.tanh.out", rows[i].image);
        check_extents(graph, "gen.ct1.out", (hu_shape){3, {4, 4, i == 0 ? 1024 : 64}});
        check_extents(graph, "again.fc2.out", (hu_shape){1, {1}});
        hu_graph_free(graph);
        options.sizes.chosen[HU_SIZE_LATENT] = 7;
        assert_int_equal(hu_model_build(&options, &graph), HU_OK);
        check_extents(graph, "z.out", (hu_shape){1, {7}});
        hu_graph_free(graph);
    }
}

/* Two tables, biases of the scores, and two layers of four gates and a projection: with one bias
 * each in the full size, whose words are those of One Billion Words. A training makes the products
 * of the layers and of 1 + negatives scores, an evaluation those of all words. */
static void test_sampled_language_models(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t words, cells, width, negatives, parameters;
    } rows[] = {{"biglstm-s", 7266, 256, 128, 512, 2461282},
                {"biglstm", 793470, 8192, 1024, 8192, 1776880510}};
    enum { TOKENS = 8 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t width = rows[i].width, cell = 9 * rows[i].cells * width;
        hu_graph *graph = build(rows[i].name, 1, cifar, rows[i].words);
        assert_int_equal(hu_graph_parameters(graph), rows[i].parameters);
        assert_int_equal(hu_graph_macs(graph),
                         TOKENS * (2 * cell + (1 + rows[i].negatives) * width));
        hu_value_id all = hu_graph_find(graph, "soft.whole.out"), few;
        few = hu_graph_find(graph, "soft.sampled.out");
        assert_int_equal(hu_graph_made(graph), all);
        const hu_node *whole = &graph->node[graph->value[all].producer];
        const hu_node *sampled = &graph->node[graph->value[few].producer];
        assert_true(hu_node_runs(whole, 0) && !hu_node_runs(whole, 1) && !whole->needs_backward);
        assert_true(!hu_node_runs(sampled, 0) && hu_node_runs(sampled, 1));
        assert_true(sampled->needs_backward);
        hu_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_language_models),
        cmocka_unit_test(test_recurrent_language_models),
        cmocka_unit_test(test_sampled_language_models),
        cmocka_unit_test(test_thin_residual_networks),
        cmocka_unit_test(test_resnet18),
        cmocka_unit_test(test_resnet50),
        cmocka_unit_test(networks_for_large_images),
        cmocka_unit_test(autoencoders_with_drawn_codes),
        cmocka_unit_test(adversaries),
        cmocka_unit_test(test_davidnet),
        cmocka_unit_test(test_fcn_s),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_small_networks),
        cmocka_unit_test(test_small_network_widths),
        cmocka_unit_test(test_groups_of_small_networks),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_range_norm_begins),
        cmocka_unit_test(test_every_model_builds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
