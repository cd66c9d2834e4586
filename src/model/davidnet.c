/* DavidNet: a shallow residual network that learns CIFAR-10 in few epochs.
 * Source: D. Page's entry of DAWNBench, in the form of CPD's example (Han et al., "Auto-Precision
 * Scaling", section 4.1). All layers begin as torch's do. */
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"

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

/* A layer and a max pool behind it, which halves the image. */
static hu_value_id pooled(hu_builder *b, const char *prefix, hu_value_id in, int64_t channels) {
    char name[64];
    hu_value_id value = layer(b, prefix, in, channels);
    snprintf(name, sizeof name, "%s.pool", prefix);
    return hu_build_max_pool(b, name, value, 2, 2);
}

/* x plus two layers of it; no relu behind the sum. */
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
