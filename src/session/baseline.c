#include "session/baseline.h"

#include <math.h>

#include "journal/result.h"

hu_status hu_baseline_measure(const hu_task *task, const hu_dataset *dataset, hu_half half,
                              const hu_listener *listener, hu_baseline *made) {
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = task->metric[0];
    *made = (hu_baseline){.name = task->baseline, .value = (double)NAN};
    if (!task->measure_baseline) return HU_OK;
    hu_status st = task->measure_baseline(dataset, half, &made->value);
    if (st != HU_OK) return st;
    hu_metric_words(metric, words);
    hu_listener_tell(listener, "%s alone: %s %s", made->name, words,
                     hu_metric_text(metric, made->value, value));
    return HU_OK;
}

void hu_baseline_put(const hu_baseline *baseline, json_t *object) {
    if (!object || !baseline->name) return;
    json_object_set_new(
        object, "baseline",
        json_pack("{s:s, s:o}", "name", baseline->name, "value", hu_json_number(baseline->value)));
}
