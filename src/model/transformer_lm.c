/* transformer-lm-s: a language model of pre-norm Transformer blocks (Vaswani et al. 2017; the form
 * of fairseq's model for WikiText-103). Each token sees itself and those before it. The scores of
 * the next token are products with the rows of the table that tokens are looked up in. */
#include <math.h>
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"
#include "op/attention.h"
#include "op/embedding.h"

enum { BLOCKS = 4, WIDTH = 128, HEADS = 4, HIDDEN = 512 };

static const float epsilon = 1e-5f; /* of layer norms, as torch has it */

/* NAME of block i: blocks.I.NAME. */
static const char *of_block(int i, const char *name, char text[HU_NAME_BYTES]) {
    snprintf(text, HU_NAME_BYTES, "blocks.%d.%s", i, name);
    return text;
}

/* The same linear layer for each row, begun as torch does. */
static hu_value_id linear(hu_builder *b, int i, const char *name, hu_value_id in, int64_t width) {
    char text[HU_NAME_BYTES];
    hu_init init = hu_init_usual(hu_build_channels(b, in));
    return hu_build_linear_rows(b, of_block(i, name, text), in, width, init, init);
}

/* Scores of keys that stand behind a row are not there. Queries are scaled before the product. */
static hu_value_id attention(hu_builder *b, int i, hu_value_id in) {
    char text[HU_NAME_BYTES];
    int64_t width = hu_build_channels(b, in);
    const hu_sight_attrs sight = {.is_causal = true};
    const hu_scores_attrs scores = {.heads = HEADS, .factor = 1.0f, .sight = sight};
    float factor = (float)(1.0 / sqrt((double)width / HEADS));
    hu_value_id query = linear(b, i, "attn.q", in, width);
    hu_value_id pair[2] = {0, linear(b, i, "attn.k", in, width)};
    hu_value_id value = linear(b, i, "attn.v", in, width);
    pair[0] = hu_build_scale(b, of_block(i, "attn.scaled", text), query, factor);
    pair[0] = hu_build_node(b, &hu_op_attention_scores, of_block(i, "attn.scores", text), NULL,
                            &scores, 2, pair);
    pair[0] = hu_build_node(b, &hu_op_attention_weights, of_block(i, "attn.weights", text), NULL,
                            &sight, 1, pair);
    pair[1] = value;
    pair[0] = hu_build_node(b, &hu_op_attention_context, of_block(i, "attn.context", text), NULL,
                            &sight, 2, pair);
    return linear(b, i, "attn.out", pair[0], width);
}

static hu_value_id block(hu_builder *b, int i, hu_value_id in, int64_t hidden) {
    char text[HU_NAME_BYTES];
    hu_value_id value = hu_build_layer_norm(b, of_block(i, "ln1", text), in, epsilon);
    value = attention(b, i, value);
    hu_value_id sum = hu_build_add(b, of_block(i, "attn.add", text), in, value);
    value = hu_build_layer_norm(b, of_block(i, "ln2", text), sum, epsilon);
    value = linear(b, i, "fc1", value, hidden);
    value = hu_build_relu(b, of_block(i, "relu", text), value);
    value = linear(b, i, "fc2", value, hu_build_channels(b, in));
    return hu_build_add(b, of_block(i, "add", text), sum, value);
}

/* Rows of the table, normal with variance 1 / width, times the root of the width. */
static hu_value_id embed(hu_builder *b, hu_value_id tokens, int64_t width) {
    const hu_embedding_attrs table = {
        .words = hu_build_outputs(b),
        .width = width,
        .factor = (float)sqrt((double)width),
        .weight_init = {HU_INIT_NORMAL, (float)(1.0 / sqrt((double)width))}};
    hu_value_id rows = hu_build_node(b, &hu_op_embedding, "emb", NULL, &table, 1, &tokens);
    return hu_build_node(b, &hu_op_sinusoid, "positions", NULL, NULL, 1, &rows);
}

hu_status hu_model_transformer_lm_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b);
    int64_t width = hu_build_width(WIDTH, options->width);
    value = embed(&b, value, width);
    for (int i = 0; i < BLOCKS; i++)
        value = block(&b, i, value, hu_build_width(HIDDEN, options->width));
    hu_build_loss(&b, hu_build_scores_tied(&b, "scores", value, "emb"));
    return b.status;
}
