/* One class for every sample: a head of class scores, the label as target. */
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/softmax_row.h"
#include "task/task.h"

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    /* One class would leave nothing to learn, and a map of labels is the task segment's. */
    *outputs = fields[1]->classes;
    if (fields[1]->rank == 0 && *outputs >= 2) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "field '%s': found %lld classes, rank %d; the task classify needs one class "
                   "number of at least 2 classes per sample",
                   fields[1]->name, (long long)*outputs, fields[1]->rank);
}

/* [classes]: one score for each. */
static hu_shape head(const hu_task_choice *choice) {
    return (hu_shape){1, {choice->shapes.outputs}};
}

/* Columns of what predict says. */
enum { LABEL, PREDICTED, PROBABILITY };

/* Probabilities of a row of scores, which add up to 1: log-probabilities in a format of few bits do
 * not, each being rounded for itself, and are taken as scores again. */
static hu_softmax_row scale_of(const hu_metric_call *sample) {
    return hu_softmax_row_of(sample->outputs, sample->prediction);
}

/* Of log-probabilities: the first largest, as the loss counts correct answers; -1 and NaN if one is
 * NaN or where a format stopped the pass. */
static void describe(const hu_metric_call *sample, double *cells) {
    cells[LABEL] = (double)sample->target[0];
    cells[PREDICTED] = -1.0;
    cells[PROBABILITY] = NAN;
    if (!sample->prediction) return;
    int64_t made = hu_metric_class(sample->outputs, sample->prediction);
    if (made < 0) return;
    cells[PREDICTED] = (double)made;
    hu_softmax_row scale = scale_of(sample);
    cells[PROBABILITY] = hu_softmax(scale, sample->prediction[made]);
}

/* The five likeliest, of equal ones the first; none where one is NaN. */
static void find(const hu_metric_call *sample, hu_finding_visitor *visit, void *context) {
    enum { MOST = 5 };
    const float *said = sample->prediction;
    int64_t taken[MOST], most = sample->outputs < MOST ? sample->outputs : MOST;
    if (!said || hu_metric_class(sample->outputs, said) < 0) return;
    hu_softmax_row scale = scale_of(sample);
    for (int64_t n = 0; n < most; n++) {
        int64_t best = -1;
        for (int64_t c = 0; c < sample->outputs; c++) {
            bool is_new = true;
            for (int64_t t = 0; t < n; t++) is_new = is_new && taken[t] != c;
            if (is_new && (best < 0 || said[c] > said[best])) best = c;
        }
        taken[n] = best;
        visit(context, &(hu_finding){.class_number = best, .score = hu_softmax(scale, said[best])});
    }
}

/* Without a prediction (-1) a labelled sample is wrong. */
static hu_judgement judge(const double *cells) {
    if (cells[LABEL] < 0.0) return HU_UNJUDGED;
    return cells[LABEL] == cells[PREDICTED] ? HU_RIGHT : HU_WRONG;
}

const hu_task hu_task_classify = {
    .name = "classify",
    .help = "one class for every sample",
    .field = {{"image", "input", HU_READ_NORMALISED, false},
              {"label", "label", HU_READ_PLAIN, true},
              {"mix", "mix", HU_READ_PLAIN, true, .is_mix = true}},
    .kind = HU_LOSS_ROWS,
    .loss = "nll",
    .metric = {&hu_metric_accuracy},
    .count_outputs = count_outputs,
    .head = head,
    .column = {{.title = "label", .is_whole = true, .is_class = true, .needs_truth = true},
               {"predicted", true, 0, true},
               {"probability", false, 4, false}},
    .describe = describe,
    .find = find,
    .judge = judge,
};
