#include "model/internal.h"

#include <stdio.h>

#include "op/attributes.h"
#include "task/loss.h"

/* ---- A softmax of many classes that is sampled in training ---- */

/* The product with all rows of the weight that the node which makes `scores` has. */
static hu_value_id whole_head(hu_builder *b, const char *name, hu_value_id in, hu_value_id scores) {
    char text[HU_NAME_BYTES];
    const hu_linear_attrs attrs = {
        .out_features = hu_build_outputs(b), .rows = true, .has_bias = true};
    hu_value_id out[HU_MAX_OUTPUTS] = {HU_NONE}, params[2];
    if (b->status != HU_OK) return HU_NONE;
    const hu_node *node = &b->graph->node[b->graph->value[scores].producer];
    for (int j = 0; j < 2; j++) params[j] = node->param[j];
    snprintf(text, sizeof text, "%s.whole", name);
    b->status = hu_graph_share(b->graph, &hu_op_linear, text, &attrs, 1, &in, params, out);
    return out[0];
}

void hu_build_sampled_loss(hu_builder *b, const char *name, hu_value_id in, int64_t numbers,
                           hu_init weight) {
    char text[HU_NAME_BYTES];
    const hu_sampled_attrs attrs = {.classes = hu_build_outputs(b),
                                    .numbers = numbers,
                                    .ignores = hu_unlabelled_rows.ignores,
                                    .ignored = hu_unlabelled_rows.ignored,
                                    .weight_init = weight,
                                    .bias_init = {HU_INIT_CONSTANT, 0.0f}};
    snprintf(text, sizeof text, "%s.sampled", name);
    hu_task_sampled made = {.numbers = numbers};
    made.drawn = hu_build_node(b, &hu_op_log_uniform, "neg", NULL, &attrs, 0, NULL);
    const hu_value_id reads[] = {in, b->value[hu_task_target(b->choice.task)], made.drawn};
    made.scores = hu_build_node(b, &hu_op_sampled_scores, text, name, &attrs, 3, reads);
    hu_value_id head = whole_head(b, name, in, made.scores);
    if (b->status == HU_OK)
        b->status = hu_task_close_sampled(&b->choice, b->graph, b->value, head, &made);
}

/* ---- lstm lm ---- */

/* lstm-lm: language models of two layers of LSTM cells whose states go on from batch to batch.
 * Scores of the next token are products with the rows of the table that tokens are looked up in.
 * Source: Zaremba, Sutskever and Vinyals 2014 ("medium", 650 wide); Press and Wolf 2017 (one
 * table); as Popescu et al. train it on WikiText. */

enum { LAYERS = 2, WIDTH = 650, SMALL_WIDTH = 128, NAME_BYTES = 32 };

static const double share_dropped = 0.2;

static hu_value_id drop(hu_builder *b, int number, hu_value_id in) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "drop%d", number);
    return hu_layer_dropout(b, name, in, share_dropped);
}

/* [tokens] -> [tokens, width], uniform within 0.1. */
static hu_value_id look_up(hu_builder *b, hu_value_id tokens, int64_t width) {
    const hu_embedding_attrs table = {.words = hu_build_words(b),
                                      .width = width,
                                      .factor = 1.0f,
                                      .weight_init = {HU_INIT_UNIFORM, 0.1f}};
    return hu_build_node(b, &hu_op_embedding, "emb", NULL, &table, 1, &tokens);
}

/* Dropout stands after the table and after each layer. */
static hu_status build(const hu_model_options *options, int64_t width, hu_graph *graph) {
    static const hu_recurrent_state carried = {HU_NONE, HU_NONE};
    hu_builder b = hu_build_begin(options, graph);
    int64_t layers = hu_build_size(&b, HU_SIZE_LAYERS, LAYERS);
    hu_value_id value = hu_build_input(&b);
    width = hu_build_size(&b, HU_SIZE_HIDDEN, hu_build_scaled(width, options->width));
    value = drop(&b, 0, look_up(&b, value, width));
    for (int layer = 0; layer < layers; layer++) {
        char suffix[NAME_BYTES];
        const hu_recurrent_form form = {.layer = "lstm",
                                        .suffix = suffix,
                                        .hidden = width,
                                        .lengths = HU_NONE,
                                        .is_carried = true};
        snprintf(suffix, sizeof suffix, "_l%d", layer);
        value = drop(&b, layer + 1, hu_build_lstm(&b, &form, value, carried, NULL));
    }
    hu_build_loss(&b, hu_build_scores_tied_bias(&b, "out", value, "emb", hu_init_usual(width)));
    return b.status;
}

hu_status hu_model_lstm_lm(const hu_model_options *options, hu_graph *graph) {
    return build(options, WIDTH, graph);
}

hu_status hu_model_lstm_lm_s(const hu_model_options *options, hu_graph *graph) {
    return build(options, SMALL_WIDTH, graph);
}

/* ---- biglstm ---- */

/* biglstm: a language model of two layers of LSTM cells whose hidden states are projected, with a
 * table of its own for the scores. States go on from batch to batch, and trainings compare each
 * word with a few that are drawn. Source: Jozefowicz, Vinyals, Schuster, Shazeer and Wu 2016
 * ("LSTM-8192-1024"), as Micikevicius et al. train it on One Billion Words, section 4.4. */

enum { BIGLSTM_LAYERS = 2, BIGLSTM_NAME_BYTES = 32 };

typedef struct form {
    int64_t cells, projection, negatives;
    bool has_one_bias;
} form;

/* [tokens] -> [tokens, width] */
static hu_value_id biglstm_look_up(hu_builder *b, hu_value_id tokens, int64_t width, hu_init init) {
    const hu_embedding_attrs table = {
        .words = hu_build_words(b), .width = width, .factor = 1.0f, .weight_init = init};
    return hu_build_node(b, &hu_op_embedding, "emb", NULL, &table, 1, &tokens);
}

static hu_status biglstm_build(const hu_model_options *options, const form *as, hu_graph *graph) {
    static const hu_init init = {HU_INIT_UNIFORM, 0.1f};
    static const hu_recurrent_state carried = {HU_NONE, HU_NONE};
    hu_builder b = hu_build_begin(options, graph);
    int64_t layers = hu_build_size(&b, HU_SIZE_LAYERS, BIGLSTM_LAYERS);
    int64_t cells = hu_build_size(&b, HU_SIZE_HIDDEN, hu_build_scaled(as->cells, options->width));
    int64_t width =
        hu_build_size(&b, HU_SIZE_PROJECTION, hu_build_scaled(as->projection, options->width));
    hu_value_id value = biglstm_look_up(&b, hu_build_input(&b), width, init);
    for (int layer = 0; layer < layers; layer++) {
        char suffix[BIGLSTM_NAME_BYTES];
        const hu_recurrent_form cell = {.layer = "lstm",
                                        .suffix = suffix,
                                        .hidden = cells,
                                        .projection = width,
                                        .has_one_bias = as->has_one_bias,
                                        .lengths = HU_NONE,
                                        .is_carried = true};
        snprintf(suffix, sizeof suffix, "_l%d", layer);
        value = hu_build_lstm(&b, &cell, value, carried, NULL);
    }
    hu_build_sampled_loss(&b, "soft", value, hu_build_size(&b, HU_SIZE_NEGATIVES, as->negatives),
                          init);
    return b.status;
}

hu_status hu_model_biglstm(const hu_model_options *options, hu_graph *graph) {
    static const form full = {8192, 1024, 8192, true};
    return biglstm_build(options, &full, graph);
}

hu_status hu_model_biglstm_s(const hu_model_options *options, hu_graph *graph) {
    static const form small = {256, 128, 512, false};
    return biglstm_build(options, &small, graph);
}
