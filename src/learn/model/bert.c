/* BERT (Devlin et al. 2019, "BERT: pre-training of deep bidirectional transformers for language
 * understanding"): blocks of attention with norms behind their sums over the tokens of two
 * segments, with two heads. The first tells hidden words, by products with the rows of the table
 * that tokens are looked up in, and a bias; it is asked about the places of hidden words alone. The
 * second tells from the first token whether the segments belong together. Tables and matrices begin
 * normal with deviation 0.02, biases at 0. */
#include <stdio.h>

#include "base/error.h"
#include "model/families.h"
#include "model/imagenet_layers.h"
#include "model/transformer.h"
#include "op/attributes.h"
#include "task/task.h"

typedef struct bert {
    int64_t width, blocks, heads;
    int64_t places; /* rows of the table of positions: the longest sample */
    double dropout;
} bert;

enum { SEGMENTS = 2, LONGEST = 512 };
static const hu_init start = {HU_INIT_NORMAL, 0.02f}, zero = {HU_INIT_CONSTANT, 0.0f};
static const float epsilon = 1e-12f;

static hu_value_id look_up(hu_builder *b, const char *name, hu_value_id ids, int64_t words,
                           int64_t width) {
    const hu_embedding_attrs table = {
        .words = words, .width = width, .factor = 1.0f, .weight_init = start};
    return hu_build_node(b, &hu_op_embedding, name, NULL, &table, 1, &ids);
}

/* Tokens [T] and their segments [T] -> ln(word + position + segment) [T, width] */
static hu_value_id embed(hu_builder *b, const bert *m, int64_t width) {
    const hu_position_attrs places = {.init = start, .rows = m->places};
    hu_value_id rows = look_up(b, "word", b->value[HU_PRETRAIN_TOKENS], hu_build_words(b), width);
    rows = hu_build_node(b, &hu_op_position, "position", "position.weight", &places, 1, &rows);
    hu_value_id segment = look_up(b, "segment", b->value[HU_PRETRAIN_SEGMENTS], SEGMENTS, width);
    rows = hu_build_layer_norm(b, "ln", hu_build_add(b, "sum", rows, segment), epsilon);
    return hu_layer_dropout(b, "drop", rows, m->dropout);
}

/* Scores of all words for each hidden place: [hidden, words]. */
static hu_value_id words_of(hu_builder *b, hu_value_id rows, int64_t width) {
    static const hu_length_attrs listed = {.stride = 1, .leading = true};
    const hu_bias_attrs bias = {.bias_init = zero};
    hu_value_id in[] = {rows, b->value[HU_PRETRAIN_PLACES]};
    hu_value_id count = hu_build_node(b, &hu_op_length, "hidden.count", NULL, &listed, 1, &in[1]);
    hu_value_id value = hu_build_node(b, &hu_op_pick_rows, "hidden", NULL, NULL, 2, in);
    hu_build_row_lengths(b, value, count);
    value = hu_build_linear_rows(b, "mlm", value, width, start, zero);
    value = hu_build_gelu(b, "mlm.act", value);
    value = hu_build_layer_norm(b, "mlm_ln", value, epsilon);
    value = hu_build_scores_tied(b, "out.product", value, "word");
    return hu_build_node(b, &hu_op_bias, "out", NULL, &bias, 1, &value);
}

/* Whether the segments belong together: [2]. */
static hu_value_id relation_of(hu_builder *b, const bert *m, hu_value_id rows, int64_t width) {
    hu_value_id value = hu_build_pick(b, "first", rows);
    value = hu_build_linear(b, "pooler", value, width, start, zero);
    value = hu_build_node(b, &hu_op_tanh, "pooler.act", NULL, NULL, 1, &value);
    value = hu_layer_dropout(b, "pooler.drop", value, m->dropout);
    return hu_build_linear(b, "nsp", value, SEGMENTS, start, zero);
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const bert *m) {
    hu_builder b = hu_build_begin(options, graph);
    char name[HU_NAME_BYTES];
    int64_t own = m->heads * hu_build_scaled(m->width / m->heads, options->width);
    int64_t width = hu_build_size(&b, HU_SIZE_HIDDEN, own);
    int64_t blocks = hu_build_size(&b, HU_SIZE_LAYERS, m->blocks);
    if (b.choice.task != &hu_task_pretrain)
        return hu_fail(HU_ERR_ARGUMENT, "found the task %s, expected %s: the network has two heads",
                       b.choice.task->name, hu_task_pretrain.name);
    int64_t length = b.choice.shapes.value[HU_PRETRAIN_TOKENS].extent[0];
    if (length > m->places)
        return hu_fail(HU_ERR_SHAPE, "data.length: found %lld tokens, expected at most %lld%s",
                       (long long)length, (long long)m->places,
                       m->places < LONGEST ? "; bert-tiny and bert-base take 512" : "");
    hu_build_input(&b);
    const hu_block_form form = {.heads = hu_build_size(&b, HU_SIZE_HEADS, m->heads),
                                .hidden = hu_build_size(&b, HU_SIZE_FF, 4 * width),
                                .epsilon = epsilon,
                                .norms_sums = true,
                                .lengths = &b.value[HU_PRETRAIN_LENGTH],
                                .dropout = m->dropout,
                                .attention_dropout = m->dropout,
                                .weight = start};
    hu_value_id rows = embed(&b, m, width);
    for (int64_t i = 0; i < blocks; i++) {
        snprintf(name, sizeof name, "blocks.%d", (int)i);
        rows = hu_build_block(&b, name, rows, &form);
    }
    hu_build_loss(&b, words_of(&b, rows, width));
    hu_build_pair_loss(&b, relation_of(&b, m, rows, width));
    return b.status;
}

hu_status hu_model_bert_base(const hu_model_options *options, hu_graph *graph) {
    const bert base = {.width = 768, .blocks = 12, .heads = 12, .places = LONGEST, .dropout = 0.1};
    return build(options, graph, &base);
}

hu_status hu_model_bert_tiny(const hu_model_options *options, hu_graph *graph) {
    const bert tiny = {.width = 128, .blocks = 2, .heads = 2, .places = LONGEST, .dropout = 0.1};
    return build(options, graph, &tiny);
}

hu_status hu_model_bert_tiny_s(const hu_model_options *options, hu_graph *graph) {
    const bert small = {.width = 128, .blocks = 2, .heads = 2, .places = 64};
    return build(options, graph, &small);
}
