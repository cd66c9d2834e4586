/* The next token of a text, told from those before it: a row of scores for each place. Places whose
 * target is unlabelled are left out of losses and metrics. */
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "task/task.h"

/* fields: tokens [length], and the token behind each. */
static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    const hu_field *tokens = fields[0], *targets = fields[1];
    *outputs = targets->classes;
    if (tokens->rank != 1 || targets->rank != 1 || tokens->extent[0] != targets->extent[0])
        return hu_fail(HU_ERR_ARGUMENT,
                       "fields '%s' and '%s': found ranks %d and %d, the task language needs a "
                       "token and a target at each place of one row",
                       tokens->name, targets->name, tokens->rank, targets->rank);
    if (targets->classes < 2 || tokens->classes != targets->classes)
        return hu_fail(HU_ERR_ARGUMENT,
                       "fields '%s' and '%s': found %lld and %lld different tokens, the task "
                       "language needs at least 2, the same of both",
                       tokens->name, targets->name, (long long)tokens->classes,
                       (long long)targets->classes);
    return HU_OK;
}

/* [length, tokens] */
static hu_shape head(const hu_task_choice *choice) {
    return (hu_shape){2, {choice->shapes.value[1].extent[0], choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { TOKENS, PERPLEXITY, CORRECT };

/* Minus the logarithms of what is said of the true tokens, added up. */
static double surprise(const hu_metric_call *sample, double *counted) {
    double sum = 0.0;
    *counted = 0.0;
    for (int64_t r = 0; r < sample->rows; r++) {
        const float *row = sample->prediction + r * sample->outputs;
        if (sample->target[r] < 0.0f) continue;
        hu_softmax_row shape = hu_loss_row(sample->loss, sample->outputs, row);
        sum -= hu_log_softmax(shape, row[(int64_t)sample->target[r]]);
        *counted += 1.0;
    }
    return sum;
}

static void describe(const hu_metric_call *sample, double *cells) {
    double counted = 0.0, sum = (double)NAN;
    if (sample->prediction) sum = surprise(sample, &counted);
    cells[TOKENS] = counted;
    cells[PERPLEXITY] = hu_exp(sum / counted);
    cells[CORRECT] = hu_metric_of_sample(&hu_metric_accuracy, sample);
}

const hu_task hu_task_language = {
    .name = "language",
    .help = "the next token of a text, told from those before it",
    .field =
        {{.field = "tokens", .value = "tokens", .reading = HU_READ_PLAIN, .is_ids = true},
         {.field = "targets", .value = "targets", .reading = HU_READ_PLAIN, .is_target = true}},
    .kind = HU_LOSS_ROWS,
    .loss = "softmax_cross_entropy",
    .place = "tokens",
    .metric = {&hu_metric_perplexity, &hu_metric_bits_per_token},
    .count_outputs = count_outputs,
    .head = head,
    .column = {{"tokens", true, 0, false},
               {"perplexity", false, 2, false},
               {"accuracy", false, 4, false}},
    .describe = describe,
};
