/* ds2-s: a small Deep Speech 2 for sounds of a second or two (Amodei et al. 2016): two convolutions
 * over time and frequency with batch norms and clipped relus, two layers of GRU in both directions,
 * and a layer of class scores for every second frame. */
#include <stdio.h>

#include "base/error.h"
#include "model/builder.h"
#include "model/families.h"
#include "model/recurrent.h"
#include "op/act.h"
#include "op/geometry.h"
#include "op/length.h"
#include "op/norm.h"
#include "task/lengths.h"

enum { CHANNELS = 8, HIDDEN = 64, LAYERS = 2, STRIDE = 2, NAME_BYTES = 32 };

/* Kernel and stride in time, then in frequency. */
typedef struct window {
    int64_t kernel[2], stride[2];
} window;

/* Channels and features of the network, and the rows that count behind its stride. */
typedef struct sizes {
    int64_t channels, hidden, layers;
    hu_value_id lengths;
} sizes;

/* convN, bnN, clampN. */
static hu_value_id block(hu_builder *b, int number, const window *w, const sizes *s,
                         hu_value_id value) {
    static const hu_batch_norm_attrs norm = {.epsilon = 1e-5f, .momentum = 0.1f};
    static const hu_clipped_relu_attrs clip = {.limit = 20.0f};
    const hu_conv_attrs conv = {
        .out_channels = s->channels,
        .kernel_h = w->kernel[0],
        .kernel_w = w->kernel[1],
        .stride_h = w->stride[0],
        .stride_w = w->stride[1],
        .pad_h = w->kernel[0] / 2,
        .pad_w = w->kernel[1] / 2,
        .dilation_h = 1,
        .dilation_w = 1,
        .groups = 1,
        .weight_init = hu_init_usual(w->kernel[0] * w->kernel[1] * hu_build_channels(b, value))};
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "conv%d", number);
    hu_value_id in[2] = {hu_build_node(b, &hu_op_conv2d, name, NULL, &conv, 1, &value), s->lengths};
    snprintf(name, sizeof name, "bn%d", number);
    value = hu_build_node(b, &hu_op_batch_norm, name, NULL, &norm, b->norms_all_rows ? 1 : 2, in);
    snprintf(name, sizeof name, "clamp%d", number);
    return hu_build_node(b, &hu_op_clipped_relu, name, NULL, &clip, 1, &value);
}

/* A layer in both directions: what was heard before a row, and what is heard behind it. */
static hu_value_id both_ways(hu_builder *b, int layer, const sizes *s, hu_value_id value) {
    char suffix[NAME_BYTES];
    const hu_recurrent_form form = {"gru", suffix, s->hidden, 0, s->lengths};
    snprintf(suffix, sizeof suffix, "_l%d", layer);
    return hu_build_both_ways(b, &form, HU_RECURRENT_GRU, value);
}

/* [frames, bins, channels] -> [frames, channels bins], the bins of a channel behind each other. */
static hu_value_id flat_rows(hu_builder *b, hu_value_id value) {
    hu_shape maps = hu_build_shape(b, value);
    const hu_shape rows = {2, {maps.extent[0], maps.extent[1] * maps.extent[2]}};
    value = hu_build_node(b, &hu_op_transpose, "transpose", NULL, NULL, 1, &value);
    return hu_build_reshape(b, "rows", value, &rows);
}

hu_status hu_model_ds2_s(const hu_model_options *options, hu_graph *graph) {
    static const window first = {{11, 21}, {STRIDE, 2}}, second = {{11, 11}, {1, 2}};
    static const hu_length_attrs halved = {STRIDE};
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b), length = hu_graph_find(graph, HU_LENGTHS_FIELD);
    if (b.status == HU_OK && length == HU_NONE)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found no lengths of the samples, expected a task of sequences, like "
                       "transcribe");
    int64_t channels = hu_build_scaled(CHANNELS, options->width);
    int64_t hidden = hu_build_scaled(HIDDEN, options->width);
    const sizes s = {hu_build_size(&b, HU_SIZE_MAPS, channels),
                     hu_build_size(&b, HU_SIZE_HIDDEN, hidden),
                     hu_build_size(&b, HU_SIZE_LAYERS, LAYERS),
                     hu_build_node(&b, &hu_op_length, "length2", NULL, &halved, 1, &length)};
    value = block(&b, 1, &first, &s, value);
    value = flat_rows(&b, block(&b, 2, &second, &s, value));
    for (int layer = 0; layer < s.layers; layer++) value = both_ways(&b, layer, &s, value);
    hu_init usual = hu_init_usual(hu_build_channels(&b, value));
    const hu_linear_attrs fc = {.out_features = hu_build_outputs(&b),
                                .rows = true,
                                .has_bias = true,
                                .weight_init = usual,
                                .bias_init = usual};
    hu_build_loss(&b, hu_build_node(&b, &hu_op_linear, "fc", NULL, &fc, 1, &value));
    return b.status;
}
