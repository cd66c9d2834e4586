/* One class for every pixel: a head of class scores per pixel, a label map as target. Pixels that
 * nobody has labelled are left out of losses and metrics. */
#include "base/error.h"
#include "task/task.h"

/* fields: the image [height, width, channels], then its map [height, width] of class numbers. */
static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    enum { MAP_RANK = 2 };
    const hu_field *image = fields[0], *mask = fields[1];
    *outputs = mask->classes;
    if (mask->rank != MAP_RANK || mask->classes < 2)
        return hu_fail(HU_ERR_ARGUMENT,
                       "field '%s': found rank %d and %lld classes, the task segment needs a map "
                       "[height, width] of at least 2 classes",
                       mask->name, mask->rank, (long long)mask->classes);
    if (mask->extent[0] != image->extent[0] || mask->extent[1] != image->extent[1])
        return hu_fail(HU_ERR_ARGUMENT,
                       "field '%s': found %lld x %lld pixels, expected %lld x %lld as '%s' has",
                       mask->name, (long long)mask->extent[0], (long long)mask->extent[1],
                       (long long)image->extent[0], (long long)image->extent[1], image->name);
    return HU_OK;
}

/* [height, width, classes]: a row of scores for each pixel. */
static hu_shape head(const hu_task_choice *choice) {
    const int64_t *map = choice->shapes.value[1].extent;
    return (hu_shape){3, {map[0], map[1], choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { LABELLED, CORRECT };

/* Pixels that somebody has labelled; the others have a negative number. */
static int64_t counted(const hu_metric_call *sample) {
    int64_t rows = 0;
    for (int64_t r = 0; r < sample->rows; r++) rows += sample->target[r] >= 0.0f;
    return rows;
}

static void describe(const hu_metric_call *sample, double *cells) {
    cells[LABELLED] = (double)counted(sample);
    cells[CORRECT] = hu_metric_of_sample(&hu_metric_pixel_accuracy, sample);
}

/* Colours that lie apart: the bits of a class from the lowest on go to red, green and blue in turn,
 * the first ones to their highest bits (as in PASCAL VOC's label maps, but not beginning with
 * black). */
static void colour_of(int64_t class_number, uint8_t *pixel) {
    int64_t bits = class_number + 1;
    pixel[0] = pixel[1] = pixel[2] = 0;
    for (int bit = 0; bit < 24; bit++)
        if (bits >> bit & 1) pixel[bit % 3] |= (uint8_t)(128 >> bit / 3);
}

/* Answers always have colours. */
static void colour(int64_t class_number, int64_t channels, uint8_t rgb[3]) {
    (void)channels;
    colour_of(class_number, rgb);
}

/* Unlabelled pixels, and scores that are NaN, are black. */
static void paint(const hu_metric_call *sample, bool is_truth, uint8_t *pixels) {
    for (int64_t r = 0; r < sample->rows; r++) {
        int64_t is =
            is_truth ? (int64_t)sample->target[r]
                     : hu_metric_class(sample->outputs, sample->prediction + r * sample->outputs);
        colour_of(is < 0 ? -1 : is, pixels + 3 * r);
    }
}

static void map(const hu_metric_call *sample, uint8_t *labels) {
    for (int64_t r = 0; r < sample->rows; r++) {
        int64_t is = hu_metric_class(sample->outputs, sample->prediction + r * sample->outputs);
        labels[r] = is < 0 || is >= HU_UNLABELLED_BYTE ? HU_UNLABELLED_BYTE : (uint8_t)is;
    }
}

const hu_task hu_task_segment = {
    .name = "segment",
    .help = "one class for every pixel",
    .field = {{"image", "input", HU_READ_NORMALISED, false}, {"mask", "mask", HU_READ_PLAIN, true}},
    .kind = HU_LOSS_ROWS,
    .loss = "softmax_cross_entropy",
    .metric = {&hu_metric_mean_iou, &hu_metric_mean_accuracy, &hu_metric_pixel_accuracy},
    .count_outputs = count_outputs,
    .head = head,
    .column = {{"labelled_pixels", true, 0, false}, {"pixel_accuracy", false, 4, false}},
    .describe = describe,
    .paint = paint,
    .map = map,
    .colour = colour,
};
