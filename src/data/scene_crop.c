#include "data/scene_crop.h"

#include <string.h>

#include <halfulp/data.h>

#include "base/rng.h"

/* Where a window begins that a word chooses; 0 where the extent is the smaller one. */
static int64_t chosen(uint32_t word, int64_t extent, int64_t seen) {
    return extent > seen ? hu_word_below(word, extent - seen + 1) : 0;
}

static int64_t middle(int64_t extent, int64_t seen) {
    return extent > seen ? (extent - seen) / 2 : 0;
}

static int64_t scaled(int64_t extent, double ratio) {
    int64_t made = (int64_t)((double)extent * ratio);
    return made > 0 ? made : 1;
}

hu_scene_crop hu_scene_random_crop(const hu_reading_change *change, int64_t index,
                                   const hu_scene_size *size, const hu_scene_size *window) {
    const hu_random_key key = {change->seed, hu_stream_id("scaled crop", ""),
                               (uint64_t)change->epoch};
    hu_scene_crop crop = {.scaled = *size, .window = *window};
    uint32_t words[4];
    if (change->most_scale == 0.0) {
        crop.top = middle(size->height, window->height);
        crop.left = middle(size->width, window->width);
        return crop;
    }
    hu_random_block(&key, (uint64_t)index, words);
    double ratio =
        change->least_scale + (change->most_scale - change->least_scale) * hu_word_share(words[0]);
    crop.scaled.height = scaled(size->height, ratio);
    crop.scaled.width = scaled(size->width, ratio);
    crop.top = chosen(words[1], crop.scaled.height, window->height);
    crop.left = chosen(words[2], crop.scaled.width, window->width);
    return crop;
}

/* What of an axis the window shows. */
static int64_t seen(int64_t extent, int64_t first, int64_t window) {
    return extent - first < window ? extent - first : window;
}

hu_status hu_scene_read_crop(const char *path, const hu_scene_size *size, const hu_scene_crop *crop,
                             hu_image_room *room, uint8_t *pixels, hu_image *file) {
    const hu_scene_size *to = &crop->scaled, *window = &crop->window;
    size_t row = (size_t)(window->width * HU_IMAGE_CHANNELS);
    const hu_image_cut part = {crop->left, crop->top, seen(to->width, crop->left, window->width),
                               seen(to->height, crop->top, window->height)};
    if (part.width < window->width || part.height < window->height)
        memset(pixels, 0, (size_t)window->height * row);
    return hu_scene_read_part(path, size, to, &part, row, room, pixels, file);
}

void hu_scene_take_labels(const hu_label_map *map, const hu_scene_crop *crop, uint8_t *labels) {
    const hu_scene_size *to = &crop->scaled;
    int64_t rows = seen(to->height, crop->top, crop->window.height);
    int64_t columns = seen(to->width, crop->left, crop->window.width);
    memset(labels, HU_UNLABELLED_BYTE, (size_t)(crop->window.height * crop->window.width));
    for (int64_t y = 0; y < rows; y++, labels += crop->window.width) {
        int64_t source = (2 * (crop->top + y) + 1) * map->height / (2 * to->height);
        const uint8_t *row = map->labels + source * map->width;
        for (int64_t x = 0; x < columns; x++)
            labels[x] = row[(2 * (crop->left + x) + 1) * map->width / (2 * to->width)];
    }
}
