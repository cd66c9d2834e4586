#include "data/erase.h"

#include <math.h>
#include <stdbool.h>

#include "base/elementary.h"
#include "base/rng.h"

enum { TRIES = 10, BLOCKS = 16, DECIDES = 15, WORDS = 4 };

typedef struct rectangle {
    int64_t top, left, height, width;
} rectangle;

static bool draw(const hu_random_key *key, int64_t index, int64_t height, int64_t width,
                 rectangle *r) {
    const double least = 0.02, most = 1.0 / 3.0, flat = 0.3;
    uint32_t words[WORDS];
    for (uint64_t t = 0; t < TRIES; t++) {
        hu_random_block(key, (uint64_t)index * BLOCKS + t, words);
        double share = least + (most - least) * hu_word_share(words[0]);
        double area = share * (double)height * (double)width, low = hu_log(flat);
        double ratio = hu_exp(low - 2.0 * low * hu_word_share(words[1]));
        r->height = (int64_t)rint(sqrt(area * ratio));
        r->width = (int64_t)rint(sqrt(area / ratio));
        if (r->height >= height || r->width >= width) continue;
        r->top = hu_word_below(words[2], height - r->height + 1);
        r->left = hu_word_below(words[3], width - r->width + 1);
        return true;
    }
    return false;
}

void hu_erase(double probability, uint64_t seed, int64_t epoch, int64_t index, int64_t height,
              int64_t width, int64_t channels, float *sample) {
    const hu_random_key key = {seed, hu_stream_id("erase", ""), (uint64_t)epoch};
    const hu_random_key noise = {seed, hu_stream_id("erase noise", ""), (uint64_t)epoch};
    uint32_t words[WORDS];
    rectangle r;
    uint64_t first = (uint64_t)(index * height * width * channels);
    hu_random_block(&key, (uint64_t)index * BLOCKS + DECIDES, words);
    if (!(hu_word_share(words[0]) < probability) || !draw(&key, index, height, width, &r)) return;
    for (int64_t y = r.top; y < r.top + r.height; y++)
        for (int64_t i = (y * width + r.left) * channels;
             i < (y * width + r.left + r.width) * channels; i++)
            sample[i] = hu_random_normal(&noise, first + (uint64_t)i);
}
