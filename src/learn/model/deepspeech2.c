#include <stdio.h>

#include "base/error.h"
#include "model/internal.h"
#include "op/attributes.h"
#include "task/task.h"

/* ---- ds2 ---- */

/* Deep Speech 2 (Amodei et al. 2016) in the sizes of Micikevicius et al. 2018 (English and
 * Mandarin), and a small one for sounds of a second or two: two convolutions over time and
 * frequency with batch norms and clipped relus, layers of GRU, and a layer of class scores for
 * every second frame. The large ones listen forward only; what comes next they know from a
 * convolution of every feature over the rows after (their section 3.7). */

enum { STRIDE = 2, NAME_BYTES = 32 };

/* Kernel and stride in time, then in frequency. */
typedef struct window {
    int64_t kernel[2], stride[2];
} window;

/* A network as published; the rows that count after its stride, once they are known. */
typedef struct sizes {
    window window[2];
    int64_t channels, hidden, layers;
    int64_t
        ahead; /* rows that the convolution after the GRUs reads; 0: they go both ways instead */
    int64_t dense; /* features of a layer in front of the scores; 0: none */
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
    if (!b->norms_all_rows) hu_build_row_lengths(b, in[0], s->lengths);
    snprintf(name, sizeof name, "bn%d", number);
    value = hu_build_node(b, &hu_op_batch_norm, name, NULL, &norm, b->norms_all_rows ? 1 : 2, in);
    snprintf(name, sizeof name, "clamp%d", number);
    return hu_build_node(b, &hu_op_clipped_relu, name, NULL, &clip, 1, &value);
}

/* A layer of GRU: what was heard before a row; in both directions also what is heard after it. */
static hu_value_id recurrent(hu_builder *b, int layer, const sizes *s, hu_value_id value) {
    static const hu_recurrent_state zeros = {HU_NONE, HU_NONE};
    char suffix[NAME_BYTES];
    const hu_recurrent_form form = {
        .layer = "gru", .suffix = suffix, .hidden = s->hidden, .lengths = s->lengths};
    snprintf(suffix, sizeof suffix, "_l%d", layer);
    return s->ahead ? hu_build_gru(b, &form, value, zeros)
                    : hu_build_both_ways(b, &form, HU_RECURRENT_GRU, value);
}

/* Every feature of a row from this and the next ones: "ahead". */
static hu_value_id look_ahead(hu_builder *b, const sizes *s, hu_value_id value) {
    const hu_row_conv_attrs ahead = {.context = s->ahead, .weight_init = hu_init_usual(s->ahead)};
    const hu_value_id in[2] = {value, s->lengths};
    return s->ahead ? hu_build_node(b, &hu_op_row_conv, "ahead", NULL, &ahead, 2, in) : value;
}

static hu_value_id dense(hu_builder *b, const char *name, int64_t features, hu_value_id value) {
    hu_init usual = hu_init_usual(hu_build_channels(b, value));
    const hu_linear_attrs fc = {.out_features = features,
                                .rows = true,
                                .has_bias = true,
                                .weight_init = usual,
                                .bias_init = usual};
    return hu_build_node(b, &hu_op_linear, name, NULL, &fc, 1, &value);
}

/* [frames, bins, channels] -> [frames, channels bins], the bins of a channel after each other. */
static hu_value_id flat_rows(hu_builder *b, hu_value_id value, hu_value_id lengths) {
    hu_shape maps = hu_build_shape(b, value);
    const hu_shape rows = {2, {maps.extent[0], maps.extent[1] * maps.extent[2]}};
    value = hu_build_node(b, &hu_op_transpose, "transpose", NULL, NULL, 1, &value);
    hu_build_row_lengths(b, value, lengths);
    return hu_build_reshape(b, "rows", value, &rows);
}

/* The user's sizes, and those of the options' width. */
static sizes chosen(const hu_builder *b, const sizes *own, double width) {
    sizes s = *own;
    s.channels = hu_build_size(b, HU_SIZE_MAPS, hu_build_scaled(own->channels, width));
    s.hidden = hu_build_size(b, HU_SIZE_HIDDEN, hu_build_scaled(own->hidden, width));
    s.layers = hu_build_size(b, HU_SIZE_LAYERS, own->layers);
    if (own->dense) s.dense = hu_build_size(b, HU_SIZE_FF, hu_build_scaled(own->dense, width));
    return s;
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const sizes *own) {
    static const hu_length_attrs halved = {.stride = STRIDE};
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b), length = hu_graph_find(graph, HU_LENGTHS_FIELD);
    if (b.status == HU_OK && length == HU_NONE)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found no lengths of the samples, expected a task of sequences, like "
                       "transcribe");
    sizes s = chosen(&b, own, options->width);
    s.lengths = hu_build_node(&b, &hu_op_length, "length2", NULL, &halved, 1, &length);
    for (int i = 0; i < 2; i++) value = block(&b, i + 1, &s.window[i], &s, value);
    value = flat_rows(&b, value, s.lengths);
    for (int layer = 0; layer < s.layers; layer++) value = recurrent(&b, layer, &s, value);
    value = look_ahead(&b, &s, value);
    if (s.dense) value = hu_build_relu(&b, "relu", dense(&b, "fc1", s.dense, value));
    hu_build_loss(&b, dense(&b, s.dense ? "fc2" : "fc", hu_build_outputs(&b), value));
    return b.status;
}

hu_status hu_model_ds2_s(const hu_model_options *options, hu_graph *graph) {
    static const sizes small = {.window = {{{11, 21}, {STRIDE, 2}}, {{11, 11}, {1, 2}}},
                                .channels = 8,
                                .hidden = 64,
                                .layers = 2};
    return build(options, graph, &small);
}

hu_status hu_model_deepspeech2(const hu_model_options *options, hu_graph *graph) {
    static const sizes english = {.window = {{{11, 41}, {STRIDE, 2}}, {{11, 21}, {1, 2}}},
                                  .channels = 32,
                                  .hidden = 2560,
                                  .layers = 3,
                                  .ahead = 21,
                                  .dense = 2560};
    return build(options, graph, &english);
}

/* Thousands of characters, with nothing between the convolution ahead and their scores. */
hu_status hu_model_deepspeech2_mandarin(const hu_model_options *options, hu_graph *graph) {
    static const sizes mandarin = {.window = {{{11, 41}, {STRIDE, 2}}, {{11, 21}, {1, 2}}},
                                   .channels = 32,
                                   .hidden = 3360,
                                   .layers = 3,
                                   .ahead = 21};
    return build(options, graph, &mandarin);
}
