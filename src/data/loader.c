#include <assert.h>
#include <string.h>

#include <halfulp/data.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

enum { PAD_MAX = 4096 };

struct hu_loader {
    const hu_dataset *dataset;
    const hu_split *split;
    hu_loader_settings settings;
    hu_random_key augment_key;
    uint32_t *order; /* [count] or NULL for file order */
    float normalised[256][HU_CHANNELS_MAX];
};

/* What the random words of one sample decide. */
typedef struct change {
    int64_t shift_x, shift_y; /* source pixel = target pixel + shift, in -pad..pad */
    bool flip;
    int64_t cut_x, cut_y; /* corner of the cutout */
} change;

/* In the order of torchvision's ToTensor and Normalize: divide, subtract, divide, in float. */
static void fill_table(hu_loader *loader) {
    const hu_dataset *d = loader->dataset;
    for (int value = 0; value < 256; value++)
        for (int64_t c = 0; c < d->channels; c++)
            loader->normalised[value][c] = ((float)value / 255.0f - d->mean[c]) / d->std[c];
}

static hu_status check_augment(const hu_dataset *dataset, const hu_augment *augment) {
    int64_t side = dataset->height < dataset->width ? dataset->height : dataset->width;
    if (augment->pad < 0 || augment->pad > PAD_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "pad: found %lld, expected 0..%d", (long long)augment->pad,
                       PAD_MAX);
    if (augment->cutout < 0 || augment->cutout > side)
        return hu_fail(HU_ERR_ARGUMENT, "cutout: found %lld, expected 0..%lld (side of the image)",
                       (long long)augment->cutout, (long long)side);
    return HU_OK;
}

hu_status hu_loader_create(const hu_dataset *dataset, hu_half half,
                           const hu_loader_settings *settings, hu_loader **loader) {
    hu_status st = HU_OK;
    void *block = NULL, *order = NULL;
    *loader = NULL;
    HU_TRY(check_augment(dataset, &settings->augment));
    HU_TRY(hu_alloc(sizeof **loader, &block));
    hu_loader *made = block;
    made->dataset = dataset;
    made->split = half == HU_HALF_TRAIN ? &dataset->train : &dataset->test;
    made->settings = *settings;
    if (settings->shuffle)
        HU_TRY(hu_alloc_array((size_t)made->split->count, sizeof *made->order, &order));
    made->order = order;
    fill_table(made);
    HU_TRY(hu_loader_begin_epoch(made, 0));
    *loader = made;
    block = NULL;
done:
    hu_loader_close(block);
    return st;
}

void hu_loader_close(hu_loader *loader) {
    if (!loader) return;
    hu_free(loader->order);
    hu_free(loader);
}

int64_t hu_loader_count(const hu_loader *loader) {
    return loader->split->count;
}

hu_status hu_loader_begin_epoch(hu_loader *loader, int64_t epoch) {
    if (epoch < 0)
        return hu_fail(HU_ERR_ARGUMENT, "epoch: found %lld, expected 0 or more", (long long)epoch);
    uint64_t seed = loader->settings.seed;
    loader->augment_key = (hu_random_key){seed, hu_stream_id("augment", ""), (uint64_t)epoch};
    hu_random_key shuffle = {seed, hu_stream_id("shuffle", ""), (uint64_t)epoch};
    if (loader->order)
        hu_random_permutation(&shuffle, (uint32_t)loader->split->count, loader->order);
    return HU_OK;
}

int64_t hu_loader_index(const hu_loader *loader, int64_t position) {
    return loader->order ? loader->order[position] : position;
}

/* word * bound / 2^32: 0..bound-1. */
static int64_t below(uint32_t word, int64_t bound) {
    return (int64_t)((uint64_t)word * (uint64_t)bound >> 32);
}

static change choose(const hu_loader *loader, int64_t index) {
    const hu_dataset *d = loader->dataset;
    const hu_augment *a = &loader->settings.augment;
    uint32_t words[4];
    change made = {0};
    if (!a->pad && !a->flip && !a->cutout) return made;
    hu_random_block(&loader->augment_key, (uint64_t)index, words);
    made.shift_x = below(words[0], 2 * a->pad + 1) - a->pad;
    made.shift_y = below(words[1], 2 * a->pad + 1) - a->pad;
    made.flip = a->flip && words[2] >> 31;
    made.cut_x = below(words[3] << 16, d->width - a->cutout + 1);
    made.cut_y = below(words[3] & 0xffff0000u, d->height - a->cutout + 1);
    return made;
}

/* Looks up count pixels of a fixed number of channels; step is +1, or -1 to mirror. */
static inline __attribute__((always_inline)) void look_up(const hu_loader *loader,
                                                          const uint8_t *pixels, int64_t step,
                                                          int64_t count, int64_t channels,
                                                          float *values) {
    for (int64_t x = 0; x < count; x++)
        for (int64_t c = 0; c < channels; c++)
            values[channels * x + c] = loader->normalised[pixels[channels * step * x + c]][c];
}

static void look_up_any(const hu_loader *loader, const uint8_t *pixels, int64_t step, int64_t count,
                        float *values) {
    switch (loader->dataset->channels) {
    case 1:
        look_up(loader, pixels, step, count, 1, values);
        break;
    case 2:
        look_up(loader, pixels, step, count, 2, values);
        break;
    default:
        look_up(loader, pixels, step, count, 3, values);
        break;
    }
}

static void black(const hu_loader *loader, int64_t count, float *values) {
    static const uint8_t pixel[HU_CHANNELS_MAX];
    look_up_any(loader, pixel, 0, count, values);
}

/* One row of the result from one row of what is stored, black where the crop leaves it. */
static void fill_row(const hu_loader *loader, const change *made, const uint8_t *row, float *out) {
    int64_t width = loader->dataset->width, channels = loader->dataset->channels;
    int64_t margin = loader->dataset->margin, shift = made->shift_x;
    /* Before the mirror, target columns low..high-1 lie inside of what is stored. */
    int64_t low = shift < -margin ? -margin - shift : 0;
    int64_t high = shift > margin ? width + margin - shift : width;
    low = low < width ? low : width;
    high = high > low ? high : low;
    int64_t left = made->flip ? width - high : low; /* black columns before and behind */
    int64_t right = made->flip ? low : width - high;
    int64_t inside = high - low, first = (made->flip ? high - 1 : low) + shift + margin;
    black(loader, left, out);
    if (inside > 0)
        look_up_any(loader, row + first * channels, made->flip ? -1 : 1, inside,
                    out + left * channels);
    black(loader, right, out + (width - right) * channels);
}

static void cut_out(const hu_dataset *d, const change *made, int64_t side, float *image) {
    for (int64_t y = made->cut_y; y < made->cut_y + side; y++) {
        float *row = image + (y * d->width + made->cut_x) * d->channels;
        for (int64_t i = 0; i < side * d->channels; i++) row[i] = 0.0f;
    }
}

static void fill_image(const hu_loader *loader, int64_t index, float *image) {
    const hu_dataset *d = loader->dataset;
    int64_t row = d->width * d->channels, stored_row = (d->width + 2 * d->margin) * d->channels;
    int64_t stored_rows = d->height + 2 * d->margin;
    const uint8_t *pixels = loader->split->pixels + index * stored_rows * stored_row;
    change made = choose(loader, index);
    if (!made.shift_x && !made.shift_y && !made.flip && !d->margin) {
        look_up_any(loader, pixels, 1, d->height * d->width, image);
    } else {
        for (int64_t y = 0; y < d->height; y++) {
            int64_t source = y + made.shift_y + d->margin;
            if (source < 0 || source >= stored_rows)
                black(loader, d->width, image + y * row);
            else
                fill_row(loader, &made, pixels + source * stored_row, image + y * row);
        }
    }
    cut_out(d, &made, loader->settings.augment.cutout, image);
}

void hu_loader_fill(const hu_loader *loader, int64_t first, int64_t count, float *images,
                    float *labels) {
    const hu_dataset *d = loader->dataset;
    assert(first >= 0 && count >= 0 && count <= loader->split->count - first);
    for (int64_t i = 0; i < count; i++) {
        int64_t index = hu_loader_index(loader, first + i);
        labels[i] = (float)loader->split->labels[index];
        fill_image(loader, index, images + i * d->height * d->width * d->channels);
    }
}
