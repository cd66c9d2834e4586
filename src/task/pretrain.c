/* Hidden words of pairs of segments, and whether the second segment follows the first (Devlin et
 * al. 2019, section 3.1): a row of scores for each hidden place, and two scores of the pair. The
 * loss is the mean over the hidden words plus the mean over the pairs. */
#include "task/pretrain.h"

#include <math.h>

#include "base/error.h"
#include "base/softmax_row.h"
#include "task/lengths.h"
#include "task/surprise.h"
#include "task/task.h"

static hu_status check_ranks(const hu_field *const *fields) {
    static const int ranks[] = {1, 1, 1, 0, 1, 0};
    for (int f = 0; f <= HU_PRETRAIN_LENGTH; f++)
        if (fields[f]->rank != ranks[f])
            return hu_fail(HU_ERR_ARGUMENT, "field '%s': found rank %d, the task pretrain needs %d",
                           fields[f]->name, fields[f]->rank, ranks[f]);
    return HU_OK;
}

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
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
static hu_shape head(const hu_task_choice *choice) {
    int64_t hidden = choice->shapes.value[HU_PRETRAIN_TARGETS].extent[0];
    return (hu_shape){2, {hidden, choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { HIDDEN, CORRECT, LABEL, PREDICTED };

static void describe(const hu_metric_call *sample, double *cells) {
    cells[HIDDEN] = 0.0;
    for (int64_t r = 0; r < sample->rows; r++) cells[HIDDEN] += sample->target[r] >= 0.0f;
    cells[CORRECT] = hu_metric_of_sample(&hu_metric_mlm_accuracy, sample);
    cells[LABEL] = (double)sample->pair_label[0];
    cells[PREDICTED] = sample->pair_scores ? (double)hu_metric_class(2, sample->pair_scores) : -1.0;
}

/* The likeliest word of each hidden place; none of a row with a NaN. */
static void find(const hu_metric_call *sample, hu_finding_visitor *visit, void *context) {
    for (int64_t r = 0; sample->prediction && r < sample->rows; r++) {
        const float *row = sample->prediction + r * sample->outputs;
        int64_t best = sample->target[r] < 0.0f ? -1 : hu_metric_class(sample->outputs, row);
        if (best < 0) continue;
        /* Adds up to 1, see task/classify.c. */
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
    .count_outputs = count_outputs,
    .head = head,
    .column = {{"hidden", true, 0, false},
               {"accuracy", false, 4, false},
               {"label", true, 0, false},
               {"predicted", true, 0, false}},
    .describe = describe,
    .find = find,
    .spell = hu_spell_surprise,
};
