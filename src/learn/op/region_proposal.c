#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "media/boxes.h"
#include "op/internal.h"

/* ---- Attributes of proposals ---- */

enum { SCORES = 2, ROW = SCORES + HU_OFFSETS, SHARE_OF_THINGS = 4 };

/* ---- shapes ---- */

static bool is_sound(const hu_proposal_attrs *a) {
    bool has_numbers = a->before > 0 && a->after > 0 && a->regions >= SHARE_OF_THINGS;
    return has_numbers && a->picture.height > 0 && a->picture.width > 0 && a->least >= 0.0;
}

static hu_status proposals_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    const hu_proposal_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(hu_anchors_check(&a->anchors));
    HU_TRY(hu_expect_boxes("proposals", &in[1]));
    int64_t anchors = hu_anchors_count(&a->anchors);
    if (in[0].rank != 2 || in[0].extent[0] != anchors || in[0].extent[1] != ROW || !is_sound(a))
        HU_TRY(hu_fail(HU_ERR_SHAPE,
                       "proposals: found %" PRId64 " x %" PRId64 " numbers for %" PRId64
                       " regions of a picture of %" PRId64 " x %" PRId64
                       ", expected %d for each of %" PRId64 " anchors and at least %d regions",
                       in[0].extent[0], in[0].rank > 1 ? in[0].extent[1] : 1, a->regions,
                       a->picture.height, a->picture.width, ROW, anchors, SHARE_OF_THINGS));
    *n_out = 1;
    out[0] = (hu_shape){2, {a->regions, HU_REGION_NUMBERS}};
    st = hu_shape_check(&out[0]);
done:
    return st;
}

/* Candidates of a picture: those of the network, then its boxes. */
static int64_t most_candidates(const hu_node_info *info) {
    const hu_proposal_attrs *a = info->attrs;
    return a->after + info->in[1].extent[0];
}

/* The list of candidates, their rows and their keys, after each other. */
static size_t list_bytes(const hu_proposal_attrs *a) {
    return hu_round_up((size_t)a->before * sizeof(hu_candidate), 64);
}

static size_t row_bytes(const hu_node_info *info) {
    return hu_round_up((size_t)most_candidates(info) * HU_REGION_NUMBERS * sizeof(float), 64);
}

static size_t scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    size_t keys = (size_t)most_candidates(info) * sizeof(uint64_t);
    (void)state;
    return pass == HU_FORWARD ? list_bytes(info->attrs) + row_bytes(info) + keys : 0;
}

/* ---- what the network says ---- */

/* False: the box is too small, or no box. */
static bool decode(const hu_proposal_attrs *a, const float *x, hu_candidate *one) {
    hu_centred anchor = hu_anchor_at(&a->anchors, one->index);
    hu_centred said = hu_offset_decode(&anchor, x + one->index * ROW + SCORES, HU_OFFSET_PLAIN);
    hu_box box = hu_box_of(&said);
    one->box = hu_box_clip(&box);
    double width = (one->box.x2 - one->box.x1) * (double)a->picture.width;
    double height = (one->box.y2 - one->box.y1) * (double)a->picture.height;
    return width >= a->least && height >= a->least && hu_box_area(&one->box) > 0.0;
}

/* x [anchors, row] -> rows [after, 4]; returns how many. */
static int64_t propose(const hu_proposal_attrs *a, const float *x, hu_candidate *list,
                       float *rows) {
    const double most_overlap = 0.7;
    hu_nms_candidates c = {.list = list, .most = a->before};
    int64_t anchors = hu_anchors_count(&a->anchors), sized = 0;
    for (int64_t i = 0; i < anchors; i++) {
        double score = (double)x[i * ROW + 1] - (double)x[i * ROW];
        if (score == score) hu_candidates_add(&c, score, i);
    }
    hu_candidates_sort(&c);
    for (int64_t i = 0; i < c.count; i++)
        if (decode(a, x, &list[i])) list[sized++] = list[i];
    c.count = sized;
    int64_t kept = hu_candidates_nms(&c, most_overlap);
    if (kept > a->after) kept = a->after;
    for (int64_t i = 0; i < kept; i++)
        hu_roi_write(&list[i].box, a->picture, rows + i * HU_REGION_NUMBERS);
    return kept;
}

/* ---- lots ---- */

/* One picture in training. */
typedef struct draw {
    const hu_op_call *call;
    int64_t s, kept;    /* number of the picture; candidates of the network */
    const float *boxes; /* [most, 5] */
    float *rows;        /* [after + most, 4]; those after kept and before the boxes are none */
    uint64_t *keys;
} draw;

static bool is_candidate(const draw *d, int64_t i) {
    const hu_proposal_attrs *a = d->call->info->attrs;
    bool is_box = i >= a->after && hu_box_is_valid(d->boxes + (i - a->after) * HU_BOX_NUMBERS);
    return (i < d->kept || is_box) && hu_roi_is_valid(d->rows + i * HU_REGION_NUMBERS);
}

/* Keys of the candidates that show things at the front of d->keys, those of the others at its end.
 */
typedef struct lots {
    int64_t things, others;
} lots;

static lots draw_lots(const draw *d) {
    const hu_node_info *info = d->call->info;
    const hu_proposal_attrs *a = info->attrs;
    int64_t candidates = most_candidates(info);
    hu_noise noise = hu_noise_of(d->call, candidates);
    lots count = {0, 0};
    hu_truths truths;
    hu_truths_read(d->boxes, info->in[1].extent[0], &truths);
    for (int64_t i = 0; i < candidates; i++) {
        const float *row = d->rows + i * HU_REGION_NUMBERS;
        if (!is_candidate(d, i)) continue;
        bool shows_thing = hu_roi_match(row, a->picture, &truths) >= 0;
        int64_t place = shows_thing ? count.things++ : candidates - ++count.others;
        uint32_t word = hu_noise_word(&noise, d->s * candidates + i);
        d->keys[place] = hu_lot_key(word, (uint32_t)i);
    }
    return count;
}

/* Takes the candidates of the `wanted` smallest keys [count], the smallest first; returns how many.
 */
static int64_t take(const draw *d, uint64_t *keys, int64_t count, int64_t wanted, float *out) {
    int64_t taken = hu_first_keys(keys, count, wanted);
    for (int64_t i = 0; i < taken; i++) {
        int64_t candidate = (uint32_t)keys[count - 1 - i];
        memcpy(out + i * HU_REGION_NUMBERS, d->rows + candidate * HU_REGION_NUMBERS,
               HU_REGION_NUMBERS * sizeof *out);
    }
    return taken;
}

/* out [regions, 4] is zero. */
static void draw_regions(const draw *d, float *out) {
    const hu_proposal_attrs *a = d->call->info->attrs;
    for (int64_t i = 0; i < d->call->info->in[1].extent[0]; i++) {
        hu_box box = hu_box_of_row(d->boxes + i * HU_BOX_NUMBERS);
        hu_roi_write(&box, a->picture, d->rows + (a->after + i) * HU_REGION_NUMBERS);
    }
    lots count = draw_lots(d);
    uint64_t *others = d->keys + most_candidates(d->call->info) - count.others;
    int64_t things = take(d, d->keys, count.things, a->regions / SHARE_OF_THINGS, out);
    take(d, others, count.others, a->regions - things, out + things * HU_REGION_NUMBERS);
}

/* in[0] [count, anchors, 6], in[1] [count, most, 5] -> out[0] [count, regions, 4] */
static void proposals_forward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    const hu_proposal_attrs *a = info->attrs;
    unsigned char *scratch = call->scratch;
    int64_t numbers = hu_shape_elements(&info->out[0]), most = info->in[1].extent[0];
    float *rows = (float *)(void *)(scratch + list_bytes(a));
    uint64_t *keys = (uint64_t *)(void *)(scratch + list_bytes(a) + row_bytes(info));
    memset(call->out[0], 0, (size_t)(call->count * numbers) * sizeof(float));
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * hu_shape_elements(&info->in[0]);
        float *out = call->out[0] + s * numbers;
        int64_t kept = propose(a, x, call->scratch, rows);
        draw d = {call, s, kept, call->in[1] + s * most * HU_BOX_NUMBERS, rows, keys};
        if (call->training) draw_regions(&d, out);
        if (call->training) continue;
        int64_t first = kept < a->regions ? kept : a->regions;
        memcpy(out, rows, (size_t)(first * HU_REGION_NUMBERS) * sizeof *out);
    }
}

static const hu_attribute proposal_attributes[] = {
    {HU_ATTRIBUTE_ANCHORS, "anchors", offsetof(hu_proposal_attrs, anchors), NAN, 0, 0},
    {HU_ATTRIBUTE_FLAG, "clipped", offsetof(hu_proposal_attrs, anchors.is_clipped), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "most", offsetof(hu_proposal_attrs, anchors.most), 0, 0, INFINITY},
    {HU_ATTRIBUTE_PAIR, "picture", offsetof(hu_proposal_attrs, picture), NAN, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "before", offsetof(hu_proposal_attrs, before), NAN, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "after", offsetof(hu_proposal_attrs, after), NAN, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "regions", offsetof(hu_proposal_attrs, regions), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_DOUBLE, "least", offsetof(hu_proposal_attrs, least), NAN, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_proposals = {.name = "proposals",
                               .attrs_bytes = sizeof(hu_proposal_attrs),
                               .attributes = proposal_attributes,
                               .makes_facts = true,
                               .min_in = 2,
                               .max_in = 2,
                               .shape = proposals_shape,
                               .saves = HU_SAVE_NOTHING,
                               .scratch_bytes = scratch_bytes,
                               .forward = proposals_forward};

/* ---- Attributes of roi_pool ---- */

enum { ROI_POOL_ROW, COLUMN, AXES, CORNERS = 4, BINS_MOST = 1 << 10 };

static const hu_attribute roi_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "out", offsetof(hu_roi_pool_attrs, height), 7, 1, INFINITY},
    {HU_ATTRIBUTE_REAL, "scale", offsetof(hu_roi_pool_attrs, scale), 0.0625, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
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
    int low = axis == ROI_POOL_ROW ? 1 : 0;
    int64_t first = place_of(region[low], a->scale), last = place_of(region[low + 2], a->scale);
    return (side){first, last - first + 1 > 1 ? last - first + 1 : 1,
                  axis == ROI_POOL_ROW ? a->height : a->width, info->in[0].extent[axis]};
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

static void roi_pool_take(const float *map, int64_t at, int64_t number, float *out) {
    out[number] = at < 0 ? 0.0f : map[at];
}

/* Several bins may take one place. */
static void give(const float *dout, int64_t at, int64_t number, float *dmap) {
    if (at >= 0) dmap[at] += dout[number];
}

/* All bins of a region in their order. */
static void each_bin(const hu_node_info *info, const float *map, const float *region, taker *visit,
                     const float *from, float *to) {
    side rows = side_of(info, region, ROI_POOL_ROW), columns = side_of(info, region, COLUMN);
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
        each_bin(info, map, call->in[1] + r * CORNERS, roi_pool_take, map, call->out[0] + r * made);
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
