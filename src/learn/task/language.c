#include "task/internal.h"
#include "task/task.h"

#include <math.h>

#include "base/elementary.h"
#include "base/error.h"

/* ---- surprise ---- */

/* What `predict` says of rows of words: how surprising the true ones are. */

enum { TOKENS, PERPLEXITY, CORRECT };

/* Minus the logarithms of what is said of the true tokens, added up. */
static double token_loss(const hu_metric_call *sample, double *counted) {
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

void hu_describe_token_loss(const hu_metric_call *sample, double *cells) {
    double counted = 0.0, sum = (double)NAN;
    if (sample->prediction) sum = token_loss(sample, &counted);
    cells[TOKENS] = counted;
    cells[PERPLEXITY] = hu_exp(sum / counted);
    cells[CORRECT] = hu_metric_of_sample(&hu_metric_accuracy, sample);
}

/* The true tokens of a sample, or the likeliest one of each place that counts, -1 where a score is
 * NaN; number [rows]. Returns how many. */
static int64_t hu_spell_token_loss(const hu_metric_call *sample, bool is_truth, int32_t *number) {
    int64_t count = 0;
    for (int64_t r = 0; r < sample->rows; r++) {
        const float *row = sample->prediction ? sample->prediction + r * sample->outputs : NULL;
        if (sample->target[r] < 0.0f) continue;
        if (is_truth)
            number[count++] = (int32_t)sample->target[r];
        else if (row)
            number[count++] = (int32_t)hu_metric_class(sample->outputs, row);
    }
    return count;
}

/* ---- language ---- */

/* The next token of a text, told from those before it: a row of scores for each place. Places whose
 * target is unlabelled are left out of losses and metrics. */

/* fields: tokens [length], and the token after each. */
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
    .column = {HU_SURPRISE_COLUMNS},
    .describe = hu_describe_token_loss,
    .spell = hu_spell_token_loss,
};

/* ---- pretrain ---- */

/* The fields of the task pretrain, for models that read more than the first. */

static hu_status check_ranks(const hu_field *const *fields) {
    static const int ranks[] = {1, 1, 1, 0, 1, 0};
    for (int f = 0; f <= HU_PRETRAIN_LENGTH; f++)
        if (fields[f]->rank != ranks[f])
            return hu_fail(HU_ERR_ARGUMENT, "field '%s': found rank %d, the task pretrain needs %d",
                           fields[f]->name, fields[f]->rank, ranks[f]);
    return HU_OK;
}

static hu_status pretrain_count_outputs(const hu_field *const *fields, int64_t *outputs) {
    const hu_field *tokens = fields[HU_PRETRAIN_TOKENS], *targets = fields[HU_PRETRAIN_TARGETS];
    const hu_field *segments = fields[HU_PRETRAIN_SEGMENTS], *places = fields[HU_PRETRAIN_PLACES];
    hu_status st = check_ranks(fields);
    *outputs = targets->classes;
    if (st != HU_OK) return st;
    if (tokens->extent[0] != segments->extent[0] || targets->extent[0] != places->extent[0])
        return hu_fail(HU_ERR_ARGUMENT,
                       "found %lld tokens with %lld segments and %lld targets with %lld places, "
                       "the task pretrain needs one for each",
                       (long long)tokens->extent[0], (long long)segments->extent[0],
                       (long long)targets->extent[0], (long long)places->extent[0]);
    if (targets->classes >= 2 && tokens->classes == targets->classes) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "fields '%s' and '%s': found %lld and %lld different tokens, the task pretrain "
                   "needs at least 2, the same of both",
                   tokens->name, targets->name, (long long)tokens->classes,
                   (long long)targets->classes);
}

/* [hidden, tokens] */
static hu_shape pretrain_head(const hu_task_choice *choice) {
    int64_t hidden = choice->shapes.value[HU_PRETRAIN_TARGETS].extent[0];
    return (hu_shape){2, {hidden, choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { HIDDEN, PRETRAIN_CORRECT, LABEL, PREDICTED };

static void describe(const hu_metric_call *sample, double *cells) {
    cells[HIDDEN] = 0.0;
    for (int64_t r = 0; r < sample->rows; r++) cells[HIDDEN] += sample->target[r] >= 0.0f;
    cells[PRETRAIN_CORRECT] = hu_metric_of_sample(&hu_metric_mlm_accuracy, sample);
    cells[LABEL] = (double)sample->pair_label[0];
    cells[PREDICTED] = sample->pair_scores ? (double)hu_metric_class(2, sample->pair_scores) : -1.0;
}

/* The likeliest word of each hidden place; none of a row with a NaN. */
static void find(const hu_metric_call *sample, hu_finding_visitor *visit, void *context) {
    for (int64_t r = 0; sample->prediction && r < sample->rows; r++) {
        const float *row = sample->prediction + r * sample->outputs;
        int64_t best = sample->target[r] < 0.0f ? -1 : hu_metric_class(sample->outputs, row);
        if (best < 0) continue;
        /* Adds up to 1, see task/image_tasks.c. */
        hu_softmax_row scale = hu_softmax_row_of(sample->outputs, row);
        const hu_finding found = {.class_number = best, .score = hu_softmax(scale, row[best])};
        visit(context, &found);
    }
}

const hu_task hu_task_pretrain = {
    .name = "pretrain",
    .help = "hidden words of pairs of segments, and whether they belong together",
    .field = {{.field = "tokens",
               .value = "tokens",
               .reading = HU_READ_PLAIN,
               .is_ids = true,
               .lengths = HU_LENGTHS_FIELD},
              {.field = "segments",
               .value = "segments",
               .reading = HU_READ_PLAIN,
               .is_ids = true,
               .lengths = HU_LENGTHS_FIELD},
              {.field = "targets", .value = "targets", .reading = HU_READ_PLAIN, .is_target = true},
              {.field = "label", .value = "label", .reading = HU_READ_PLAIN, .is_target = true},
              {.field = "places", .value = "places", .reading = HU_READ_PLAIN, .is_target = true},
              {.field = HU_LENGTHS_FIELD,
               .value = HU_LENGTHS_FIELD,
               .reading = HU_READ_PLAIN,
               .is_target = true}},
    .kind = HU_LOSS_ROWS,
    .loss = "softmax_cross_entropy",
    .pair = HU_PRETRAIN_LABEL,
    .place = "tokens",
    .metric = {&hu_metric_mlm_loss, &hu_metric_mlm_accuracy, &hu_metric_nsp_accuracy},
    .count_outputs = pretrain_count_outputs,
    .head = pretrain_head,
    .column = {{"hidden", true, 0, false},
               {"accuracy", false, 4, false},
               {"label", true, 0, false},
               {"predicted", true, 0, false}},
    .describe = describe,
    .find = find,
    .spell = hu_spell_token_loss,
};
