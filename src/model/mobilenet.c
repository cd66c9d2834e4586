/* MobileNet-v2 for small images (Sandler et al.; CIFAR form of Lee et al.): inverted residual
 * blocks with plain ReLUs. */
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"

/* 1x1 to `expansion` times the channels, depthwise 3x3, 1x1; where nothing shrinks plus the input
 * (projected where the channels change). Kaiming weights, fan out. */
static hu_value_id block(hu_builder *b, const char *prefix, hu_value_id in, int64_t expansion,
                         int64_t channels, int64_t stride) {
    char name[128];
    int64_t in_channels = hu_build_channels(b, in), inner = expansion * in_channels;
    hu_conv_form depthwise = {.channels = inner,
                              .kernel = 3,
                              .stride = stride,
                              .groups = inner,
                              .weight = hu_init_fan_out(3, inner)};
    hu_value_id value = hu_build_conv_bn_relu(b, prefix, "1", in, inner, 1, 1), shortcut = in;
    snprintf(name, sizeof name, "%sconv2", prefix);
    value = hu_build_conv_as(b, name, value, &depthwise);
    snprintf(name, sizeof name, "%sbn2", prefix);
    value = hu_build_norm(b, name, value);
    snprintf(name, sizeof name, "%srelu2", prefix);
    value = hu_build_relu(b, name, value);
    snprintf(name, sizeof name, "%sconv3", prefix);
    value = hu_build_conv(b, name, value, channels, 1, 1);
    snprintf(name, sizeof name, "%sbn3", prefix);
    value = hu_build_norm(b, name, value);
    /* A block that shrinks the picture has no sum: there is nothing of its size to add. */
    if (stride != 1) return value;
    if (in_channels != channels) {
        snprintf(name, sizeof name, "%sshortcut.conv", prefix);
        shortcut = hu_build_conv(b, name, in, channels, 1, 1);
        snprintf(name, sizeof name, "%sshortcut.bn", prefix);
        shortcut = hu_build_norm(b, name, shortcut);
    }
    snprintf(name, sizeof name, "%sadd", prefix);
    return hu_build_add(b, name, value, shortcut);
}

/* Linear layer: N(0, 0.01), bias 0. */
hu_status hu_model_mobilenet_v2(const hu_model_options *options, hu_graph *graph) {
    static const struct {
        int expansion, channels, blocks, stride;
    } stage[] = {{1, 16, 1, 1}, {6, 24, 2, 1},  {6, 32, 3, 2}, {6, 64, 4, 2},
                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    hu_builder b = hu_build_begin(options, graph);
    char prefix[32];
    double last = options->width > 1 ? options->width : 1;
    hu_value_id value = hu_build_input(&b);
    value = hu_build_conv_bn_relu(&b, "", "1", value, hu_build_width(32, options->width), 3, 1);
    for (size_t s = 0; s < sizeof stage / sizeof *stage; s++)
        for (int k = 0; k < stage[s].blocks; k++) {
            snprintf(prefix, sizeof prefix, "layer%d.%d.", (int)s + 1, k);
            value = block(&b, prefix, value, stage[s].expansion,
                          hu_build_width(stage[s].channels, options->width),
                          k == 0 ? stage[s].stride : 1);
        }
    value = hu_build_conv_bn_relu(&b, "", "2", value, hu_build_width(1280, last), 1, 1);
    value = hu_build_global_pool(&b, "pool", value);
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), (hu_init){HU_INIT_NORMAL, 0.01f},
                            (hu_init){HU_INIT_CONSTANT, 0.0f});
    hu_build_loss(&b, value);
    return b.status;
}
