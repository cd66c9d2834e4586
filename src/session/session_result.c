/* session/session_result.c - what a training has come to, as JSON. */
#include <stdio.h>

#include "base/process.h"
#include "journal/plan.h"
#include "session/bits_result.h"
#include "session/result_facts.h"

#include "session/session.h"
#include "session/warnings.h"
#include "session/wire_result.h"

hu_trouble hu_session_trouble(const hu_session *session) {
    hu_recorder *recorder = session->folder.numerics;
    return recorder ? hu_recorder_trouble(recorder) : (hu_trouble){0};
}

const char *hu_session_next(const hu_session *session, const hu_session_result *result) {
    hu_trouble trouble = hu_session_trouble(session);
    bool is_hurt = result->has_diverged || result->collapse[0];
    return is_hurt || hu_is_in_trouble(&trouble) ? "why" : "predict";
}

/* "tokens_per_second", of tasks whose samples have places. */
static void put_rate(json_t *object, const hu_task *task, double rate) {
    char key[48];
    if (!task->place) return;
    snprintf(key, sizeof key, "%s_per_second", task->place);
    json_object_set_new(object, key, hu_json_number(rate));
}

json_t *hu_session_json(const hu_session *session, const hu_session_result *result) {
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    const hu_graph *graph = hu_trainer_graph(session->trainer);
    const char *model = "", *precision = "", *data = "";
    hu_ledger ledger = hu_trainer_ledger(session->trainer);
    double elements = progress->elements ? (double)progress->elements : 1.0;
    double steps = progress->step ? (double)progress->step : 1.0;
    hu_config_text(session->config, "model.name", &model);
    hu_config_text(session->config, "precision.name", &precision);
    hu_config_text(session->config, "data.name", &data);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:I, s:I, s:i, s:o, s:I, s:o, s:o, s:o, "
        "s:o, "
        "s:s, s:o, s:o}",
        "model", model, "precision", precision, "data", data, "parameters",
        (json_int_t)hu_graph_parameters(graph), "steps", (json_int_t)progress->step, "train_loss",
        hu_json_number(result->train_loss), "low_precision_ratio",
        hu_json_number(progress->ratio_sum / steps), "model_aggregate_bits",
        (json_int_t)hu_precision_aggregate_bits(graph,
                                                hu_run_edges(hu_trainer_run(session->trainer)),
                                                hu_trainer_batch(session->trainer)),
        "skipped_steps", (json_int_t)hu_trainer_skipped(session->trainer), "promoted",
        (int)hu_trainer_promoted(session->trainer), "images_per_second",
        hu_json_number(result->images_per_second), "peak_rss_bytes",
        (json_int_t)hu_peak_rss_bytes(), "ledger_bytes", hu_ledger_json(&ledger), "weights_hash",
        hu_json_hash(hu_trainer_weights_hash(session->trainer)), "overflow_share",
        hu_json_number((double)progress->overflow / elements), "underflow_share",
        hu_json_number((double)progress->underflow / elements), "run", session->folder.path,
        "warnings", hu_warnings_json(hu_trainer_run(session->trainer)), "train_seconds",
        hu_json_number(session->train_seconds));
    put_rate(object, hu_trainer_task(session->trainer), result->rate);
    hu_result_metric_put(object, hu_trainer_task(session->trainer)->name, &result->test);
    if (session->dataset->validation.count > 0)
        hu_result_validation_put(object, &result->validation, session->dataset->validation.count);
    if (hu_result_facts_put(object, session->trainer, session->dataset, result->collapse) !=
        HU_OK) {
        json_decref(object);
        return NULL;
    }
    hu_wire_result_put(object, session->config, session->trainer);
    hu_bits_result_put(object, session->trainer);
    hu_check_run_put(&session->check, object);
    hu_baseline_put(&session->baseline, object);
    if (object && result->is_early)
        json_object_set_new(object, "stopped_early", json_integer((json_int_t)progress->step));
    if (object && result->has_diverged)
        json_object_set_new(object, "diverged", json_string(result->reason));
    return object;
}

hu_status hu_session_write_result(const hu_session *session, const hu_session_result *result) {
    return hu_run_folder_result(&session->folder, hu_session_json(session, result));
}
