/* The picture itself, out of a narrow code: the head gives a picture, the target is the input in
 * units of 0..1. */
#include "base/error.h"
#include "task/task.h"

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    enum { IMAGE_RANK = 3 };
    const hu_field *image = fields[1];
    /* The task's second field is the target: the same image, in units of 0..1. */
    *outputs = image->rank > 0 ? image->extent[image->rank - 1] : 1;
    if (image->rank == IMAGE_RANK && image->type == HU_FIELD_U8) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "field '%s': found rank %d, the task autoencode needs pictures of bytes",
                   image->name, image->rank);
}

/* [height, width, channels], as the target. */
static hu_shape head(const hu_task_shapes *shapes) {
    return shapes->value[1];
}

/* Columns of what predict says. */
enum { PSNR, ERROR };

/* A metric of one sample: its sums begin at 0 and end with the sample. */
static double metric_of(const hu_metric *metric, const hu_metric_call *sample) {
    double sums[2] = {0.0, 0.0};
    metric->add(sample, sums);
    return metric->value(sample, sums);
}

static void describe(const hu_metric_call *sample, double *cells) {
    cells[PSNR] = metric_of(&hu_metric_psnr, sample);
    cells[ERROR] = metric_of(&hu_metric_squared_error, sample);
}

const hu_task hu_task_autoencode = {
    .name = "autoencode",
    .help = "the picture itself, out of a narrow code",
    .field = {{"image", "input", HU_READ_NORMALISED, false},
              {"image", "target", HU_READ_UNIT, true}},
    .kind = HU_LOSS_NUMBERS,
    .loss = "mse",
    .metric = {&hu_metric_psnr, &hu_metric_squared_error},
    .count_outputs = count_outputs,
    .head = head,
    .column = {{"psnr", false, 2}, {"squared_error", false, 6}},
    .describe = describe,
};
