#include "model/bands.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "op/embedding.h"

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

hu_word_bands hu_build_word_bands(hu_builder *b, const int64_t *own, int n, int64_t width) {
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

hu_value_id hu_build_band_rows(hu_builder *b, const hu_word_bands *bands, hu_value_id tokens,
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

void hu_build_band_loss(hu_builder *b, const hu_word_bands *bands, hu_value_id rows) {
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
