/* roi_pool: regions of a map as pictures of one size (Girshick 2015, "Fast R-CNN", 2.1, in the form
 * of its code). Corners are rounded to places of the map, halves away from zero; bin i of n over w
 * places covers floor(i w / n) .. ceil((i + 1) w / n) - 1, what of it lies on the map; empty bins
 * are 0. */
#include "op/roi_pool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "op/expect.h"

enum { ROW, COLUMN, AXES, CORNERS = 4, BINS_MOST = 1 << 10 };

static const hu_attribute roi_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "out", offsetof(hu_roi_pool_attrs, height), 7},
    {HU_ATTRIBUTE_REAL, "scale", offsetof(hu_roi_pool_attrs, scale), 0.0625},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

static hu_status roi_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_roi_pool_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(hu_expect_rank("roi_pool", &in[0], 3));
    HU_TRY(hu_expect_rank("roi_pool", &in[1], 2));
    bool has_bins =
        a->height > 0 && a->height <= BINS_MOST && a->width > 0 && a->width <= BINS_MOST;
    if (!has_bins || !(a->scale > 0.0f) || !isfinite(a->scale) || in[1].extent[1] != CORNERS)
        HU_TRY(hu_fail(HU_ERR_SHAPE,
                       "roi_pool: found %" PRId64 " x %" PRId64 " bins, scale %g and %" PRId64
                       " numbers of a region; expected 1..%d bins, a scale above 0 and %d numbers",
                       a->height, a->width, (double)a->scale, in[1].extent[1], BINS_MOST, CORNERS));
    *n_out = 1;
    out[0] = (hu_shape){4, {in[1].extent[0], a->height, a->width, hu_channels(&in[0])}};
    st = hu_shape_check(&out[0]);
done:
    return st;
}

/* A place of the map; what is far outside, and NaN, ends there. */
static int64_t place_of(float pixel, float scale) {
    const double far = 1e9;
    double place = (double)pixel * (double)scale;
    if (!(place > -far)) return (int64_t)-far;
    return (int64_t)(place < far ? round(place) : far);
}

/* A region along one axis of the map: places first .. first + length - 1. */
typedef struct side {
    int64_t first, length, bins, extent;
} side;

/* axis: rows or columns; region [4]. */
static side side_of(const hu_node_info *info, const float *region, int axis) {
    const hu_roi_pool_attrs *a = info->attrs;
    int low = axis == ROW ? 1 : 0;
    int64_t first = place_of(region[low], a->scale), last = place_of(region[low + 2], a->scale);
    return (side){first, last - first + 1 > 1 ? last - first + 1 : 1,
                  axis == ROW ? a->height : a->width, info->in[0].extent[axis]};
}

/* Places of a bin that lie on the map: first .. end-1. */
static void bin_of(const side *s, int64_t bin, int64_t *first, int64_t *end) {
    *first = s->first + bin * s->length / s->bins;
    *end = s->first + ((bin + 1) * s->length + s->bins - 1) / s->bins;
    if (*first < 0) *first = 0;
    if (*end > s->extent) *end = s->extent;
}

/* A bin of a region: the rows and columns that it covers. */
typedef struct window {
    int64_t top, bottom, left, right;
} window;

/* Place of the largest number of channel c, the first in the order of the rows; a NaN is larger
 * than all. -1: the bin is empty. */
static int64_t largest(const hu_node_info *info, const float *map, const window *w, int64_t c) {
    int64_t width = info->in[0].extent[COLUMN], channels = hu_channels(&info->in[0]), best = -1;
    for (int64_t y = w->top; y < w->bottom; y++)
        for (int64_t x = w->left; x < w->right; x++) {
            int64_t at = (y * width + x) * channels + c;
            if (best < 0 || !(map[at] <= map[best])) best = at;
            if (map[best] != map[best]) return best;
        }
    return best;
}

/* Called for every number of a region's bins: the place that it is taken from, and its own. */
typedef void taker(const float *from, int64_t at, int64_t number, float *to);

static void take(const float *map, int64_t at, int64_t number, float *out) {
    out[number] = at < 0 ? 0.0f : map[at];
}

/* Several bins may take one place. */
static void give(const float *dout, int64_t at, int64_t number, float *dmap) {
    if (at >= 0) dmap[at] += dout[number];
}

/* All bins of a region in their order. */
static void each_bin(const hu_node_info *info, const float *map, const float *region, taker *visit,
                     const float *from, float *to) {
    side rows = side_of(info, region, ROW), columns = side_of(info, region, COLUMN);
    int64_t channels = hu_channels(&info->in[0]), number = 0;
    window w;
    for (int64_t i = 0; i < rows.bins; i++)
        for (int64_t j = 0; j < columns.bins; j++) {
            bin_of(&rows, i, &w.top, &w.bottom);
            bin_of(&columns, j, &w.left, &w.right);
            for (int64_t c = 0; c < channels; c++, number++)
                visit(from, largest(info, map, &w, c), number, to);
        }
}

/* in[0] [count, H, W, C], in[1] [count, R, 4] -> out[0] [count, R, height, width, C] */
static void roi_forward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t regions = info->in[1].extent[0], numbers = hu_shape_elements(&info->in[0]);
    int64_t made = hu_shape_elements(&info->out[0]) / regions;
    for (int64_t r = 0; r < call->count * regions; r++) {
        const float *map = call->in[0] + r / regions * numbers;
        each_bin(info, map, call->in[1] + r * CORNERS, take, map, call->out[0] + r * made);
    }
}

/* The gradient goes to the places that were taken, in the order of the regions; regions have none.
 */
static void roi_backward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t regions = info->in[1].extent[0], numbers = hu_shape_elements(&info->in[0]);
    int64_t made = hu_shape_elements(&info->out[0]) / regions;
    size_t corners = (size_t)(call->count * regions * CORNERS);
    if (call->din[1]) memset(call->din[1], 0, corners * sizeof *call->din[1]);
    if (!call->din[0]) return;
    memset(call->din[0], 0, (size_t)(call->count * numbers) * sizeof *call->din[0]);
    for (int64_t r = 0; r < call->count * regions; r++)
        each_bin(info, call->in[0] + r / regions * numbers, call->in[1] + r * CORNERS, give,
                 call->dout[0] + r * made, call->din[0] + r / regions * numbers);
}

const hu_op hu_op_roi_pool = {.name = "roi_pool",
                              .attrs_bytes = sizeof(hu_roi_pool_attrs),
                              .attributes = roi_attributes,
                              .min_in = 2,
                              .max_in = 2,
                              .selects_input = true,
                              .shape = roi_shape,
                              .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                              .forward = roi_forward,
                              .backward = roi_backward};
