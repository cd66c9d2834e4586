/* Boxes of things in a picture: beside each anchor of the model a row of class scores and four
 * offsets, or beside each region that it proposes a row of class scores and four offsets for each
 * class; the boxes of the picture as target. */
#include "base/error.h"
#include "box/anchors.h"
#include "box/boxes.h"
#include "task/detections.h"
#include "task/task.h"

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
enum { BOXES, DETECTED, FOUND };

/* What is counted of a picture. */
typedef struct counts {
    hu_finder finder;
    double *cells;
} counts;

static void count(void *context, const hu_detection *detection) {
    counts *of = context;
    if (!(detection->score >= likely)) return;
    of->cells[DETECTED] += 1.0;
    of->cells[FOUND] += hu_finder_judge(&of->finder, detection) == HU_DETECTION_RIGHT;
}

static void describe(const hu_metric_call *sample, double *cells) {
    counts of = {hu_finder_begin(sample, 0), cells};
    cells[BOXES] = 0.0;
    cells[DETECTED] = cells[FOUND] = sample->prediction ? 0.0 : -1.0;
    for (int64_t i = 0; i < of.finder.most; i++)
        cells[BOXES] += hu_box_is_there(of.finder.rows + i * HU_BOX_NUMBERS);
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
        if (hu_box_is_there(row)) hu_paint_box(&is, &box, (int64_t)row[HU_BOX_CLASS]);
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
