/* Residual networks for small images: ResNet-20/38/74 (LDP's recipe) and ResNet-18 (Lee et al.,
 * CIFAR form). */
#include <math.h>
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"

/* Basic block: conv-bn-relu-conv-bn, plus the input (projected by 1x1 conv and bn where the shape
 * changes), relu. */
static hu_value_id basic_block(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels,
                               int64_t stride) {
    char name[128];
    hu_value_id value = hu_build_conv_bn_relu(b, prefix, "1", in, channels, 3, stride);
    hu_value_id shortcut = in;
    snprintf(name, sizeof name, "%sconv2", prefix);
    value = hu_build_conv(b, name, value, channels, 3, 1);
    snprintf(name, sizeof name, "%sbn2", prefix);
    value = hu_build_batch_norm(b, name, value);
    if (stride != 1 || hu_build_channels(b, in) != channels) {
        snprintf(name, sizeof name, "%sshortcut.conv", prefix);
        shortcut = hu_build_conv(b, name, in, channels, 1, stride);
        snprintf(name, sizeof name, "%sshortcut.bn", prefix);
        shortcut = hu_build_batch_norm(b, name, shortcut);
    }
    snprintf(name, sizeof name, "%sadd", prefix);
    value = hu_build_add(b, name, value, shortcut);
    snprintf(name, sizeof name, "%srelu2", prefix);
    return hu_build_relu(b, name, value);
}

/* stages groups of blocks; every stage but the first halves the image. */
static hu_value_id body(hu_builder *b, hu_value_id value, const int64_t *channels, int stages,
                        int blocks) {
    char prefix[64];
    for (int s = 0; s < stages; s++)
        for (int k = 0; k < blocks; k++) {
            snprintf(prefix, sizeof prefix, "layer%d.%d.", s + 1, k);
            value = basic_block(b, prefix, value, channels[s], s > 0 && k == 0 ? 2 : 1);
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
    value = body(&b, value, channels, 3, blocks);
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

/* Four stages of two blocks; FC with the uniform initialisation +-1/sqrt(fan_in). */
hu_status hu_model_resnet18(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t channels[4];
    for (int s = 0; s < 4; s++) channels[s] = hu_build_width(64 << s, options->width);
    hu_value_id value = hu_build_input(&b);
    value = hu_build_conv_bn_relu(&b, "", "1", value, channels[0], 3, 1);
    value = body(&b, value, channels, 4, 2);
    value = hu_build_global_pool(&b, "pool", value);
    hu_init uniform = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)channels[3])};
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), uniform, uniform);
    hu_build_loss(&b, value);
    return b.status;
}
