/* What is said in a sound: rows of class scores, and a text as target, of which nobody says where
 * its characters are. */
#include "base/error.h"
#include "task/lengths.h"
#include "task/spelling.h"
#include "task/task.h"

enum { FEATURES, LABEL, LENGTH };

/* fields: features [frames, ...], the text, the frames that are there. */
static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
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
static hu_shape head(const hu_task_choice *choice) {
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

static int64_t spell(const hu_metric_call *sample, bool is_truth, int32_t *number) {
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
    .count_outputs = count_outputs,
    .head = head,
    .scratch_bytes = hu_spelling_scratch_bytes,
    .column = {{.title = "letters", .is_whole = true, .needs_truth = true},
               {.title = "said", .is_whole = true},
               {.title = "edits", .is_whole = true, .needs_truth = true}},
    .describe = describe,
    .spell = spell,
};
