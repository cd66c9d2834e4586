/* The picture itself, out of a narrow code: the head gives a picture, the target is the input in
 * units of 0..1. */
#include "task/picture.h"

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    return hu_picture_outputs("autoencode", fields, outputs);
}

/* Columns of what predict says. */
enum { PSNR, ERROR };

static void describe(const hu_metric_call *sample, double *cells) {
    cells[PSNR] = hu_metric_of_sample(&hu_metric_psnr, sample);
    cells[ERROR] = hu_metric_of_sample(&hu_metric_squared_error, sample);
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
    .is_picture = true,
    .head = hu_picture_head,
    .column = {{"psnr", false, 2, false}, {"squared_error", false, 6, false}},
    .describe = describe,
};
