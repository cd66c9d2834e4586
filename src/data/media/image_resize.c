#include "media/image_resize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

/* ---- bicubic ---- */

/* Pictures of three channels made larger or smaller by cubic splines, as Pillow
 * does it: what super-resolution learns from, and what it is compared with.
 */

enum { CHANNELS = 3, REACH = 2 };

/* What makes each target place along an axis. */
typedef struct bicubic_axis {
    int64_t places, most; /* sources of one place, at most */
    int64_t *first, *count;
    double *weight; /* [places, most] */
} bicubic_axis;

/* Keys (1981), a = -1/2. */
static double kernel(double x) {
    x = fabs(x);
    if (x <= 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < REACH ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static void fill_bicubic_place(bicubic_axis *a, int64_t i, int64_t from, double scale) {
    double width = scale > 1 ? scale : 1, centre = ((double)i + 0.5) * scale, sum = 0;
    double *weight = a->weight + i * a->most;
    int64_t first = (int64_t)floor(centre - REACH * width + 0.5);
    int64_t end = (int64_t)floor(centre + REACH * width + 0.5);
    if (first < 0) first = 0;
    if (end > from) end = from;
    a->first[i] = first;
    a->count[i] = end - first;
    for (int64_t k = 0; k < end - first; k++) {
        weight[k] = kernel(((double)(first + k) + 0.5 - centre) / width);
        sum += weight[k];
    }
    for (int64_t k = 0; k < end - first; k++) weight[k] /= sum;
}

static void free_axis(bicubic_axis *a) {
    hu_free(a->first);
    hu_free(a->count);
    hu_free(a->weight);
}

static hu_status make_bicubic_axis(int64_t from, int64_t to, bicubic_axis *a) {
    hu_status st;
    double scale = (double)from / (double)to;
    a->places = to;
    a->most = 2 * REACH * (int64_t)ceil(scale > 1 ? scale : 1) + 1;
    HU_TRY(HU_NEW_ARRAY(&a->first, (size_t)to));
    HU_TRY(HU_NEW_ARRAY(&a->count, (size_t)to));
    HU_TRY(HU_NEW_ARRAY(&a->weight, (size_t)(to * a->most)));
    for (int64_t i = 0; i < to; i++) fill_bicubic_place(a, i, from, scale);
done:
    return st;
}

/* Place i of numbers that stand `step` apart. */
static uint8_t mix(const bicubic_axis *a, int64_t i, const uint8_t *from, int64_t step) {
    const double *weight = a->weight + i * a->most;
    double sum = 0;
    for (int64_t k = 0; k < a->count[i]; k++) sum += weight[k] * from[(a->first[i] + k) * step];
    sum = floor(sum + 0.5);
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

hu_status hu_bicubic_resize(const uint8_t *from, int64_t height, int64_t width, int64_t to_height,
                            int64_t to_width, uint8_t *to) {
    hu_status st;
    bicubic_axis columns = {0}, rows = {0};
    uint8_t *between = NULL; /* [height, to_width, 3] */
    int64_t bytes = to_width * CHANNELS;
    HU_TRY(make_bicubic_axis(width, to_width, &columns));
    HU_TRY(make_bicubic_axis(height, to_height, &rows));
    HU_TRY(HU_NEW_ARRAY(&between, (size_t)(height * bytes)));
    for (int64_t y = 0; y < height; y++)
        for (int64_t i = 0; i < bytes; i++)
            between[y * bytes + i] =
                mix(&columns, i / CHANNELS, from + y * width * CHANNELS + i % CHANNELS, CHANNELS);
    for (int64_t y = 0; y < to_height; y++)
        for (int64_t i = 0; i < bytes; i++) to[y * bytes + i] = mix(&rows, y, between + i, bytes);
done:
    hu_free(between);
    free_axis(&columns);
    free_axis(&rows);
    return st;
}

/* ---- The eight ways in which a picture can lie ---- */

bool hu_image_is_transposed(const hu_image *image) {
    return image->orientation >= HU_IMAGE_FIRST_ACROSS;
}

const char *hu_image_seen(const hu_image *image, char text[HU_IMAGE_SEEN_BYTES]) {
    text[0] = '\0';
    if (hu_image_is_transposed(image))
        snprintf(text, HU_IMAGE_SEEN_BYTES, " (EXIF turns it: %lldx%lld as seen)",
                 (long long)image->height, (long long)image->width);
    return text;
}

hu_status hu_image_turn(const char *name, hu_image *image) {
    int o = image->orientation;
    hu_image made = {0};
    if (o <= HU_IMAGE_UPRIGHT) return HU_OK;
    bool is_across = hu_image_is_transposed(image);
    bool from_bottom = o == 3 || o == 4 || o == 6 || o == 7;
    bool from_right = o == 2 || o == 3 || o == 7 || o == 8;
    int64_t height = image->height, width = image->width, row = width * HU_IMAGE_CHANNELS;
    hu_status st = hu_image_reserve(name, is_across ? height : width, is_across ? width : height,
                                    HU_IMAGE_CHANNELS, &made);
    if (st != HU_OK) return st;
    /* A step down and one to the right in the file's pixels, and what they are in the result. */
    int64_t down = from_bottom ? -row : row;
    int64_t right = from_right ? -HU_IMAGE_CHANNELS : HU_IMAGE_CHANNELS;
    int64_t by_row = is_across ? right : down, by_column = is_across ? down : right;
    const uint8_t *first = image->pixels + (from_bottom ? (height - 1) * row : 0) +
                           (from_right ? row - HU_IMAGE_CHANNELS : 0);
    uint8_t *to = made.pixels;
    for (int64_t y = 0; y < made.height; y++)
        for (int64_t x = 0; x < made.width; x++, to += HU_IMAGE_CHANNELS)
            memcpy(to, first + y * by_row + x * by_column, HU_IMAGE_CHANNELS);
    hu_image_free(image);
    *image = made;
    image->orientation = HU_IMAGE_UPRIGHT;
    return HU_OK;
}

/* ---- image shrink ---- */

/* Bilinear resizing with antialiasing, in the integer arithmetic of Pillow (resample of 8-bit
 * images). */

typedef hu_resample_axis axis;

static double triangle(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* Of target place i + skipped. */
static void fill_place(axis *a, int64_t i, int64_t skipped, int64_t from, double scale) {
    double width = scale > 1 ? scale : 1, centre = ((double)(i + skipped) + 0.5) * scale, sum = 0;
    int64_t first = (int64_t)(centre - width + 0.5), end = (int64_t)(centre + width + 0.5);
    if (centre - width + 0.5 < 0) first = 0;
    if (end > from) end = from;
    a->first[i] = first;
    a->count[i] = end - first;
    for (int64_t k = 0; k < end - first; k++)
        sum += triangle(((double)(k + first) - centre + 0.5) / width);
    for (int64_t k = 0; k < end - first; k++) {
        double share = triangle(((double)(k + first) - centre + 0.5) / width) / sum;
        a->weight[i * a->most + k] = (int32_t)(0.5 + share * (1 << HU_RESAMPLE_BITS));
    }
}

/* Room for places and weights of one axis; firsts and counts are zero. */
static hu_status lay_out(axis *a, hu_scratch *room) {
    enum { ROUND = HU_RESAMPLE_GROUP };
    size_t places = (size_t)((a->places + ROUND - 1) / ROUND * ROUND);
    size_t words = hu_resample_words(a->places, a->most), most = (size_t)a->most;
    uint8_t *block;
    hu_status st = hu_scratch_take(room,
                                   words * sizeof *a->halves + 2 * places * sizeof *a->first +
                                       places * most * sizeof *a->weight,
                                   &block);
    if (st != HU_OK) return st;
    a->halves = (int16_t *)(void *)block;
    a->first = (int64_t *)(void *)(a->halves + words);
    a->count = a->first + places;
    a->weight = (int32_t *)(void *)(a->count + places);
    memset(a->first, 0, 2 * places * sizeof *a->first);
    return HU_OK;
}

/* `places` from `begin` on of the `to` that `from` pixels become. */
static hu_status make_axis(int64_t from, int64_t to, int64_t begin, int64_t places,
                           hu_image_axis *made) {
    double scale = (double)from / (double)to;
    if (made->room.block && made->from == from && made->to == to && made->begin == begin &&
        made->weights.places == places)
        return HU_OK;
    made->from = 0; /* until it is made */
    made->weights.places = places;
    made->weights.most = 2 * (int64_t)ceil(scale > 1 ? scale : 1) + 1;
    hu_status st = lay_out(&made->weights, &made->room);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < places; i++) fill_place(&made->weights, i, begin, from, scale);
    hu_resample_pair(&made->weights);
    made->from = from;
    made->to = to;
    made->begin = begin;
    return HU_OK;
}

/* What is made of an image: a rectangle of it becomes height x width, of which a part is made. */
typedef struct resizing {
    hu_image_cut cut;
    int64_t height, width;
    hu_image_cut part;
    size_t row_bytes; /* of the result */
} resizing;

static const uint8_t *pixel_at(const hu_image *image, const resizing *r, int64_t y, int64_t x) {
    return image->pixels + ((r->cut.top + y) * image->width + r->cut.left + x) * HU_IMAGE_CHANNELS;
}

/* Every weight would be 0 or 1. */
static void copy_part(const hu_image *image, const resizing *r, uint8_t *to) {
    for (int64_t y = 0; y < r->part.height; y++)
        memcpy(to + (size_t)y * r->row_bytes, pixel_at(image, r, r->part.top + y, r->part.left),
               (size_t)(r->part.width * HU_IMAGE_CHANNELS));
}

/* How many rows of the rectangle, from its first on, have so many bytes of the image from their
 * beginning on: the kernel reads after a row. */
static int64_t plain_rows(const hu_image *image, const resizing *r, int64_t reads) {
    int64_t row = image->width * HU_IMAGE_CHANNELS;
    int64_t left = (image->height - r->cut.top) * row - r->cut.left * HU_IMAGE_CHANNELS - reads;
    return left < 0 ? 0 : left / row + 1;
}

static hu_status resize(const hu_image *image, const resizing *r, uint8_t *to,
                        hu_image_resizer *own) {
    hu_status st;
    const hu_resample *with = hu_resample_here();
    int64_t bytes = r->part.width * HU_IMAGE_CHANNELS;
    uint8_t *between, *line;
    HU_TRY(make_axis(r->cut.width, r->width, r->part.left, r->part.width, &own->columns));
    HU_TRY(make_axis(r->cut.height, r->height, r->part.top, r->part.height, &own->rows));
    const axis *columns = &own->columns.weights, *rows = &own->rows.weights;
    int64_t top = rows->first[0];
    int64_t end = rows->first[rows->places - 1] + rows->count[rows->places - 1];
    int64_t stride = bytes + HU_RESAMPLE_BEHIND;
    HU_TRY(hu_scratch_take(&own->between, (size_t)((end - top) * stride), &between));
    HU_TRY(hu_scratch_take(&own->line, (size_t)(r->cut.width * HU_IMAGE_CHANNELS + columns->reads),
                           &line));
    int64_t plain = plain_rows(image, r, columns->reads);
    plain = plain < top ? top : plain < end ? plain : end;
    with->rows(columns, pixel_at(image, r, top, 0), image->width * HU_IMAGE_CHANNELS, plain - top,
               between, stride);
    for (int64_t y = plain; y < end; y++) {
        memcpy(line, pixel_at(image, r, y, 0), (size_t)(r->cut.width * HU_IMAGE_CHANNELS));
        with->rows(columns, line, 0, 1, between + (y - top) * stride, stride);
    }
    for (int64_t i = 0; i < rows->places; i++)
        with->column(rows, i, between + (rows->first[i] - top) * stride, stride, bytes,
                     to + (size_t)i * r->row_bytes);
done:
    return st;
}

void hu_image_resizer_free(hu_image_resizer *resizer) {
    hu_scratch_free(&resizer->columns.room);
    hu_scratch_free(&resizer->rows.room);
    hu_scratch_free(&resizer->between);
    hu_scratch_free(&resizer->line);
    *resizer = (hu_image_resizer){0};
}

/* Where nothing changes its size, nothing is computed. */
static hu_status copy_or_resize(const hu_image *image, const resizing *r, uint8_t *to,
                                hu_image_resizer *resizer) {
    if (r->cut.width != r->width || r->cut.height != r->height)
        return resize(image, r, to, resizer);
    copy_part(image, r, to);
    return HU_OK;
}

hu_status hu_image_shrink(const hu_image *image, int64_t side, uint8_t *square,
                          hu_image_resizer *resizer) {
    int64_t shorter = image->width < image->height ? image->width : image->height;
    int64_t height = image->height * side / shorter, width = image->width * side / shorter;
    const resizing r = {.cut = {0, 0, image->width, image->height},
                        .height = height,
                        .width = width,
                        .part = {(width - side) / 2, (height - side) / 2, side, side},
                        .row_bytes = (size_t)(side * HU_IMAGE_CHANNELS)};
    return copy_or_resize(image, &r, square, resizer);
}

hu_status hu_image_resize(const hu_image *image, const hu_image_cut *cut, int64_t height,
                          int64_t width, size_t row_bytes, uint8_t *to, hu_image_resizer *resizer) {
    const resizing r = {*cut, height, width, {0, 0, width, height}, row_bytes};
    return copy_or_resize(image, &r, to, resizer);
}

hu_status hu_image_resize_part(const hu_image *image, int64_t height, int64_t width,
                               const hu_image_cut *part, size_t row_bytes, uint8_t *to,
                               hu_image_resizer *resizer) {
    const resizing r = {{0, 0, image->width, image->height}, height, width, *part, row_bytes};
    return copy_or_resize(image, &r, to, resizer);
}
