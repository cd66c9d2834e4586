#include "data/mix.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/given.h"
#include "base/rng.h"

enum { BLOCKS = 4096, WORDS = 4 };

/* The logarithm of u^(1/a) of a word. */
static double log_root(uint32_t word, double a) {
    return hu_log(((double)word + 0.5) * 0x1p-32) / a;
}

static double beta(const hu_random_key *key, uint64_t first, double a) {
    uint32_t words[WORDS];
    for (uint64_t t = 1; t < BLOCKS; t++) {
        hu_random_block(key, first + t, words);
        double log_p = log_root(words[0], a), log_q = log_root(words[1], a);
        double p = hu_exp(log_p), q = hu_exp(log_q);
        if (p + q > 1.0) continue;
        if (p + q > 0.0) return p / (p + q);
        /* Both are too small for a double: their ratio is not. */
        return log_p > log_q ? 1.0 / (1.0 + hu_exp(log_q - log_p))
                             : hu_exp(log_p - log_q) / (1.0 + hu_exp(log_p - log_q));
    }
    return 0.5;
}

static int64_t within(int64_t x, int64_t most) {
    return x < 0 ? 0 : x > most ? most : x;
}

hu_mix hu_mix_draw(const hu_augment *augment, const hu_random_key *key, int64_t index,
                   int64_t height, int64_t width) {
    uint32_t words[WORDS];
    uint64_t first = (uint64_t)index * BLOCKS;
    hu_mix made = {0};
    hu_random_block(key, first, words);
    bool both = augment->mixup > 0.0 && augment->cutmix > 0.0;
    made.is_cut = both ? hu_word_share(words[0]) < augment->mix_switch : augment->cutmix > 0.0;
    double share = beta(key, first, made.is_cut ? augment->cutmix : augment->mixup);
    made.weight = (float)(1.0 - share);
    if (!made.is_cut) return made;
    double side = sqrt(1.0 - share);
    int64_t rows = (int64_t)floor((double)height * side);
    int64_t columns = (int64_t)floor((double)width * side);
    int64_t y = hu_word_below(words[1], height), x = hu_word_below(words[2], width);
    made.top = within(y - rows / 2, height);
    made.bottom = within(y - rows / 2 + rows, height);
    made.left = within(x - columns / 2, width);
    made.right = within(x - columns / 2 + columns, width);
    int64_t pixels = (made.bottom - made.top) * (made.right - made.left);
    made.weight = (float)((double)pixels / (double)(height * width));
    return made;
}

void hu_mix_apply(const hu_mix *mix, int64_t height, int64_t width, int64_t channels,
                  const float *other, float *sample) {
    float own = 1.0f - mix->weight;
    if (!mix->is_cut) {
        for (int64_t i = 0; i < height * width * channels; i++)
            sample[i] = own * sample[i] + mix->weight * other[i];
        return;
    }
    for (int64_t y = mix->top; y < mix->bottom; y++) {
        int64_t at = (y * width + mix->left) * channels;
        size_t bytes = (size_t)((mix->right - mix->left) * channels) * sizeof *sample;
        memcpy(sample + at, other + at, bytes);
    }
}

hu_status hu_dataset_mix(hu_dataset *dataset) {
    HU_GIVEN(dataset);
    const hu_field *label = &dataset->field[HU_FIELD_LABEL];
    if (dataset->field_count != 2 || hu_dataset_find(dataset, "image") != HU_FIELD_IMAGE ||
        hu_dataset_find(dataset, "label") != HU_FIELD_LABEL || label->rank != 0 ||
        label->classes < 2 || dataset->train.source.fill)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "data.mixup, data.cutmix: found data %s, expected images with one class each",
            dataset->name ? dataset->name : "");
    dataset->field[dataset->field_count++] =
        (hu_field){.name = "mix", .type = HU_FIELD_F32, .rank = 1, .extent = {2}, .is_mix = true};
    return HU_OK;
}
