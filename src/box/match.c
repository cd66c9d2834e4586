#include "box/match.h"

#include <assert.h>

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
        if (!hu_box_is_there(rows)) continue;
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
