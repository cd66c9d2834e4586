/* seq2seq-s: a translation model of LSTMs (Sutskever et al. 2014) whose decoder looks back at the
 * sentence by dot products (Luong et al. 2015, "dot", without input feeding). What it has written
 * does not hang on where it has looked, so that attention over all steps is one product. */
#include <stdio.h>

#include "base/error.h"
#include "model/builder.h"
#include "model/families.h"
#include "model/recurrent.h"
#include "op/attention.h"
#include "op/embedding.h"
#include "op/tokens.h"
#include "task/lengths.h"

enum { WIDTH = 128, LAYERS = 2, NAME_BYTES = 32 };

/* Words of a language as rows; torch begins them standard normal. */
static hu_value_id embed(hu_builder *b, const char *name, hu_value_id ids, int64_t width) {
    const hu_embedding_attrs table = {.words = b->status == HU_OK ? b->graph->value[ids].ids : 1,
                                      .width = width,
                                      .factor = 1.0f,
                                      .weight_init = {HU_INIT_NORMAL, 1.0f}};
    return hu_build_node(b, &hu_op_embedding, name, NULL, &table, 1, &ids);
}

/* The row of the last word; zeros of a sentence without words. */
static hu_value_id last_of(hu_builder *b, const char *name, hu_value_id rows, hu_value_id lengths) {
    static const hu_pick_attrs last = {.last = true};
    hu_value_id in[] = {rows, lengths};
    return hu_build_node(b, &hu_op_pick, name, NULL, &last, 2, in);
}

/* Layers NAME of LSTM over rows, from these states on; HU_NONE: from zeros. What they end as goes
 * back into the states, for those who begin there; NULL: they begin as zeros, and nobody asks. */
static hu_value_id layers(hu_builder *b, const char *name, hu_value_id rows, hu_value_id lengths,
                          hu_recurrent_state state[LAYERS], bool is_encoder) {
    char suffix[NAME_BYTES], text[NAME_BYTES];
    hu_recurrent_form form = {
        .layer = name, .suffix = suffix, .hidden = hu_build_channels(b, rows), .lengths = lengths};
    for (int l = 0; l < LAYERS; l++) {
        hu_value_id cells;
        snprintf(suffix, sizeof suffix, "_l%d", l);
        rows = hu_build_lstm(b, &form, rows, state[l], &cells);
        if (!is_encoder) continue;
        snprintf(text, sizeof text, "%s.hidden_l%d", name, l);
        state[l].hidden = last_of(b, text, rows, lengths);
        snprintf(text, sizeof text, "%s.cell_l%d", name, l);
        state[l].cell = last_of(b, text, cells, lengths);
    }
    return rows;
}

/* What each row finds in the sentence: its words weighted by what they have in common with it. */
static hu_value_id attend(hu_builder *b, hu_value_id rows, hu_value_id words, hu_value_id lengths) {
    static const hu_scores_attrs scores = {.heads = 1, .factor = 1.0f};
    static const hu_sight_attrs sight;
    hu_value_id pair[] = {rows, words, lengths};
    hu_value_id seen[] = {
        hu_build_node(b, &hu_op_attention_scores, "attn.scores", NULL, &scores, 3, pair), lengths};
    hu_value_id weights[] = {
        hu_build_node(b, &hu_op_attention_weights, "attn.weights", NULL, &sight, 2, seen), words,
        lengths};
    return hu_build_node(b, &hu_op_attention_context, "attn.context", NULL, &sight, 3, weights);
}

/* tanh(comb [context; row]), then scores of all words. */
static hu_value_id write(hu_builder *b, hu_value_id context, hu_value_id rows) {
    int64_t width = hu_build_channels(b, rows);
    hu_value_id both[] = {context, rows};
    hu_value_id value = hu_build_concat(b, "joined", 2, both);
    hu_init usual = hu_init_usual(2 * width);
    value = hu_build_linear_rows(b, "comb", value, width, usual, usual);
    value = hu_build_node(b, &hu_op_tanh, "tanh", NULL, NULL, 1, &value);
    usual = hu_init_usual(width);
    return hu_build_linear_rows(b, "out", value, hu_build_outputs(b), usual, usual);
}

hu_status hu_model_seq2seq_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    hu_recurrent_state state[LAYERS] = {{HU_NONE, HU_NONE}, {HU_NONE, HU_NONE}};
    int64_t width = hu_build_scaled(WIDTH, options->width);
    hu_value_id source = hu_build_input(&b), tokens = hu_graph_find(graph, "tokens");
    hu_value_id words = hu_graph_find(graph, HU_SOURCE_LENGTHS_FIELD);
    hu_value_id written = hu_graph_find(graph, HU_TARGET_LENGTHS_FIELD);
    if (b.status == HU_OK && (words == HU_NONE || written == HU_NONE))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found no sentences with translations, expected the task translate");
    source = embed(&b, "src", source, width);
    source = layers(&b, "enc", source, words, state, true);
    hu_value_id value = embed(&b, "tgt", tokens, width);
    value = layers(&b, "dec", value, written, state, false);
    hu_build_loss(&b, write(&b, attend(&b, value, source, words), value));
    return b.status;
}
