#include <math.h>
#include <stdio.h>

#include "model/internal.h"

/* ---- resnet ---- */

/* Residual networks: ResNet-20/38/74 (LDP's recipe) for small images, ResNet-18 (Lee et al.) and
 * ResNet-50 for small and for large ones. */

/* value plus the input of the block (projected by 1x1 conv and bn where the shape changes), relu.
 */
static hu_value_id join(hu_builder *b, const char *prefix, hu_value_id value, hu_value_id in,
                        int64_t stride, const char *relu) {
    char name[128];
    hu_value_id shortcut = in;
    int64_t channels = hu_build_channels(b, value);
    if (stride != 1 || hu_build_channels(b, in) != channels) {
        snprintf(name, sizeof name, "%sshortcut.conv", prefix);
        shortcut = hu_build_conv(b, name, in, channels, 1, stride);
        snprintf(name, sizeof name, "%sshortcut.bn", prefix);
        shortcut = hu_build_norm(b, name, shortcut);
    }
    snprintf(name, sizeof name, "%sadd", prefix);
    value = hu_build_add(b, name, value, shortcut);
    snprintf(name, sizeof name, "%s%s", prefix, relu);
    return hu_build_relu(b, name, value);
}

/* conv -> batch norm, the end of a block's own path. */
static hu_value_id conv_bn(hu_builder *b, const char *prefix, const char *suffix, hu_value_id in,
                           int64_t channels, int64_t kernel) {
    char name[128];
    snprintf(name, sizeof name, "%sconv%s", prefix, suffix);
    hu_value_id value = hu_build_conv(b, name, in, channels, kernel, 1);
    snprintf(name, sizeof name, "%sbn%s", prefix, suffix);
    return hu_build_norm(b, name, value);
}

typedef hu_value_id block_fn(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels,
                             int64_t stride);

/* Basic block: conv-bn-relu-conv-bn, plus the input, relu. */
static hu_value_id basic_block(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels,
                               int64_t stride) {
    hu_value_id value = hu_build_conv_bn_relu(b, prefix, "1", in, channels, 3, stride);
    value = conv_bn(b, prefix, "2", value, channels, 3);
    return join(b, prefix, value, in, stride, "relu2");
}

/* Bottleneck block: 1x1 down, 3x3, 1x1 up to four times the channels; the 3x3 convolution has the
 * stride, as in Goyal et al., "Accurate, large minibatch SGD", and in torchvision. */
static hu_value_id bottleneck_block(hu_builder *b, const char *prefix, hu_value_id in,
                                    int64_t channels, int64_t stride) {
    hu_value_id value = hu_build_conv_bn_relu(b, prefix, "1", in, channels, 1, 1);
    value = hu_build_conv_bn_relu(b, prefix, "2", value, channels, 3, stride);
    value = conv_bn(b, prefix, "3", value, 4 * channels, 1);
    return join(b, prefix, value, in, stride, "relu3");
}

/* One stage: its first block halves the image, but for the first stage. */
static hu_value_id stage(hu_builder *b, hu_value_id value, block_fn *block, int s, int blocks,
                         int64_t channels) {
    char prefix[64];
    for (int k = 0; k < blocks; k++) {
        snprintf(prefix, sizeof prefix, "layer%d.%d.", s + 1, k);
        value = block(b, prefix, value, channels, s > 0 && k == 0 ? 2 : 1);
    }
    return value;
}

/* ResNet-(6n+2) with n blocks per stage of 16, 32, 64 channels. FC: N(0, sqrt(2 / (c_in c_out))),
 * bias 0. */
static hu_status build_thin(const hu_model_options *options, hu_graph *graph, int blocks) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t channels[3];
    for (int s = 0; s < 3; s++) channels[s] = hu_build_width(16 << s, options->width);
    hu_value_id value = hu_build_input(&b);
    value = hu_build_conv_bn_relu(&b, "", "1", value, channels[0], 3, 1);
    for (int s = 0; s < 3; s++) value = stage(&b, value, basic_block, s, blocks, channels[s]);
    value = hu_build_global_pool(&b, "pool", value);
    hu_init weight = {HU_INIT_NORMAL, sqrtf(2.0f / (float)(channels[2] * hu_build_outputs(&b)))};
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), weight,
                            (hu_init){HU_INIT_CONSTANT, 0.0f});
    hu_build_loss(&b, value);
    return b.status;
}

hu_status hu_model_resnet20(const hu_model_options *options, hu_graph *graph) {
    return build_thin(options, graph, 3);
}

hu_status hu_model_resnet38(const hu_model_options *options, hu_graph *graph) {
    return build_thin(options, graph, 6);
}

hu_status hu_model_resnet74(const hu_model_options *options, hu_graph *graph) {
    return build_thin(options, graph, 12);
}

/* What stands before the stages: for large images a 7x7 convolution and a max pool, which leave a
 * sixteenth of the pixels (He et al. 2016); for small ones a 3x3 convolution. */
static hu_value_id stem(hu_builder *b, hu_value_id value, int64_t channels) {
    if (!hu_build_is_large(b, value))
        return hu_build_conv_bn_relu(b, "", "1", value, channels, 3, 1);
    value = hu_build_conv_bn_relu(b, "", "1", value, channels, 7, 2);
    return hu_build_padded_max_pool(b, "pool1", value, 3, 2, 1);
}

/* Four stages of two blocks; FC with the uniform initialisation +-1/sqrt(fan_in). */
hu_status hu_model_resnet18(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t channels[4];
    for (int s = 0; s < 4; s++) channels[s] = hu_build_width(64 << s, options->width);
    hu_value_id value = stem(&b, hu_build_input(&b), channels[0]);
    for (int s = 0; s < 4; s++) value = stage(&b, value, basic_block, s, 2, channels[s]);
    value = hu_build_global_pool(&b, "pool", value);
    hu_init uniform = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)channels[3])};
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), uniform, uniform);
    hu_build_loss(&b, value);
    return b.status;
}

/* Four stages of 3, 4, 6 and 3 bottleneck blocks. All gammas are 1; FC: N(0, sqrt(2 / c_in)), bias
 * 0. Source: He et al., "Deep residual learning"; Han et al. (APS), section 4.2, for both. */
hu_status hu_model_resnet50(const hu_model_options *options, hu_graph *graph) {
    static const int blocks[4] = {3, 4, 6, 3};
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = stem(&b, hu_build_input(&b), hu_build_width(64, options->width));
    for (int s = 0; s < 4; s++)
        value = stage(&b, value, bottleneck_block, s, blocks[s],
                      hu_build_width(64 << s, options->width));
    hu_init weight = {HU_INIT_NORMAL, sqrtf(2.0f / (float)hu_build_channels(&b, value))};
    value = hu_build_global_pool(&b, "pool", value);
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), weight,
                            (hu_init){HU_INIT_CONSTANT, 0.0f});
    hu_build_loss(&b, value);
    return b.status;
}

/* ---- preresnet ---- */

/* Pre-activation ResNet-50: norm and relu in front of each convolution, so that the sums pass
 * unchanged. Source: He et al., "Identity mappings in deep residual networks". */

enum { STAGES = 4 };

/* Names of one block, "blocks.NUMBER.SUFFIX". */
typedef struct namer {
    int number;
    char text[64];
} namer;

static const char *named(namer *n, const char *suffix) {
    snprintf(n->text, sizeof n->text, "blocks.%d.%s", n->number, suffix);
    return n->text;
}

/* norm -> relu; both take their numbers from the convolution after them. */
static hu_value_id activated(hu_builder *b, namer *n, int number, hu_value_id in) {
    char suffix[16];
    snprintf(suffix, sizeof suffix, "bn%d", number);
    in = hu_build_norm(b, named(n, suffix), in);
    snprintf(suffix, sizeof suffix, "relu%d", number);
    return hu_build_relu(b, named(n, suffix), in);
}

/* 1x1 to `width` channels, 3x3, 1x1 to four times as many, plus the input: itself, or in the first
 * block of a stage a 1x1 convolution of what is after the first norm. */
static hu_value_id block(hu_builder *b, int number, hu_value_id in, int64_t width, int64_t stride,
                         bool is_first) {
    namer n = {.number = number};
    hu_value_id shortcut = in, value = activated(b, &n, 1, in);
    if (is_first)
        shortcut =
            hu_layer_conv(b, named(&n, "sc"), value, 4 * width, hu_window_same(1, stride), false);
    value = hu_layer_conv(b, named(&n, "conv1"), value, width, hu_window_same(1, 1), false);
    value = activated(b, &n, 2, value);
    value = hu_layer_conv(b, named(&n, "conv2"), value, width, hu_window_same(3, stride), false);
    value = activated(b, &n, 3, value);
    value = hu_layer_conv(b, named(&n, "conv3"), value, 4 * width, hu_window_same(1, 1), false);
    return hu_build_add(b, named(&n, "add"), value, shortcut);
}

static hu_value_id stages(hu_builder *b, hu_value_id value, int64_t width) {
    static const int blocks[STAGES] = {3, 4, 6, 3};
    for (int s = 0, number = 0; s < STAGES; s++, width *= 2)
        for (int k = 0; k < blocks[s]; k++, number++)
            value = block(b, number, value, width, s > 0 && k == 0 ? 2 : 1, k == 0);
    return value;
}

static void close(hu_builder *b, hu_value_id value) {
    value = hu_build_relu(b, "relu", hu_build_norm(b, "bn", value));
    value = hu_build_global_pool(b, "pool", value);
    hu_build_loss(b, hu_layer_scores(b, "fc", value));
}

/* The stem has neither norm nor relu: the first block begins with them. */
hu_status hu_model_preresnet50(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t width = hu_build_width(64, options->width);
    hu_value_id value = hu_build_input(&b);
    value = hu_layer_conv(&b, "conv1", value, width, hu_window_same(7, 2), false);
    value = hu_layer_max_pool(&b, "pool1", value, hu_window_same(3, 2), false);
    close(&b, stages(&b, value, width));
    return b.status;
}

hu_status hu_model_preresnet50_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t width = hu_build_width(8, options->width);
    hu_value_id value = hu_build_input(&b);
    value = hu_layer_conv(&b, "conv1", value, width, hu_window_same(3, 1), false);
    close(&b, stages(&b, value, width));
    return b.status;
}

/* ---- davidnet ---- */

/* DavidNet: a shallow residual network that learns CIFAR-10 in few epochs.
 * Source: D. Page's entry of DAWNBench, in the form of CPD's example (Han et al., "Auto-Precision
 * Scaling", section 4.1). All layers begin as torch's do. */

/* conv 3x3 -> batch norm -> relu, called PREFIX.conv and so on. */
static hu_value_id layer(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels) {
    char name[64];
    hu_conv_form form = {.channels = channels,
                         .kernel = 3,
                         .stride = 1,
                         .weight = hu_init_usual(9 * hu_build_channels(b, in))};
    snprintf(name, sizeof name, "%s.conv", prefix);
    hu_value_id value = hu_build_conv_as(b, name, in, &form);
    snprintf(name, sizeof name, "%s.bn", prefix);
    value = hu_build_norm(b, name, value);
    snprintf(name, sizeof name, "%s.relu", prefix);
    return hu_build_relu(b, name, value);
}

/* A layer and a max pool after it, which halves the image. */
static hu_value_id pooled(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels) {
    char name[64];
    hu_value_id value = layer(b, prefix, in, channels);
    snprintf(name, sizeof name, "%s.pool", prefix);
    return hu_build_max_pool(b, name, value, 2, 2);
}

/* x plus two layers of it; no relu after the sum. */
static hu_value_id residual(hu_builder *b, const char *prefix, hu_value_id in) {
    char name[64];
    int64_t channels = hu_build_channels(b, in);
    snprintf(name, sizeof name, "%s.res1", prefix);
    hu_value_id value = layer(b, name, in, channels);
    snprintf(name, sizeof name, "%s.res2", prefix);
    value = layer(b, name, value, channels);
    snprintf(name, sizeof name, "%s.add", prefix);
    return hu_build_add(b, name, in, value);
}

/* The last pool takes the whole image: 4x4 of CIFAR's. The logits are an eighth of the product. */
hu_status hu_model_davidnet(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t channels[4];
    for (int s = 0; s < 4; s++) channels[s] = hu_build_width(64 << s, options->width);
    hu_value_id value = hu_build_input(&b);
    value = layer(&b, "prep", value, channels[0]);
    value = residual(&b, "layer1", pooled(&b, "layer1", value, channels[1]));
    value = pooled(&b, "layer2", value, channels[2]);
    value = residual(&b, "layer3", pooled(&b, "layer3", value, channels[3]));
    value = hu_build_global_max_pool(&b, "pool", value);
    value = hu_build_product(&b, "fc", value, hu_build_outputs(&b), hu_init_usual(channels[3]));
    hu_build_loss(&b, hu_build_scale(&b, "logits", value, 0.125f));
    return b.status;
}
