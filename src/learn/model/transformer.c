/* Blocks as Vaswani et al. 2017 ("Attention is all you need") have them, with norms behind the sums
 * as there, or in front of the layers as in fairseq and Dosovitskiy et al. 2021. */
#include "model/transformer.h"

#include <math.h>
#include <stdio.h>

#include "model/imagenet_layers.h"
#include "op/attributes.h"

enum { NAME_BYTES = HU_NAME_BYTES };

static const hu_init zero = {HU_INIT_CONSTANT, 0.0f};

/* The same sort of layer at a place of its own: NAME.part. */
static hu_value_id linear(hu_builder *b, const char *name, const char *part, hu_value_id in,
                          int64_t features, const hu_block_form *form) {
    char text[NAME_BYTES];
    hu_init usual = hu_init_usual(hu_build_channels(b, in));
    snprintf(text, sizeof text, "%s.%s", name, part);
    return hu_build_linear_rows(b, text, in, features, form->is_usual ? usual : form->weight,
                                form->is_usual ? usual : zero);
}

static hu_value_id node(hu_builder *b, const hu_op *op, const char *name, const char *part,
                        const void *attrs, int n_in, const hu_value_id *in) {
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%s.%s", name, part);
    return hu_build_node(b, op, text, NULL, attrs, n_in, in);
}

static hu_value_id dropout(hu_builder *b, const char *name, const char *part, hu_value_id in,
                           double share) {
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%s.%s", name, part);
    return hu_layer_dropout(b, text, in, share);
}

/* Of a branch; 0: it stays in all samples. */
static hu_value_id drop_path(hu_builder *b, const char *name, const char *part, hu_value_id in,
                             double share) {
    const hu_dropout_attrs attrs = {.probability = (float)share};
    return share > 0.0 ? node(b, &hu_op_drop_path, name, part, &attrs, 1, &in) : in;
}

static hu_value_id norm(hu_builder *b, const char *name, const char *part, hu_value_id in,
                        float epsilon) {
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%s.%s", name, part);
    return hu_build_layer_norm(b, text, in, epsilon);
}

/* One operation of attention; the lengths are its last input. */
static hu_value_id attend(hu_builder *b, const hu_op *op, const char *name, const char *part,
                          const void *attrs, const hu_block_form *form, int n_in, hu_value_id first,
                          hu_value_id second) {
    hu_value_id in[] = {first, second, HU_NONE};
    if (form->lengths) in[n_in++] = *form->lengths;
    return node(b, op, name, part, attrs, n_in, in);
}

/* 1 / sqrt(depth): in the product itself where it is a power of two, else in front of it. */
static hu_value_id scaled(hu_builder *b, const char *name, hu_value_id q, int64_t depth,
                          float *factor) {
    char text[NAME_BYTES];
    int exponent;
    *factor = (float)(1.0 / sqrt((double)depth));
    if (!(frexpf(*factor, &exponent) > 0.5f)) return q;
    snprintf(text, sizeof text, "%s.scale", name);
    q = hu_build_scale(b, text, q, *factor);
    *factor = 1.0f;
    return q;
}

hu_value_id hu_build_attention(hu_builder *b, const char *name, hu_value_id rows,
                               const hu_block_form *form) {
    int64_t width = hu_build_channels(b, rows);
    hu_scores_attrs scores = {.heads = form->heads,
                              .sight = {.is_causal = form->is_causal, .lengths_too = true}};
    const hu_attention_mask_attrs *sight = &scores.sight;
    hu_value_id q = linear(b, name, "q", rows, width, form);
    hu_value_id k = linear(b, name, "k", rows, width, form);
    hu_value_id v = linear(b, name, "v", rows, width, form);
    q = scaled(b, name, q, width / form->heads, &scores.factor);
    hu_value_id pairs = attend(b, &hu_op_attention_scores, name, "scores", &scores, form, 2, q, k);
    pairs = attend(b, &hu_op_attention_weights, name, "weights", sight, form, 1, pairs, HU_NONE);
    pairs = dropout(b, name, "drop", pairs, form->attention_dropout);
    hu_value_id context =
        attend(b, &hu_op_attention_context, name, "context", sight, form, 2, pairs, v);
    if (form->lengths) context = hu_build_row_lengths(b, context, *form->lengths);
    return linear(b, name, "out", context, width, form);
}

static hu_value_id feed_forward(hu_builder *b, const char *name, hu_value_id rows,
                                const hu_block_form *form) {
    const hu_op *act = form->has_relu ? &hu_op_relu : &hu_op_gelu;
    hu_value_id value = linear(b, name, "fc1", rows, form->hidden, form);
    value = node(b, act, name, "act", NULL, 1, &value);
    value = dropout(b, name, "drop.act", value, form->hidden_dropout);
    return linear(b, name, "fc2", value, hu_build_channels(b, rows), form);
}

static hu_value_id add(hu_builder *b, const char *name, const char *part, hu_value_id left,
                       hu_value_id right) {
    hu_value_id in[] = {left, right};
    return node(b, &hu_op_add, name, part, NULL, 2, in);
}

hu_value_id hu_build_block(hu_builder *b, const char *name, hu_value_id rows,
                           const hu_block_form *form) {
    char attention[NAME_BYTES];
    bool behind = form->norms_sums;
    snprintf(attention, sizeof attention, "%s.attn", name);
    hu_value_id value = behind ? rows : norm(b, name, "ln1", rows, form->epsilon);
    value = hu_build_attention(b, attention, value, form);
    value = dropout(b, name, "drop1", value, form->dropout);
    value = drop_path(b, name, "path1", value, form->drop_path);
    rows = add(b, name, "add1", rows, value);
    if (behind) rows = norm(b, name, "ln1", rows, form->epsilon);
    value = behind ? rows : norm(b, name, "ln2", rows, form->epsilon);
    value = feed_forward(b, name, value, form);
    value = dropout(b, name, "drop2", value, form->dropout);
    value = drop_path(b, name, "path2", value, form->drop_path);
    rows = add(b, name, "add2", rows, value);
    return behind ? norm(b, name, "ln2", rows, form->epsilon) : rows;
}
