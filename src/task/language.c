/* The next token of a text, told from those before it: a row of scores for each place. Places whose
 * target is unlabelled are left out of losses and metrics. */
#include "base/error.h"
#include "task/surprise.h"

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
    .describe = hu_describe_surprise,
    .spell = hu_spell_surprise,
};
