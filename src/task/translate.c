/* A sentence in another language: at each place the next word of the translation, told from the
 * sentence and the words before it. Places behind the end of a translation are unlabelled, which
 * leaves them out of losses and metrics. */
#include "task/translate.h"
#include "base/error.h"
#include "data/tokenizer.h"
#include "task/bleu.h"
#include "task/lengths.h"
#include "task/surprise.h"

/* fields: source [S]; tokens [T], the translation from <bos> on, and the token behind each; how
 * many of both are there. */
static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    const hu_field *source = fields[HU_TRANSLATION_SOURCE], *tokens = fields[HU_TRANSLATION_TOKENS],
                   *targets = fields[HU_TRANSLATION_TARGETS];
    *outputs = targets->classes;
    if (source->rank != 1 || tokens->rank != 1 || targets->rank != 1 ||
        tokens->extent[0] != targets->extent[0])
        return hu_fail(HU_ERR_ARGUMENT,
                       "fields '%s', '%s' and '%s': found ranks %d, %d and %d, the task translate "
                       "needs a row of words, and a token and a target at each place of another",
                       source->name, tokens->name, targets->name, source->rank, tokens->rank,
                       targets->rank);
    if (source->classes < 2 || targets->classes < 2 || tokens->classes != targets->classes)
        return hu_fail(HU_ERR_ARGUMENT,
                       "fields '%s', '%s' and '%s': found %lld, %lld and %lld different words, the "
                       "task translate needs at least 2, the same of the last two",
                       source->name, tokens->name, targets->name, (long long)source->classes,
                       (long long)tokens->classes, (long long)targets->classes);
    if (fields[HU_TRANSLATION_SOURCE_LENGTH]->rank != 0 || fields[HU_TRANSLATION_LENGTH]->rank != 0)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "fields '%s' and '%s': found ranks %d and %d, the task translate needs "
            "numbers of words",
            fields[HU_TRANSLATION_SOURCE_LENGTH]->name, fields[HU_TRANSLATION_LENGTH]->name,
            fields[HU_TRANSLATION_SOURCE_LENGTH]->rank, fields[HU_TRANSLATION_LENGTH]->rank);
    return HU_OK;
}

/* [T, words] */
static hu_shape head(const hu_task_choice *choice) {
    return (hu_shape){
        2, {choice->shapes.value[HU_TRANSLATION_TARGETS].extent[0], choice->shapes.outputs}};
}

/* The true words, or those that the model writes by itself; none where it was not asked to. */
static int64_t spell(const hu_metric_call *sample, bool is_truth, int32_t *number) {
    const float *word = is_truth ? sample->target : sample->said;
    int64_t count = 0;
    for (; word && count < sample->targets && word[count] >= 0.0f; count++) {
        number[count] = (int32_t)word[count];
        if (number[count] == HU_SENTENCE_END) break;
    }
    return count;
}

const hu_task hu_task_translate = {
    .name = "translate",
    .help = "the next word of a translation, told from the sentence and the words before it",
    .field = {{.field = "source",
               .value = "source",
               .reading = HU_READ_PLAIN,
               .is_ids = true,
               .lengths = HU_SOURCE_LENGTHS_FIELD},
              {.field = "tokens",
               .value = "tokens",
               .reading = HU_READ_PLAIN,
               .is_ids = true,
               .lengths = HU_TARGET_LENGTHS_FIELD},
              {.field = "targets", .value = "targets", .reading = HU_READ_PLAIN, .is_target = true},
              {.field = HU_SOURCE_LENGTHS_FIELD,
               .value = HU_SOURCE_LENGTHS_FIELD,
               .reading = HU_READ_PLAIN,
               .is_target = true},
              {.field = HU_TARGET_LENGTHS_FIELD,
               .value = HU_TARGET_LENGTHS_FIELD,
               .reading = HU_READ_PLAIN,
               .is_target = true}},
    .kind = HU_LOSS_ROWS,
    .loss = "softmax_cross_entropy",
    .place = "tokens",
    .writes = true,
    .metric = {&hu_metric_perplexity, &hu_metric_bits_per_token, &hu_metric_bleu},
    .scratch_bytes = hu_bleu_scratch_bytes,
    .count_outputs = count_outputs,
    .head = head,
    .column = {HU_SURPRISE_COLUMNS},
    .describe = hu_describe_surprise,
    .spell = spell,
};
