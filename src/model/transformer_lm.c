/* Language models of pre-norm blocks, after fairseq's for WikiText-103 (Baevski and Auli 2019), and
 * a small one. Each token sees itself and those before it. Scores of the next one are products with
 * the rows of the tables that tokens are looked up in: of one table, or of one for each band of
 * words. */
#include <math.h>
#include <stdio.h>

#include "model/bands.h"
#include "model/families.h"
#include "model/layers.h"
#include "model/transformer.h"
#include "op/embedding.h"

/* A network as published; bands are the first words of those behind the first. */
typedef struct form {
    int64_t blocks, width, heads, hidden;
    const int64_t *band;
    int bands;
    double dropout, inner_dropout; /* of sums; of weights of attention and hidden features */
} form;

/* Rows of the table, normal with variance 1 / width, times the root of the width. */
static hu_value_id look_up(hu_builder *b, hu_value_id tokens, int64_t width) {
    float root = (float)sqrt((double)width);
    const hu_embedding_attrs table = {.words = hu_build_words(b),
                                      .width = width,
                                      .factor = root,
                                      .weight_init = {HU_INIT_NORMAL, 1.0f / root}};
    return hu_build_node(b, &hu_op_embedding, "emb", NULL, &table, 1, &tokens);
}

/* Linear layers of blocks begin as torch's do. */
static hu_block_form block_of(const hu_builder *b, const form *f, double width) {
    return (hu_block_form){
        .heads = hu_build_size(b, HU_SIZE_HEADS, f->heads),
        .hidden = hu_build_size(b, HU_SIZE_FF, hu_build_width((double)f->hidden, width)),
        .epsilon = 1e-5f,
        .is_causal = true,
        .has_relu = true,
        .is_usual = true,
        .dropout = f->dropout,
        .attention_dropout = f->inner_dropout,
        .hidden_dropout = f->inner_dropout};
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const form *f) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t own = f->heads * hu_build_scaled(f->width / f->heads, options->width);
    int64_t width = hu_build_size(&b, HU_SIZE_HIDDEN, own);
    int64_t blocks = hu_build_size(&b, HU_SIZE_LAYERS, f->blocks);
    const hu_block_form block = block_of(&b, f, options->width);
    const hu_word_bands bands = hu_build_word_bands(&b, f->band, f->bands, width);
    bool is_banded = f->bands > 0 || bands.count > 1;
    hu_value_id value = hu_build_input(&b);
    value = is_banded ? hu_build_band_rows(&b, &bands, value, width) : look_up(&b, value, width);
    value = hu_build_node(&b, &hu_op_sinusoid, "positions", NULL, NULL, 1, &value);
    value = hu_layer_dropout(&b, "drop", value, f->dropout);
    for (int64_t i = 0; i < blocks; i++) {
        char name[HU_NAME_BYTES];
        snprintf(name, sizeof name, "blocks.%d", (int)i);
        value = hu_build_block(&b, name, value, &block);
    }
    if (is_banded)
        hu_build_band_loss(&b, &bands, value);
    else
        hu_build_loss(&b, hu_build_scores_tied(&b, "scores", value, "emb"));
    return b.status;
}

hu_status hu_model_transformer_lm(const hu_model_options *options, hu_graph *graph) {
    static const int64_t frequent[] = {20000, 60000};
    static const form full = {16, 1024, 8, 4096, frequent, 2, 0.3, 0.1};
    return build(options, graph, &full);
}

hu_status hu_model_transformer_lm_s(const hu_model_options *options, hu_graph *graph) {
    static const form small = {.blocks = 4, .width = 128, .heads = 4, .hidden = 512};
    return build(options, graph, &small);
}
