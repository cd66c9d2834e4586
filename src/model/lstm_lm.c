/* lstm-lm: language models of two layers of LSTM cells whose states go on from batch to batch.
 * Scores of the next token are products with the rows of the table that tokens are looked up in.
 * Source: Zaremba, Sutskever and Vinyals 2014 ("medium", 650 wide); Press and Wolf 2017 (one
 * table); as Popescu et al. train it on WikiText. */
#include <stdio.h>

#include "model/families.h"
#include "model/layers.h"
#include "model/recurrent.h"
#include "op/embedding.h"

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

/* Dropout stands behind the table and behind each layer. */
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
