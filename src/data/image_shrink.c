/* Bilinear resizing with antialiasing, in the integer arithmetic of Pillow (resample of 8-bit
 * images). */
#include <math.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "data/image.h"

enum { WEIGHT_BITS = 22 };

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

/* One number: the sum over k of weight times source[k * step]. */
static uint8_t weigh(const axis *a, int64_t i, const uint8_t *source, int64_t step) {
    const int32_t *weight = a->weight + i * a->most;
    int32_t sum = 1 << (WEIGHT_BITS - 1);
    for (int64_t k = 0; k < a->count[i]; k++) sum += source[k * step] * weight[k];
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum > UINT8_MAX ? UINT8_MAX : sum);
}

/* [rows, width, 3] -> [rows, places, 3]. */
static void shrink_rows(const axis *a, int64_t rows, int64_t width, const uint8_t *from,
                        uint8_t *to) {
    for (int64_t y = 0; y < rows; y++, from += width * HU_IMAGE_CHANNELS)
        for (int64_t i = 0; i < a->places; i++)
            for (int64_t c = 0; c < HU_IMAGE_CHANNELS; c++)
                *to++ = weigh(a, i, from + a->first[i] * HU_IMAGE_CHANNELS + c, HU_IMAGE_CHANNELS);
}

/* [.., side, 3] -> [side, side, 3]; row 0 of `from` is row `top` of the image. */
static void shrink_columns(const axis *a, int64_t top, const uint8_t *from, uint8_t *to) {
    int64_t row = a->places * HU_IMAGE_CHANNELS;
    for (int64_t i = 0; i < a->places; i++)
        for (int64_t x = 0; x < row; x++)
            *to++ = weigh(a, i, from + (a->first[i] - top) * row + x, row);
}

hu_status hu_image_shrink(const hu_image *image, int64_t side, uint8_t *square) {
    hu_status st;
    axis columns = {0}, rows = {0};
    int64_t shorter = image->width < image->height ? image->width : image->height;
    void *between = NULL;
    HU_TRY(make_axis(image->width, image->width * side / shorter, side, &columns));
    HU_TRY(make_axis(image->height, image->height * side / shorter, side, &rows));
    int64_t top = rows.first[0], end = rows.first[side - 1] + rows.count[side - 1];
    size_t line = (size_t)(side * HU_IMAGE_CHANNELS);
    HU_TRY(hu_alloc_array((size_t)(end - top), line, &between));
    shrink_rows(&columns, end - top, image->width,
                image->pixels + top * image->width * HU_IMAGE_CHANNELS, between);
    shrink_columns(&rows, top, between, square);
done:
    hu_free(between);
    free_axis(&columns);
    free_axis(&rows);
    return st;
}
