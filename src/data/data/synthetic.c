#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/draws.h"
#include "data/kinds.h"

/* ---- glyphs ---- */

/* Seven-segment digits with bent corners, drawn anywhere in the image at any size, tilt, slant and
 * colour, over a coloured slope with stray strokes and noise. Image i is a function of (half, i)
 * alone; only +, -, *, / and square root are used, so its bytes are the same on every machine. */

enum {
    SIDE = 32,
    CHANNELS = 3,
    PIXELS = SIDE * SIDE * CHANNELS,
    CLASSES = 10,
    TRAIN_COUNT = 10000,
    TEST_COUNT = 2000,
    /* The figure 8 of a display: seven bars between six corners. */
    SEGMENTS = 7,
    CORNERS = 6,
    STRAYS = 2,
    STROKES_MAX = SEGMENTS + STRAYS,
    NOISE_WORD = 64 /* words before it shape the image, the others are noise */
};

typedef struct glyph_point {
    float x, y;
} glyph_point;

typedef struct stroke {
    glyph_point from, to;
    float strength; /* 1 covers what is below, 0 cannot be seen */
} stroke;

/* Corners at unit half-height, y downward: top, middle, bottom; left, right. */
static const glyph_point corners[CORNERS] = {{-0.55f, -1}, {0.55f, -1}, {-0.55f, 0},
                                             {0.55f, 0},   {-0.55f, 1}, {0.55f, 1}};

/* Ends of the bars: top, upper right, lower right, bottom, lower left, upper left, middle. */
static const unsigned char segments[SEGMENTS][2] = {{0, 1}, {1, 3}, {3, 5}, {4, 5},
                                                    {2, 4}, {0, 2}, {2, 3}};

/* Bit k of a digit: segment k is lit. */
static const unsigned char digits[CLASSES] = {0x3f, 0x06, 0x5b, 0x4f, 0x66,
                                              0x6d, 0x7d, 0x07, 0x7f, 0x6f};

/* Places the corners: bend, slant, turn, scale, shift. The turn by an angle a is written with
 * t = tan(a/2), |a| < 17 degrees, to need no sine. */
static void place_corners(hu_draws *d, glyph_point placed[CORNERS]) {
    float half = hu_draw_between(d, 7.5f, 11.5f), stretch = hu_draw_between(d, 0.8f, 1.2f);
    float slant = hu_draw_between(d, -0.25f, 0.25f), t = hu_draw_between(d, -0.15f, 0.15f);
    float cosine = (1 - t * t) / (1 + t * t), sine = 2 * t / (1 + t * t);
    float room = (float)SIDE / 2 - half;
    glyph_point centre = {(float)SIDE / 2 + hu_draw_between(d, -room, room),
                          (float)SIDE / 2 + hu_draw_between(d, -room, room)};
    for (int i = 0; i < CORNERS; i++) {
        float x = (corners[i].x + hu_draw_between(d, -0.12f, 0.12f)) * stretch;
        float y = corners[i].y + hu_draw_between(d, -0.12f, 0.12f);
        x -= slant * y;
        placed[i].x = centre.x + half * (x * cosine - y * sine);
        placed[i].y = centre.y + half * (x * sine + y * cosine);
    }
}

/* Stray strokes, then the lit bars; where two cross, the stronger one shows. */
static int make_strokes(hu_draws *d, int digit, stroke strokes[STROKES_MAX]) {
    glyph_point placed[CORNERS];
    int count = 0;
    place_corners(d, placed);
    for (int k = 0; k < STRAYS; k++) {
        glyph_point from = {hu_draw_between(d, 0, SIDE), hu_draw_between(d, 0, SIDE)};
        glyph_point to = {from.x + hu_draw_between(d, -7, 7), from.y + hu_draw_between(d, -7, 7)};
        strokes[count++] = (stroke){from, to, hu_draw_between(d, 0.2f, 0.7f)};
    }
    for (int k = 0; k < SEGMENTS; k++)
        if (digits[digit] >> k & 1)
            strokes[count++] = (stroke){placed[segments[k][0]], placed[segments[k][1]], 1};
    return count;
}

/* From a point to the nearest point of the stroke, in pixels; the foot is kept between both
 * ends. */
static float distance_to(const stroke *s, float x, float y) {
    float dx = s->to.x - s->from.x, dy = s->to.y - s->from.y;
    float px = x - s->from.x, py = y - s->from.y;
    float length2 = dx * dx + dy * dy;
    float along = length2 > 0 ? (px * dx + py * dy) / length2 : 0;
    along = along < 0 ? 0 : along > 1 ? 1 : along;
    float ex = px - along * dx, ey = py - along * dy;
    return sqrtf(ex * ex + ey * ey);
}

/* Covers ink [32, 32], 0..1, with one stroke; edges are one pixel soft, the strongest stroke wins.
 */
static void draw_stroke(const stroke *s, float thickness, float *ink) {
    float reach = thickness + 0.5f;
    int left = (int)fmaxf(0, floorf(fminf(s->from.x, s->to.x) - reach));
    int right = (int)fminf(SIDE, ceilf(fmaxf(s->from.x, s->to.x) + reach));
    int top = (int)fmaxf(0, floorf(fminf(s->from.y, s->to.y) - reach));
    int bottom = (int)fminf(SIDE, ceilf(fmaxf(s->from.y, s->to.y) + reach));
    for (int y = top; y < bottom; y++) {
        for (int x = left; x < right; x++) {
            float cover = reach - distance_to(s, (float)x + 0.5f, (float)y + 0.5f);
            cover = (cover < 0 ? 0 : cover > 1 ? 1 : cover) * s->strength;
            if (cover > ink[SIDE * y + x]) ink[SIDE * y + x] = cover;
        }
    }
}

/* Colours in 0..255: ground is a slope from one colour to another, ink is lighter than it. */
typedef struct palette {
    float ground[CHANNELS], slope_x[CHANNELS], slope_y[CHANNELS], ink[CHANNELS];
    float noise;
} palette;

/* Ink is 30 to 110 lighter than the middle of the ground, in every channel. */
static palette choose_colours(hu_draws *d) {
    palette colours;
    for (int c = 0; c < CHANNELS; c++) {
        colours.ground[c] = hu_draw_between(d, 70, 165);
        colours.slope_x[c] = hu_draw_between(d, -1.5f, 1.5f);
        colours.slope_y[c] = hu_draw_between(d, -1.5f, 1.5f);
        colours.ink[c] = colours.ground[c] + hu_draw_between(d, 30, 110);
    }
    colours.noise = hu_draw_between(d, 0.04f, 0.18f);
    return colours;
}

/* Nearest byte; what is outside of 0..255 ends at the border. */
static uint8_t to_byte(float value) {
    return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)(value + 0.5f);
}

/* pixels [32, 32, 3] */
static void draw_glyph(uint64_t stream, int64_t index, int digit, uint8_t *pixels) {
    hu_draws d = {{0, stream, (uint64_t)index}, 0};
    stroke strokes[STROKES_MAX];
    uint32_t words[PIXELS / 2];
    float ink[SIDE * SIDE] = {0};
    int count = make_strokes(&d, digit, strokes);
    float thickness = hu_draw_between(&d, 0.7f, 1.6f);
    palette colours = choose_colours(&d);
    for (int k = 0; k < count; k++) draw_stroke(&strokes[k], thickness, ink);
    hu_random_words(&d.key, NOISE_WORD, PIXELS / 2, words);
    for (int i = 0; i < SIDE * SIDE; i++) {
        float x = (float)(i % SIDE) + 0.5f, y = (float)(i / SIDE) + 0.5f;
        for (int c = 0; c < CHANNELS; c++) {
            int k = CHANNELS * i + c;
            /* A word of 32 bits serves two numbers, 16 bits each. */
            uint32_t bits = words[k / 2] >> 16 * (k % 2);
            /* The sum of two bytes less its mean: a triangle over -255..255, near enough to a
             * bell. */
            float triangular = (float)(bits & 255) + (float)(bits >> 8 & 255) - 255;
            float ground = colours.ground[c] + colours.slope_x[c] * (x - SIDE / 2) +
                           colours.slope_y[c] * (y - SIDE / 2);
            pixels[k] =
                to_byte(ground + ink[i] * (colours.ink[c] - ground) + colours.noise * triangular);
        }
    }
}

static hu_status draw_half(const char *half, int64_t count, void **owned, hu_split *split) {
    hu_status st = hu_alloc_array((size_t)count, PIXELS, &owned[0]);
    if (st == HU_OK) st = hu_alloc_array((size_t)count, sizeof(int32_t), &owned[1]);
    if (st != HU_OK) return st;
    uint8_t *pixels = owned[0];
    int32_t *labels = owned[1];
    uint64_t stream = hu_stream_id("glyphs", half);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        /* Classes take turns, so that every limit has nearly as many images of each. */
        labels[i] = (int32_t)(i % CLASSES);
        draw_glyph(stream, i, labels[i], pixels + (size_t)i * PIXELS);
    }
    *split = (hu_split){.count = count, .rows = {pixels, labels}};
    return HU_OK;
}

hu_status hu_glyphs_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, const hu_image_choice *choice,
                         hu_dataset *dataset) {
    (void)choice;
    (void)directory;
    hu_dataset_set_images(dataset, SIDE, SIDE, CHANNELS, kind->classes);
    hu_status st =
        draw_half("train", hu_limited(TRAIN_COUNT, limits->train), dataset->owned, &dataset->train);
    if (st != HU_OK) return st;
    return draw_half("test", hu_limited(TEST_COUNT, limits->test), dataset->owned + 2,
                     &dataset->test);
}

/* ---- ink ---- */

/* ink:SPEC - a label map for every image of another data set of grey images: which pixels are ink,
 * and of what. Class 0 is the ground, class 1 + label the ink of a sample's label; pixels between
 * light and dark are unlabelled. */

/* Bytes below are ground, bytes from INK on are ink. */
enum { GROUND = 16, INK = 64, OWNED_BY_IMAGES = 4 };

static const char self[] = "ink";

bool hu_ink_available(const hu_data_kind *kind, const char *spec) {
    (void)kind;
    return strncmp(spec, self, sizeof self - 1) != 0 && hu_dataset_available(spec);
}

/* map [count, pixels] */
static hu_status make_maps(const hu_split *split, int64_t pixels, void **map) {
    const uint8_t *image = split->rows[HU_FIELD_IMAGE];
    const int32_t *label = split->rows[HU_FIELD_LABEL];
    hu_status st = hu_alloc_array((size_t)split->count, (size_t)pixels, map);
    uint8_t *out = *map;
    for (int64_t i = 0; st == HU_OK && i < split->count * pixels; i++) {
        uint8_t class_number = (uint8_t)(1 + label[i / pixels]);
        out[i] = image[i] < GROUND ? 0 : image[i] < INK ? HU_UNLABELLED_BYTE : class_number;
    }
    return st;
}

static hu_status check(const hu_dataset *images, const char *spec) {
    const hu_field *image = &images->field[HU_FIELD_IMAGE];
    int64_t classes = images->field[HU_FIELD_LABEL].classes;
    if (image->extent[2] != 1 || image->margin != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data ink:%s: found %lld channels, expected 1: ink is told from grey images",
                       spec, (long long)image->extent[2]);
    if (classes >= HU_UNLABELLED_BYTE)
        return hu_fail(HU_ERR_LIMIT, "data ink:%s: found %lld classes, expected fewer than %d",
                       spec, (long long)classes, HU_UNLABELLED_BYTE);
    return HU_OK;
}

/* Takes everything but the names of a data set and of its classes, which are not those of maps;
 * what is left of it can be closed. */
static void take_over(hu_dataset *images, hu_dataset *dataset) {
    char *name = dataset->name;
    *dataset = *images;
    dataset->name = name;
    dataset->class_names = NULL;
    dataset->class_name_count = 0;
    memset(images->owned, 0, sizeof images->owned);
}

hu_status hu_ink_open(const hu_data_kind *kind, const char *spec, const hu_data_limits *limits,
                      const hu_image_choice *choice, hu_dataset *dataset) {
    (void)choice;
    enum { MASK = HU_FIELD_LABEL + 1 };
    hu_status st;
    hu_dataset *images = NULL;
    (void)kind;
    if (strncmp(spec, self, sizeof self - 1) == 0)
        return hu_fail(HU_ERR_ARGUMENT, "data ink:%s: expected a data set of images", spec);
    HU_TRY(hu_dataset_open(spec, limits, &images));
    HU_TRY(check(images, spec));
    take_over(images, dataset);
    const hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    dataset->field[MASK] = (hu_field){.name = "mask",
                                      .type = HU_FIELD_U8,
                                      .rank = 2,
                                      .extent = {image->extent[0], image->extent[1]},
                                      .is_spatial = true,
                                      .classes = 1 + dataset->field[HU_FIELD_LABEL].classes};
    dataset->field_count = MASK + 1;
    int64_t pixels = image->extent[0] * image->extent[1];
    HU_TRY(make_maps(&dataset->train, pixels, &dataset->owned[OWNED_BY_IMAGES]));
    HU_TRY(make_maps(&dataset->test, pixels, &dataset->owned[OWNED_BY_IMAGES + 1]));
    dataset->train.rows[MASK] = dataset->owned[OWNED_BY_IMAGES];
    dataset->test.rows[MASK] = dataset->owned[OWNED_BY_IMAGES + 1];
done:
    hu_dataset_close(images);
    return st;
}

/* ---- contacts ---- */

/* Maps of which points of a folded chain are near each other, as proteins have them: a random walk
 * of 28 points whose steps turn slowly from point to point, and from sample to sample, so that a
 * half of the set is one trajectory. Sample k is a function of (half, k) and of the samples before
 * it; normal numbers, +, *, / and square root are all that is used, so that its bytes are the same
 * on every machine. Made in place of the private data of the range study of Popescu et al. */

enum {
    POINTS = 28,
    STEPS = POINTS - 1,
    AXES = 3,
    CONTACTS_PIXELS = POINTS * POINTS,
    CONTACTS_TRAIN_COUNT = 20000,
    CONTACTS_TEST_COUNT = 4000,
    CONTACT = 255
};

/* Of neighbours in the chain, and below which points touch: Angstrom, between alpha carbons. */
static const double bond = 3.8, reach = 8.0;

/* How much of its direction a step keeps from the step before it in the chain, and from itself in
 * the sample before. */
static const double along = 0.6, across = 0.8, kept = 0.95, moved = 0.31;

typedef struct vector {
    double at[AXES];
} vector;

/* Of length 1. */
static vector direction(vector v) {
    double squares = 0.0;
    for (int a = 0; a < AXES; a++) squares += v.at[a] * v.at[a];
    double length = sqrt(squares);
    for (int a = 0; a < AXES; a++) v.at[a] /= length;
    return v;
}

static vector mixed(double p, const vector *x, double q, const vector *y) {
    vector made;
    for (int a = 0; a < AXES; a++) made.at[a] = p * x->at[a] + q * y->at[a];
    return direction(made);
}

/* Direction number i of sample k: any is as likely as any other. */
static vector drawn(const hu_random_key *key, int64_t k, int i) {
    vector v;
    for (int a = 0; a < AXES; a++)
        v.at[a] = (double)hu_random_normal(key, (uint64_t)((k * POINTS + i) * AXES + a));
    return direction(v);
}

/* turn [27]: what each step of the chain has of its own, from sample to sample. */
static void move_turns(const hu_random_key *key, int64_t k, vector *turn) {
    for (int i = 0; i < STEPS; i++) {
        vector noise = drawn(key, k, i);
        turn[i] = k == 0 ? noise : mixed(kept, &turn[i], moved, &noise);
    }
}

/* point [28] */
static void fold(const vector *turn, vector *point) {
    vector step = turn[0];
    point[0] = (vector){{0.0}};
    for (int i = 0; i < STEPS; i++) {
        if (i > 0) step = mixed(along, &step, across, &turn[i]);
        for (int a = 0; a < AXES; a++) point[i + 1].at[a] = point[i].at[a] + bond * step.at[a];
    }
}

static bool is_contact(const vector *a, const vector *b) {
    double squares = 0.0;
    for (int k = 0; k < AXES; k++) squares += (a->at[k] - b->at[k]) * (a->at[k] - b->at[k]);
    return squares < reach * reach;
}

/* map [28, 28]; a point touches itself. */
static void draw_map(const vector *point, uint8_t *map) {
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < POINTS; j++)
            map[POINTS * i + j] = is_contact(&point[i], &point[j]) ? CONTACT : 0;
}

static hu_status contacts_draw_half(const char *half, int64_t count, void **owned,
                                    hu_split *split) {
    const hu_random_key key = {0, hu_stream_id("contact", half), 0};
    vector turn[STEPS], point[POINTS];
    hu_status st = hu_alloc_array((size_t)count, CONTACTS_PIXELS, owned);
    if (st != HU_OK) return st;
    uint8_t *maps = *owned;
    for (int64_t k = 0; k < count; k++) {
        move_turns(&key, k, turn);
        fold(turn, point);
        draw_map(point, maps + k * CONTACTS_PIXELS);
    }
    *split = (hu_split){.count = count, .rows = {maps}};
    return HU_OK;
}

hu_status hu_contacts_open(const hu_data_kind *kind, const char *directory,
                           const hu_data_limits *limits, const hu_image_choice *choice,
                           hu_dataset *dataset) {
    (void)choice;
    (void)kind;
    (void)directory;
    dataset->field[HU_FIELD_IMAGE] = (hu_field){.name = "image",
                                                .type = HU_FIELD_U8,
                                                .rank = 3,
                                                .extent = {POINTS, POINTS, 1},
                                                .is_spatial = true};
    dataset->field_count = 1;
    hu_status st = contacts_draw_half("train", hu_limited(CONTACTS_TRAIN_COUNT, limits->train),
                                      dataset->owned, &dataset->train);
    if (st != HU_OK) return st;
    return contacts_draw_half("test", hu_limited(CONTACTS_TEST_COUNT, limits->test),
                              dataset->owned + 1, &dataset->test);
}
