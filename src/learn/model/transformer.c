#include "model/internal.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "op/attributes.h"
#include "task/task.h"

/* ---- Blocks of attention ---- */

/* Blocks as Vaswani et al. 2017 ("Attention is all you need") have them, with norms after the sums
 * as there, or in front of the layers as in fairseq and Dosovitskiy et al. 2021.
 */

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

/* ---- DeiT ---- */

/* DeiT (Touvron et al. 2021, "Training data-efficient image transformers"): patches of a picture
 * are the rows, in front of them a class token, which the head reads. All weights, the class token
 * and the positions begin normal with deviation 0.02 (there cut off at 2, a hundred deviations
 * away), biases at 0.
 */

typedef struct deit {
    int64_t patch, width, blocks, heads;
} deit;

static const hu_init start = {HU_INIT_NORMAL, 0.02f};
static const float epsilon = 1e-6f;

/* A convolution whose windows do not overlap, then [H, W, C] -> [H W, C] */
static hu_value_id patches(hu_builder *b, hu_value_id image, int64_t side, int64_t width) {
    hu_conv_attrs attrs = {.out_channels = width,
                           .kernel_h = side,
                           .kernel_w = side,
                           .stride_h = side,
                           .stride_w = side,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .groups = 1,
                           .has_bias = true,
                           .weight_init = start};
    hu_value_id map = hu_build_node(b, &hu_op_conv2d, "patch", NULL, &attrs, 1, &image);
    hu_shape shape = hu_build_shape(b, map);
    hu_shape rows = {2, {shape.extent[0] * shape.extent[1], width}};
    return hu_build_reshape(b, "rows", map, &rows);
}

/* A class token "cls" in front of the rows, then positions "pos", both with torch's shapes. */
static hu_value_id placed(hu_builder *b, hu_value_id rows) {
    hu_class_token_attrs token = {.init = start, .for_batches = true};
    hu_position_attrs position = {.init = start, .for_batches = true};
    rows = hu_build_node(b, &hu_op_class_token, "token", "cls", &token, 1, &rows);
    return hu_build_node(b, &hu_op_position, "position", "pos", &position, 1, &rows);
}

static hu_status build(const hu_model_options *options, hu_graph *graph, const deit *d) {
    hu_builder b = hu_build_begin(options, graph);
    char name[32];
    int64_t own = d->heads * hu_build_scaled(d->width / d->heads, options->width);
    int64_t width = hu_build_size(&b, HU_SIZE_HIDDEN, own);
    int64_t blocks = hu_build_size(&b, HU_SIZE_LAYERS, d->blocks);
    hu_block_form form = {.heads = hu_build_size(&b, HU_SIZE_HEADS, d->heads),
                          .hidden = hu_build_size(&b, HU_SIZE_FF, 4 * width),
                          .epsilon = epsilon,
                          .weight = start};
    hu_value_id rows = placed(&b, patches(&b, hu_build_input(&b), d->patch, width));
    for (int64_t i = 0; i < blocks; i++) {
        snprintf(name, sizeof name, "blocks.%d", (int)i);
        if (blocks > 1) form.drop_path = options->drop_path * (double)i / (double)(blocks - 1);
        rows = hu_build_block(&b, name, rows, &form);
    }
    rows = hu_build_layer_norm(&b, "ln", rows, epsilon);
    hu_value_id value = hu_build_pick(&b, "pick", rows);
    value = hu_build_linear(&b, "head", value, hu_build_outputs(&b), start, (hu_init){0});
    hu_build_loss(&b, value);
    return b.status;
}

hu_status hu_model_deit_tiny(const hu_model_options *options, hu_graph *graph) {
    const deit tiny = {.patch = 16, .width = 192, .blocks = 12, .heads = 3};
    return build(options, graph, &tiny);
}

hu_status hu_model_deit_s(const hu_model_options *options, hu_graph *graph) {
    const deit small = {.patch = 4, .width = 64, .blocks = 4, .heads = 2};
    return build(options, graph, &small);
}

/* ---- BERT ---- */

/* BERT (Devlin et al. 2019, "BERT: pre-training of deep bidirectional transformers for language
 * understanding"): blocks of attention with norms after their sums over the tokens of two
 * segments, with two heads. The first tells hidden words, by products with the rows of the table
 * that tokens are looked up in, and a bias; it is asked about the places of hidden words alone. The
 * second tells from the first token whether the segments belong together. Tables and matrices begin
 * normal with deviation 0.02, biases at 0.
 */

typedef struct bert {
    int64_t width, blocks, heads;
    int64_t places; /* rows of the table of positions: the longest sample */
    double dropout;
} bert;

enum { SEGMENTS = 2, LONGEST = 512 };
static const hu_init bert_start = {HU_INIT_NORMAL, 0.02f}, bert_zero = {HU_INIT_CONSTANT, 0.0f};
static const float bert_epsilon = 1e-12f;

static hu_value_id look_up(hu_builder *b, const char *name, hu_value_id ids, int64_t words,
                           int64_t width) {
    const hu_embedding_attrs table = {
        .words = words, .width = width, .factor = 1.0f, .weight_init = bert_start};
    return hu_build_node(b, &hu_op_embedding, name, NULL, &table, 1, &ids);
}

/* Tokens [T] and their segments [T] -> ln(word + position + segment) [T, width] */
static hu_value_id embed(hu_builder *b, const bert *m, int64_t width) {
    const hu_position_attrs places = {.init = bert_start, .rows = m->places};
    hu_value_id rows = look_up(b, "word", b->value[HU_PRETRAIN_TOKENS], hu_build_words(b), width);
    rows = hu_build_node(b, &hu_op_position, "position", "position.weight", &places, 1, &rows);
    hu_value_id segment = look_up(b, "segment", b->value[HU_PRETRAIN_SEGMENTS], SEGMENTS, width);
    rows = hu_build_layer_norm(b, "ln", hu_build_add(b, "sum", rows, segment), bert_epsilon);
    return hu_layer_dropout(b, "drop", rows, m->dropout);
}

/* Scores of all words for each hidden place: [hidden, words]. */
static hu_value_id words_of(hu_builder *b, hu_value_id rows, int64_t width) {
    static const hu_length_attrs listed = {.stride = 1, .leading = true};
    const hu_bias_attrs bias = {.bias_init = bert_zero};
    hu_value_id in[] = {rows, b->value[HU_PRETRAIN_PLACES]};
    hu_value_id count = hu_build_node(b, &hu_op_length, "hidden.count", NULL, &listed, 1, &in[1]);
    hu_value_id value = hu_build_node(b, &hu_op_pick_rows, "hidden", NULL, NULL, 2, in);
    hu_build_row_lengths(b, value, count);
    value = hu_build_linear_rows(b, "mlm", value, width, bert_start, bert_zero);
    value = hu_build_gelu(b, "mlm.act", value);
    value = hu_build_layer_norm(b, "mlm_ln", value, bert_epsilon);
    value = hu_build_scores_tied(b, "out.product", value, "word");
    return hu_build_node(b, &hu_op_bias, "out", NULL, &bias, 1, &value);
}

/* Whether the segments belong together: [2]. */
static hu_value_id relation_of(hu_builder *b, const bert *m, hu_value_id rows, int64_t width) {
    hu_value_id value = hu_build_pick(b, "first", rows);
    value = hu_build_linear(b, "pooler", value, width, bert_start, bert_zero);
    value = hu_build_node(b, &hu_op_tanh, "pooler.act", NULL, NULL, 1, &value);
    value = hu_layer_dropout(b, "pooler.drop", value, m->dropout);
    return hu_build_linear(b, "nsp", value, SEGMENTS, bert_start, bert_zero);
}

static hu_status build_bert(const hu_model_options *options, hu_graph *graph, const bert *m) {
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
                                .epsilon = bert_epsilon,
                                .norms_sums = true,
                                .lengths = &b.value[HU_PRETRAIN_LENGTH],
                                .dropout = m->dropout,
                                .attention_dropout = m->dropout,
                                .weight = bert_start};
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
    return build_bert(options, graph, &base);
}

hu_status hu_model_bert_tiny(const hu_model_options *options, hu_graph *graph) {
    const bert tiny = {.width = 128, .blocks = 2, .heads = 2, .places = LONGEST, .dropout = 0.1};
    return build_bert(options, graph, &tiny);
}

hu_status hu_model_bert_tiny_s(const hu_model_options *options, hu_graph *graph) {
    const bert small = {.width = 128, .blocks = 2, .heads = 2, .places = 64};
    return build_bert(options, graph, &small);
}
