#include "model/internal.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "graph/graph.h"
#include "op/attributes.h"

/* layers of models. The first failure is kept in the builder and ends all further
 * declaring, so that the models need not ask.
 */

/* Channels come last: [height, width, channels], or [features]. */
int64_t hu_build_channels(const hu_builder *b, hu_value_id value) {
    /* After a failure nothing is declared any more: any extent will do. */
    if (b->status != HU_OK) return 1;
    const hu_shape *shape = &b->graph->value[value].shape;
    return shape->extent[shape->rank - 1];
}

void hu_build_within(hu_builder *b, const char *network, const char *use) {
    b->network = network;
    b->use = use;
}

/* The parameters of an op that the graph has by these names. True if it has them all. */
static bool find_params(const hu_builder *b, const hu_op *op, const char *prefix, const void *attrs,
                        int n_in, const hu_value_id *in, hu_value_id *params) {
    char name[2 * HU_NAME_BYTES];
    hu_param_decl list[HU_MAX_PARAMS];
    hu_shape shapes[HU_MAX_PARAMS];
    int count = 0;
    for (int i = 0; i < n_in && i < HU_MAX_PARAMS; i++) shapes[i] = hu_build_shape(b, in[i]);
    if (!op->params || op->params(attrs, shapes, list, &count) != HU_OK) return false;
    for (int j = 0; j < count; j++) {
        hu_param_name(prefix, list[j].suffix, name, sizeof name);
        params[j] = hu_graph_find(b->graph, name);
        if (params[j] == HU_NONE) return false;
    }
    return count > 0;
}

/* A node of one application of a network: the first has parameters of its own. */
static void apply_within(hu_builder *b, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, int n_in, const hu_value_id *in, hu_value_id *out) {
    char node[HU_NAME_BYTES], own[HU_NAME_BYTES];
    hu_value_id params[HU_MAX_PARAMS];
    snprintf(node, sizeof node, "%s.%s", b->use, name);
    snprintf(own, sizeof own, "%s.%s", b->network, prefix ? prefix : name);
    if (find_params(b, op, own, attrs, n_in, in, params))
        b->status = hu_graph_share(b->graph, op, node, attrs, n_in, in, params, out);
    else
        b->status = hu_graph_apply(b->graph, op, node, own, attrs, n_in, in, out);
}

hu_value_id hu_build_node(hu_builder *b, const hu_op *op, const char *name, const char *prefix,
                          const void *attrs, int n_in, const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS] = {HU_NONE};
    if (b->status != HU_OK) return HU_NONE;
    if (b->network)
        apply_within(b, op, name, prefix, attrs, n_in, in, out);
    else if (b->splits_bias && hu_adds_bias(op, attrs))
        b->status = hu_apply_split(b->graph, op, name, prefix, attrs, in, out);
    else
        b->status = hu_graph_apply(b->graph, op, name, prefix, attrs, n_in, in, out);
    return out[0];
}

hu_value_id hu_build_conv_as(hu_builder *b, const char *name, hu_value_id in,
                             const hu_conv_form *form) {
    int64_t groups = form->groups ? form->groups : 1;
    int64_t dilation = form->dilation ? form->dilation : 1;
    hu_conv_attrs attrs = {.out_channels = form->channels,
                           .kernel_h = form->kernel,
                           .kernel_w = form->kernel,
                           .stride_h = form->stride,
                           .stride_w = form->stride,
                           .pad_h = dilation * (form->kernel - 1) / 2,
                           .pad_w = dilation * (form->kernel - 1) / 2,
                           .dilation_h = dilation,
                           .dilation_w = dilation,
                           .groups = groups,
                           .has_bias = form->has_bias,
                           .weight_init = form->weight,
                           .bias_init = form->bias};
    return hu_build_node(b, &hu_op_conv2d, name, NULL, &attrs, 1, &in);
}

/* Kaiming normal, fan out, for ReLU: deviation sqrt(2 / fan) (He et al. 2015). */
hu_init hu_init_fan_out(int64_t kernel, int64_t out_channels) {
    return (hu_init){HU_INIT_NORMAL, sqrtf(2.0f / (float)(kernel * kernel * out_channels))};
}

/* Uniform in +-1 / sqrt(fan in), as torch.nn.Linear and Conv2d begin. */
hu_init hu_init_usual(int64_t fan_in) {
    return (hu_init){HU_INIT_UNIFORM, 1.0f / sqrtf((float)fan_in)};
}

hu_value_id hu_build_conv(hu_builder *b, const char *name, hu_value_id in, int64_t out_channels,
                          int64_t kernel, int64_t stride) {
    hu_conv_form form = {.channels = out_channels,
                         .kernel = kernel,
                         .stride = stride,
                         .weight = hu_init_fan_out(kernel, out_channels)};
    return hu_build_conv_as(b, name, in, &form);
}

hu_value_id hu_build_norm(hu_builder *b, const char *name, hu_value_id in) {
    /* The defaults of torch.nn.BatchNorm2d, and those of the authors of range norm. */
    hu_batch_norm_attrs batch = {.epsilon = 1e-5f, .momentum = 0.1f};
    hu_range_norm_attrs range = {.epsilon = 1e-5f, .momentum = 0.9f};
    if (b->norm == HU_MODEL_NORM_OFF && b->status == HU_OK)
        b->status = hu_fail(HU_ERR_ARGUMENT,
                            "model.norm: found off with norms that have no biases in their place, "
                            "expected batch or range");
    if (b->norm == HU_MODEL_NORM_RANGE)
        return hu_build_node(b, &hu_op_range_norm, name, NULL, &range, 1, &in);
    return hu_build_node(b, &hu_op_batch_norm, name, NULL, &batch, 1, &in);
}

hu_value_id hu_build_relu(hu_builder *b, const char *name, hu_value_id in) {
    return hu_build_node(b, &hu_op_relu, name, NULL, NULL, 1, &in);
}

hu_value_id hu_build_layer_norm(hu_builder *b, const char *name, hu_value_id in, float epsilon) {
    hu_layer_norm_attrs attrs = {.epsilon = epsilon};
    return hu_build_node(b, &hu_op_layer_norm, name, NULL, &attrs, 1, &in);
}

/* The first row. */
hu_value_id hu_build_pick(hu_builder *b, const char *name, hu_value_id in) {
    return hu_build_node(b, &hu_op_pick, name, NULL, NULL, 1, &in);
}

/* By erf. */
hu_value_id hu_build_gelu(hu_builder *b, const char *name, hu_value_id in) {
    return hu_build_node(b, &hu_op_gelu, name, NULL, NULL, 1, &in);
}

hu_value_id hu_build_add(hu_builder *b, const char *name, hu_value_id left, hu_value_id right) {
    hu_value_id in[] = {left, right};
    return hu_build_node(b, &hu_op_add, name, NULL, NULL, 2, in);
}

hu_value_id hu_build_concat(hu_builder *b, const char *name, int n, const hu_value_id *in) {
    return hu_build_node(b, &hu_op_concat, name, NULL, NULL, n, in);
}

hu_value_id hu_build_interleave(hu_builder *b, const char *name, hu_value_id left,
                                hu_value_id right) {
    hu_value_id in[] = {left, right};
    return hu_build_node(b, &hu_op_interleave, name, NULL, NULL, 2, in);
}

/* Half of the channels each; an odd number leaves the larger half second. */
void hu_build_halves(hu_builder *b, const char *name, hu_value_id in, hu_value_id half[2]) {
    hu_split_attrs attrs = {.first = hu_build_channels(b, in) / 2};
    hu_value_id out[HU_MAX_OUTPUTS] = {HU_NONE, HU_NONE};
    if (b->status == HU_OK)
        b->status = hu_graph_apply(b->graph, &hu_op_split, name, NULL, &attrs, 1, &in, out);
    half[0] = out[0];
    half[1] = out[1];
}

hu_value_id hu_build_flatten(hu_builder *b, const char *name, hu_value_id in) {
    return hu_build_node(b, &hu_op_flatten, name, NULL, NULL, 1, &in);
}

hu_value_id hu_build_reshape(hu_builder *b, const char *name, hu_value_id in,
                             const hu_shape *shape) {
    hu_reshape_attrs attrs = {.shape = *shape};
    return hu_build_node(b, &hu_op_reshape, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_build_bilinear(hu_builder *b, const char *name, hu_value_id in, int64_t height,
                              int64_t width) {
    hu_bilinear_attrs attrs = {.out_h = height, .out_w = width};
    return hu_build_node(b, &hu_op_bilinear, name, NULL, &attrs, 1, &in);
}

hu_shape hu_build_shape(const hu_builder *b, hu_value_id value) {
    return b->status == HU_OK ? b->graph->value[value].shape : (hu_shape){.rank = 0};
}

bool hu_build_is_large(const hu_builder *b, hu_value_id image) {
    enum { LARGE_IMAGE = 96 };
    hu_shape shape = hu_build_shape(b, image);
    return shape.rank == 3 && shape.extent[0] >= LARGE_IMAGE && shape.extent[1] >= LARGE_IMAGE;
}

hu_value_id hu_build_padded_max_pool(hu_builder *b, const char *name, hu_value_id in,
                                     int64_t kernel, int64_t stride, int64_t pad) {
    hu_pool_attrs attrs = {.kernel_h = kernel,
                           .kernel_w = kernel,
                           .stride_h = stride,
                           .stride_w = stride,
                           .pad_h = pad,
                           .pad_w = pad};
    return hu_build_node(b, &hu_op_max_pool, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_build_max_pool(hu_builder *b, const char *name, hu_value_id in, int64_t kernel,
                              int64_t stride) {
    return hu_build_padded_max_pool(b, name, in, kernel, stride, 0);
}

/* One window as large as the image. */
hu_value_id hu_build_global_max_pool(hu_builder *b, const char *name, hu_value_id in) {
    hu_shape image = hu_build_shape(b, in);
    hu_pool_attrs attrs = {
        .kernel_h = image.extent[0], .kernel_w = image.extent[1], .stride_h = 1, .stride_w = 1};
    return hu_build_node(b, &hu_op_max_pool, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_build_global_pool(hu_builder *b, const char *name, hu_value_id in) {
    return hu_build_node(b, &hu_op_global_avg_pool, name, NULL, NULL, 1, &in);
}

hu_value_id hu_build_conv_bn_relu(hu_builder *b, const char *prefix, const char *suffix,
                                  hu_value_id in, int64_t out_channels, int64_t kernel,
                                  int64_t stride) {
    char name[256];
    snprintf(name, sizeof name, "%sconv%s", prefix, suffix);
    hu_value_id value = hu_build_conv(b, name, in, out_channels, kernel, stride);
    snprintf(name, sizeof name, "%sbn%s", prefix, suffix);
    value = hu_build_norm(b, name, value);
    snprintf(name, sizeof name, "%srelu%s", prefix, suffix);
    return hu_build_relu(b, name, value);
}

/* Two nodes, NAME.product and NAME, so that the product's output can have a format of its own; the
 * weight is called NAME.weight all the same. */
static hu_value_id linear_and_bias(hu_builder *b, const char *name, hu_value_id in,
                                   const hu_linear_attrs *attrs, hu_init bias) {
    char product_name[256];
    hu_bias_attrs bias_attrs = {.bias_init = bias};
    snprintf(product_name, sizeof product_name, "%s.product", name);
    hu_value_id product = hu_build_node(b, &hu_op_linear, product_name, name, attrs, 1, &in);
    return hu_build_node(b, &hu_op_bias, name, NULL, &bias_attrs, 1, &product);
}

hu_value_id hu_build_linear(hu_builder *b, const char *name, hu_value_id in, int64_t out_features,
                            hu_init weight, hu_init bias) {
    hu_linear_attrs attrs = {.out_features = out_features, .weight_init = weight};
    return linear_and_bias(b, name, in, &attrs, bias);
}

hu_value_id hu_build_linear_rows(hu_builder *b, const char *name, hu_value_id in,
                                 int64_t out_features, hu_init weight, hu_init bias) {
    hu_linear_attrs attrs = {.out_features = out_features, .rows = true, .weight_init = weight};
    return linear_and_bias(b, name, in, &attrs, bias);
}

hu_value_id hu_build_product(hu_builder *b, const char *name, hu_value_id in, int64_t out_features,
                             hu_init weight) {
    hu_linear_attrs attrs = {.out_features = out_features, .weight_init = weight};
    return hu_build_node(b, &hu_op_linear, name, NULL, &attrs, 1, &in);
}

hu_value_id hu_build_scale(hu_builder *b, const char *name, hu_value_id in, float factor) {
    hu_scale_attrs attrs = {.factor = factor};
    return hu_build_node(b, &hu_op_scale, name, NULL, &attrs, 1, &in);
}

/* A product with the weight of the layer `of`. */
static hu_value_id share_weight(hu_builder *b, const char *name, hu_value_id in, const char *of,
                                const hu_linear_attrs *attrs) {
    char text[256];
    hu_value_id weight, out[HU_MAX_OUTPUTS] = {HU_NONE};
    snprintf(text, sizeof text, "%s.weight", of);
    weight = hu_graph_find(b->graph, text);
    if (b->status == HU_OK)
        b->status = hu_graph_share(b->graph, &hu_op_linear, name, attrs, 1, &in, &weight, out);
    return out[0];
}

/* The same with a bias of its own. */
static hu_value_id share_and_bias(hu_builder *b, const char *name, hu_value_id in, const char *of,
                                  const hu_linear_attrs *attrs, hu_init bias) {
    char text[256];
    hu_bias_attrs bias_attrs = {.bias_init = bias};
    snprintf(text, sizeof text, "%s.product", name);
    hu_value_id product = share_weight(b, text, in, of, attrs);
    return hu_build_node(b, &hu_op_bias, name, NULL, &bias_attrs, 1, &product);
}

/* The weight of the layer `of`, used the other way round; only the bias is new. */
hu_value_id hu_build_linear_tied(hu_builder *b, const char *name, hu_value_id in, const char *of,
                                 int64_t out_features, hu_init bias) {
    hu_linear_attrs attrs = {.out_features = out_features, .transposed = true};
    return share_and_bias(b, name, in, of, &attrs, bias);
}

hu_value_id hu_build_scores_tied(hu_builder *b, const char *name, hu_value_id in, const char *of) {
    const hu_linear_attrs attrs = {.out_features = hu_build_outputs(b), .rows = true};
    return share_weight(b, name, in, of, &attrs);
}

hu_value_id hu_build_scores_tied_bias(hu_builder *b, const char *name, hu_value_id in,
                                      const char *of, hu_init bias) {
    const hu_linear_attrs attrs = {.out_features = hu_build_outputs(b), .rows = true};
    return share_and_bias(b, name, in, of, &attrs, bias);
}

/* Without a choice: classification of the option's images. */
hu_builder hu_build_begin(const hu_model_options *options, hu_graph *graph) {
    hu_task_shapes classes = {
        .value = {options->image, {.rank = 0}}, .count = 2, .outputs = options->classes};
    hu_builder b = {
        .graph = graph,
        .norm = options->norm,
        .norms_all_rows = options->norms_all_rows,
        .splits_bias = options->splits_bias,
        .dropout = options->dropout,
        .sizes = options->sizes,
        .read_sizes = options->read_sizes,
        .choice = {
            .task = &hu_task_classify, .loss = &hu_loss_nll, .shapes = classes, .beta = 1.0}};
    if (options->choice) b.choice = *options->choice;
    return b;
}

int64_t hu_build_size(const hu_builder *b, hu_size size, int64_t own) {
    if (b->read_sizes) *b->read_sizes |= 1u << size;
    return b->sizes.chosen[size] ? b->sizes.chosen[size] : own;
}

/* model.vocab is in the outputs already: hu_model_widen. */
int64_t hu_build_words(const hu_builder *b) {
    return hu_build_size(b, HU_SIZE_VOCAB, hu_build_outputs(b));
}

/* Classes of a classifier, channels of a picture. */
int64_t hu_build_outputs(const hu_builder *b) {
    return b->choice.shapes.outputs;
}

hu_value_id hu_build_row_lengths(hu_builder *b, hu_value_id value, hu_value_id lengths) {
    if (b->status == HU_OK) b->status = hu_graph_end_rows(b->graph, value, lengths);
    return value;
}

hu_value_id hu_build_input(hu_builder *b) {
    if (b->status == HU_OK) b->status = hu_task_declare(&b->choice, b->graph, b->value);
    return b->status == HU_OK ? b->value[0] : HU_NONE;
}

void hu_build_loss(hu_builder *b, hu_value_id head) {
    if (b->status == HU_OK) b->status = hu_task_close(&b->choice, b->graph, b->value, head);
}

void hu_build_more_loss(hu_builder *b, const char *name, hu_value_id head, float weight) {
    if (b->status == HU_OK)
        b->status = hu_task_close_more(&b->choice, b->graph, b->value, name, head, weight);
}

void hu_build_pair_loss(hu_builder *b, hu_value_id head) {
    if (b->status == HU_OK) b->status = hu_task_close_pair(&b->choice, b->graph, b->value, head);
}

hu_value_id hu_build_region_input(hu_builder *b) {
    if (b->status == HU_OK) b->status = hu_task_expect_regions(&b->choice);
    return hu_build_input(b);
}

void hu_build_region_losses(hu_builder *b, const hu_task_regions *regions) {
    if (b->status == HU_OK)
        b->status = hu_task_close_regions(&b->choice, b->graph, b->value, regions);
}

hu_value_id hu_build_sample(hu_builder *b, const char *name, hu_value_id mean, hu_value_id spread) {
    hu_value_id in[] = {mean, spread};
    return hu_build_node(b, &hu_op_sample_normal, name, NULL, NULL, 2, in);
}

void hu_build_code_loss(hu_builder *b, hu_value_id mean, hu_value_id spread) {
    if (b->status == HU_OK) b->status = hu_task_close_code(&b->choice, b->graph, mean, spread);
}

/* The rule of the MobileNet papers (make_divisible), with a finer step for narrow networks. */
int64_t hu_build_width(double channels, double width) {
    double wanted = channels * width;
    /* Channels are multiples of 8 (4 in narrow networks), never less than nine tenths of what was
     * asked for. */
    int64_t step = width <= 0.25 ? 4 : 8;
    int64_t rounded = (int64_t)floor((wanted + (double)step / 2) / (double)step) * step;
    if (rounded < step) rounded = step;
    if ((double)rounded < 0.9 * wanted) rounded += step;
    return rounded;
}

int64_t hu_build_scaled(int64_t channels, double width) {
    return width == 1.0 ? channels : hu_build_width((double)channels, width);
}
