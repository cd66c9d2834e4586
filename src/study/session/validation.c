#include <math.h>

#include "base/error.h"
#include "predict/confusion.h"
#include "predict/sample_images.h"
#include "runlog/folder.h"
#include "session/session.h"

/* ---- session judge ---- */

/* What a training is judged by while it runs: evaluations, the best of
 * them, and whether it is to end. */

/* At the end of every eval.every-th epoch. */
static bool is_due(const hu_session *session) {
    int64_t every = session->eval_every * hu_trainer_steps_per_epoch(session->trainer);
    return every > 0 && hu_trainer_progress(session->trainer)->step % every == 0;
}

bool hu_session_is_over(const hu_session *session) {
    return hu_trainer_progress(session->trainer)->step >= session->steps ||
           hu_trainer_is_out_of_patience(session->trainer);
}

bool hu_session_is_evaluated(const hu_session *session) {
    return hu_trainer_progress(session->trainer)->step >= session->steps || is_due(session);
}

/* An evaluation, of which the last keeps what is taken for what in the folder: a training is worth
 * having without. */
static hu_status evaluate_half(hu_session *session, hu_split_kind half, bool is_last,
                               double *metrics, double *loss) {
    hu_confusion made = {0};
    hu_status st;
    if (!is_last || !session->leads)
        return hu_trainer_evaluate_on(session->trainer, half, metrics, loss);
    HU_TRY(hu_confusion_create(session->trainer, session->dataset, half, HU_MISTAKES_KEPT, &made));
    HU_TRY(hu_trainer_evaluate_shown(
        session->trainer, half, made.classes > 0 ? hu_confusion_note : NULL, &made, metrics, loss));
    if (hu_confusion_keep(&made, session->folder.path,
                          half == HU_SPLIT_TEST ? "test" : "validation",
                          hu_trainer_progress(session->trainer)->step) != HU_OK)
        hu_listener_tell(session->listener, "note: no confusion.json: %s", hu_last_error());
done:
    hu_confusion_free(&made);
    return st;
}

/* The test samples at the end of a training that was followed on others. */
static hu_status read_test(hu_session *session, hu_session_result *result) {
    double metrics[HU_METRICS_MAX], loss;
    hu_status st = evaluate_half(session, HU_SPLIT_TEST, true, metrics, &loss);
    if (st == HU_OK) result->test.last = result->test.best = metrics[0];
    return st;
}

/* Which tensor of an evaluation has no finite numbers: in the journal, and in words. */
static hu_status tell_evaluation(hu_session *session) {
    hu_status st = HU_OK;
    const char *first = NULL;
    int64_t step = hu_trainer_progress(session->trainer)->step - 1;
    if (!session->folder.numerics) return HU_OK;
    HU_TRY(hu_trainer_count_evaluation(session->trainer, session->evaluation));
    HU_TRY(hu_recorder_evaluation(session->folder.numerics, step, &first));
    if (first)
        hu_listener_tell(
            session->listener,
            "evaluation behind step %lld: %s is the first tensor with infinite numbers or NaN",
            (long long)step, first);
done:
    return st;
}

/* Whether none before it is better: of equal ones the latest is the best. */
static bool is_best(const hu_session *session, double value) {
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    const hu_metric *metric = hu_trainer_task(session->trainer)->metric[0];
    if (isnan(value)) return false;
    return progress->last_metric_step < 0 ||
           !hu_metric_is_better(metric, progress->best_metric, value);
}

bool hu_session_is_at_best(const hu_session *session) {
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    return progress->step > 0 && progress->last_metric_step == progress->step &&
           progress->last_metric == progress->best_metric;
}

/* Evaluates, and lets the training follow what was found. */
static hu_status evaluate(hu_session *session, double *value, double *loss) {
    double metrics[HU_METRICS_MAX];
    bool is_last = hu_trainer_progress(session->trainer)->step >= session->steps;
    hu_status st = evaluate_half(session, session->evaluation, is_last && !session->ends_with_test,
                                 metrics, loss);
    if (st != HU_OK) return st;
    *value = metrics[0];
    session->is_best = is_best(session, *value);
    hu_trainer_record_metric(session->trainer, *value);
    /* Not where a training happens to end: it may be gone on with. */
    if (is_due(session)) hu_trainer_follow_metric(session->trainer, *value);
    return HU_OK;
}

/* Where the folder was moved just now there is no room for pictures, but the row of the step is
 * whole, after which that is told. */
static hu_status draw(hu_session *session) {
    hu_status st = hu_session_pictures(session->config, session->trainer, session->evaluation,
                                       session->folder.path);
    return st == HU_OK || hu_run_folder_exists(&session->folder) ? st : HU_OK;
}

hu_status hu_session_judge(hu_session *session, hu_session_result *result, double *value) {
    hu_status st = HU_OK;
    double loss;
    *value = (double)NAN;
    session->is_best = false;
    if (!hu_session_is_evaluated(session)) return HU_OK;
    HU_TRY(evaluate(session, value, &loss));
    if (!isfinite(loss)) HU_TRY(tell_evaluation(session));
    HU_TRY(draw(session));
    if (session->ends_with_test && hu_session_is_over(session)) HU_TRY(read_test(session, result));
done:
    return st;
}

hu_status hu_session_judge_along(hu_session *session) {
    double value, loss;
    int64_t patience;
    hu_status st = hu_config_i64(session->config, "stop.patience", &patience);
    if (st != HU_OK || patience < 1 || !is_due(session)) return st;
    return evaluate(session, &value, &loss);
}

/* A training that had ended before knows nothing of the test samples but a first metric that it was
 * followed on: the others are to stay in its result. */
static bool lacks_test(const hu_session *session) {
    bool has_more = hu_trainer_task(session->trainer)->metric[1] != NULL;
    bool reads_more = session->ends_with_test || (session->evaluation == HU_SPLIT_TEST && has_more);
    return session->leads && reads_more && isnan(hu_trainer_test_metrics(session->trainer)[0]);
}

hu_status hu_session_give_metric(hu_session *session, hu_session_result *result) {
    hu_status st = HU_OK;
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    hu_result_metric *made =
        session->evaluation == HU_SPLIT_TEST ? &result->test : &result->validation;
    if (progress->last_metric_step < 0) return HU_OK;
    if (lacks_test(session) && !result->has_diverged) HU_TRY(read_test(session, result));
    made->last = progress->last_metric;
    made->best = progress->best_metric;
done:
    return st;
}
