/* Bilinear resizing with antialiasing, in the integer arithmetic of Pillow (resample of 8-bit
 * images). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/image.h"

enum { WEIGHT_BITS = 22, HALF = 1 << (WEIGHT_BITS - 1) };

/* Weights of one axis: place i is the sum over k < count[i] of weight[i * most + k] * (first[i] +
 * k).
 */
typedef struct axis {
    int64_t places, most;
    int64_t *first, *count;
    int32_t *weight;
} axis;

static void free_axis(axis *a) {
    hu_free(a->first);
    hu_free(a->count);
    hu_free(a->weight);
}

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
        a->weight[i * a->most + k] = (int32_t)(0.5 + share * (1 << WEIGHT_BITS));
    }
}

/* The middle `places` of `from` pixels that become `to`. */
static hu_status make_axis(int64_t from, int64_t to, int64_t places, axis *a) {
    hu_status st;
    double scale = (double)from / (double)to;
    void *block;
    a->places = places;
    a->most = 2 * (int64_t)ceil(scale > 1 ? scale : 1) + 1;
    HU_TRY(hu_alloc_array((size_t)places, sizeof *a->first, &block));
    a->first = block;
    HU_TRY(hu_alloc_array((size_t)places, sizeof *a->count, &block));
    a->count = block;
    HU_TRY(hu_alloc_array((size_t)(places * a->most), sizeof *a->weight, &block));
    a->weight = block;
    for (int64_t i = 0; i < places; i++) fill_place(a, i, (to - places) / 2, from, scale);
done:
    return st;
}

/* The sum over k of weight times a byte, with the half that rounds, to a byte. */
static uint8_t to_byte(int32_t sum) {
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum > UINT8_MAX ? UINT8_MAX : sum);
}

/* One row of pixels [.., 3] -> [places, 3]. */
static void shrink_row(const axis *a, const uint8_t *from, uint8_t *to) {
    for (int64_t i = 0; i < a->places; i++, to += HU_IMAGE_CHANNELS) {
        const int32_t *weight = a->weight + i * a->most;
        const uint8_t *pixel = from + a->first[i] * HU_IMAGE_CHANNELS;
        int32_t red = HALF, green = HALF, blue = HALF;
        for (int64_t k = 0; k < a->count[i]; k++, pixel += HU_IMAGE_CHANNELS) {
            red += pixel[0] * weight[k];
            green += pixel[1] * weight[k];
            blue += pixel[2] * weight[k];
        }
        to[0] = to_byte(red);
        to[1] = to_byte(green);
        to[2] = to_byte(blue);
    }
}

/* Place i of a column, for all numbers of a row: the rows [count[i], row_bytes] -> to [row_bytes];
 * sums: room for row_bytes. */
static void shrink_columns(const axis *a, int64_t i, const uint8_t *from, int64_t row_bytes,
                           int32_t *sums, uint8_t *to) {
    const int32_t *weight = a->weight + i * a->most;
    for (int64_t x = 0; x < row_bytes; x++) sums[x] = HALF;
    for (int64_t k = 0; k < a->count[i]; k++, from += row_bytes)
        for (int64_t x = 0; x < row_bytes; x++) sums[x] += from[x] * weight[k];
    for (int64_t x = 0; x < row_bytes; x++) to[x] = to_byte(sums[x]);
}

/* What is made of an image: a rectangle of it becomes height x width, of which the middle is kept.
 */
typedef struct resizing {
    hu_image_cut cut;
    int64_t height, width, kept_height, kept_width;
    size_t row_bytes; /* of the result */
} resizing;

static const uint8_t *pixel_at(const hu_image *image, const resizing *r, int64_t y, int64_t x) {
    return image->pixels + ((r->cut.top + y) * image->width + r->cut.left + x) * HU_IMAGE_CHANNELS;
}

/* Every weight would be 0 or 1. */
static void copy_middle(const hu_image *image, const resizing *r, uint8_t *to) {
    int64_t top = (r->height - r->kept_height) / 2, left = (r->width - r->kept_width) / 2;
    for (int64_t y = 0; y < r->kept_height; y++)
        memcpy(to + (size_t)y * r->row_bytes, pixel_at(image, r, top + y, left),
               (size_t)(r->kept_width * HU_IMAGE_CHANNELS));
}

static hu_status resize(const hu_image *image, const resizing *r, uint8_t *to) {
    hu_status st;
    axis columns = {0}, rows = {0};
    uint8_t *between = NULL;
    int32_t *sums = NULL;
    int64_t line = r->kept_width * HU_IMAGE_CHANNELS;
    HU_TRY(make_axis(r->cut.width, r->width, r->kept_width, &columns));
    HU_TRY(make_axis(r->cut.height, r->height, r->kept_height, &rows));
    int64_t top = rows.first[0];
    int64_t end = rows.first[rows.places - 1] + rows.count[rows.places - 1];
    HU_TRY(HU_NEW_ARRAY(&between, (size_t)((end - top) * line)));
    HU_TRY(HU_NEW_ARRAY(&sums, (size_t)line));
    for (int64_t y = top; y < end; y++)
        shrink_row(&columns, pixel_at(image, r, y, 0), between + (y - top) * line);
    for (int64_t i = 0; i < rows.places; i++)
        shrink_columns(&rows, i, between + (rows.first[i] - top) * line, line, sums,
                       to + (size_t)i * r->row_bytes);
done:
    hu_free(between);
    hu_free(sums);
    free_axis(&columns);
    free_axis(&rows);
    return st;
}

/* Where nothing changes its size, nothing is computed. */
static hu_status copy_or_resize(const hu_image *image, const resizing *r, uint8_t *to) {
    if (r->cut.width != r->width || r->cut.height != r->height) return resize(image, r, to);
    copy_middle(image, r, to);
    return HU_OK;
}

hu_status hu_image_shrink(const hu_image *image, int64_t side, uint8_t *square) {
    int64_t shorter = image->width < image->height ? image->width : image->height;
    const resizing r = {.cut = {0, 0, image->width, image->height},
                        .height = image->height * side / shorter,
                        .width = image->width * side / shorter,
                        .kept_height = side,
                        .kept_width = side,
                        .row_bytes = (size_t)(side * HU_IMAGE_CHANNELS)};
    return copy_or_resize(image, &r, square);
}

hu_status hu_image_resize(const hu_image *image, const hu_image_cut *cut, int64_t height,
                          int64_t width, size_t row_bytes, uint8_t *to) {
    const resizing r = {*cut, height, width, height, width, row_bytes};
    return copy_or_resize(image, &r, to);
}
