/* Pictures out of noise, like those of the data (Goodfellow et al. 2014): one network makes them,
 * another says of pictures whether they are real, and each learns what makes the other fail. No
 * picture that is made belongs to one of the data: they are compared as sets. */
#include <math.h>

#include "task/picture.h"

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    return hu_picture_outputs("gan", fields, outputs);
}

/* Columns of what predict says: of the made picture, numbers -1..1. */
enum { MEAN, DEVIATION };

static void describe(const hu_metric_call *sample, double *cells) {
    int64_t n = sample->rows * sample->outputs;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; sample->prediction && i < n; i++) {
        sum += (double)sample->prediction[i];
        squares += (double)sample->prediction[i] * (double)sample->prediction[i];
    }
    double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    cells[MEAN] = sample->prediction ? mean : (double)NAN;
    cells[DEVIATION] = sample->prediction ? sqrt(variance > 0.0 ? variance : 0.0) : (double)NAN;
}

const hu_task hu_task_gan = {
    .name = "gan",
    .help = "pictures out of noise, by two networks against each other",
    .field = {{"image", "real", HU_READ_SIGNED, false}, {"image", "target", HU_READ_SIGNED, true}},
    .kind = HU_LOSS_ADVERSARIES,
    .loss = "adversarial",
    .is_picture = true,
    .has_adversaries = true,
    .is_signed = true,
    .metric = {&hu_metric_fd64},
    .count_outputs = count_outputs,
    .head = hu_picture_head,
    .column = {{"mean", false, 4, false}, {"deviation", false, 4, false}},
    .describe = describe,
};
