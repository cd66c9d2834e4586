#include "data/mixing.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/randaugment.h"

/* ---- mix ---- */

/* Samples mixed in pairs: mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019).
 *
 * Positions 2k and 2k + 1 of an epoch are each other's partners, whatever the batches; the last of
 * an odd number stays as it is. Both see the other as it is after its own changes, and each draws
 * for itself. Words are those of key {seed, "mix", epoch}, of block 4,096 index + t (index: of the
 * sample in the data), u_i = word i / 2^32:
 *
 *   which     cutmix where u_0 of block 0 < switch and both are on
 *   share     of itself, Beta(A, A): the first try t = 1, 2, ... with p + q <= 1, p = u^(1/A),
 *             q = v^(1/A), u and v (words 0 and 1, + 1/2) / 2^32; share = p / (p + q), where both
 *             are 0 in float64 by their logarithms. Johnk 1964
 *   mixup     x = (1 - w) x + w y, w = 1 - share
 *   cutmix    a rectangle of height floor(H sqrt(1 - share)) and likewise width about the pixel
 *             floor(H u_1), floor(W u_2) of block 0, as much of it as lies inside, becomes y's;
 *             w is its share of all pixels
 */

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

/* ---- changer ---- */

/* Pictures that a network sees changed beyond crops and mirrors: RandAugment,
 * random erasing, mixtures of two (data/randaugment.h, mixing.h), in this order. What becomes
 * of a sample is a function of (settings, epoch, its index and that of its partner) alone.
 */

/* What a thread works in. */
typedef struct slot {
    atomic_flag is_taken;
    uint8_t *pixels; /* [2][elements] */
    float *other;    /* [elements] */
} slot;

struct hu_augmenter {
    const hu_field *field;
    hu_augment augment;
    hu_randaugment operations;
    uint64_t seed;
    int64_t height, width, channels, elements;
    slot *slot; /* [slots] */
    int slots;
};

bool hu_changes(const hu_augment *augment) {
    return augment->randaugment > 0.0 || augment->erase > 0.0 || hu_mixes(augment);
}

static hu_status make_slot(const hu_augmenter *c, slot *s) {
    hu_status st = HU_OK;
    size_t elements = (size_t)c->elements;
    atomic_flag_clear(&s->is_taken);
    if (c->augment.randaugment > 0.0) HU_TRY(HU_NEW_ARRAY(&s->pixels, 2 * elements));
    if (hu_mixes(&c->augment)) HU_TRY(HU_NEW_ARRAY(&s->other, elements));
done:
    return st;
}

hu_status hu_augmenter_create(const hu_field *field, const hu_augment *augment, uint64_t seed,
                              int fillers, hu_augmenter **augmenter) {
    hu_status st = HU_OK;
    hu_augmenter *c = NULL;
    *augmenter = NULL;
    HU_TRY(HU_NEW(&c));
    c->field = field;
    c->augment = *augment;
    c->seed = seed;
    c->height = field->extent[0];
    c->width = field->extent[1];
    c->channels = field->rank > 2 ? field->extent[2] : 1;
    c->elements = c->height * c->width * c->channels;
    if (augment->randaugment > 0.0 && c->channels != HU_RANDAUGMENT_CHANNELS)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "data.randaugment: found '%s' of %lld channels, expected pictures of %d",
                       field->name, (long long)c->channels, HU_RANDAUGMENT_CHANNELS));
    c->operations =
        (hu_randaugment){.magnitude = augment->randaugment, .std = augment->randaugment_std};
    for (int k = 0; k < HU_RANDAUGMENT_CHANNELS; k++)
        if (field->std[k] > 0.0f)
            c->operations.fill[k] = (uint8_t)fmin(255.0, rint(255.0 * (double)field->mean[k]));
    c->slots = fillers > 0 ? fillers : 1;
    HU_TRY(HU_NEW_ARRAY(&c->slot, (size_t)c->slots));
    for (int i = 0; i < c->slots; i++) HU_TRY(make_slot(c, &c->slot[i]));
    *augmenter = c;
    c = NULL;
done:
    hu_augmenter_free(c);
    return st;
}

void hu_augmenter_free(hu_augmenter *c) {
    if (!c) return;
    for (int i = 0; c->slot && i < c->slots; i++) {
        hu_free(c->slot[i].pixels);
        hu_free(c->slot[i].other);
    }
    hu_free(c->slot);
    hu_free(c);
}

/* One that nobody has; where there are more threads than slots the others are waited for. */
static slot *take(hu_augmenter *c) {
    for (;; sched_yield())
        for (int i = 0; i < c->slots; i++)
            if (!atomic_flag_test_and_set(&c->slot[i].is_taken)) return &c->slot[i];
}

static void make(const hu_augmenter *c, const slot *s, const hu_byte_table *table, int64_t epoch,
                 const hu_stored *stored, float *sample) {
    const hu_augment *a = &c->augment;
    if (a->randaugment > 0.0) {
        hu_spatial_pixels(c->field, &stored->change, stored->bytes, s->pixels);
        hu_randaugment_run(&c->operations, c->seed, epoch, stored->index, c->height, c->width,
                           s->pixels, s->pixels + c->elements);
        hu_spatial_look_up(c->field, table, &stored->change, s->pixels, sample);
    } else
        hu_spatial_fill(c->field, table, &stored->change, stored->bytes, sample);
    if (a->erase > 0.0)
        hu_erase(a->erase, c->seed, epoch, stored->index, c->height, c->width, c->channels, sample);
}

hu_mix hu_augmenter_mix(const hu_augmenter *c, int64_t epoch, int64_t index) {
    const hu_random_key key = {c->seed, hu_stream_id("mix", ""), (uint64_t)epoch};
    if (!hu_mixes(&c->augment)) return (hu_mix){0};
    return hu_mix_draw(&c->augment, &key, index, c->height, c->width);
}

void hu_augmenter_fill(hu_augmenter *c, const hu_byte_table *table, int64_t epoch,
                       const hu_stored *own, const hu_stored *partner, float *sample) {
    slot *s = take(c);
    make(c, s, table, epoch, own, sample);
    hu_mix mix = partner ? hu_augmenter_mix(c, epoch, own->index) : (hu_mix){0};
    if (mix.weight > 0.0f) {
        make(c, s, table, epoch, partner, s->other);
        hu_mix_apply(&mix, c->height, c->width, c->channels, s->other, sample);
    }
    atomic_flag_clear(&s->is_taken);
}
