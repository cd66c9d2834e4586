#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "model/internal.h"
#include "op/attributes.h"

/* ---- bands ---- */

/* Words in bands by how frequent they are: frequent ones have wide rows in a table
 * of their own, rare ones narrow rows, and a product for each band brings them to one width. The
 * scores read the same tables and products the other way round. As builder.h: the first error
 * sticks.
 *
 * Sources: Baevski and Auli 2019, "Adaptive input representations for neural language modeling";
 * Grave et al. 2017, "Efficient softmax approximation for GPUs". */

/* Words first[b] .. first[b + 1] - 1 are band b, whose rows have width[b] numbers. */
typedef struct hu_word_bands {
    int count;
    int64_t first[HU_BANDS_MOST + 2], width[HU_BANDS_MOST + 1];
} hu_word_bands;

enum { NAME_BYTES = 48, FOURTH = 4 };

/* ---- which words ---- */

static void check(hu_builder *b, int64_t words) {
    const hu_model_sizes *s = &b->sizes;
    for (int i = 0; b->status == HU_OK && i < s->bands; i++)
        if (s->band[i] <= (i > 0 ? s->band[i - 1] : 0) || s->band[i] >= words)
            b->status = hu_fail(HU_ERR_ARGUMENT,
                                "model.bands: found %lld as number %d, expected ascending first "
                                "words of bands, above 0 and below the %lld words",
                                (long long)s->band[i], i + 1, (long long)words);
}

/* The bands that the user chose (model.bands), or those of own [n] that begin within the words of
 * the data: each has a fourth of the numbers of the one before it, at least one. HU_ERR_ARGUMENT
 * (in b) unless the user's ascend and lie within the words. */
static hu_word_bands hu_build_word_bands(hu_builder *b, const int64_t *own, int n, int64_t width) {
    int64_t words = hu_build_words(b);
    bool is_chosen = b->sizes.bands > 0;
    const int64_t *first = is_chosen ? b->sizes.band : own;
    hu_word_bands made = {.count = 1, .width = {width}};
    if (b->read_sizes) *b->read_sizes |= 1u << HU_SIZES;
    if (is_chosen) n = b->sizes.bands;
    check(b, words);
    for (int i = 0; i < n && first[i] < words; i++) {
        int64_t before = made.width[made.count - 1];
        made.first[made.count] = first[i];
        made.width[made.count++] = before < FOURTH ? 1 : before / FOURTH;
    }
    made.first[made.count] = words;
    return made;
}

/* ---- nodes ---- */

static char *numbered(char name[NAME_BYTES], const char *front, int band, const char *behind) {
    snprintf(name, NAME_BYTES, "%s.%d%s", front, band, behind);
    return name;
}

/* A product with the weight that the node called `of` has. */
static hu_value_id tied(hu_builder *b, const hu_op *op, const char *name, const char *of,
                        const void *attrs, int n_in, const hu_value_id *in) {
    char weight[2 * NAME_BYTES];
    hu_value_id out[HU_MAX_OUTPUTS] = {HU_NONE};
    if (b->status != HU_OK) return HU_NONE;
    snprintf(weight, sizeof weight, "%s.weight", of);
    const hu_value_id param = hu_graph_find(b->graph, weight);
    b->status = hu_graph_share(b->graph, op, name, attrs, n_in, in, &param, out);
    return out[0];
}

static hu_band_linear_attrs band_of(const hu_word_bands *bands, int band, int64_t features) {
    return (hu_band_linear_attrs){.linear = {.out_features = features, .rows = true},
                                  .first = bands->first[band],
                                  .last = bands->first[band + 1]};
}

/* Rows of one band, +0 for the words of the others. */
static hu_value_id band_rows(hu_builder *b, const hu_word_bands *bands, int band,
                             hu_value_id tokens, int64_t width) {
    char name[NAME_BYTES];
    int64_t own = bands->width[band];
    const hu_embedding_attrs table = {.words = bands->first[band + 1] - bands->first[band],
                                      .width = own,
                                      .factor = 1.0f,
                                      .is_band = true,
                                      .first = bands->first[band],
                                      .weight_init = {HU_INIT_NORMAL, 1.0f / sqrtf((float)own)}};
    hu_band_linear_attrs product = band_of(bands, band, width);
    float glorot = sqrtf(6.0f / (float)(own + width));
    product.linear.weight_init = (hu_init){HU_INIT_UNIFORM, glorot};
    hu_value_id rows = hu_build_node(b, &hu_op_embedding, numbered(name, "emb", band, ""), NULL,
                                     &table, 1, &tokens);
    const hu_value_id in[] = {rows, tokens};
    return hu_build_node(b, &hu_op_band_linear, numbered(name, "emb", band, ".proj"), NULL,
                         &product, 2, in);
}

/* tokens [T] -> rows [T, width], times the root of the width: nodes emb.B and emb.B.proj, whose
 * weights are the tables and products of the bands, emb.add and emb.scale. Tables begin normal with
 * variance 1 / width of a row, products uniform as Glorot and Bengio 2010 (their section 4.2.1). */
static hu_value_id hu_build_band_rows(hu_builder *b, const hu_word_bands *bands, hu_value_id tokens,
                                      int64_t width) {
    hu_value_id part[HU_BANDS_MOST + 1];
    hu_value_id sum = part[0] = band_rows(b, bands, 0, tokens, width);
    for (int i = 1; i < bands->count; i++) part[i] = band_rows(b, bands, i, tokens, width);
    if (bands->count > 1)
        sum = hu_build_node(b, &hu_op_add, "emb.add", NULL, NULL, bands->count, part);
    return hu_build_scale(b, "emb.scale", sum, sqrtf((float)width));
}

/* One score of a word of the band for each row whose target is one. */
static hu_value_id tail(hu_builder *b, const hu_word_bands *bands, int band, hu_value_id rows,
                        hu_value_id targets) {
    char name[NAME_BYTES], of[NAME_BYTES];
    hu_band_linear_attrs narrow = band_of(bands, band, bands->width[band]);
    hu_band_linear_attrs scores = band_of(bands, band, bands->first[band + 1] - bands->first[band]);
    narrow.linear.transposed = true;
    narrow.all_in_evaluation = scores.all_in_evaluation = true;
    hu_value_id in[] = {rows, targets};
    in[0] = tied(b, &hu_op_band_linear, numbered(name, "tail", band, ".proj"),
                 numbered(of, "emb", band, ".proj"), &narrow, 2, in);
    return tied(b, &hu_op_band_linear, numbered(name, "tail", band, ""),
                numbered(of, "emb", band, ""), &scores, 2, in);
}

/* The words of the first band, and a score for each other band. */
static hu_value_id head_of(hu_builder *b, const hu_word_bands *bands, hu_value_id rows) {
    const hu_linear_attrs narrow = {
        .out_features = bands->width[0], .rows = true, .transposed = true};
    const hu_linear_attrs scores = {.out_features = bands->first[1], .rows = true};
    const hu_linear_attrs others = {.out_features = bands->count - 1,
                                    .rows = true,
                                    .weight_init = hu_init_usual(hu_build_channels(b, rows))};
    hu_value_id value = tied(b, &hu_op_linear, "head.proj", "emb.0.proj", &narrow, 1, &rows);
    value = tied(b, &hu_op_linear, "head.words", "emb.0", &scores, 1, &value);
    if (bands->count == 1) return value;
    const hu_value_id in[] = {
        value, hu_build_node(b, &hu_op_linear, "head.bands", NULL, &others, 1, &rows)};
    return hu_build_concat(b, "head", 2, in);
}

/* Scores of every row and their loss: head.proj and head.words, the first band's, head.bands, one
 * score for each other band (the only weight that is not of the tables), head; tail.B.proj and
 * tail.B, for the rows alone whose target is in the band; law, what they say of all words. */
static void hu_build_band_loss(hu_builder *b, const hu_word_bands *bands, hu_value_id rows) {
    hu_value_id all[HU_BANDS_MOST + 1];
    int tails = bands->count - 1;
    all[0] = head_of(b, bands, rows);
    if (tails == 0) {
        hu_build_loss(b, all[0]);
        return;
    }
    hu_value_id targets = b->value[hu_task_target(b->choice.task)];
    for (int i = 1; i <= tails; i++) all[i] = tail(b, bands, i, rows, targets);
    hu_task_bands made = {.head = all[0], .count = tails, .band = all + 1};
    made.law = hu_build_node(b, &hu_op_band_law, "law", NULL, NULL, 1 + tails, all);
    if (b->status == HU_OK) b->status = hu_task_close_bands(&b->choice, b->graph, b->value, &made);
}

/* ---- transformer lm ---- */

/* Language models of pre-norm blocks, after fairseq's for WikiText-103 (Baevski and Auli 2019), and
 * a small one. Each token sees itself and those before it. Scores of the next one are products with
 * the rows of the tables that tokens are looked up in: of one table, or of one for each band of
 * words. */

/* A network as published; bands are the first words of those after the first. */
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
