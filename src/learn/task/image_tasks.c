#include "task/internal.h"

#include <math.h>

#include "base/elementary.h"
#include "base/error.h"

/* ---- What tasks share whose target is the picture itself ---- */

hu_status hu_picture_outputs(const char *task, const hu_field *const *fields, int64_t *outputs) {
    enum { IMAGE_RANK = 3 };
    const hu_field *image = fields[1];
    *outputs = image->rank > 0 ? image->extent[image->rank - 1] : 1;
    if (image->rank == IMAGE_RANK && image->type == HU_FIELD_U8) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "field '%s': found rank %d, the task %s needs pictures of bytes", image->name,
                   image->rank, task);
}

hu_shape hu_picture_head(const hu_task_choice *choice) {
    return choice->shapes.value[1];
}

/* NaN is black. */
static uint8_t byte_of(double x) {
    if (!(x > 0.0)) return 0;
    return (uint8_t)(x > 1.0 ? 255.0 : x * 255.0 + 0.5);
}

void hu_picture_paint(const hu_metric_call *sample, bool is_truth, uint8_t *pixels) {
    enum { COLOURS = 3 };
    for (int64_t r = 0; r < sample->rows; r++)
        for (int c = 0; c < COLOURS; c++) {
            int64_t at = r * sample->outputs + (sample->outputs == COLOURS ? c : 0);
            double x = (double)(is_truth ? sample->target : sample->prediction)[at];
            if (!is_truth && sample->loss->predicted) x = sample->loss->predicted(x);
            pixels[r * COLOURS + c] = byte_of(x);
        }
}

/* ---- classify ---- */

/* One class for every sample: a head of class scores, the label as target. */

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    /* One class would leave nothing to learn, and a map of labels is the task segment's. */
    *outputs = fields[1]->classes;
    if (fields[1]->rank == 0 && *outputs >= 2) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "field '%s': found %lld classes, rank %d; expected one class number of at least "
                   "2 classes per sample",
                   fields[1]->name, (long long)*outputs, fields[1]->rank);
}

/* [classes]: one score for each. */
static hu_shape head(const hu_task_choice *choice) {
    return (hu_shape){1, {choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { LABEL, PREDICTED, PROBABILITY };

/* Probabilities of a row of scores, which add up to 1: log-probabilities in a format of few bits do
 * not, each being rounded for itself, and are taken as scores again. */
static hu_softmax_row scale_of(const hu_metric_call *sample) {
    return hu_softmax_row_of(sample->outputs, sample->prediction);
}

/* Of log-probabilities: the first largest, as the loss counts correct answers; -1 and NaN if one is
 * NaN or where a format stopped the pass. */
static void describe(const hu_metric_call *sample, double *cells) {
    cells[LABEL] = (double)sample->target[0];
    cells[PREDICTED] = -1.0;
    cells[PROBABILITY] = NAN;
    if (!sample->prediction) return;
    int64_t made = hu_metric_class(sample->outputs, sample->prediction);
    if (made < 0) return;
    cells[PREDICTED] = (double)made;
    hu_softmax_row scale = scale_of(sample);
    cells[PROBABILITY] = hu_softmax(scale, sample->prediction[made]);
}

/* The five likeliest, of equal ones the first; none where one is NaN. */
static void find(const hu_metric_call *sample, hu_finding_visitor *visit, void *context) {
    enum { MOST = 5 };
    const float *said = sample->prediction;
    int64_t taken[MOST], most = sample->outputs < MOST ? sample->outputs : MOST;
    if (!said || hu_metric_class(sample->outputs, said) < 0) return;
    hu_softmax_row scale = scale_of(sample);
    for (int64_t n = 0; n < most; n++) {
        int64_t best = -1;
        for (int64_t c = 0; c < sample->outputs; c++) {
            bool is_new = true;
            for (int64_t t = 0; t < n; t++) is_new = is_new && taken[t] != c;
            if (is_new && (best < 0 || said[c] > said[best])) best = c;
        }
        taken[n] = best;
        visit(context, &(hu_finding){.class_number = best, .score = hu_softmax(scale, said[best])});
    }
}

/* Without a prediction (-1) a labelled sample is wrong. */
static hu_judgement judge(const double *cells) {
    if (cells[LABEL] < 0.0) return HU_UNJUDGED;
    return cells[LABEL] == cells[PREDICTED] ? HU_RIGHT : HU_WRONG;
}

const hu_task hu_task_classify = {
    .name = "classify",
    .help = "one class for every sample",
    .field = {{"image", "input", HU_READ_NORMALISED, false},
              {"label", "label", HU_READ_PLAIN, true},
              {"mix", "mix", HU_READ_PLAIN, true, .is_mix = true}},
    .kind = HU_LOSS_ROWS,
    .loss = "nll",
    .metric = {&hu_metric_accuracy},
    .count_outputs = count_outputs,
    .head = head,
    .column = {{.title = "label", .is_whole = true, .is_class = true, .needs_truth = true},
               {"predicted", true, 0, true},
               {"probability", false, 4, false}},
    .describe = describe,
    .find = find,
    .judge = judge,
};

/* The same of texts, whose tokens are numbers that the network reads. */
static hu_status text_count_outputs(const hu_field *const *fields, int64_t *outputs) {
    const hu_field *tokens = fields[0];
    if (tokens->rank == 1 && tokens->classes >= 2) return count_outputs(fields, outputs);
    return hu_fail(HU_ERR_ARGUMENT,
                   "field '%s': found rank %d and %lld different tokens, the task classify_text "
                   "needs one row of at least 2",
                   tokens->name, tokens->rank, (long long)tokens->classes);
}

const hu_task hu_task_classify_text = {
    .name = "classify_text",
    .help = "one class for every text",
    .field = {{.field = "tokens", .value = "tokens", .reading = HU_READ_PLAIN, .is_ids = true},
              {.field = "label", .value = "label", .reading = HU_READ_PLAIN, .is_target = true}},
    .kind = HU_LOSS_ROWS,
    .loss = "nll",
    .place = "tokens",
    .metric = {&hu_metric_accuracy},
    .count_outputs = text_count_outputs,
    .head = head,
    .column = {{.title = "label", .is_whole = true, .is_class = true, .needs_truth = true},
               {"predicted", true, 0, true},
               {"probability", false, 4, false}},
    .describe = describe,
    .find = find,
    .judge = judge,
};

/* ---- segment ---- */

/* One class for every pixel: a head of class scores per pixel, a label map as target. Pixels that
 * nobody has labelled are left out of losses and metrics. */

/* fields: the image [height, width, channels], then its map [height, width] of class numbers. */
static hu_status segment_count_outputs(const hu_field *const *fields, int64_t *outputs) {
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
static hu_shape segment_head(const hu_task_choice *choice) {
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

static void segment_describe(const hu_metric_call *sample, double *cells) {
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
    .count_outputs = segment_count_outputs,
    .head = segment_head,
    .column = {{"labelled_pixels", true, 0, false}, {"pixel_accuracy", false, 4, false}},
    .describe = segment_describe,
    .paint = paint,
    .map = map,
    .colour = colour,
};
