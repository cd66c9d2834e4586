#include <stdio.h>

#include "model/internal.h"
#include "op/attributes.h"
#include "task/task.h"

/* ---- dcgan ---- */

/* dcgan: pictures out of noise by transposed convolutions (gen), and a network of convolutions that
 * says of pictures whether they are real (disc), in two sizes. Source: Radford, Metz and Chintala
 * 2016; seven layers of the first and six convolutions with two linear layers of the second in
 * Micikevicius et al. (figure 6), whose channels are ours. All weights begin as N(0, 0.02), biases
 * as torch's. */

/* Channels of the transposed convolutions, the widest first, and of the convolutions, the widest
 * last; features of the first linear layer; numbers of the noise. A last layer keeps the size. */
typedef struct sizes {
    int64_t channels[7];
    int layers;
    bool keeps_size;
    int64_t dense, noise;
} sizes;

enum { KERNEL = 4, STRIDE = 2, PAD = 1, SAME_KERNEL = 3, NAME = 32 };

static const float slope = 0.2f;
static const hu_init start = {HU_INIT_NORMAL, 0.02f};

static const char *named(char name[NAME], const char *stem, int number) {
    snprintf(name, NAME, "%.16s%d", stem, number);
    return name;
}

/* bnNUMBER -> lreluNUMBER */
static hu_value_id bent(hu_builder *b, const char *prefix, int number, hu_value_id in) {
    char stem[NAME], name[NAME];
    hu_leaky_relu_attrs attrs = {slope};
    snprintf(stem, sizeof stem, "%sbn", prefix);
    hu_value_id value = hu_build_norm(b, named(name, stem, number), in);
    snprintf(stem, sizeof stem, "%slrelu", prefix);
    return hu_build_node(b, &hu_op_leaky_relu, named(name, stem, number), NULL, &attrs, 1, &value);
}

/* The first one makes 4x4 of a point; a last one may keep the size; all others double it. */
static hu_value_id widened(hu_builder *b, int number, hu_value_id in, int64_t channels,
                           bool keeps_size, bool is_last) {
    char name[NAME];
    int64_t kernel = keeps_size ? SAME_KERNEL : KERNEL;
    hu_deconv_form form = {.channels = channels,
                           .kernel = kernel,
                           .stride = number == 1 || keeps_size ? 1 : STRIDE,
                           .pad = number == 1 ? 0 : PAD,
                           .has_bias = is_last,
                           .weight = start,
                           .bias = hu_init_usual(kernel * kernel * channels)};
    return hu_layer_deconv(b, named(name, HU_MAKER ".ct", number), in, &form);
}

/* noise -> picture, numbers -1..1 */
static hu_value_id maker(hu_builder *b, const sizes *s) {
    hu_normal_attrs attrs = {s->noise};
    hu_shape point = {.rank = 3, .extent = {1, 1, s->noise}};
    hu_value_id value = hu_build_node(b, &hu_op_normal, "z", NULL, &attrs, 0, NULL);
    value = hu_build_reshape(b, HU_MAKER ".point", value, &point);
    for (int i = 0; i < s->layers; i++)
        value =
            bent(b, HU_MAKER ".", i + 1, widened(b, i + 1, value, s->channels[i], false, false));
    value = widened(b, s->layers + 1, value, hu_build_outputs(b), s->keeps_size, true);
    return hu_build_node(b, &hu_op_tanh, HU_MAKER ".tanh", NULL, NULL, 1, &value);
}

/* picture -> logit: 0 if it is made up. The use is one of the three. */
static hu_value_id judge(hu_builder *b, const sizes *s, const char *use, hu_value_id picture) {
    char name[NAME];
    hu_value_id value = picture;
    hu_build_within(b, HU_JUDGE, use);
    for (int i = 1; i <= s->layers; i++) {
        hu_conv_form form = {.channels = s->channels[s->layers - i],
                             .kernel = KERNEL,
                             .stride = STRIDE,
                             .weight = start};
        value = hu_build_conv_as(b, named(name, "conv", i), value, &form);
        value = bent(b, "", i, value);
    }
    value = bent(b, "", s->layers + 1, hu_build_product(b, "fc1", value, s->dense, start));
    value = hu_build_linear(b, "fc2", value, 1, start, hu_init_usual(s->dense));
    hu_build_within(b, NULL, NULL);
    return value;
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const sizes *full) {
    hu_builder b = hu_build_begin(options, graph);
    sizes s = *full;
    for (int i = 0; i < s.layers; i++)
        s.channels[i] = hu_build_scaled(s.channels[i], options->width);
    s.dense = hu_build_scaled(s.dense, options->width);
    s.noise = hu_build_size(&b, HU_SIZE_LATENT, s.noise);
    b.status = hu_task_expect_adversaries(&b.choice);
    hu_value_id picture = hu_build_input(&b);
    hu_adversaries networks = {.made = maker(&b, &s)};
    /* Before the judge is applied to pictures of two sizes. */
    if (b.status == HU_OK) b.status = hu_task_check_head(&b.choice, &graph->value[networks.made]);
    networks.real = judge(&b, &s, "real", picture);
    networks.fake = judge(&b, &s, "fake", networks.made);
    networks.again = judge(&b, &s, "again", networks.made);
    if (b.status == HU_OK)
        b.status = hu_task_close_adversaries(&b.choice, graph, b.value, &networks);
    return b.status;
}

hu_status hu_model_dcgan(const hu_model_options *options, hu_graph *graph) {
    static const sizes full = {{1024, 512, 256, 128, 64, 32}, 6, true, 1024, 100};
    return build(options, graph, &full);
}

hu_status hu_model_dcgan_s(const hu_model_options *options, hu_graph *graph) {
    static const sizes small = {{64, 32, 16}, 3, false, 64, 32};
    return build(options, graph, &small);
}

/* ---- cvae ---- */

/* cvae: a convolutional variational autoencoder of four convolutions and four transposed ones, in
 * two sizes. All layers begin as torch's do, transposed ones by the numbers that reach a place of
 * their output. Source: Kingma and Welling 2014; the network of the range study of Popescu et al.
 * in the form of its public sibling for contact maps. */

/* Channels of all maps, features of the linear layers on both sides of the code, and its length. */
typedef struct cvae_sizes {
    int64_t maps, dense, code;
} cvae_sizes;

enum { CVAE_KERNEL = 3, CVAE_STRIDE = 2, LAYERS = 4 };

static const char *cvae_named(char name[32], const char *stem, int number) {
    snprintf(name, 32, "%s%d", stem, number);
    return name;
}

/* conv NAME with bias -> reluNAME */
static hu_value_id convolved(hu_builder *b, int number, hu_value_id in, int64_t channels,
                             int64_t stride) {
    char name[32];
    hu_init usual = hu_init_usual(CVAE_KERNEL * CVAE_KERNEL * hu_build_channels(b, in));
    hu_conv_form form = {.channels = channels,
                         .kernel = CVAE_KERNEL,
                         .stride = stride,
                         .has_bias = true,
                         .weight = usual,
                         .bias = usual};
    hu_value_id value = hu_build_conv_as(b, cvae_named(name, "conv", number), in, &form);
    return hu_build_relu(b, cvae_named(name, "relu", number), value);
}

/* A place of the output is reached by kernel^2 / stride^2 places of the input. */
static hu_value_id deconvolved(hu_builder *b, int number, hu_value_id in, int64_t channels,
                               int64_t stride) {
    char name[32];
    hu_init usual =
        hu_init_usual(CVAE_KERNEL * CVAE_KERNEL * hu_build_channels(b, in) / (stride * stride));
    hu_deconv_form form = {.channels = channels,
                           .kernel = CVAE_KERNEL,
                           .stride = stride,
                           .pad = (CVAE_KERNEL - 1) / 2,
                           .extra = stride - 1,
                           .has_bias = true,
                           .weight = usual,
                           .bias = usual};
    return hu_layer_deconv(b, cvae_named(name, "deconv", number), in, &form);
}

static hu_value_id dense(hu_builder *b, const char *name, hu_value_id in, int64_t features) {
    hu_shape shape = hu_build_shape(b, in);
    hu_init usual = hu_init_usual(hu_shape_elements(&shape));
    return hu_build_linear(b, name, in, features, usual, usual);
}

/* image -> [dense]; map: the shape of the last convolution's output. */
static hu_value_id encoder(hu_builder *b, hu_value_id image, const cvae_sizes *s, hu_shape *map) {
    hu_value_id value = image;
    for (int i = 1; i <= LAYERS; i++)
        value = convolved(b, i, value, s->maps, i == 2 ? CVAE_STRIDE : 1);
    *map = hu_build_shape(b, value);
    return hu_build_relu(b, "fc.relu", dense(b, "fc", value, s->dense));
}

/* [code] -> image of logits */
static hu_value_id decoder(hu_builder *b, hu_value_id code, const cvae_sizes *s,
                           const hu_shape *map) {
    char name[32];
    hu_value_id value = hu_build_relu(b, "dfc1.relu", dense(b, "dfc1", code, s->dense));
    value = dense(b, "dfc2", value, hu_shape_elements(map));
    value = hu_build_relu(b, "dfc2.relu", hu_build_reshape(b, "map", value, map));
    for (int i = 1; i < LAYERS; i++) {
        value = deconvolved(b, i, value, s->maps, i == 3 ? CVAE_STRIDE : 1);
        value = hu_build_relu(b, cvae_named(name, "derelu", i), value);
    }
    return deconvolved(b, LAYERS, value, hu_build_outputs(b), 1);
}

static hu_status cvae_build(const hu_model_options *options, hu_graph *graph,
                            const cvae_sizes *full) {
    hu_builder b = hu_build_begin(options, graph);
    cvae_sizes s = *full;
    hu_shape map;
    s.maps = hu_build_scaled(s.maps, options->width);
    s.dense = hu_build_scaled(s.dense, options->width);
    s.code = hu_build_size(&b, HU_SIZE_LATENT, s.code);
    s.dense = hu_build_size(&b, HU_SIZE_DENSE, s.dense);
    s.maps = hu_build_size(&b, HU_SIZE_MAPS, s.maps);
    hu_value_id value = encoder(&b, hu_build_input(&b), &s, &map);
    hu_value_id mean = dense(&b, "mean", value, s.code);
    hu_value_id spread = dense(&b, "logvar", value, s.code);
    hu_value_id code = hu_build_sample(&b, "z", mean, spread);
    hu_build_loss(&b, decoder(&b, code, &s, &map));
    hu_build_code_loss(&b, mean, spread);
    return b.status;
}

hu_status hu_model_cvae(const hu_model_options *options, hu_graph *graph) {
    static const cvae_sizes full = {64, 128, 3};
    return cvae_build(options, graph, &full);
}

hu_status hu_model_cvae_s(const hu_model_options *options, hu_graph *graph) {
    static const cvae_sizes small = {16, 64, 8};
    return cvae_build(options, graph, &small);
}
