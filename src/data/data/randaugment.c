#include "data/randaugment.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/elementary.h"
#include "base/rng.h"

/* ---- erase ---- */

/* Random erasing (Zhong et al. 2017) as timm and DeiT do it: a rectangle of a
 * picture becomes normal noise.
 *
 * Words of key {seed, "erase", epoch}, block 16 index + t: a picture loses a rectangle where u_0 of
 * block 15 < probability. Ten tries t, u_i = word i / 2^32: share = 0.02 + (1/3 - 0.02) u_0, ratio
 * = exp(log 0.3 + (log 10/3 - log 0.3) u_1), h = rint(sqrt(share H W ratio)), w = rint(sqrt(share H
 * W / ratio)); accepted if h < H and w < W; top = floor((H - h + 1) u_2), left likewise by u_3.
 * Element i of the picture becomes normal number index H W C + i of key {seed, "erase noise",
 * epoch}.
 */

enum { TRIES = 10, ERASE_BLOCKS = 16, DECIDES = 15, ERASE_WORDS = 4 };

typedef struct rectangle {
    int64_t top, left, height, width;
} rectangle;

static bool draw(const hu_random_key *key, int64_t index, int64_t height, int64_t width,
                 rectangle *r) {
    const double least = 0.02, most = 1.0 / 3.0, flat = 0.3;
    uint32_t words[ERASE_WORDS];
    for (uint64_t t = 0; t < TRIES; t++) {
        hu_random_block(key, (uint64_t)index * ERASE_BLOCKS + t, words);
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
    uint32_t words[ERASE_WORDS];
    rectangle r;
    uint64_t first = (uint64_t)(index * height * width * channels);
    hu_random_block(&key, (uint64_t)index * ERASE_BLOCKS + DECIDES, words);
    if (!(hu_word_share(words[0]) < probability) || !draw(&key, index, height, width, &r)) return;
    for (int64_t y = r.top; y < r.top + r.height; y++)
        for (int64_t i = (y * width + r.left) * channels;
             i < (y * width + r.left + r.width) * channels; i++)
            sample[i] = hu_random_normal(&noise, first + (uint64_t)i);
}

/* ---- randaugment ---- */

enum { CHANNELS = HU_RANDAUGMENT_CHANNELS, CODES = 256, ROUNDS = 2, WORDS = 4, BLOCKS = 4 };

/* A picture, and room for another one. */
typedef struct canvas {
    int64_t height, width;
    uint8_t *image, *scratch; /* [height, width, CHANNELS] */
    const uint8_t *fill;      /* [CHANNELS] of what comes from outside */
} canvas;

/* ---- tables: what becomes of each byte ---- */

typedef uint8_t table[CHANNELS][CODES];

static void look_up(const canvas *c, table of) {
    for (int64_t p = 0; p < c->height * c->width; p++)
        for (int k = 0; k < CHANNELS; k++)
            c->image[p * CHANNELS + k] = of[k][c->image[p * CHANNELS + k]];
}

static void count(const canvas *c, int channel, int64_t histogram[CODES]) {
    memset(histogram, 0, CODES * sizeof *histogram);
    for (int64_t p = 0; p < c->height * c->width; p++)
        histogram[c->image[p * CHANNELS + channel]]++;
}

/* Truncated toward 0, then within a byte. */
static uint8_t cut(double x) {
    return x <= 0.0 ? 0 : x >= 255.0 ? 255 : (uint8_t)x;
}

static void autocontrast(const canvas *c, table of) {
    int64_t histogram[CODES];
    for (int k = 0; k < CHANNELS; k++) {
        int low = 0, high = CODES - 1;
        count(c, k, histogram);
        while (low < CODES - 1 && !histogram[low]) low++;
        while (high > 0 && !histogram[high]) high--;
        double scale = high > low ? 255.0 / (double)(high - low) : 1.0;
        double offset = high > low ? -(double)low * scale : 0.0;
        for (int v = 0; v < CODES; v++) of[k][v] = cut((double)v * scale + offset);
    }
}

static void equalize(const canvas *c, table of) {
    int64_t histogram[CODES];
    for (int k = 0; k < CHANNELS; k++) {
        int last = 0, used = 0;
        count(c, k, histogram);
        for (int v = 0; v < CODES; v++)
            if (histogram[v]) last = v, used++;
        int64_t step = (c->height * c->width - histogram[last]) / 255, n = step / 2;
        for (int v = 0; v < CODES; v++) {
            of[k][v] = used <= 1 || step == 0 ? (uint8_t)v : cut((double)(n / step));
            n += histogram[v];
        }
    }
}

static void posterize(double strength, table of) {
    int bits = 4 - (int)(strength / 10.0 * 4.0);
    int mask = bits >= 8 ? 255 : 255 & ~((1 << (8 - bits)) - 1);
    for (int k = 0; k < CHANNELS; k++)
        for (int v = 0; v < CODES; v++) of[k][v] = (uint8_t)(v & mask);
}

/* From `least` on; 0: all. */
static void invert(int least, table of) {
    for (int k = 0; k < CHANNELS; k++)
        for (int v = 0; v < CODES; v++) of[k][v] = (uint8_t)(v < least ? v : 255 - v);
}

static void solarize_add(double strength, table of) {
    int more = (int)(strength / 10.0 * 110.0);
    if (more > 128) more = 128;
    for (int k = 0; k < CHANNELS; k++)
        for (int v = 0; v < CODES; v++)
            of[k][v] = (uint8_t)(v >= 128 ? v : v + more > 255 ? 255 : v + more);
}

/* ---- enhancement: away from a picture that lacks something, or toward it ---- */

static uint8_t blended(uint8_t without, uint8_t with, double factor) {
    return cut((double)((float)without + (float)factor * (float)(with - without)));
}

/* As Pillow makes grey of colours. */
static uint8_t grey(const uint8_t *pixel) {
    uint32_t sum = pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u;
    return (uint8_t)(sum >> 16);
}

static void colour(const canvas *c, double factor) {
    for (int64_t p = 0; p < c->height * c->width; p++) {
        uint8_t *pixel = c->image + p * CHANNELS, without = grey(pixel);
        for (int k = 0; k < CHANNELS; k++) pixel[k] = blended(without, pixel[k], factor);
    }
}

/* The mean grey, or black. */
static void contrast(const canvas *c, double factor, bool is_brightness) {
    int64_t pixels = c->height * c->width;
    double sum = 0.0;
    for (int64_t p = 0; p < pixels; p++) sum += (double)grey(c->image + p * CHANNELS);
    uint8_t without = is_brightness ? 0 : (uint8_t)(sum / (double)pixels + 0.5);
    for (int64_t i = 0; i < pixels * CHANNELS; i++)
        c->image[i] = blended(without, c->image[i], factor);
}

/* (the eight around it + 5 times itself) / 13; the border stays. */
static uint8_t smooth(const canvas *c, int64_t y, int64_t x, int k) {
    const uint8_t *from = c->scratch;
    double sum = 0.0;
    if (y == 0 || x == 0 || y == c->height - 1 || x == c->width - 1)
        return from[(y * c->width + x) * CHANNELS + k];
    for (int64_t dy = -1; dy <= 1; dy++)
        for (int64_t dx = -1; dx <= 1; dx++)
            sum += (dy || dx ? 1.0 : 5.0) *
                   (double)from[((y + dy) * c->width + x + dx) * CHANNELS + k];
    return cut(sum / 13.0 + 0.5);
}

static void sharpness(const canvas *c, double factor) {
    memcpy(c->scratch, c->image, (size_t)(c->height * c->width * CHANNELS));
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = 0; x < c->width; x++)
            for (int k = 0; k < CHANNELS; k++) {
                int64_t i = (y * c->width + x) * CHANNELS + k;
                c->image[i] = blended(smooth(c, y, x, k), c->scratch[i], factor);
            }
}

/* ---- geometry ---- */

/* The middle of target pixel (x, y) is the source's (a x + b y + c, d x + e y + f). */
typedef struct affine {
    double a, b, c, d, e, f;
} affine;

static int64_t inside(int64_t i, int64_t n) {
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Between the four pixels around a point; those beyond the border are those at it. */
static void bilinear(const canvas *c, double x, double y, uint8_t *pixel) {
    x -= 0.5, y -= 0.5;
    int64_t left = (int64_t)floor(x), top = (int64_t)floor(y);
    double right_share = x - floor(x), low_share = y - floor(y);
    for (int k = 0; k < CHANNELS; k++) {
        double row[2];
        for (int r = 0; r < 2; r++) {
            const uint8_t *from = c->scratch + inside(top + r, c->height) * c->width * CHANNELS + k;
            double first = (double)from[inside(left, c->width) * CHANNELS];
            double second = (double)from[inside(left + 1, c->width) * CHANNELS];
            row[r] = first + right_share * (second - first);
        }
        pixel[k] = cut(row[0] + low_share * (row[1] - row[0]));
    }
}

static void transform(const canvas *c, const affine *t) {
    memcpy(c->scratch, c->image, (size_t)(c->height * c->width * CHANNELS));
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = 0; x < c->width; x++) {
            uint8_t *pixel = c->image + (y * c->width + x) * CHANNELS;
            double u = (double)x + 0.5, v = (double)y + 0.5;
            double from_x = t->a * u + t->b * v + t->c, from_y = t->d * u + t->e * v + t->f;
            if (from_x < 0.0 || from_x >= (double)c->width || from_y < 0.0 ||
                from_y >= (double)c->height)
                memcpy(pixel, c->fill, CHANNELS);
            else
                bilinear(c, from_x, from_y, pixel);
        }
}

/* About the middle, against the clock. */
static affine rotation(const canvas *c, double degrees) {
    double angle = -degrees * 0x1.921fb54442d18p1 / 180.0;
    double cosine = hu_cos(angle), sine = hu_sin(angle);
    double x = 0.5 * (double)c->width, y = 0.5 * (double)c->height;
    return (affine){cosine, sine,   x - cosine * x - sine * y,
                    -sine,  cosine, y + sine * x - cosine * y};
}

/* ---- operations ---- */

static double enhancement(double strength, double sign) {
    double factor = 1.0 + sign * strength / 10.0 * 0.9;
    return factor < 0.1 ? 0.1 : factor;
}

enum {
    AUTOCONTRAST,
    EQUALIZE,
    INVERT,
    ROTATE,
    POSTERIZE,
    SOLARIZE,
    SOLARIZE_ADD,
    COLOUR,
    CONTRAST,
    BRIGHTNESS,
    SHARPNESS,
    SHEAR_X,
    SHEAR_Y,
    MOVE_X,
    MOVE_Y
};

/* Of those that look bytes up; false: the operation is another one. */
static bool fill_table(const canvas *c, int operation, double strength, table of) {
    int threshold = (int)(strength / 10.0 * 256.0);
    if (operation == AUTOCONTRAST)
        autocontrast(c, of);
    else if (operation == EQUALIZE)
        equalize(c, of);
    else if (operation == INVERT)
        invert(0, of);
    else if (operation == POSTERIZE)
        posterize(strength, of);
    else if (operation == SOLARIZE)
        invert(256 - (threshold > 256 ? 256 : threshold), of);
    else if (operation == SOLARIZE_ADD)
        solarize_add(strength, of);
    else
        return false;
    return true;
}

static affine affine_of(const canvas *c, int operation, double amount) {
    affine t = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0};
    if (operation == ROTATE) return rotation(c, amount * 30.0);
    if (operation == SHEAR_X) t.b = amount * 0.3;
    if (operation == SHEAR_Y) t.d = amount * 0.3;
    if (operation == MOVE_X) t.c = amount * 0.45 * (double)c->width;
    if (operation == MOVE_Y) t.f = amount * 0.45 * (double)c->height;
    return t;
}

void hu_randaugment_apply(int operation, double strength, double sign, const uint8_t *fill,
                          int64_t height, int64_t width, uint8_t *image, uint8_t *scratch) {
    const canvas c = {height, width, image, scratch, fill};
    table of;
    double factor = enhancement(strength, sign);
    if (fill_table(&c, operation, strength, of))
        look_up(&c, of);
    else if (operation == COLOUR)
        colour(&c, factor);
    else if (operation == CONTRAST || operation == BRIGHTNESS)
        contrast(&c, factor, operation == BRIGHTNESS);
    else if (operation == SHARPNESS)
        sharpness(&c, factor);
    else {
        affine t = affine_of(&c, operation, sign * strength / 10.0);
        transform(&c, &t);
    }
}

void hu_randaugment_run(const hu_randaugment *settings, uint64_t seed, int64_t epoch, int64_t index,
                        int64_t height, int64_t width, uint8_t *image, uint8_t *scratch) {
    const hu_random_key key = {seed, hu_stream_id("randaugment", ""), (uint64_t)epoch};
    const hu_random_key noise = {seed, hu_stream_id("randaugment strength", ""), (uint64_t)epoch};
    for (uint64_t n = 0; n < ROUNDS; n++) {
        uint32_t words[WORDS];
        uint64_t place = (uint64_t)index * BLOCKS + n;
        hu_random_block(&key, place, words);
        if (!(hu_word_share(words[1]) < 0.5)) continue;
        double strength =
            settings->magnitude + settings->std * (double)hu_random_normal(&noise, place);
        strength = fmin(fmax(strength, 0.0), 10.0);
        hu_randaugment_apply((int)hu_word_below(words[0], HU_RANDAUGMENT_OPERATIONS), strength,
                             hu_word_share(words[2]) < 0.5 ? -1.0 : 1.0, settings->fill, height,
                             width, image, scratch);
    }
}
