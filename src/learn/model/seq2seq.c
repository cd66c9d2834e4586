/* Translation models of LSTMs (Sutskever et al. 2014) whose decoder looks back at the sentence.
 *
 * seq2seq-s does so by dot products (Luong et al. 2015, "dot", without input feeding): what it has
 * written does not hang on where it has looked, and attention over all steps is one product.
 * seq2seq has additive attention (Bahdanau et al. 2015) as TensorFlow's tutorial has it: what it
 * finds is part of the next step's input, so that attention stands in the loop of the decoder. */
#include <stdio.h>

#include "base/error.h"
#include "graph/graph.h"
#include "model/internal.h"
#include "op/attributes.h"
#include "task/task.h"

enum { WIDTH = 128, LAYERS = 2, LARGE_WIDTH = 1024, LARGE_LAYERS = 3, MOST_LAYERS = 64 };
enum { NAME_BYTES = 32 };

/* Fields of the task, and sizes. */
typedef struct translation {
    hu_value_id source, tokens, words, written; /* words, written: lengths */
    int64_t width, layers;
    bool has_one_bias;
    hu_recurrent_state state[MOST_LAYERS]; /* what the encoder ends as */
} translation;

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

/* Layer number l; suffix: room for its own. */
static hu_recurrent_form layer(const translation *t, const char *name, hu_value_id lengths,
                               int64_t l, char suffix[NAME_BYTES]) {
    snprintf(suffix, NAME_BYTES, "_l%lld", (long long)l);
    return (hu_recurrent_form){.layer = name,
                               .suffix = suffix,
                               .hidden = t->width,
                               .lengths = lengths,
                               .has_one_bias = t->has_one_bias};
}

/* Reads rows; what the layers end as stands in the states. */
static hu_value_id encode(hu_builder *b, translation *t, hu_value_id rows) {
    char suffix[NAME_BYTES], text[2 * NAME_BYTES];
    for (int64_t l = 0; l < t->layers; l++) {
        const hu_recurrent_form form = layer(t, "enc", t->words, l, suffix);
        const hu_recurrent_state zeros = {HU_NONE, HU_NONE};
        hu_value_id cells = HU_NONE;
        rows = hu_build_lstm(b, &form, rows, zeros, &cells);
        snprintf(text, sizeof text, "enc.hidden%s", suffix);
        t->state[l].hidden = last_of(b, text, rows, t->words);
        snprintf(text, sizeof text, "enc.cell%s", suffix);
        t->state[l].cell = last_of(b, text, cells, t->words);
    }
    return rows;
}

/* Layers that begin where the encoder has ended. */
static hu_value_id decode(hu_builder *b, const translation *t, hu_value_id rows) {
    char suffix[NAME_BYTES];
    for (int64_t l = 0; l < t->layers; l++) {
        const hu_recurrent_form form = layer(t, "dec", t->written, l, suffix);
        rows = hu_build_lstm(b, &form, rows, t->state[l], NULL);
    }
    return rows;
}

/* What each row finds in the sentence: its words weighted by what they have in common with it. */
static hu_value_id attend(hu_builder *b, const translation *t, hu_value_id rows,
                          hu_value_id words) {
    static const hu_scores_attrs scores = {.heads = 1, .factor = 1.0f};
    static const hu_attention_mask_attrs sight;
    hu_value_id pair[] = {rows, words, t->words, t->written};
    hu_value_id seen[] = {
        hu_build_node(b, &hu_op_attention_scores, "attn.scores", NULL, &scores, 4, pair), t->words,
        t->written};
    hu_value_id weights[] = {
        hu_build_node(b, &hu_op_attention_weights, "attn.weights", NULL, &sight, 3, seen), words,
        t->words, t->written};
    return hu_build_node(b, &hu_op_attention_context, "attn.context", NULL, &sight, 4, weights);
}

/* comb [first; second] of every row. */
static hu_value_id combine(hu_builder *b, hu_value_id first, hu_value_id second, int64_t width) {
    hu_value_id both[] = {first, second};
    hu_init usual = hu_init_usual(2 * width);
    return hu_build_linear_rows(b, "comb", hu_build_concat(b, "joined", 2, both), width, usual,
                                usual);
}

/* Scores of all words; in training of each row's own word and of some that are drawn, if so many
 * are asked for. */
static void close(hu_builder *b, hu_value_id rows) {
    hu_init usual = hu_init_usual(hu_build_channels(b, rows));
    int64_t drawn = hu_build_size(b, HU_SIZE_NEGATIVES, 0);
    if (drawn > 0) {
        hu_build_sampled_loss(b, "out", rows, drawn, usual);
        return;
    }
    hu_build_loss(b, hu_build_linear_rows(b, "out", rows, hu_build_outputs(b), usual, usual));
}

static hu_status begin(hu_builder *b, translation *t, int64_t width, int64_t layers, double scale) {
    *t = (translation){.source = hu_build_input(b),
                       .width = hu_build_size(b, HU_SIZE_HIDDEN, hu_build_scaled(width, scale)),
                       .layers = hu_build_size(b, HU_SIZE_LAYERS, layers)};
    t->tokens = hu_graph_find(b->graph, "tokens");
    t->words = hu_graph_find(b->graph, HU_SOURCE_LENGTHS_FIELD);
    t->written = hu_graph_find(b->graph, HU_TARGET_LENGTHS_FIELD);
    if (b->status == HU_OK && (t->words == HU_NONE || t->written == HU_NONE))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found no sentences with translations, expected the task translate");
    if (t->layers > MOST_LAYERS)
        return hu_fail(HU_ERR_LIMIT, "model.layers: found %lld, expected at most %d",
                       (long long)t->layers, MOST_LAYERS);
    return b->status;
}

hu_status hu_model_seq2seq_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    translation t;
    hu_status st = begin(&b, &t, WIDTH, LAYERS, options->width);
    if (st != HU_OK) return st;
    hu_value_id source = encode(&b, &t, embed(&b, "src", t.source, t.width));
    hu_value_id value = decode(&b, &t, embed(&b, "tgt", t.tokens, t.width));
    value = combine(&b, attend(&b, &t, value, source), value, t.width);
    close(&b, hu_build_node(&b, &hu_op_tanh, "tanh", NULL, NULL, 1, &value));
    return b.status;
}

/* ---- additive attention, whose contexts are inputs of the next step ---- */

static hu_value_id state(hu_builder *b, const char *name, hu_value_id start) {
    hu_value_id value = HU_NONE;
    if (b->status == HU_OK) b->status = hu_graph_state(b->graph, name, start, &value);
    return value;
}

/* In a step: v tanh(keys + query) over the words, softmax, and the words with these weights: [1,
 * width]. */
static hu_value_id look(hu_builder *b, const translation *t, hu_value_id keys, hu_value_id source,
                        hu_value_id row) {
    static const hu_attention_mask_attrs sight;
    const hu_shape scores = {3, {1, 1, b->status == HU_OK ? hu_build_shape(b, keys).extent[0] : 1}};
    const hu_linear_attrs v = {
        .out_features = 1, .rows = true, .weight_init = hu_init_usual(t->width)};
    hu_value_id pair[] = {
        keys, hu_build_product(b, "attn.query", row, t->width, hu_init_usual(t->width))};
    hu_value_id value = hu_build_node(b, &hu_op_add_row, "attn.sum", NULL, NULL, 2, pair);
    value = hu_build_node(b, &hu_op_tanh, "attn.tanh", NULL, NULL, 1, &value);
    value = hu_build_node(b, &hu_op_linear, "attn.v", NULL, &v, 1, &value);
    hu_value_id seen[] = {hu_build_reshape(b, "attn.scores", value, &scores), t->words};
    hu_value_id found[] = {
        hu_build_node(b, &hu_op_attention_weights, "attn.weights", NULL, &sight, 2, seen), source,
        t->words};
    return hu_build_node(b, &hu_op_attention_context, "attn.context", NULL, &sight, 3, found);
}

/* The same numbers, [.., 1, width] as [.., width]. */
static hu_value_id as_row(hu_builder *b, const char *name, hu_value_id context) {
    hu_shape shape = hu_build_shape(b, context);
    if (b->status != HU_OK) return HU_NONE;
    shape.rank--;
    shape.extent[shape.rank - 1] = shape.extent[shape.rank];
    return hu_build_reshape(b, name, context, &shape);
}

/* A step: the word before and what was found there, through the layers, to what is found now. */
static hu_value_id write_word(hu_builder *b, const translation *t, hu_value_id word,
                              hu_value_id keys, hu_value_id source, hu_value_id start,
                              hu_value_id *row) {
    hu_recurrent_state previous[MOST_LAYERS];
    char suffix[NAME_BYTES];
    hu_init usual = hu_init_usual(2 * t->width);
    const hu_shape flat = {1, {t->width}};
    for (int64_t l = 0; l < t->layers; l++) {
        const hu_recurrent_form form = layer(t, "dec", t->written, l, suffix);
        previous[l] = hu_build_lstm_states(b, &form, t->state[l]);
    }
    hu_value_id before = state(b, "attn.context.previous", start);
    hu_value_id pair[] = {word, hu_build_reshape(b, "attn.previous", before, &flat)};
    *row = hu_build_concat(b, "fed", 2, pair);
    *row = hu_build_linear(b, "in", *row, t->width, usual, usual);
    for (int64_t l = 0; l < t->layers; l++) {
        const hu_recurrent_form form = layer(t, "dec", t->written, l, suffix);
        *row = hu_build_lstm_step(b, &form, *row, previous[l]);
    }
    hu_value_id context = look(b, t, keys, source, *row);
    if (b->status == HU_OK) b->status = hu_graph_next(b->graph, before, context);
    return context;
}

/* Contexts [T, width] of all steps; *rows: the hidden states above. */
static hu_value_id decode_fed(hu_builder *b, const translation *t, hu_value_id words,
                              hu_value_id source, hu_value_id *rows) {
    const hu_zeros_attrs zeros = {.numbers = t->width};
    const hu_shape one = {2, {1, t->width}};
    hu_init usual = hu_init_usual(t->width);
    hu_value_id keys = hu_build_linear_rows(b, "attn.keys", source, t->width, usual, usual);
    hu_value_id start = hu_build_node(b, &hu_op_zeros, "attn.zeros", NULL, &zeros, 0, NULL);
    start = hu_build_reshape(b, "attn.start", start, &one);
    if (b->status == HU_OK)
        b->status = hu_graph_loop(b->graph, hu_build_shape(b, words).extent[0], t->written);
    hu_value_id context = write_word(b, t, words, keys, source, start, rows);
    if (b->status == HU_OK) b->status = hu_graph_end_loop(b->graph);
    return as_row(b, "attn.contexts", context);
}

/* The sentence is read from its end; one bias in each cell, as TensorFlow has it. */
hu_status hu_model_seq2seq(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    translation t;
    hu_status st = begin(&b, &t, LARGE_WIDTH, LARGE_LAYERS, options->width);
    if (st != HU_OK) return st;
    t.has_one_bias = true;
    hu_value_id in[] = {embed(&b, "src", t.source, t.width), t.words}, rows = HU_NONE;
    hu_value_id source =
        encode(&b, &t, hu_build_node(&b, &hu_op_reverse, "turned", NULL, NULL, 2, in));
    hu_value_id words = embed(&b, "tgt", t.tokens, t.width);
    hu_value_id context = decode_fed(&b, &t, words, source, &rows);
    close(&b, combine(&b, rows, context, t.width));
    return b.status;
}
