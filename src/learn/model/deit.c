/* DeiT (Touvron et al. 2021, "Training data-efficient image transformers"): patches of a picture
 * are the rows, in front of them a class token, which the head reads. All weights, the class token
 * and the positions begin normal with deviation 0.02 (there cut off at 2, a hundred deviations
 * away), biases at 0. */
#include <stdio.h>

#include "model/families.h"
#include "model/transformer.h"
#include "op/attributes.h"

typedef struct deit {
    int64_t patch, width, blocks, heads;
} deit;

static const hu_init start = {HU_INIT_NORMAL, 0.02f};
static const float epsilon = 1e-6f;

/* A convolution whose windows do not overlap, then [H, W, C] -> [H W, C] */
static hu_value_id patches(hu_builder *b, hu_value_id image, int64_t side, int64_t width) {
    hu_conv_attrs attrs = {.out_channels = width,
                           .kernel_h = side,
                           .kernel_w = side,
                           .stride_h = side,
                           .stride_w = side,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .groups = 1,
                           .has_bias = true,
                           .weight_init = start};
    hu_value_id map = hu_build_node(b, &hu_op_conv2d, "patch", NULL, &attrs, 1, &image);
    hu_shape shape = hu_build_shape(b, map);
    hu_shape rows = {2, {shape.extent[0] * shape.extent[1], width}};
    return hu_build_reshape(b, "rows", map, &rows);
}

/* A class token "cls" in front of the rows, then positions "pos", both with torch's shapes. */
static hu_value_id placed(hu_builder *b, hu_value_id rows) {
    hu_class_token_attrs token = {.init = start, .for_batches = true};
    hu_position_attrs position = {.init = start, .for_batches = true};
    rows = hu_build_node(b, &hu_op_class_token, "token", "cls", &token, 1, &rows);
    return hu_build_node(b, &hu_op_position, "position", "pos", &position, 1, &rows);
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const deit *d) {
    hu_builder b = hu_build_begin(options, graph);
    char name[32];
    int64_t own = d->heads * hu_build_scaled(d->width / d->heads, options->width);
    int64_t width = hu_build_size(&b, HU_SIZE_HIDDEN, own);
    int64_t blocks = hu_build_size(&b, HU_SIZE_LAYERS, d->blocks);
    hu_block_form form = {.heads = hu_build_size(&b, HU_SIZE_HEADS, d->heads),
                          .hidden = hu_build_size(&b, HU_SIZE_FF, 4 * width),
                          .epsilon = epsilon,
                          .weight = start};
    hu_value_id rows = placed(&b, patches(&b, hu_build_input(&b), d->patch, width));
    for (int64_t i = 0; i < blocks; i++) {
        snprintf(name, sizeof name, "blocks.%d", (int)i);
        if (blocks > 1) form.drop_path = options->drop_path * (double)i / (double)(blocks - 1);
        rows = hu_build_block(&b, name, rows, &form);
    }
    rows = hu_build_layer_norm(&b, "ln", rows, epsilon);
    hu_value_id value = hu_build_pick(&b, "pick", rows);
    value = hu_build_linear(&b, "head", value, hu_build_outputs(&b), start, (hu_init){0});
    hu_build_loss(&b, value);
    return b.status;
}

hu_status hu_model_deit_tiny(const hu_model_options *options, hu_graph *graph) {
    const deit tiny = {.patch = 16, .width = 192, .blocks = 12, .heads = 3};
    return build(options, graph, &tiny);
}

hu_status hu_model_deit_s(const hu_model_options *options, hu_graph *graph) {
    const deit small = {.patch = 4, .width = 64, .blocks = 4, .heads = 2};
    return build(options, graph, &small);
}
