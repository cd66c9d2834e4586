#include "data/bicubic.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

enum { CHANNELS = 3, REACH = 2 };

/* What makes each target place along an axis. */
typedef struct axis {
    int64_t places, most; /* sources of one place, at most */
    int64_t *first, *count;
    double *weight; /* [places, most] */
} axis;

/* Keys (1981), a = -1/2. */
static double kernel(double x) {
    x = fabs(x);
    if (x <= 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < REACH ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static void fill_place(axis *a, int64_t i, int64_t from, double scale) {
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

static void free_axis(axis *a) {
    hu_free(a->first);
    hu_free(a->count);
    hu_free(a->weight);
}

static hu_status make_axis(int64_t from, int64_t to, axis *a) {
    hu_status st;
    double scale = (double)from / (double)to;
    a->places = to;
    a->most = 2 * REACH * (int64_t)ceil(scale > 1 ? scale : 1) + 1;
    HU_TRY(HU_NEW_ARRAY(&a->first, (size_t)to));
    HU_TRY(HU_NEW_ARRAY(&a->count, (size_t)to));
    HU_TRY(HU_NEW_ARRAY(&a->weight, (size_t)(to * a->most)));
    for (int64_t i = 0; i < to; i++) fill_place(a, i, from, scale);
done:
    return st;
}

/* Place i of numbers that stand `step` apart. */
static uint8_t mix(const axis *a, int64_t i, const uint8_t *from, int64_t step) {
    const double *weight = a->weight + i * a->most;
    double sum = 0;
    for (int64_t k = 0; k < a->count[i]; k++) sum += weight[k] * from[(a->first[i] + k) * step];
    sum = floor(sum + 0.5);
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

hu_status hu_bicubic_resize(const uint8_t *from, int64_t height, int64_t width, int64_t to_height,
                            int64_t to_width, uint8_t *to) {
    hu_status st;
    axis columns = {0}, rows = {0};
    uint8_t *between = NULL; /* [height, to_width, 3] */
    int64_t bytes = to_width * CHANNELS;
    HU_TRY(make_axis(width, to_width, &columns));
    HU_TRY(make_axis(height, to_height, &rows));
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
