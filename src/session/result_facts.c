#include "session/result_facts.h"

#include <math.h>

#include "base/error.h"
#include "journal/result.h"
#include "layout/ledger.h"
#include "session/class_facts.h"

/* What images cost that do not stay in memory, and gradients between several processes. */
static void put_waits(json_t *object, const hu_trainer *trainer) {
    hu_team_seconds seconds = hu_trainer_team_seconds(trainer);
    double waited = hu_trainer_data_waited(trainer);
    if (waited > 0.0) json_object_set_new(object, "data_wait_seconds", hu_json_number(waited));
    if (!(seconds.busy > 0.0)) return;
    json_object_set_new(object, "comm_seconds", hu_json_number(seconds.busy));
    json_object_set_new(object, "comm_exposed_seconds", hu_json_number(seconds.exposed));
}

/* What of the data's files is no sample. */
static void put_left_out(json_t *object, const hu_dataset *dataset) {
    const int64_t *left = dataset->left_out;
    if (left[0] + left[1] > 0)
        json_object_set_new(
            object, "left_out",
            json_pack("{s:I, s:I}", "train", (json_int_t)left[0], "test", (json_int_t)left[1]));
}

/* The metrics of the task behind the first, of the evaluation that ended this process's training.
 */
static void put_more_metrics(json_t *object, const hu_trainer *trainer) {
    const hu_task *task = hu_trainer_task(trainer);
    const double *found = hu_trainer_test_metrics(trainer);
    char key[HU_METRIC_KEY_BYTES];
    for (int m = 1; task->metric[0] && task->metric[m]; m++)
        if (!isnan(found[m]))
            json_object_set_new(object, hu_metric_key("test", task->metric[m], key),
                                hu_json_number(found[m]));
}

static void put_gaps(json_t *object, const hu_trainer *trainer) {
    char gaps[HU_GAPS_BYTES];
    if (hu_gaps_words(hu_trainer_run(trainer), gaps)[0])
        json_object_set_new(object, "gaps", json_string(gaps));
}

/* How the aggregate went, what a guess is worth, and whether more than that was learned. */
hu_status hu_result_facts_put(json_t *object, const hu_trainer *trainer, const hu_dataset *dataset,
                              const char *collapse) {
    hu_status st;
    hu_chance chance = hu_trainer_chance(trainer, HU_HALF_TEST);
    hu_aggregate_bits aggregate = hu_trainer_aggregate(trainer);
    put_waits(object, trainer);
    put_more_metrics(object, trainer);
    put_gaps(object, trainer);
    put_left_out(object, dataset);
    if (hu_trainer_zeroed_streams(trainer) >= 0)
        json_object_set_new(object, "zeroed_streams",
                            json_integer(hu_trainer_zeroed_streams(trainer)));
    HU_TRY(hu_class_facts_put(object, trainer, dataset, HU_HALF_TEST));
    HU_TRY(hu_class_facts_put(object, trainer, dataset, HU_HALF_VALIDATION));
    json_object_set_new(object, "model_aggregate_bits_start", hu_json_number(aggregate.first));
    json_object_set_new(object, "model_aggregate_bits_mean", hu_json_number(aggregate.mean));
    if (chance.samples > 0)
        json_object_set_new(object, "chance",
                            json_pack("{s:o, s:I}", "value", hu_json_number(chance.value),
                                      "samples", (json_int_t)chance.samples));
    if (collapse[0]) json_object_set_new(object, "collapsed", json_string(collapse));
done:
    return st;
}
