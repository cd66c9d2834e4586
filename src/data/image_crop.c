#include "data/image_crop.h"

#include <math.h>

#include "base/elementary.h"
#include "base/rng.h"

enum { TRIES = 10 };

static const double LEAST_RATIO = 3.0 / 4.0, MOST_RATIO = 4.0 / 3.0;

static int64_t nearest(double x) {
    return (int64_t)floor(x + 0.5);
}

static hu_image_cut middle(int64_t width, int64_t height) {
    hu_image_cut cut = {.width = width, .height = height};
    double ratio = (double)width / (double)height;
    if (ratio < LEAST_RATIO) cut.height = nearest((double)width / LEAST_RATIO);
    if (ratio > MOST_RATIO) cut.width = nearest((double)height * MOST_RATIO);
    cut.left = (width - cut.width) / 2;
    cut.top = (height - cut.height) / 2;
    return cut;
}

hu_image_cut hu_image_random_cut(const hu_reading_change *change, int64_t index, int64_t width,
                                 int64_t height) {
    const hu_random_key key = {change->seed, hu_stream_id("resized crop", ""),
                               (uint64_t)change->epoch};
    double least = hu_log(LEAST_RATIO), most = hu_log(MOST_RATIO);
    double pixels = (double)width * (double)height;
    for (int t = 0; t < TRIES; t++) {
        uint32_t words[4];
        hu_random_block(&key, TRIES * (uint64_t)index + (uint64_t)t, words);
        double share = change->area + (1.0 - change->area) * hu_word_share(words[0]);
        double ratio = hu_exp(least + (most - least) * hu_word_share(words[1]));
        hu_image_cut cut = {.width = nearest(sqrt(pixels * share * ratio)),
                            .height = nearest(sqrt(pixels * share / ratio))};
        if (cut.width < 1 || cut.width > width || cut.height < 1 || cut.height > height) continue;
        cut.left = hu_word_below(words[2], width - cut.width + 1);
        cut.top = hu_word_below(words[3], height - cut.height + 1);
        return cut;
    }
    return middle(width, height);
}
