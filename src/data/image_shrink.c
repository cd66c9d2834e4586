/* Bilinear resizing with antialiasing, in the integer arithmetic of Pillow (resample of 8-bit
 * images). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/image.h"

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
static hu_status lay_out(axis *a, hu_room *room) {
    enum { ROUND = HU_RESAMPLE_GROUP };
    size_t places = (size_t)((a->places + ROUND - 1) / ROUND * ROUND);
    size_t words = hu_resample_words(a->places, a->most), most = (size_t)a->most;
    uint8_t *block;
    hu_status st = hu_room_take(room,
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
 * beginning on: the kernel reads behind a row. */
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
    HU_TRY(hu_room_take(&own->between, (size_t)((end - top) * stride), &between));
    HU_TRY(hu_room_take(&own->line, (size_t)(r->cut.width * HU_IMAGE_CHANNELS + columns->reads),
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
    hu_room_free(&resizer->columns.room);
    hu_room_free(&resizer->rows.room);
    hu_room_free(&resizer->between);
    hu_room_free(&resizer->line);
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
