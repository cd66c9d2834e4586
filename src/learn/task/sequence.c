#include "task/sequence.h"

#include "base/error.h"
#include "data/tokenizer.h"
#include "task/language.h"
#include "task/task.h"
#include "task/text_metrics.h"

/* ---- translate ---- */

/* The fields of the task translate, for those who let a model write by itself.
 */

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
    .describe = hu_describe_token_loss,
    .spell = spell,
};

/* ---- transcribe ---- */

/* What is said in a sound: rows of class scores, and a text as target, of which nobody says where
 * its characters are. */

enum { FEATURES, LABEL, LENGTH };

/* fields: features [frames, ...], the text, the frames that are there. */
static hu_status transcribe_count_outputs(const hu_field *const *fields, int64_t *outputs) {
    const hu_field *features = fields[FEATURES], *label = fields[LABEL];
    *outputs = label->classes;
    if (label->rank != 1 || *outputs < 2)
        return hu_fail(HU_ERR_ARGUMENT,
                       "field '%s': found %lld classes, rank %d; the task transcribe needs lists "
                       "of class numbers of at least 2 classes, of which 0 is the blank",
                       label->name, (long long)*outputs, label->rank);
    if (features->rank < 2 || fields[LENGTH]->rank != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "fields '%s' and '%s': found ranks %d and %d, the task transcribe needs "
                       "rows and their number",
                       features->name, fields[LENGTH]->name, features->rank, fields[LENGTH]->rank);
    return HU_OK;
}

/* [rows, classes]: as many rows as the model makes, at most the frames of a sample. */
static hu_shape transcribe_head(const hu_task_choice *choice) {
    int64_t frames = choice->shapes.value[FEATURES].extent[0];
    return (hu_shape){2, {choice->rows > 0 ? choice->rows : frames, choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { LETTERS, SAID, EDITS };

static void describe(const hu_metric_call *sample, double *cells) {
    const hu_spelling found = hu_spelling_of(sample, 0);
    cells[LETTERS] = (double)found.wanted_count;
    cells[SAID] = sample->prediction ? (double)found.made_count : -1.0;
    cells[EDITS] = (double)found.edits;
}

static int64_t transcribe_spell(const hu_metric_call *sample, bool is_truth, int32_t *number) {
    return is_truth ? hu_spelling_wanted(sample, 0, number) : hu_spelling_made(sample, 0, number);
}

const hu_task hu_task_transcribe = {
    .name = "transcribe",
    .help = "the text that is said in a sound",
    .field = {{.field = "features",
               .value = "input",
               .reading = HU_READ_PLAIN,
               .lengths = HU_LENGTHS_FIELD},
              {.field = "label", .value = "label", .reading = HU_READ_PLAIN, .is_target = true},
              {.field = HU_LENGTHS_FIELD,
               .value = HU_LENGTHS_FIELD,
               .reading = HU_READ_PLAIN,
               .is_target = true}},
    .kind = HU_LOSS_SEQUENCE,
    .loss = "ctc",
    .place = "frames",
    .metric = {&hu_metric_label_error_rate, &hu_metric_ctc_impossible},
    .count_outputs = transcribe_count_outputs,
    .head = transcribe_head,
    .scratch_bytes = hu_spelling_scratch_bytes,
    .column = {{.title = "letters", .is_whole = true, .needs_truth = true},
               {.title = "said", .is_whole = true},
               {.title = "edits", .is_whole = true, .needs_truth = true}},
    .describe = describe,
    .spell = transcribe_spell,
};
