#include "task/task.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "data/tokenizer.h"
#include "media/ctc.h"
#include "task/internal.h"

/* ---- Metrics of texts ---- */

/* ---- BLEU of the translations that greedy decoding says ---- */

enum { BLEU_SUMS = sizeof(hu_bleu) / sizeof(double) };

/* How often the n words at `run` stand in words [count]. */
static int64_t times(const int32_t *run, int64_t n, const int32_t *words, int64_t count) {
    int64_t found = 0;
    for (int64_t i = 0; i + n <= count; i++)
        found += memcmp(run, words + i, (size_t)n * sizeof *run) == 0;
    return found;
}

/* A run that stands k times in made matches min(k, times in wanted) times: as long as fewer stand
 * before it, it is one of these. */
void hu_bleu_add(const int32_t *made, int64_t m, const int32_t *wanted, int64_t n, hu_bleu *bleu) {
    for (int64_t order = 1; order <= HU_BLEU_ORDERS; order++)
        for (int64_t i = 0; i + order <= m; i++) {
            int64_t before = times(made + i, order, made, i + order - 1);
            bleu->match[order - 1] += before < times(made + i, order, wanted, n);
            bleu->count[order - 1] += 1.0;
        }
    bleu->words += (double)m;
    bleu->true_words += (double)n;
}

double hu_bleu_value(const hu_bleu *bleu) {
    double logs = 0.0, ratio = bleu->true_words / bleu->words;
    if (bleu->true_words == 0.0) return (double)NAN;
    for (int n = 0; n < HU_BLEU_ORDERS; n++) {
        if (bleu->match[n] == 0.0) return 0.0;
        logs += hu_log(bleu->match[n] / bleu->count[n]);
    }
    return hu_exp((ratio > 1.0 ? 1.0 - ratio : 0.0) + logs / HU_BLEU_ORDERS);
}

/* ---- of samples ---- */

static int64_t bleu_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return BLEU_SUMS;
}

/* Words in front of the one that ends a sentence, or of an unlabelled place; number [count]. */
static int64_t words_of(const float *row, int64_t count, float end, int32_t *number) {
    int64_t words = 0;
    for (; words < count && row[words] >= 0.0f && row[words] != end; words++)
        number[words] = (int32_t)row[words];
    return words;
}

/* The last labelled class of a target ends every sentence; -1 where none is labelled. */
static float end_of(const float *target, int64_t count) {
    while (count > 0 && target[count - 1] < 0.0f) count--;
    return count > 0 ? target[count - 1] : -1.0f;
}

size_t hu_bleu_scratch_bytes(const hu_metric_call *shape) {
    return 2 * (size_t)shape->targets * sizeof(int32_t);
}

static void bleu_add(const hu_metric_call *part, double *sums) {
    int32_t *made = part->scratch, *wanted = made + part->targets;
    hu_bleu bleu;
    if (!part->said) return; /* nothing is said: there is no BLEU */
    memcpy(&bleu, sums, sizeof bleu);
    for (int64_t s = 0; s < part->samples; s++) {
        const float *target = part->target + s * part->targets;
        float end = end_of(target, part->targets);
        int64_t n = words_of(target, part->targets, end, wanted);
        int64_t m = words_of(part->said + s * part->targets, part->targets, end, made);
        hu_bleu_add(made, m, wanted, n, &bleu);
    }
    memcpy(sums, &bleu, sizeof bleu);
}

static const hu_collection bleu_collection = {.sum_count = bleu_sum_count, .add = bleu_add};

static double value(const hu_metric_call *shape, const double *sums) {
    hu_bleu bleu;
    (void)shape;
    memcpy(&bleu, sums, sizeof bleu);
    return hu_bleu_value(&bleu);
}

const hu_metric hu_metric_bleu = {
    .name = "bleu",
    .help = "runs of one to four words that greedy translations share with the true ones",
    .heading = "BLEU",
    .unit = "",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &bleu_collection,
    .value = value};

/* ---- What rows of class scores spell, and how far two sequences are apart ---- */

/* Row i of the table of Wagner and Fischer (1974), in place. */
int64_t hu_edit_distance(const int32_t *one, int64_t m, const int32_t *other, int64_t n,
                         int64_t *room) {
    for (int64_t j = 0; j <= n; j++) room[j] = j;
    for (int64_t i = 1; i <= m; i++) {
        int64_t aslant = room[0];
        room[0] = i;
        for (int64_t j = 1; j <= n; j++) {
            int64_t least = aslant + (one[i - 1] != other[j - 1]);
            if (room[j] + 1 < least) least = room[j] + 1;
            if (room[j - 1] + 1 < least) least = room[j - 1] + 1;
            aslant = room[j];
            room[j] = least;
        }
    }
    return room[n];
}

/* Labels of sample s in order; number [targets]. Returns how many there are. */
static int64_t spelling_wanted(const hu_metric_call *part, int64_t s, int32_t *number) {
    const float *target = part->target + s * part->targets;
    int64_t count = 0;
    for (; count < part->targets && target[count] >= 0.0f; count++)
        number[count] = (int32_t)target[count];
    return count;
}

/* The best path of sample s: the first largest class of each row that counts, repeats joined,
 * blanks dropped. A row with a NaN says nothing; without predictions nothing is said. number
 * [rows]. Returns how many there are. */
static int64_t spelling_made(const hu_metric_call *part, int64_t s, int32_t *number) {
    int64_t count = 0, before = HU_CTC_BLANK;
    if (!part->prediction) return 0;
    for (int64_t t = 0; t < (int64_t)part->lengths[s]; t++) {
        const float *row = part->prediction + (s * part->rows + t) * part->outputs;
        int64_t k = hu_metric_class(part->outputs, row);
        if (k < 0) k = HU_CTC_BLANK;
        if (k != HU_CTC_BLANK && k != before) number[count++] = (int32_t)k;
        before = k;
    }
    return count;
}

size_t hu_spelling_scratch_bytes(const hu_metric_call *shape) {
    return (size_t)(shape->rows + 1) * sizeof(int64_t) +
           (size_t)(shape->rows + shape->targets) * sizeof(int32_t);
}

hu_spelling hu_spelling_of(const hu_metric_call *part, int64_t s) {
    int64_t *room = part->scratch;
    hu_spelling found = {.made = (int32_t *)(room + part->rows + 1)};
    found.wanted = found.made + part->rows;
    found.made_count = spelling_made(part, s, found.made);
    found.wanted_count = spelling_wanted(part, s, found.wanted);
    found.edits =
        hu_edit_distance(found.wanted, found.wanted_count, found.made, found.made_count, room);
    return found;
}

/* ---- metric label error rate ---- */

/* How much of texts is spelled wrong, and samples that are too short for theirs. */

/* Changes to all texts, their numbers, and samples that no path spells. */
enum { EDITS, LABELS, IMPOSSIBLE, LABEL_ERROR_RATE_SUMS };

static int64_t label_error_rate_sum_count(const hu_metric_call *shape) {
    (void)shape;
    return LABEL_ERROR_RATE_SUMS;
}

static void label_error_rate_add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++) {
        const hu_spelling found = hu_spelling_of(part, s);
        const float *target = part->target + s * part->targets;
        sums[EDITS] += (double)found.edits;
        sums[LABELS] += (double)found.wanted_count;
        sums[IMPOSSIBLE] +=
            (double)part->lengths[s] < (double)hu_ctc_least_rows(target, found.wanted_count);
    }
}

static const hu_collection label_error_rate_collection = {.sum_count = label_error_rate_sum_count,
                                                          .add = label_error_rate_add};

/* NaN (0/0) where nothing is to be said and nothing is said. */
static double error_rate(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[EDITS] / sums[LABELS];
}

static double impossible(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[IMPOSSIBLE];
}

const hu_metric hu_metric_label_error_rate = {
    .name = "label_error_rate",
    .help = "changes that make the true texts of the best paths, over their length",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .collection = &label_error_rate_collection,
    .value = error_rate};

const hu_metric hu_metric_ctc_impossible = {
    .name = "ctc_impossible",
    .help = "samples with fewer rows than their text needs, which the loss leaves out",
    .heading = "CTC impossible",
    .unit = "",
    .factor = 1.0,
    .collection = &label_error_rate_collection,
    .value = impossible};

/* ---- Tasks of sequences ---- */

/* The fields of the task translate, for those who let a model write by itself.
 */

/* fields: source [S]; tokens [T], the translation from <bos> on, and the token after each; how
 * many of both are present. */
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

/* fields: features [frames, ...], the text, the frames that are present. */
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

/* Columns of predictions. */
enum { LETTERS_COLUMN, SAID_COLUMN, EDITS_COLUMN };

static void describe(const hu_metric_call *sample, double *cells) {
    const hu_spelling found = hu_spelling_of(sample, 0);
    cells[LETTERS_COLUMN] = (double)found.wanted_count;
    cells[SAID_COLUMN] = sample->prediction ? (double)found.made_count : -1.0;
    cells[EDITS_COLUMN] = (double)found.edits;
}

static int64_t transcribe_spell(const hu_metric_call *sample, bool is_truth, int32_t *number) {
    return is_truth ? spelling_wanted(sample, 0, number) : spelling_made(sample, 0, number);
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
