/* What a trained model says of the test samples. */
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "train/adapt.h"
#include "train/part.h"
#include "train/trainer.h"

/* Called behind the forward pass of each part: samples first .. of the test half. */
typedef hu_status (*part_visitor)(void *context, int64_t first, int64_t samples,
                                  const hu_pass_result *result);

/* Runs the test samples from the first to at least number `wanted`, always in the same whole parts:
 * scales of tensors depend on what is rounded together. */
static hu_status visit_parts(hu_trainer *trainer, int64_t wanted, part_visitor visit,
                             void *context) {
    hu_status st = HU_OK;
    int64_t count = hu_loader_count(trainer->test_loader);
    hu_pass_options pass = {.use_masters = trainer->options.eval_masters,
                            .step = (uint64_t)trainer->progress.step};
    HU_TRY(hu_adapt_between(trainer));
    HU_TRY(hu_loader_begin_epoch(trainer->test_loader, 0));
    if (!pass.use_masters) hu_run_round_parameters(trainer->run, pass.step, false);
    for (int64_t first = 0; first < wanted; first += trainer->part) {
        hu_batch_source batch = {trainer->test_loader, first};
        hu_source source = {&batch, hu_fill_batch};
        hu_pass_result result;
        pass.first_sample = first;
        pass.samples = count - first < trainer->part ? count - first : trainer->part;
        HU_TRY(hu_run_forward(trainer->run, &pass, &source, &result));
        HU_TRY(visit(context, first, pass.samples, &result));
    }
done:
    return st;
}

typedef struct sums {
    const hu_trainer *trainer; /* whose run may be planned anew before the first part */
    int64_t correct;
    double loss;
} sums;

static hu_status add_part(void *context, int64_t first, int64_t samples,
                          const hu_pass_result *result) {
    sums *total = context;
    (void)first, (void)samples;
    total->correct += (int64_t)result->stats[0][HU_LOSS_METRIC];
    total->loss += hu_run_has_overflowed(total->trainer->run) ? NAN : result->loss_sum;
    return HU_OK;
}

hu_status hu_trainer_evaluate(hu_trainer *trainer, double *accuracy, double *loss) {
    sums total = {.trainer = trainer};
    int64_t count = hu_loader_count(trainer->test_loader);
    hu_status st = visit_parts(trainer, count, add_part, &total);
    *accuracy = (double)total.correct / (double)count;
    *loss = total.loss / (double)count;
    return st;
}

typedef struct prediction_sink {
    const hu_trainer *trainer;
    int64_t count;              /* predictions wanted */
    float *scratch;             /* [part, classes] */
    hu_prediction *predictions; /* [count] */
} prediction_sink;

/* Of log-probabilities: the first largest, as the loss counts correct answers; none if one is NaN.
 */
static hu_prediction predict_row(const float *row, int64_t classes, int64_t label) {
    hu_prediction made = {label, 0, 0.0};
    for (int64_t c = 0; c < classes; c++) {
        if (isnan(row[c])) return (hu_prediction){label, -1, NAN};
        if (row[c] > row[made.predicted]) made.predicted = c;
    }
    made.probability = hu_exp((double)row[made.predicted]);
    return made;
}

/* The loss node is the last to run, so that what it read is still in its place. */
static hu_status add_predictions(void *context, int64_t first, int64_t samples,
                                 const hu_pass_result *result) {
    prediction_sink *sink = context;
    const hu_run *run = sink->trainer->run;
    const hu_graph *graph = sink->trainer->graph;
    hu_value_id v = graph->node[graph->loss[0].node].in[0];
    int64_t classes = graph->value[v].elements, correct = 0;
    const float *rows = NULL;
    if (!hu_run_has_overflowed(run)) rows = hu_run_value(run, v, samples, sink->scratch);
    for (int64_t i = 0; i < samples; i++) {
        const int32_t *labels = sink->trainer->dataset->test.rows[HU_FIELD_LABEL];
        int64_t label = labels[hu_loader_index(sink->trainer->test_loader, first + i)];
        hu_prediction made = {label, -1, NAN};
        if (rows) made = predict_row(rows + i * classes, classes, label);
        correct += made.predicted == label;
        if (first + i < sink->count) sink->predictions[first + i] = made;
    }
    int64_t counted = (int64_t)result->stats[0][HU_LOSS_METRIC];
    if (hu_run_has_overflowed(run) || correct == counted) return HU_OK;
    return hu_fail(HU_ERR_INTERNAL,
                   "test samples from %lld on: found %lld correct predictions, the loss %lld",
                   (long long)first, (long long)correct, (long long)counted);
}

hu_status hu_trainer_predict(hu_trainer *trainer, int64_t count, hu_prediction *predictions) {
    hu_status st;
    void *scratch = NULL;
    const hu_graph *graph = trainer->graph;
    size_t classes = (size_t)graph->value[graph->node[graph->loss[0].node].in[0]].elements;
    if (count < 0 || count > hu_loader_count(trainer->test_loader))
        return hu_fail(HU_ERR_ARGUMENT, "%lld predictions, expected 0 to %lld", (long long)count,
                       (long long)hu_loader_count(trainer->test_loader));
    HU_TRY(hu_alloc_array((size_t)trainer->part * classes, sizeof(float), &scratch));
    prediction_sink sink = {trainer, count, scratch, predictions};
    HU_TRY(visit_parts(trainer, count, add_predictions, &sink));
done:
    hu_free(scratch);
    return st;
}
