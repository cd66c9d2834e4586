#include "task/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "media/anchors.h"
#include "task/task.h"

/* ---- The boxes that a model says of a picture ---- */

static_assert(sizeof((hu_finder *)0)->is_taken >= HU_TRUTHS_MAX, "a mark for every box");

/* Rows beside anchors have offsets for all classes together, rows beside regions for each. */
int64_t hu_detection_classes(const hu_metric_call *call) {
    if (call->anchors) return call->outputs - HU_OFFSETS - 1;
    return call->outputs / (1 + HU_OFFSETS) - 1;
}

/* Row number a of sample s says something: of regions some may be none. */
static bool is_present(const hu_metric_call *part, int64_t s, int64_t a) {
    if (part->anchors) return true;
    return hu_roi_is_valid(part->regions + (s * part->rows + a) * HU_REGION_NUMBERS);
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
        hu_box box = hu_roi_box(region, part->picture);
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

/* Of each class (1 is the first after the background) the candidates, best first, with boxes, less
 * those that a better one suppresses. */
static void collect(const hu_metric_call *part, int64_t s, class_list *of) {
    const double most_overlap = 0.45;
    int64_t classes = hu_detection_classes(part);
    for (int64_t k = 0; k < classes; k++) of[k].count = 0;
    for (int64_t a = 0; a < part->rows; a++)
        if (is_present(part, s, a)) add_row(part, s, a, of);
    for (int64_t k = 0; k < classes; k++) {
        hu_nms_candidates c = candidates_of(&of[k]);
        hu_candidates_sort(&c);
        for (int64_t i = 0; i < c.count; i++)
            c.list[i].box = decode(part, s, c.list[i].index, k + 1);
        of[k].count = hu_candidates_nms(&c, most_overlap);
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

/* ---- detect ---- */

/* Boxes of things in a picture: beside each anchor of the model a row of class scores and four
 * offsets, or beside each region that it proposes a row of class scores and four offsets for each
 * class; the boxes of the picture as target. */

/* Of what is shown to people: detections that are likelier than not. */
static const double likely = 0.5;

/* fields: the image [height, width, channels], then its boxes [most, 5]. */
static hu_status check_fields(const hu_task *task, const hu_field *const *fields) {
    enum { IMAGE_RANK = 3 };
    const hu_field *image = fields[0], *boxes = fields[1];
    bool has_boxes = boxes->rank == 2 && boxes->extent[1] == HU_BOX_NUMBERS;
    if (!has_boxes || boxes->classes < 1 || boxes->extent[0] > HU_TRUTHS_MAX)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "field '%s': found %lld x %lld numbers and %lld classes, the task %s needs at "
            "most %d boxes of %d numbers and at least 1 class",
            boxes->name, (long long)boxes->extent[0],
            (long long)(boxes->rank > 1 ? boxes->extent[1] : 1), (long long)boxes->classes,
            task->name, HU_TRUTHS_MAX, HU_BOX_NUMBERS);
    if (image->rank != IMAGE_RANK)
        return hu_fail(HU_ERR_ARGUMENT,
                       "field '%s': found rank %d, the task %s needs pictures [height, width, "
                       "channels]",
                       image->name, image->rank, task->name);
    return HU_OK;
}

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    *outputs = fields[1]->classes + 1 + HU_OFFSETS;
    return check_fields(&hu_task_detect, fields);
}

static hu_status count_region_outputs(const hu_field *const *fields, int64_t *outputs) {
    *outputs = (fields[1]->classes + 1) * (1 + HU_OFFSETS);
    return check_fields(&hu_task_detect_regions, fields);
}

/* [anchors, background and classes and offsets]; without anchors no head fits. */
static hu_shape head(const hu_task_choice *choice) {
    int64_t anchors = choice->anchors ? hu_anchors_count(choice->anchors) : 0;
    return (hu_shape){2, {anchors, choice->shapes.outputs}};
}

/* [regions, background and classes, each with offsets] */
static hu_shape head_of_regions(const hu_task_choice *choice) {
    return (hu_shape){2, {choice->regions, choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { BOXES_COLUMN, DETECTED_COLUMN, FOUND_COLUMN };

/* What is counted of a picture. */
typedef struct counts {
    hu_finder finder;
    double *cells;
} counts;

static void count(void *context, const hu_detection *detection) {
    counts *of = context;
    if (!(detection->score >= likely)) return;
    of->cells[DETECTED_COLUMN] += 1.0;
    of->cells[FOUND_COLUMN] += hu_finder_judge(&of->finder, detection) == HU_DETECTION_RIGHT;
}

static void describe(const hu_metric_call *sample, double *cells) {
    counts of = {hu_finder_begin(sample, 0), cells};
    cells[BOXES_COLUMN] = 0.0;
    cells[DETECTED_COLUMN] = cells[FOUND_COLUMN] = sample->prediction ? 0.0 : -1.0;
    for (int64_t i = 0; i < of.finder.most; i++)
        cells[BOXES_COLUMN] += hu_box_is_valid(of.finder.rows + i * HU_BOX_NUMBERS);
    hu_detections_visit(sample, 0, count, &of);
}

/* Who is told of boxes. */
typedef struct telling {
    hu_finding_visitor *visit;
    void *context;
} telling;

static void tell(void *context, const hu_detection *d) {
    const telling *to = context;
    if (d->score >= likely)
        to->visit(to->context, &(hu_finding){d->class_number, d->score, d->box});
}

static void find(const hu_metric_call *sample, hu_finding_visitor *visit, void *context) {
    telling to = {visit, context};
    hu_detections_visit(sample, 0, tell, &to);
}

static void paint(void *context, const hu_detection *detection) {
    if (detection->score >= likely) hu_paint_box(context, &detection->box, detection->class_number);
}

/* Boxes in the colours of their classes: the true ones, and those that are likelier than not. */
static void draw(const hu_metric_call *sample, const hu_shape *picture, float *real, float *made) {
    const int64_t *extent = picture->extent;
    hu_canvas said = {extent[0], extent[1], extent[2], made}, is = said;
    is.pixels = real;
    for (int64_t i = 0; i < sample->targets; i += HU_BOX_NUMBERS) {
        const float *row = sample->target + i;
        hu_box box = hu_box_of_row(row);
        if (hu_box_is_valid(row)) hu_paint_box(&is, &box, (int64_t)row[HU_BOX_CLASS]);
    }
    hu_detections_visit(sample, 0, paint, &said);
}

static void colour(int64_t class_number, int64_t channels, uint8_t rgb[3]) {
    float share[3];
    hu_paint_colour(class_number, channels, share);
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(255.0f * share[c] + 0.5f);
}

#define DETECT                                                                                     \
    .field = {{"image", "input", HU_READ_NORMALISED, false},                                       \
              {"boxes", "boxes", HU_READ_PLAIN, true}},                                            \
    .metric = {&hu_metric_mean_ap, &hu_metric_mean_ap_11},                                         \
    .column = {{"boxes", true, 0, false},                                                          \
               {"detected", true, 0, false},                                                       \
               {"found", true, 0, false}},                                                         \
    .scratch_bytes = hu_detections_scratch_bytes, .describe = describe, .draw = draw,              \
    .find = find, .finds_boxes = true, .colour = colour

const hu_task hu_task_detect = {
    .name = "detect",
    .help = "boxes around things, with their classes",
    .kind = HU_LOSS_BOXES,
    .loss = "ssd",
    .count_outputs = count_outputs,
    .head = head,
    DETECT,
};

const hu_task hu_task_detect_regions = {
    .name = "detect-regions",
    .help = "the same by regions that a model proposes first",
    .kind = HU_LOSS_REGIONS,
    .loss = "faster_rcnn",
    .count_outputs = count_region_outputs,
    .head = head_of_regions,
    DETECT,
};

/* ---- Average precision ---- */

/* Mean average precision at an overlap of 0.5: for each class, all detections of all pictures from
 * the best down, precision over recall; the mean over the classes that have boxes. Over all points
 * of the curve, and the mean over 11 recalls as PASCAL VOC took it until 2009 (Everingham et al.,
 * 4.2). Boxes that are difficult are not asked for, and who finds them is not wrong. */

/* The sums of a class: two numbers, then of each detection its score and 2 x its place in the order
 * of arrival + whether it is true. */
enum { BOXES, SAID, HEAD, ENTRY = 2, RECALLS = 11 };

static int64_t doubles_per_class(const hu_metric_call *shape) {
    int64_t most = shape->rows;
    if (most > HU_DETECTIONS_PER_CLASS) most = HU_DETECTIONS_PER_CLASS;
    return HEAD + ENTRY * most * shape->whole;
}

static int64_t sum_count(const hu_metric_call *shape) {
    return hu_detection_classes(shape) * doubles_per_class(shape);
}

/* Room for detections that nobody fills is not touched. */
static void clear(const hu_metric_call *shape, double *sums) {
    for (int64_t c = 0; c < hu_detection_classes(shape); c++, sums += doubles_per_class(shape))
        sums[BOXES] = sums[SAID] = 0.0;
}

/* One picture. */
typedef struct picture {
    hu_finder finder;
    double *sums;
    int64_t per_class;
} picture;

static void add_detection(void *context, const hu_detection *detection) {
    picture *of = context;
    double *sums = of->sums + detection->class_number * of->per_class;
    double *entry = sums + HEAD + ENTRY * (int64_t)sums[SAID];
    hu_worth worth = hu_finder_judge(&of->finder, detection);
    if (worth == HU_DETECTION_IGNORED) return;
    entry[0] = detection->score;
    entry[1] = 2.0 * sums[SAID] + (worth == HU_DETECTION_RIGHT ? 1.0 : 0.0);
    sums[SAID] += 1.0;
}

static void add(const hu_metric_call *part, double *sums) {
    picture of = {.sums = sums, .per_class = doubles_per_class(part)};
    int64_t classes = hu_detection_classes(part);
    for (int64_t s = 0; s < part->samples; s++) {
        of.finder = hu_finder_begin(part, s);
        for (int64_t i = 0; i < of.finder.most; i++) {
            float c = of.finder.rows[i * HU_BOX_NUMBERS + HU_BOX_CLASS];
            if (c >= 0.0f && c < (float)classes) sums[(int64_t)c * of.per_class + BOXES] += 1.0;
        }
        hu_detections_visit(part, s, add_detection, &of);
    }
}

/* Best score first, equal ones as they came. */
static int compare(const void *a, const void *b) {
    const double *left = a, *right = b;
    if (left[0] != right[0]) return left[0] > right[0] ? -1 : 1;
    return (left[1] > right[1]) - (left[1] < right[1]);
}

static bool is_true(const double *entry) {
    return fmod(entry[1], 2.0) == 1.0;
}

/* Recalls 0, 1/10, .. 1 that are first reached with `found` of `boxes`. */
static int64_t recalls_reached(int64_t found, int64_t boxes) {
    int64_t reached = 0;
    for (int64_t k = 0; k < RECALLS; k++) {
        int64_t needed = (k * boxes + RECALLS - 2) / (RECALLS - 1);
        reached += found == (needed > 0 ? needed : 1);
    }
    return reached;
}

/* Best detections first. */
static void finish(const hu_metric_call *shape, double *sums) {
    for (int64_t c = 0; c < hu_detection_classes(shape); c++, sums += doubles_per_class(shape))
        qsort(sums + HEAD, (size_t)sums[SAID], ENTRY * sizeof *sums, compare);
}

static const hu_collection collection = {.sum_count = sum_count,
                                         .clear = clear,
                                         .add = add,
                                         .finish = finish,
                                         .classes = hu_detection_classes};

/* From the worst detection up: precision is the best at this recall or a larger one. NaN where the
 * class has no box. */
static double average_precision(const double *sums, bool has_all_points) {
    int64_t said = (int64_t)sums[SAID], boxes = (int64_t)sums[BOXES], found = 0;
    const double *entry = sums + HEAD;
    double best = 0.0, total = 0.0;
    if (boxes == 0) return (double)NAN;
    for (int64_t i = 0; i < said; i++) found += is_true(entry + ENTRY * i);
    for (int64_t i = said - 1; i >= 0; i--) {
        double precision = (double)found / (double)(i + 1);
        if (precision > best) best = precision;
        if (!is_true(entry + ENTRY * i)) continue;
        total += best * (has_all_points ? 1.0 : (double)recalls_reached(found, boxes));
        found--;
    }
    return total / (has_all_points ? (double)boxes : RECALLS);
}

static double over_all_points(const hu_metric_call *shape, const double *sums,
                              int64_t class_number) {
    return average_precision(sums + class_number * doubles_per_class(shape), true);
}

static double over_11_recalls(const hu_metric_call *shape, const double *sums,
                              int64_t class_number) {
    return average_precision(sums + class_number * doubles_per_class(shape), false);
}

const hu_metric hu_metric_mean_ap = {
    .name = "mean_ap",
    .help = "average precision at an overlap of 0.5, mean over the classes",
    .heading = "mAP",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &collection,
    .of_class = over_all_points,
    .class_name = "ap",
    .class_heading = "AP"};

const hu_metric hu_metric_mean_ap_11 = {.name = "mean_ap_11",
                                        .help =
                                            "the same over 11 recalls, as PASCAL VOC 2007 took it",
                                        .heading = "11-point mAP",
                                        .unit = " %",
                                        .factor = 100.0,
                                        .decimals = 2,
                                        .higher_is_better = true,
                                        .collection = &collection,
                                        .of_class = over_11_recalls,
                                        .class_name = "ap_11",
                                        .class_heading = "11-point AP"};
