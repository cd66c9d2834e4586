/* transformer-lm-s: a language model of pre-norm blocks, after fairseq's for WikiText-103. Each
 * token sees itself and those before it. Scores of the next one are products with the rows of the
 * table that tokens are looked up in. */
#include <math.h>
#include <stdio.h>

#include "model/families.h"
#include "model/transformer.h"
#include "op/embedding.h"

enum { BLOCKS = 4, WIDTH = 128, HEADS = 4, HIDDEN = 512 };

/* Rows of the table, normal with variance 1 / width, times the root of the width; then positions.
 */
static hu_value_id embed(hu_builder *b, hu_value_id tokens, int64_t width) {
    float root = (float)sqrt((double)width);
    const hu_embedding_attrs table = {.words = hu_build_words(b),
                                      .width = width,
                                      .factor = root,
                                      .weight_init = {HU_INIT_NORMAL, 1.0f / root}};
    hu_value_id rows = hu_build_node(b, &hu_op_embedding, "emb", NULL, &table, 1, &tokens);
    return hu_build_node(b, &hu_op_sinusoid, "positions", NULL, NULL, 1, &rows);
}

/* Linear layers begin as torch's do. */
hu_status hu_model_transformer_lm_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t width = hu_build_size(&b, HU_SIZE_HIDDEN, hu_build_width(WIDTH, options->width));
    int64_t blocks = hu_build_size(&b, HU_SIZE_LAYERS, BLOCKS);
    int64_t hidden = hu_build_width(HIDDEN, options->width);
    const hu_block_form form = {.heads = hu_build_size(&b, HU_SIZE_HEADS, HEADS),
                                .hidden = hu_build_size(&b, HU_SIZE_FF, hidden),
                                .epsilon = 1e-5f,
                                .is_causal = true,
                                .has_relu = true,
                                .is_usual = true};
    hu_value_id value = hu_build_input(&b);
    value = embed(&b, value, width);
    for (int64_t i = 0; i < blocks; i++) {
        char name[HU_NAME_BYTES];
        snprintf(name, sizeof name, "blocks.%d", (int)i);
        value = hu_build_block(&b, name, value, &form);
    }
    hu_build_loss(&b, hu_build_scores_tied(&b, "scores", value, "emb"));
    return b.status;
}
