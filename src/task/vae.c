/* The picture itself, out of a code that is drawn from a distribution of its own for every picture
 * (Kingma and Welling 2014): the loss is minus the log-likelihood of the picture plus beta times
 * the divergence of the code, both sums over a sample. */
#include "task/picture.h"

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    return hu_picture_outputs("vae", fields, outputs);
}

/* Columns of what predict says. */
enum { NEGATIVE_ELBO, RECONSTRUCTION, DIVERGENCE, PSNR };

static void describe(const hu_metric_call *sample, double *cells) {
    cells[NEGATIVE_ELBO] = hu_metric_of_sample(&hu_metric_negative_elbo, sample);
    cells[RECONSTRUCTION] = hu_metric_of_sample(&hu_metric_reconstruction, sample);
    cells[DIVERGENCE] = hu_metric_of_sample(&hu_metric_divergence, sample);
    cells[PSNR] = hu_metric_of_sample(&hu_metric_psnr, sample);
}

const hu_task hu_task_vae = {
    .name = "vae",
    .help = "the picture itself, out of a code that is drawn (variational autoencoder)",
    .field = {{"image", "input", HU_READ_UNIT, false}, {"image", "target", HU_READ_UNIT, true}},
    .kind = HU_LOSS_LIKELIHOOD,
    .loss = "bce_sum",
    .has_code = true,
    .metric = {&hu_metric_negative_elbo, &hu_metric_reconstruction, &hu_metric_divergence,
               &hu_metric_psnr},
    .count_outputs = count_outputs,
    .is_picture = true,
    .head = hu_picture_head,
    .column = {{"negative_elbo", false, 2, false},
               {"reconstruction", false, 2, false},
               {"divergence", false, 2, false},
               {"psnr", false, 2, false}},
    .describe = describe,
};
