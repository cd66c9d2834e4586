/* Pre-activation ResNet-50: norm and relu in front of each convolution, so that the sums pass
 * unchanged. Source: He et al., "Identity mappings in deep residual networks". */
#include <stdio.h>

#include "model/families.h"
#include "model/layers.h"

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

/* norm -> relu; both take their numbers from the convolution behind them. */
static hu_value_id activated(hu_builder *b, namer *n, int number, hu_value_id in) {
    char suffix[16];
    snprintf(suffix, sizeof suffix, "bn%d", number);
    in = hu_build_norm(b, named(n, suffix), in);
    snprintf(suffix, sizeof suffix, "relu%d", number);
    return hu_build_relu(b, named(n, suffix), in);
}

/* 1x1 to `width` channels, 3x3, 1x1 to four times as many, plus the input: itself, or in the first
 * block of a stage a 1x1 convolution of what is behind the first norm. */
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
