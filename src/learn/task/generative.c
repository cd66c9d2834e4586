#include "task/task.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "op/attributes.h"
#include "task/internal.h"

/* ---- adversaries ---- */

/* Two networks that learn against each other: one makes pictures out of noise,
 * the other says of pictures whether they are real. A step has a turn of the judge, then one of the
 * maker with the judge as it is by then. */

/* NAME.loss: the judge is to say `target` of these pictures. */
static hu_status want(const hu_task_choice *choice, hu_graph *graph, const char *name,
                      hu_value_id said, float target) {
    hu_toward_attrs attrs = {target};
    hu_value_id out[HU_MAX_OUTPUTS];
    hu_status st = hu_graph_apply(graph, choice->loss->op, name, NULL, &attrs, 1, &said, out);
    return st == HU_OK ? hu_graph_loss(graph, out[0], 1.0f, HU_PER_SAMPLE) : st;
}

hu_status hu_task_expect_adversaries(const hu_task_choice *choice) {
    if (choice->task->has_adversaries) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "found two networks that learn against each other, the task %s has no losses for "
        "them; expected task=%s",
        choice->task->name, hu_task_gan.name);
}

hu_status hu_task_close_adversaries(const hu_task_choice *choice, hu_graph *graph,
                                    const hu_value_id *values, const hu_adversaries *networks) {
    hu_status st = HU_OK;
    HU_TRY(hu_task_expect_adversaries(choice));
    HU_TRY(hu_task_check_head(choice, &graph->value[networks->made]));
    HU_TRY(hu_graph_phase(graph, HU_JUDGE));
    HU_TRY(want(choice, graph, "real.loss", networks->real, choice->real));
    HU_TRY(want(choice, graph, "fake.loss", networks->fake, 0.0f));
    HU_TRY(hu_graph_phase(graph, HU_MAKER));
    HU_TRY(want(choice, graph, "again.loss", networks->again, 1.0f));
    hu_graph_answer(graph, networks->made, values[hu_task_target(choice->task)]);
done:
    return st;
}

/* ---- autoencode ---- */

/* The picture itself, out of a narrow code: the head gives a picture, the target is the input in
 * units of 0..1. */

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

/* ---- gan ---- */

/* Pictures out of noise, like those of the data (Goodfellow et al. 2014): one network makes them,
 * another says of pictures whether they are real, and each learns what makes the other fail. No
 * picture that is made belongs to one of the data: they are compared as sets. */

static hu_status gan_count_outputs(const hu_field *const *fields, int64_t *outputs) {
    return hu_picture_outputs("gan", fields, outputs);
}

/* Columns of what predict says: of the made picture, numbers -1..1. */
enum { MEAN, DEVIATION };

static void gan_describe(const hu_metric_call *sample, double *cells) {
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
    .count_outputs = gan_count_outputs,
    .head = hu_picture_head,
    .column = {{"mean", false, 4, false}, {"deviation", false, 4, false}},
    .describe = gan_describe,
};

/* ---- vae ---- */

/* The picture itself, out of a code that is drawn from a distribution of its own for every picture
 * (Kingma and Welling 2014): the loss is minus the log-likelihood of the picture plus beta times
 * the divergence of the code, both sums over a sample. */

static hu_status vae_count_outputs(const hu_field *const *fields, int64_t *outputs) {
    return hu_picture_outputs("vae", fields, outputs);
}

/* Columns of what predict says. */
enum { NEGATIVE_ELBO, RECONSTRUCTION, DIVERGENCE, VAE_PSNR };

static void vae_describe(const hu_metric_call *sample, double *cells) {
    cells[NEGATIVE_ELBO] = hu_metric_of_sample(&hu_metric_negative_elbo, sample);
    cells[RECONSTRUCTION] = hu_metric_of_sample(&hu_metric_reconstruction, sample);
    cells[DIVERGENCE] = hu_metric_of_sample(&hu_metric_divergence, sample);
    cells[VAE_PSNR] = hu_metric_of_sample(&hu_metric_psnr, sample);
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
    .count_outputs = vae_count_outputs,
    .is_picture = true,
    .head = hu_picture_head,
    .column = {{"negative_elbo", false, 2, false},
               {"reconstruction", false, 2, false},
               {"divergence", false, 2, false},
               {"psnr", false, 2, false}},
    .describe = vae_describe,
};
