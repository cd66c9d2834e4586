/* Bilinear resizing with antialiasing, in the integer arithmetic of Pillow (resample of 8-bit
 * images). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/image.h"
#include "kernel/resample/resample.h"

typedef hu_resample_axis axis;

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
        a->weight[i * a->most + k] = (int32_t)(0.5 + share * (1 << HU_RESAMPLE_BITS));
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

/* Rooms of one resizing: rows between the two passes, sums of a row, and a row of the image with a
 * byte behind it. */
typedef struct room {
    uint8_t *between, *line;
    int32_t *sums;
} room;

static hu_status make_room(const resizing *r, int64_t rows, room *made) {
    hu_status st;
    size_t bytes = (size_t)(r->kept_width * HU_IMAGE_CHANNELS);
    HU_TRY(HU_NEW_ARRAY(&made->between, (size_t)rows * bytes + 1));
    HU_TRY(HU_NEW_ARRAY(&made->line, (size_t)(r->cut.width * HU_IMAGE_CHANNELS) + 1));
    HU_TRY(HU_NEW_ARRAY(&made->sums, bytes));
done:
    return st;
}

static hu_status resize(const hu_image *image, const resizing *r, uint8_t *to) {
    hu_status st;
    axis columns = {0}, rows = {0};
    room own = {0};
    const hu_resample *with = hu_resample_here();
    int64_t bytes = r->kept_width * HU_IMAGE_CHANNELS;
    HU_TRY(make_axis(r->cut.width, r->width, r->kept_width, &columns));
    HU_TRY(make_axis(r->cut.height, r->height, r->kept_height, &rows));
    int64_t top = rows.first[0];
    int64_t end = rows.first[rows.places - 1] + rows.count[rows.places - 1];
    HU_TRY(make_room(r, end - top, &own));
    for (int64_t y = top; y < end; y++) {
        memcpy(own.line, pixel_at(image, r, y, 0), (size_t)(r->cut.width * HU_IMAGE_CHANNELS));
        with->row(&columns, own.line, own.between + (y - top) * bytes);
    }
    for (int64_t i = 0; i < rows.places; i++)
        with->column(&rows, i, own.between + (rows.first[i] - top) * bytes, bytes, own.sums,
                     to + (size_t)i * r->row_bytes);
done:
    hu_free(own.between);
    hu_free(own.line);
    hu_free(own.sums);
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
