#include "data/box_sample.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "media/boxes.h"

enum { BLOCKS = 512, TRIES = 50, SAMPLERS = 6, WORDS = 4, CANVAS = 0, CHOICE = 1, FIRST = 2 };

/* Least overlaps; the last sampler takes any patch. */
static const double least_overlap[SAMPLERS] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.0};

/* A picture on its canvas, in pixels. */
typedef struct canvas {
    int64_t width, height;
    int64_t left, top; /* of the picture */
    int64_t own_width, own_height;
    const float *boxes;
    int64_t count;
} canvas;

static void place(canvas *c, const uint32_t *words) {
    if (!(hu_word_share(words[0]) < 0.5)) return;
    double ratio = 1.0 + 3.0 * hu_word_share(words[1]);
    c->width = (int64_t)floor((double)c->own_width * ratio);
    c->height = (int64_t)floor((double)c->own_height * ratio);
    c->left = hu_word_below(words[2], c->width - c->own_width + 1);
    c->top = hu_word_below(words[3], c->height - c->own_height + 1);
}

/* Of two ranges. */
static double shared(double a, double b, double c, double d) {
    double low = fmax(a, c), high = fmin(b, d);
    return high > low ? high - low : 0.0;
}

/* Intersection over union of a patch and a box. */
static double overlap(const canvas *c, const hu_box_window *patch, const float *box) {
    double x1 = (double)c->left + (double)box[HU_BOX_X1] * (double)c->own_width;
    double x2 = (double)c->left + (double)box[HU_BOX_X2] * (double)c->own_width;
    double y1 = (double)c->top + (double)box[HU_BOX_Y1] * (double)c->own_height;
    double y2 = (double)c->top + (double)box[HU_BOX_Y2] * (double)c->own_height;
    double left = (double)patch->left, top = (double)patch->top;
    double right = left + (double)patch->width, bottom = top + (double)patch->height;
    double both = shared(left, right, x1, x2) * shared(top, bottom, y1, y2);
    double all = (double)patch->width * (double)patch->height + (x2 - x1) * (y2 - y1) - both;
    return all > 0.0 ? both / all : 0.0;
}

static bool is_taken(const canvas *c, const hu_box_window *patch, double least) {
    if (least == 0.0) return true;
    for (int64_t i = 0; i < c->count; i++)
        if (overlap(c, patch, c->boxes + i * HU_BOX_NUMBERS) >= least) return true;
    return false;
}

static int64_t side_of(double extent) {
    int64_t side = (int64_t)floor(extent);
    return side < 1 ? 1 : side;
}

static hu_box_window patch_of(const canvas *c, const uint32_t *words) {
    double side = 0.3 + 0.7 * hu_word_share(words[0]);
    double low = fmax(0.5, side * side), high = fmin(2.0, 1.0 / (side * side));
    double root = sqrt(low + (high - low) * hu_word_share(words[1]));
    hu_box_window patch = {.width = side_of((double)c->width * side * root),
                           .height = side_of((double)c->height * side / root)};
    /* A side that is rounded may be a pixel more than there is. */
    if (patch.width > c->width) patch.width = c->width;
    if (patch.height > c->height) patch.height = c->height;
    patch.left = hu_word_below(words[2], c->width - patch.width + 1);
    patch.top = hu_word_below(words[3], c->height - patch.height + 1);
    return patch;
}

hu_box_window hu_box_window_draw(const hu_reading_change *change, int64_t index, int64_t width,
                                 int64_t height, const float *boxes, int64_t count) {
    const hu_random_key key = {change->seed, hu_stream_id("box sample", ""),
                               (uint64_t)change->epoch};
    canvas c = {width, height, 0, 0, width, height, boxes, count};
    hu_box_window found[1 + SAMPLERS];
    uint64_t first = (uint64_t)index * BLOCKS;
    uint32_t words[WORDS];
    int n = 1;
    if (!change->samples) return (hu_box_window){0, 0, width, height};
    hu_random_block(&key, first + CANVAS, words);
    place(&c, words);
    found[0] = (hu_box_window){0, 0, c.width, c.height};
    for (int k = 0; k < SAMPLERS; k++)
        for (int t = 0; t < TRIES; t++) {
            hu_random_block(&key, first + FIRST + (uint64_t)(TRIES * k + t), words);
            found[n] = patch_of(&c, words);
            if (!is_taken(&c, &found[n], least_overlap[k])) continue;
            n++;
            break;
        }
    hu_random_block(&key, first + CHOICE, words);
    hu_box_window window = found[hu_word_below(words[0], n)];
    window.left -= c.left;
    window.top -= c.top;
    return window;
}

/* A place in the picture as a share of the window, both along one axis. */
static double moved_to(float share, int64_t extent, int64_t first, int64_t seen) {
    return ((double)share * (double)extent - (double)first) / (double)seen;
}

bool hu_box_window_move(const hu_box_window *window, int64_t width, int64_t height,
                        const float *box, float *moved) {
    double x1 = moved_to(box[HU_BOX_X1], width, window->left, window->width);
    double x2 = moved_to(box[HU_BOX_X2], width, window->left, window->width);
    double y1 = moved_to(box[HU_BOX_Y1], height, window->top, window->height);
    double y2 = moved_to(box[HU_BOX_Y2], height, window->top, window->height);
    double x = 0.5 * (x1 + x2), y = 0.5 * (y1 + y2);
    if (!(x >= 0.0 && x < 1.0 && y >= 0.0 && y < 1.0)) return false;
    moved[HU_BOX_X1] = (float)fmax(x1, 0.0);
    moved[HU_BOX_Y1] = (float)fmax(y1, 0.0);
    moved[HU_BOX_X2] = (float)fmin(x2, 1.0);
    moved[HU_BOX_Y2] = (float)fmin(y2, 1.0);
    moved[HU_BOX_CLASS] = box[HU_BOX_CLASS];
    return true;
}

/* ---- pictures ---- */

/* Beyond the picture lies the mean of ImageNet, as in SSD's code. */
static void fill_mean(int64_t pixels, uint8_t *sample) {
    static const uint8_t mean[HU_IMAGE_CHANNELS] = {123, 117, 104};
    for (int64_t p = 0; p < pixels; p++) memcpy(sample + p * HU_IMAGE_CHANNELS, mean, sizeof mean);
}

/* Rows or columns of what is made in which source pixel number `at` of a window begins. */
static int64_t made_at(int64_t at, int64_t first, int64_t seen, int64_t extent) {
    int64_t made = (2 * (at - first) * extent + seen) / (2 * seen); /* to the nearest */
    return made < 0 ? 0 : made > extent ? extent : made;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

hu_status hu_box_window_show(const hu_box_window *w, const hu_image *image, int64_t height,
                             int64_t width, hu_image_resizer *resizer, uint8_t *sample) {
    size_t row = (size_t)(width * HU_IMAGE_CHANNELS);
    int64_t left = clamp(w->left, 0, image->width), top = clamp(w->top, 0, image->height);
    int64_t right = clamp(w->left + w->width, 0, image->width);
    int64_t bottom = clamp(w->top + w->height, 0, image->height);
    int64_t x = made_at(left, w->left, w->width, width);
    int64_t y = made_at(top, w->top, w->height, height);
    int64_t columns = made_at(right, w->left, w->width, width) - x;
    int64_t rows = made_at(bottom, w->top, w->height, height) - y;
    const hu_image_cut cut = {left, top, right - left, bottom - top};
    fill_mean(height * width, sample);
    if (cut.width < 1 || cut.height < 1 || columns < 1 || rows < 1) return HU_OK;
    return hu_image_resize(image, &cut, rows, columns, row,
                           sample + (size_t)y * row + x * HU_IMAGE_CHANNELS, resizer);
}
