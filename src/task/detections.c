#include "task/detections.h"

#include <assert.h>

#include "box/anchors.h"
#include "box/match.h"
#include "box/offset.h"
#include "box/suppress.h"

static_assert(sizeof((hu_finder *)0)->is_taken >= HU_TRUTHS_MAX, "a mark for every box");

int64_t hu_detection_classes(const hu_metric_call *call) {
    return call->outputs - HU_OFFSETS - 1;
}

/* The candidates of a class (1 is the first behind the background), best first, with boxes. */
static void collect(const hu_metric_call *part, const float *rows, int64_t class_number,
                    hu_candidates *c) {
    const double least = 0.01;
    int64_t classes = part->outputs - HU_OFFSETS;
    c->count = 0;
    for (int64_t a = 0; a < part->rows; a++) {
        double score = part->loss->probability(classes, rows + a * part->outputs, class_number);
        if (score > least) hu_candidates_add(c, score, a);
    }
    hu_candidates_sort(c);
    for (int64_t i = 0; i < c->count; i++) {
        hu_candidate *one = &c->list[i];
        hu_centred anchor = hu_anchor_at(part->anchors, one->index);
        hu_centred said =
            hu_offset_decode(&anchor, rows + one->index * part->outputs + classes, HU_OFFSET_SSD);
        hu_box box = hu_box_of(&said);
        one->box = hu_box_clip(&box);
    }
}

void hu_detections_visit(const hu_metric_call *part, int64_t s, hu_detection_visitor *visit,
                         void *context) {
    const double most_overlap = 0.45;
    hu_candidate list[HU_DETECTIONS_PER_CLASS];
    hu_candidates c = {.list = list, .most = HU_DETECTIONS_PER_CLASS};
    if (!part->prediction) return;
    const float *rows = part->prediction + s * part->rows * part->outputs;
    for (int64_t k = 0; k < hu_detection_classes(part); k++) {
        collect(part, rows, k + 1, &c);
        hu_candidates_suppress(&c, most_overlap);
        for (int64_t i = 0; i < c.count; i++)
            visit(context, &(hu_detection){k, c.list[i].score, c.list[i].box});
    }
}

hu_finder hu_finder_begin(const hu_metric_call *part, int64_t s) {
    return (hu_finder){.rows = part->target + s * part->targets,
                       .most = part->targets / HU_BOX_NUMBERS};
}

bool hu_finder_finds(hu_finder *finder, const hu_detection *detection) {
    const double enough = 0.5;
    double best = -1.0;
    int64_t found = -1;
    for (int64_t i = 0; i < finder->most; i++) {
        const float *row = finder->rows + i * HU_BOX_NUMBERS;
        if (row[HU_BOX_CLASS] != (float)detection->class_number) continue;
        hu_box box = hu_box_of_row(row);
        double overlap = hu_box_iou(&box, &detection->box);
        if (!(overlap > best)) continue;
        best = overlap;
        found = i;
    }
    if (best < enough || finder->is_taken[found]) return false;
    return finder->is_taken[found] = true;
}
