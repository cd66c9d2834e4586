/* biglstm: a language model of two layers of LSTM cells whose hidden states are projected, with a
 * table of its own for the scores. States go on from batch to batch, and trainings compare each
 * word with a few that are drawn. Source: Jozefowicz, Vinyals, Schuster, Shazeer and Wu 2016
 * ("LSTM-8192-1024"), as Micikevicius et al. train it on One Billion Words, section 4.4. */
#include <stdio.h>

#include "model/families.h"
#include "model/recurrent.h"
#include "model/sampled.h"
#include "op/embedding.h"

enum { LAYERS = 2, NAME_BYTES = 32 };

typedef struct form {
    int64_t cells, projection, negatives;
    bool has_one_bias;
} form;

/* [tokens] -> [tokens, width] */
static hu_value_id look_up(hu_builder *b, hu_value_id tokens, int64_t width, hu_init init) {
    const hu_embedding_attrs table = {
        .words = hu_build_words(b), .width = width, .factor = 1.0f, .weight_init = init};
    return hu_build_node(b, &hu_op_embedding, "emb", NULL, &table, 1, &tokens);
}

static hu_status build(const hu_model_options *options, const form *as, hu_graph *graph) {
    static const hu_init init = {HU_INIT_UNIFORM, 0.1f};
    static const hu_recurrent_state carried = {HU_NONE, HU_NONE};
    hu_builder b = hu_build_begin(options, graph);
    int64_t layers = hu_build_size(&b, HU_SIZE_LAYERS, LAYERS);
    int64_t cells = hu_build_size(&b, HU_SIZE_HIDDEN, hu_build_scaled(as->cells, options->width));
    int64_t width =
        hu_build_size(&b, HU_SIZE_PROJECTION, hu_build_scaled(as->projection, options->width));
    hu_value_id value = look_up(&b, hu_build_input(&b), width, init);
    for (int layer = 0; layer < layers; layer++) {
        char suffix[NAME_BYTES];
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
    return build(options, &full, graph);
}

hu_status hu_model_biglstm_s(const hu_model_options *options, hu_graph *graph) {
    static const form small = {256, 128, 512, false};
    return build(options, &small, graph);
}
