/* scenes - pictures of discs, boxes and crosses on uneven ground, with a rectangle around each:
 * scenes with boxes that need no files. Picture i is a function of (half, i) alone; only whole
 * numbers are used, so that its bytes are the same on every machine. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/class_names.h"
#include "data/draws.h"
#include "data/kinds.h"
#include "media/boxes.h"

enum {
    SIDE = 64,
    CHANNELS = 3,
    PIXELS = SIDE * SIDE * CHANNELS,
    THINGS_MOST = 3,
    TRIES = 20, /* places that a thing is tried at before it is left out */
    TRAIN_COUNT = 4000,
    TEST_COUNT = 500,
    BOXES = HU_FIELD_LABEL, /* in the place of labels */
    FIELDS = BOXES + 1,
    NOISE_WORD = 1024 /* words before it shape the picture, the others are noise */
};

typedef enum form { DISC, BOX, CROSS, FORMS } form;

static const char *const names[FORMS] = {"disc", "box", "cross"};

typedef struct thing {
    form form;
    int left, top, width, height; /* pixels */
    int colour[CHANNELS];
} thing;

static uint8_t to_byte(int x) {
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

/* A colour that differs from the ground's by 60 or more in some channel. */
static void choose_colour(hu_draws *d, const int ground[CHANNELS], int colour[CHANNELS]) {
    int farthest = 0;
    for (int t = 0; t < TRIES && farthest < 60; t++) {
        farthest = 0;
        for (int c = 0; c < CHANNELS; c++) {
            colour[c] = hu_draw_whole(d, 0, 255);
            int apart = colour[c] > ground[c] ? colour[c] - ground[c] : ground[c] - colour[c];
            if (apart > farthest) farthest = apart;
        }
    }
}

/* Things do not overlap, but for two pixels. */
static bool is_free(const thing *things, int count, const thing *made) {
    enum { OVERLAP = 2 };
    for (int i = 0; i < count; i++) {
        const thing *t = &things[i];
        bool is_beside = made->left + made->width <= t->left + OVERLAP ||
                         t->left + t->width <= made->left + OVERLAP;
        bool is_below = made->top + made->height <= t->top + OVERLAP ||
                        t->top + t->height <= made->top + OVERLAP;
        if (!is_beside && !is_below) return false;
    }
    return true;
}

/* things [THINGS_MOST]; returns how many there are. */
static int place_things(hu_draws *d, const int ground[CHANNELS], thing *things) {
    int wanted = hu_draw_whole(d, 1, THINGS_MOST), count = 0;
    for (int i = 0; i < wanted; i++) {
        for (int t = 0; t < TRIES; t++) {
            thing made = {.form = (form)hu_draw_whole(d, 0, FORMS - 1),
                          .width = hu_draw_whole(d, 12, 30)};
            made.height = made.width * hu_draw_whole(d, 80, 125) / 100;
            made.left = hu_draw_whole(d, 0, SIDE - made.width);
            made.top = hu_draw_whole(d, 0, SIDE - made.height);
            if (!is_free(things, count, &made)) continue;
            choose_colour(d, ground, made.colour);
            things[count++] = made;
            break;
        }
    }
    return count;
}

/* Whether the pixel (x, y) of the thing's own rectangle is the thing's. */
static bool covers(const thing *t, int x, int y) {
    int dx = 2 * x + 1 - t->width, dy = 2 * y + 1 - t->height;
    switch (t->form) {
    case DISC:
        return dx * dx * t->height * t->height + dy * dy * t->width * t->width <=
               t->width * t->width * t->height * t->height;
    case CROSS:
        return 3 * (dx < 0 ? -dx : dx) <= t->width || 3 * (dy < 0 ? -dy : dy) <= t->height;
    default:
        return true;
    }
}

static void paint(const thing *t, uint8_t *pixels) {
    for (int y = 0; y < t->height; y++)
        for (int x = 0; x < t->width; x++)
            for (int c = 0; c < CHANNELS && covers(t, x, y); c++) {
                uint8_t *pixel = &pixels[((t->top + y) * SIDE + t->left + x) * CHANNELS + c];
                *pixel = to_byte(t->colour[c]);
            }
}

/* A slope of one colour; noise comes over all of it, the things too. */
static void paint_ground(hu_draws *d, const int ground[CHANNELS], uint8_t *pixels) {
    int slope_x = hu_draw_whole(d, -60, 60), slope_y = hu_draw_whole(d, -60, 60);
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int c = 0; c < CHANNELS; c++)
            pixels[CHANNELS * i + c] = to_byte(ground[c] + slope_x * (i % SIDE - SIDE / 2) / SIDE +
                                               slope_y * (i / SIDE - SIDE / 2) / SIDE);
}

/* The sum of two numbers of -15..16 each: a triangle. */
static void add_noise(const hu_draws *d, uint8_t *pixels) {
    for (int i = 0; i < PIXELS; i++) {
        uint32_t word = hu_random_word(&d->key, NOISE_WORD + (uint64_t)i);
        pixels[i] = to_byte(pixels[i] + (int)(word & 31) + (int)(word >> 5 & 31) - 31);
    }
}

/* pixels [64, 64, 3], boxes [THINGS_MOST, 5]; returns how many things there are. */
static int draw_scene(hu_draws *d, uint8_t *pixels, float *boxes) {
    int ground[CHANNELS];
    thing things[THINGS_MOST];
    for (int c = 0; c < CHANNELS; c++) ground[c] = hu_draw_whole(d, 40, 215);
    paint_ground(d, ground, pixels);
    int count = place_things(d, ground, things);
    for (int i = 0; i < count; i++, boxes += HU_BOX_NUMBERS) {
        const thing *t = &things[i];
        paint(t, pixels);
        boxes[HU_BOX_X1] = (float)t->left / SIDE;
        boxes[HU_BOX_Y1] = (float)t->top / SIDE;
        boxes[HU_BOX_X2] = (float)(t->left + t->width) / SIDE;
        boxes[HU_BOX_Y2] = (float)(t->top + t->height) / SIDE;
        boxes[HU_BOX_CLASS] = (float)t->form;
    }
    add_noise(d, pixels);
    return count;
}

/* owned [3]: pictures, boxes and how many there are of each. */
static hu_status draw_half(const char *half, int64_t count, void **owned, hu_split *split) {
    hu_status st;
    uint64_t stream = hu_stream_id("scenes", half);
    size_t samples = (size_t)count;
    HU_TRY(hu_alloc_array(samples, PIXELS, &owned[0]));
    HU_TRY(hu_alloc_array(samples, THINGS_MOST * HU_BOX_NUMBERS * sizeof(float), &owned[1]));
    HU_TRY(hu_alloc_array(samples, sizeof(int32_t), &owned[2]));
    uint8_t *pixels = owned[0];
    float *boxes = owned[1];
    int32_t *length = owned[2];
    memset(boxes, 0, samples * THINGS_MOST * HU_BOX_NUMBERS * sizeof(float));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        hu_draws d = {{0, stream, (uint64_t)i}, 0};
        length[i] =
            (int32_t)draw_scene(&d, pixels + i * PIXELS, boxes + i * THINGS_MOST * HU_BOX_NUMBERS);
    }
    *split = (hu_split){.count = count, .rows = {pixels, boxes}, .length = {NULL, length}};
done:
    return st;
}

hu_status hu_scenes_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, const hu_image_choice *choice,
                         hu_dataset *dataset) {
    enum { OWNED_OF_HALF = 3 };
    hu_status st;
    (void)kind;
    (void)directory;
    (void)choice;
    hu_dataset_set_images(dataset, SIDE, SIDE, CHANNELS, 0);
    dataset->field[BOXES] = (hu_field){.name = "boxes",
                                       .type = HU_FIELD_F32,
                                       .rank = 2,
                                       .extent = {THINGS_MOST, HU_BOX_NUMBERS},
                                       .is_ragged = true,
                                       .is_boxes = true,
                                       .classes = FORMS};
    dataset->field_count = FIELDS;
    HU_TRY(hu_class_names_join(names, FORMS, &dataset->class_names));
    dataset->class_name_count = FORMS;
    HU_TRY(draw_half("train", hu_limited(TRAIN_COUNT, limits->train), dataset->owned,
                     &dataset->train));
    st = draw_half("test", hu_limited(TEST_COUNT, limits->test), dataset->owned + OWNED_OF_HALF,
                   &dataset->test);
done:
    return st;
}
