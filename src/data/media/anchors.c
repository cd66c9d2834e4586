#include "media/anchors.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/bits.h"
#include "base/error.h"

static void add_shape(hu_anchor_map *map, hu_picture picture, double width, double height) {
    map->w[map->shapes] = width / (double)picture.width;
    map->h[map->shapes++] = height / (double)picture.height;
}

static hu_anchor_map places(double step, hu_picture picture, int64_t height, int64_t width) {
    return (hu_anchor_map){.height = height,
                           .width = width,
                           .step_y = step / (double)picture.height,
                           .step_x = step / (double)picture.width};
}

hu_anchor_map hu_anchor_map_ssd(const hu_ssd_map *form, hu_picture picture, int64_t height,
                                int64_t width) {
    hu_anchor_map map = places(form->step, picture, height, width);
    double between = sqrt(form->size * form->next);
    add_shape(&map, picture, form->size, form->size);
    add_shape(&map, picture, between, between);
    for (int r = 0; r < form->ratios; r++) {
        double root = sqrt(form->ratio[r]);
        add_shape(&map, picture, form->size * root, form->size / root);
        add_shape(&map, picture, form->size / root, form->size * root);
    }
    return map;
}

hu_anchor_map hu_anchor_map_proposals(const hu_proposal_map *form, hu_picture picture,
                                      int64_t height, int64_t width) {
    hu_anchor_map map = places(form->step, picture, height, width);
    for (int r = 0; r < form->ratios; r++) {
        double root = sqrt(form->ratio[r]);
        for (int s = 0; s < form->sizes; s++)
            add_shape(&map, picture, form->size[s] / root, form->size[s] * root);
    }
    return map;
}

static int64_t count_of(const hu_anchor_map *map) {
    return map->height * map->width * map->shapes;
}

int64_t hu_anchors_count(const hu_anchors *anchors) {
    int64_t count = 0;
    for (int64_t m = 0; m < anchors->maps; m++) count += count_of(&anchors->map[m]);
    return count;
}

hu_centred hu_anchor_at(const hu_anchors *anchors, int64_t index) {
    const hu_anchor_map *map = anchors->map;
    while (index >= count_of(map)) index -= count_of(map++);
    int64_t shape = index % map->shapes, place = index / map->shapes;
    hu_centred made = {((double)(place % map->width) + 0.5) * map->step_x,
                       ((double)(place / map->width) + 0.5) * map->step_y, map->w[shape],
                       map->h[shape]};
    if (!anchors->is_clipped) return made;
    return (hu_centred){hu_box_share_inside(made.cx), hu_box_share_inside(made.cy),
                        hu_box_share_inside(made.w), hu_box_share_inside(made.h)};
}

static bool is_sound(const hu_anchor_map *map) {
    bool has_places = map->height > 0 && map->width > 0 && map->step_y > 0.0 && map->step_x > 0.0;
    bool is_sound = has_places && map->shapes > 0 && map->shapes <= HU_ANCHOR_SHAPES_MAX;
    for (int64_t s = 0; is_sound && s < map->shapes; s++)
        is_sound = map->w[s] > 0.0 && map->h[s] > 0.0;
    return is_sound;
}

hu_status hu_anchors_check(const hu_anchors *anchors) {
    if (anchors->maps < 1 || anchors->maps > HU_ANCHOR_MAPS_MAX)
        return hu_fail(HU_ERR_SHAPE,
                       "anchors: found %" PRId64 " maps, expected 1 to %d; models that detect have "
                       "them",
                       anchors->maps, HU_ANCHOR_MAPS_MAX);
    if (anchors->most < 0 || anchors->most > HU_ANCHOR_BOXES_MAX)
        return hu_fail(HU_ERR_SHAPE,
                       "anchors: found at most %" PRId64 " boxes of a picture, expected 0 to %d",
                       anchors->most, HU_ANCHOR_BOXES_MAX);
    for (int64_t m = 0; m < anchors->maps; m++)
        if (!is_sound(&anchors->map[m]))
            return hu_fail(
                HU_ERR_SHAPE,
                "anchors: map %" PRId64 " has %" PRId64 " x %" PRId64 " places and %" PRId64
                " shapes, expected at least one of each, and sides and steps above 0",
                m, anchors->map[m].height, anchors->map[m].width, anchors->map[m].shapes);
    return HU_OK;
}

/* ---- Which box each anchor is to find, and which anchors are to find none ---- */

/* The boxes of a picture, and the anchor that each overlaps most. */
typedef struct takers {
    hu_truths of;
    int64_t anchor[HU_TRUTHS_MAX];
    double best[HU_TRUTHS_MAX]; /* overlap with that anchor */
    double most[HU_TRUTHS_MAX]; /* largest one */
} takers;

/* Boxes lie on whole pixels, and many of them right between two anchors. That their corners are
 * float32 must not decide who is nearer. */
static bool is_more(double overlap, double best) {
    return overlap > best + HU_OVERLAP_EQUAL;
}

void hu_truths_read(const float *rows, int64_t most, hu_truths *truths) {
    truths->count = 0;
    assert(most <= HU_TRUTHS_MAX);
    for (int64_t i = 0; i < most; i++, rows += HU_BOX_NUMBERS) {
        if (!hu_box_is_valid(rows)) continue;
        truths->box[truths->count] = hu_box_of_row(rows);
        truths->row[truths->count++] = (int16_t)i;
    }
}

static void begin(const float *rows, int64_t most, takers *t) {
    hu_truths_read(rows, most, &t->of);
    for (int64_t k = 0; k < t->of.count; k++) {
        t->best[k] = t->most[k] = 0.0;
        t->anchor[k] = 0;
    }
}

/* The box that an anchor overlaps most, the first of equal ones; overlap: the largest. */
static int64_t best_truth(const hu_truths *t, const hu_box *anchor, double *overlap) {
    int64_t best = 0;
    double of_best = 0.0;
    *overlap = 0.0;
    for (int64_t k = 0; k < t->count; k++) {
        double iou = hu_box_iou(anchor, &t->box[k]);
        if (iou > *overlap) *overlap = iou;
        if (!is_more(iou, of_best)) continue;
        of_best = iou;
        best = k;
    }
    return best;
}

static hu_box anchor_box(const hu_anchors *anchors, int64_t a) {
    hu_centred centred = hu_anchor_at(anchors, a);
    return hu_box_of(&centred);
}

/* Remembers the anchor where it overlaps a box more than those before. */
static void note_best(takers *t, const hu_box *box, int64_t anchor) {
    for (int64_t k = 0; k < t->of.count; k++) {
        double iou = hu_box_iou(box, &t->of.box[k]);
        if (iou > t->most[k]) t->most[k] = iou;
        if (!is_more(iou, t->best[k])) continue;
        t->best[k] = iou;
        t->anchor[k] = anchor;
    }
}

/* True for the first box that takes its anchor: an anchor counts once. */
static bool is_first(const takers *t, int64_t k) {
    for (int64_t i = 0; i < k; i++)
        if (t->anchor[i] == t->anchor[k]) return false;
    return true;
}

int64_t hu_match_ssd(const hu_anchors *anchors, const float *rows, int64_t most, int16_t *match) {
    const double enough = 0.5;
    int64_t count = hu_anchors_count(anchors), positives = 0;
    takers t;
    double overlap;
    begin(rows, most, &t);
    for (int64_t a = 0; a < count; a++) {
        hu_box box = anchor_box(anchors, a);
        int64_t best = best_truth(&t.of, &box, &overlap);
        bool is_matched = t.of.count > 0 && overlap >= enough;
        positives += is_matched;
        if (match) match[a] = (int16_t)(is_matched ? t.of.row[best] : HU_UNMATCHED);
        if (overlap > 0.0) note_best(&t, &box, a);
    }
    for (int64_t k = 0; k < t.of.count; k++) {
        hu_box box = anchor_box(anchors, t.anchor[k]);
        best_truth(&t.of, &box, &overlap);
        positives += overlap < enough && is_first(&t, k);
        if (match) match[t.anchor[k]] = t.of.row[k];
    }
    return positives;
}

int64_t hu_match_proposals(const hu_anchors *anchors, const float *rows, int64_t most,
                           int16_t *match) {
    const double enough = 0.7, little = 0.3;
    int64_t count = hu_anchors_count(anchors), positives = 0;
    takers t;
    double overlap;
    begin(rows, most, &t);
    for (int64_t a = 0; a < count; a++) {
        hu_box box = anchor_box(anchors, a);
        note_best(&t, &box, a);
    }
    for (int64_t a = 0; a < count; a++) {
        hu_box box = anchor_box(anchors, a);
        int64_t best = best_truth(&t.of, &box, &overlap);
        bool is_matched = t.of.count > 0 && overlap >= enough;
        /* All anchors that overlap a box most, not the first alone. */
        for (int64_t k = 0; k < t.of.count && !is_matched; k++)
            is_matched = t.most[k] > 0.0 && !is_more(t.most[k], hu_box_iou(&box, &t.of.box[k]));
        positives += is_matched;
        match[a] = (int16_t)(is_matched         ? t.of.row[best]
                             : overlap < little ? HU_UNMATCHED
                                                : HU_IGNORED);
    }
    return positives;
}

int64_t hu_match_box(const hu_truths *truths, const hu_box *box, double *overlap) {
    int64_t best = best_truth(truths, box, overlap);
    return is_more(*overlap, 0.0) ? truths->row[best] : HU_UNMATCHED;
}

/* ---- mine ---- */

/* Hard negative mining: the anchors without a box that a network takes for one. */

/* Bits of floats from +0 on are in the order of the floats, with NaN after infinity. */
uint64_t hu_hard_negative_key(float loss, uint32_t index) {
    uint32_t bits = loss == 0.0f ? 0 : hu_f32_bits(loss) & 0x7fffffffu;
    return (uint64_t)~bits << 32 | index;
}

/* Moves a key down a heap whose smallest key is at the front. */
static void sink(uint64_t *keys, int64_t count, int64_t at) {
    uint64_t key = keys[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && keys[child + 1] < keys[child]) child++;
        if (key <= keys[child]) break;
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

uint64_t hu_lot_key(uint32_t word, uint32_t index) {
    return (uint64_t)word << 32 | index;
}

/* A heap gives the first few without sorting all, and needs no room. */
int64_t hu_first_keys(uint64_t *keys, int64_t count, int64_t wanted) {
    int64_t left = count;
    if (wanted > count) wanted = count;
    for (int64_t i = count / 2 - 1; i >= 0; i--) sink(keys, count, i);
    while (count - left < wanted) {
        uint64_t smallest = keys[0];
        keys[0] = keys[--left];
        keys[left] = smallest;
        if (left > 0) sink(keys, left, 0);
    }
    return wanted > 0 ? wanted : 0;
}

void hu_hard_negatives(uint64_t *keys, int64_t count, int64_t wanted, int16_t *match) {
    int64_t found = hu_first_keys(keys, count, wanted);
    for (int64_t i = count - found; i < count; i++) match[(uint32_t)keys[i]] = HU_MINED;
}

/* ---- region ---- */

/* Regions of a picture that a network proposes: rows of four corners in pixels, as
 * roi_pool reads them. A row without an area is no region. */

hu_box hu_roi_box(const float *region, hu_picture picture) {
    double width = (double)picture.width, height = (double)picture.height;
    return (hu_box){(double)region[0] / width, (double)region[1] / height,
                    (double)region[2] / width, (double)region[3] / height};
}

void hu_roi_write(const hu_box *box, hu_picture picture, float *region) {
    double width = (double)picture.width, height = (double)picture.height;
    region[0] = (float)(box->x1 * width);
    region[1] = (float)(box->y1 * height);
    region[2] = (float)(box->x2 * width);
    region[3] = (float)(box->y2 * height);
}

bool hu_roi_is_valid(const float *region) {
    return region[2] > region[0] && region[3] > region[1];
}

int64_t hu_roi_match(const float *region, hu_picture picture, const hu_truths *truths) {
    const double enough = 0.5;
    double overlap;
    hu_box box = hu_roi_box(region, picture);
    int64_t best = hu_match_box(truths, &box, &overlap);
    return overlap >= enough ? best : HU_UNMATCHED;
}
