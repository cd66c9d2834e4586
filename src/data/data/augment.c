#include "data/augment.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "media/image.h"

static hu_status hu_scene_read_part(const char *path, const hu_scene_size *scene,
                                    const hu_scene_size *to, const hu_image_cut *part,
                                    size_t row_bytes, hu_image_scratch *room, uint8_t *pixels,
                                    hu_image *file);

/* ---- scenes ---- */

/* Pictures of one size, each with something that is told of it in a second file. */

enum { USUAL_MEMORY = 1 << 30, OF_TEST = 4 };

static hu_status read_file(const char *path, bool upright, hu_image_scratch *room) {
    return upright ? hu_image_read_upright(path, HU_IMAGE_PIXELS_MAX, room)
                   : hu_image_read(path, HU_IMAGE_PIXELS_MAX, room);
}

hu_status hu_scene_measure(const char *path, int64_t size, bool upright, hu_scene_size *scene) {
    hu_image_scratch room = {0};
    const hu_image *image = &room.image;
    if (size < 0 || size > HU_IMAGE_SIDE_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "image size: found %lld, expected 0..%d", (long long)size,
                       HU_IMAGE_SIDE_MAX);
    /* As large as it is: JPEGs could be decoded smaller. */
    hu_status st = read_file(path, upright, &room);
    *scene = (hu_scene_size){image->height, image->width, size > 0, upright};
    if (st == HU_OK && size > 0) {
        int64_t shorter = image->width < image->height ? image->width : image->height;
        scene->height = image->height * size / shorter;
        scene->width = image->width * size / shorter;
    }
    hu_image_scratch_free(&room);
    return st;
}

hu_status hu_scene_read(const char *path, const hu_scene_size *scene, hu_image_scratch *room,
                        uint8_t *pixels, hu_image *file) {
    const hu_image_cut whole = {0, 0, scene->width, scene->height};
    return hu_scene_read_part(path, scene, scene, &whole,
                              (size_t)(scene->width * HU_IMAGE_CHANNELS), room, pixels, file);
}

/* The same made as large as `to`, and of that a part alone: its rows are row_bytes apart. */
static hu_status hu_scene_read_part(const char *path, const hu_scene_size *scene,
                                    const hu_scene_size *to, const hu_image_cut *part,
                                    size_t row_bytes, hu_image_scratch *room, uint8_t *pixels,
                                    hu_image *file) {
    const hu_image *image = &room->image;
    char seen[HU_IMAGE_SEEN_BYTES];
    hu_status st = read_file(path, scene->upright, room);
    if (st != HU_OK) return st;
    *file = (hu_image){
        .width = image->width, .height = image->height, .orientation = image->orientation};
    bool is_same = image->width == scene->width && image->height == scene->height;
    if (!is_same && !scene->resizes)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found %lldx%lld pixels%s, expected %lldx%lld as the first image has; "
                       "data.size=N makes them equal",
                       path, (long long)image->width, (long long)image->height,
                       hu_image_seen(image, seen), (long long)scene->width,
                       (long long)scene->height);
    return hu_image_resize_part(image, to->height, to->width, part, row_bytes, pixels,
                                &room->resizer);
}

hu_status hu_scene_partner(const char *folder, const char *name, const char *ending, char **path) {
    char partner[1024];
    const char *dot = strrchr(name, '.');
    int stem = dot ? (int)(dot - name) : (int)strlen(name);
    *path = NULL;
    if (snprintf(partner, sizeof partner, "%.*s%s", stem, name, ending) >= (int)sizeof partner)
        return hu_fail(HU_ERR_LIMIT, "%s: found a name of %zu letters, expected fewer than %zu",
                       folder, strlen(name), sizeof partner);
    return hu_path_join(folder, partner, path);
}

/* Bytes that programs can still get; 0: not known. */
static uint64_t available_bytes(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
    if (file) fclose(file);
    return kib * 1024;
}

hu_keeping hu_keeping_decide(uint64_t memory, int64_t train, int64_t test, uint64_t sample_bytes) {
    hu_keeping k = {.memory = memory ? memory : USUAL_MEMORY};
    uint64_t have = available_bytes();
    if (have > 0 && have < k.memory) k.memory = have;
    k.keeps_train = train >= 0 && (uint64_t)(train + test) <= k.memory / sample_bytes;
    k.keeps_test = k.keeps_train || (uint64_t)test <= k.memory / OF_TEST / sample_bytes;
    return k;
}

/* ---- scene crop ---- */

/* Windows of scenes that are made larger or smaller at random, with their label
 * maps. */

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
                             hu_image_scratch *room, uint8_t *pixels, hu_image *file) {
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

/* ---- spatial ---- */

/* One sample of a spatial field of bytes [height, width, channels]: cropped,
 * mirrored, looked up. */

/* Extents of a field, channels 1 where it has none. */
typedef struct extents {
    int64_t height, width, channels, margin;
} extents;

/* A field of rank 2 is a map of one channel. */
static extents extents_of(const hu_field *field) {
    int64_t channels = field->rank > 2 ? field->extent[2] : 1;
    return (extents){field->extent[0], field->extent[1], channels, field->margin};
}

const uint8_t *hu_spatial_sample(const hu_field *field, const void *rows, int64_t index) {
    extents e = extents_of(field);
    int64_t bytes = (e.height + 2 * e.margin) * (e.width + 2 * e.margin) * e.channels;
    return (const uint8_t *)rows + index * bytes;
}

/* The pixel at place i of n that go on as their mirror image: 2 1 0 1 2 ... n-2 n-1 n-2 ... */
static int64_t mirrored(int64_t i, int64_t n) {
    if (n == 1) return 0;
    int64_t period = 2 * (n - 1);
    i = (i < 0 ? -i : i) % period;
    return i < n ? i : period - i;
}

/* Pixels of which nothing is stored. */
static void fill_outside(const extents *e, const hu_byte_table *table, int64_t count, float *out) {
    for (int64_t x = 0; x < count; x++)
        for (int64_t c = 0; c < e->channels; c++) out[e->channels * x + c] = table->outside[c];
}

/* Target columns first..first+count-1, whose pixels the shift brought in from beyond the stored
 * image; row is the stored one, values the target's. */
static void fill_beyond(const extents *e, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *row, int64_t first, int64_t count, float *values) {
    if (!change->reflect) {
        fill_outside(e, table, count, values + e->channels * first);
        return;
    }
    for (int64_t x = first; x < first + count; x++) {
        int64_t source = (change->flip ? e->width - 1 - x : x) + change->shift_x + e->margin;
        const uint8_t *pixel = row + mirrored(source, e->width + 2 * e->margin) * e->channels;
        for (int64_t c = 0; c < e->channels; c++)
            values[e->channels * x + c] = table->lookup.value[pixel[c]][c];
    }
}

/* One row of the result from one row of what is stored. */
static void fill_row(const extents *e, const hu_byte_table *table, const hu_change *change,
                     const uint8_t *row, float *out) {
    int64_t shift = change->shift_x;
    /* Before the mirror, target columns low..high-1 lie inside of what is stored. */
    int64_t low = shift < -e->margin ? -e->margin - shift : 0;
    int64_t high = shift > e->margin ? e->width + e->margin - shift : e->width;
    low = low < e->width ? low : e->width;
    high = high > low ? high : low;
    int64_t left = change->flip ? e->width - high : low; /* columns outside, before and after */
    int64_t right = change->flip ? low : e->width - high;
    int64_t inside = high - low, first = (change->flip ? high - 1 : low) + shift + e->margin;
    fill_beyond(e, table, change, row, 0, left, out);
    if (inside > 0)
        hu_lookup_here()->row(&table->lookup, row + first * e->channels, change->flip, inside,
                              e->channels, out + left * e->channels);
    fill_beyond(e, table, change, row, e->width - right, right, out);
}

/* 0 is the mean of a normalised image: cutout (DeVries and Taylor 2017). */
static void cut_out(const extents *e, const hu_change *change, float *sample) {
    for (int64_t y = change->cut_y; y < change->cut_y + change->cut; y++) {
        float *row = sample + (y * e->width + change->cut_x) * e->channels;
        for (int64_t i = 0; i < change->cut * e->channels; i++) row[i] = 0.0f;
    }
}

static void fill_moved(const extents *e, const hu_byte_table *table, const hu_change *change,
                       const uint8_t *bytes, float *sample) {
    int64_t row = e->width * e->channels, stored_row = (e->width + 2 * e->margin) * e->channels;
    int64_t stored_rows = e->height + 2 * e->margin;
    for (int64_t y = 0; y < e->height; y++) {
        int64_t source = y + change->shift_y + e->margin;
        if (change->reflect) source = mirrored(source, stored_rows);
        if (source < 0 || source >= stored_rows)
            fill_outside(e, table, e->width, sample + y * row);
        else
            fill_row(e, table, change, bytes + source * stored_row, sample + y * row);
    }
}

/* Target (y, x) is source (y, x), or (x, y); then both may count from the other end. */
static void fill_turned(const extents *e, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *bytes, float *sample) {
    for (int64_t y = 0; y < e->height; y++)
        for (int64_t x = 0; x < e->width; x++, sample += e->channels) {
            int64_t row = change->transposes ? x : y, column = change->transposes ? y : x;
            if (change->upside) row = e->height - 1 - row;
            if (change->flip) column = e->width - 1 - column;
            const uint8_t *pixel = bytes + (row * e->width + column) * e->channels;
            for (int64_t c = 0; c < e->channels; c++) sample[c] = table->lookup.value[pixel[c]][c];
        }
}

void hu_spatial_fill(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                     const uint8_t *bytes, float *sample) {
    extents e = extents_of(field);
    if (change->upside || change->transposes) {
        fill_turned(&e, table, change, bytes, sample);
        return;
    }
    /* Nothing moves: the whole image is one run of pixels. */
    if (!change->shift_x && !change->shift_y && !change->flip && !e.margin)
        hu_lookup_here()->row(&table->lookup, bytes, false, e.height * e.width, e.channels, sample);
    else
        fill_moved(&e, table, change, bytes, sample);
    cut_out(&e, change, sample);
}

/* Where target pixel (y, x) is stored; false: outside of it. */
static bool find_source(const extents *e, const hu_change *change, int64_t y, int64_t x,
                        int64_t *row, int64_t *column) {
    int64_t rows = e->height + 2 * e->margin, columns = e->width + 2 * e->margin;
    *row = change->transposes ? x : y;
    *column = change->transposes ? y : x;
    if (change->upside) *row = e->height - 1 - *row;
    if (change->flip) *column = e->width - 1 - *column;
    *row += change->shift_y + e->margin;
    *column += change->shift_x + e->margin;
    if (change->reflect) {
        *row = mirrored(*row, rows);
        *column = mirrored(*column, columns);
    }
    return *row >= 0 && *row < rows && *column >= 0 && *column < columns;
}

void hu_spatial_pixels(const hu_field *field, const hu_change *change, const uint8_t *bytes,
                       uint8_t *pixels) {
    extents e = extents_of(field);
    size_t channels = (size_t)e.channels;
    for (int64_t y = 0; y < e.height; y++)
        for (int64_t x = 0; x < e.width; x++, pixels += channels) {
            int64_t row, column, stored_row = e.width + 2 * e.margin;
            if (find_source(&e, change, y, x, &row, &column))
                memcpy(pixels, bytes + (row * stored_row + column) * e.channels, channels);
            else
                memset(pixels, 0, channels);
        }
}

void hu_spatial_look_up(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *pixels, float *sample) {
    extents e = extents_of(field);
    hu_lookup_here()->row(&table->lookup, pixels, false, e.height * e.width, e.channels, sample);
    cut_out(&e, change, sample);
}

/* ---- Boxes of one sample, moved as its picture is ---- */

/* One side of a box along one axis: shift in shares of the side, then mirrored. In double, so that
 * what is not shifted stays as it is. */
static void move(double shift, bool flip, double *low, double *high) {
    double moved_low = *low - shift, moved_high = *high - shift;
    *low = flip ? 1.0 - moved_high : moved_low;
    *high = flip ? 1.0 - moved_low : moved_high;
}

static bool is_seen(double low, double high) {
    double centre = (low + high) / 2;
    return centre >= 0.0 && centre < 1.0;
}

void hu_boxes_fill(const float *boxes, int64_t count, int64_t most, int64_t height, int64_t width,
                   const hu_change *change, float *sample) {
    double dx = (double)change->shift_x / (double)width;
    double dy = (double)change->shift_y / (double)height;
    memset(sample, 0, (size_t)(most * HU_BOX_NUMBERS) * sizeof *sample);
    for (int64_t i = 0; i < most; i++, boxes += HU_BOX_NUMBERS, sample += HU_BOX_NUMBERS) {
        sample[HU_BOX_CLASS] = (float)HU_UNLABELLED;
        if (i >= count) continue;
        double x1 = boxes[HU_BOX_X1], x2 = boxes[HU_BOX_X2];
        double y1 = boxes[HU_BOX_Y1], y2 = boxes[HU_BOX_Y2];
        move(dx, change->flip, &x1, &x2);
        move(dy, false, &y1, &y2);
        if (!is_seen(x1, x2) || !is_seen(y1, y2)) continue;
        float left = (float)fmax(x1, 0.0), top = (float)fmax(y1, 0.0);
        float right = (float)fmin(x2, 1.0), bottom = (float)fmin(y2, 1.0);
        /* Of an area that float32 does not tell from none no offsets can be learned. */
        if (!(left < right) || !(top < bottom)) continue;
        sample[HU_BOX_X1] = left;
        sample[HU_BOX_Y1] = top;
        sample[HU_BOX_X2] = right;
        sample[HU_BOX_Y2] = bottom;
        sample[HU_BOX_CLASS] = boxes[HU_BOX_CLASS];
    }
}

/* ---- The random rectangles that large images are trained on ---- */

enum { TRIES = 10 };

static const double LEAST_RATIO = 3.0 / 4.0, MOST_RATIO = 4.0 / 3.0;

static int64_t nearest(double x) {
    return (int64_t)floor(x + 0.5);
}

static hu_image_cut middle_cut(int64_t width, int64_t height) {
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
    return middle_cut(width, height);
}
