#include "task/detections.h"

#include <assert.h>

#include "box/anchors.h"
#include "box/boxes.h"

static_assert(sizeof((hu_finder *)0)->is_taken >= HU_TRUTHS_MAX, "a mark for every box");

/* Rows beside anchors have offsets for all classes together, rows beside regions for each. */
int64_t hu_detection_classes(const hu_metric_call *call) {
    if (call->anchors) return call->outputs - HU_OFFSETS - 1;
    return call->outputs / (1 + HU_OFFSETS) - 1;
}

/* Row number a of sample s says something: of regions some may be none. */
static bool is_there(const hu_metric_call *part, int64_t s, int64_t a) {
    if (part->anchors) return true;
    return hu_region_is_there(part->regions + (s * part->rows + a) * HU_REGION_NUMBERS);
}

/* What a row of sample s says of a class, inside the picture. */
static hu_box decode(const hu_metric_call *part, int64_t s, int64_t a, int64_t class_number) {
    int64_t classes = hu_detection_classes(part) + 1, of_class = part->anchors ? 0 : class_number;
    const float *row = part->prediction + (s * part->rows + a) * part->outputs;
    hu_centred beside;
    if (part->anchors) {
        beside = hu_anchor_at(part->anchors, a);
    } else {
        const float *region = part->regions + (s * part->rows + a) * HU_REGION_NUMBERS;
        hu_box box = hu_region_box(region, part->picture);
        beside = hu_box_centred(&box);
    }
    hu_centred said =
        hu_offset_decode(&beside, row + classes + of_class * HU_OFFSETS, HU_OFFSET_SSD);
    hu_box box = hu_box_of(&said);
    return hu_box_clip(&box);
}

/* The candidates of one class. */
typedef struct class_list {
    int64_t count;
    hu_candidate list[HU_DETECTIONS_PER_CLASS];
} class_list;

size_t hu_detections_scratch_bytes(const hu_metric_call *shape) {
    return (size_t)hu_detection_classes(shape) * sizeof(class_list);
}

static hu_nms_candidates candidates_of(class_list *of) {
    return (hu_nms_candidates){
        .list = of->list, .most = HU_DETECTIONS_PER_CLASS, .count = of->count};
}

/* Adds row number a of sample s to the candidates of the classes that it takes for likely. */
static void add_row(const hu_metric_call *part, int64_t s, int64_t a, class_list *of) {
    const double least = 0.01;
    int64_t classes = hu_detection_classes(part) + 1;
    const float *row = part->prediction + (s * part->rows + a) * part->outputs;
    hu_softmax_row scale = hu_loss_row(part->loss, classes, row);
    for (int64_t k = 1; k < classes; k++, of++) {
        double score = hu_softmax(scale, row[k]);
        if (!(score > least)) continue;
        hu_nms_candidates c = candidates_of(of);
        hu_candidates_add(&c, score, a);
        of->count = c.count;
    }
}

/* Of each class (1 is the first behind the background) the candidates, best first, with boxes, less
 * those that a better one suppresses. */
static void collect(const hu_metric_call *part, int64_t s, class_list *of) {
    const double most_overlap = 0.45;
    int64_t classes = hu_detection_classes(part);
    for (int64_t k = 0; k < classes; k++) of[k].count = 0;
    for (int64_t a = 0; a < part->rows; a++)
        if (is_there(part, s, a)) add_row(part, s, a, of);
    for (int64_t k = 0; k < classes; k++) {
        hu_nms_candidates c = candidates_of(&of[k]);
        hu_candidates_sort(&c);
        for (int64_t i = 0; i < c.count; i++)
            c.list[i].box = decode(part, s, c.list[i].index, k + 1);
        of[k].count = hu_candidates_suppress(&c, most_overlap);
    }
}

/* Number of the candidate at a place of a class's list: in the order of classes, best first. */
static int64_t number_of(int64_t class_number, int64_t place) {
    return class_number * HU_DETECTIONS_PER_CLASS + place;
}

/* Of all classes together leaves the best `most`: of each the first ones of its list. */
static void cut(int64_t classes, int64_t most, class_list *of) {
    hu_candidate list[HU_ANCHOR_BOXES_MAX];
    hu_nms_candidates best = {.list = list, .most = most};
    for (int64_t k = 0; k < classes; k++)
        for (int64_t i = 0; i < of[k].count; i++)
            hu_candidates_add(&best, of[k].list[i].score, number_of(k, i));
    for (int64_t k = 0; k < classes; k++) of[k].count = 0;
    for (int64_t i = 0; i < best.count; i++)
        of[best.list[i].index / HU_DETECTIONS_PER_CLASS].count++;
}

void hu_detections_visit(const hu_metric_call *part, int64_t s, hu_detection_visitor *visit,
                         void *context) {
    class_list *of = part->scratch;
    int64_t classes = hu_detection_classes(part);
    if (!part->prediction) return;
    collect(part, s, of);
    if (part->anchors && part->anchors->most > 0) cut(classes, part->anchors->most, of);
    for (int64_t k = 0; k < classes; k++)
        for (int64_t i = 0; i < of[k].count; i++)
            visit(context, &(hu_detection){k, of[k].list[i].score, of[k].list[i].box});
}

hu_finder hu_finder_begin(const hu_metric_call *part, int64_t s) {
    return (hu_finder){.rows = part->target + s * part->targets,
                       .most = part->targets / HU_BOX_NUMBERS};
}

hu_worth hu_finder_judge(hu_finder *finder, const hu_detection *detection) {
    const double enough = 0.5;
    double best = -1.0;
    int64_t found = -1;
    bool is_difficult = false;
    for (int64_t i = 0; i < finder->most; i++) {
        const float *row = finder->rows + i * HU_BOX_NUMBERS;
        int64_t class_number = -1;
        bool is_hard = hu_box_is_difficult(row, &class_number);
        bool is_of_class = is_hard ? class_number == detection->class_number
                                   : row[HU_BOX_CLASS] == (float)detection->class_number;
        if (!is_of_class) continue;
        hu_box box = hu_box_of_row(row);
        double overlap = hu_box_iou(&box, &detection->box);
        if (!(overlap > best)) continue;
        best = overlap;
        found = i;
        is_difficult = is_hard;
    }
    if (best < enough) return HU_DETECTION_WRONG;
    if (is_difficult) return HU_DETECTION_IGNORED;
    if (finder->is_taken[found]) return HU_DETECTION_WRONG;
    finder->is_taken[found] = true;
    return HU_DETECTION_RIGHT;
}
