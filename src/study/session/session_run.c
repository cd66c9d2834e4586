/* session/session_run.c - a training step by step: what each writes and says, where it stops, and
 * what it has come to in the end. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/process.h"
#include "predict/sample_images.h"
#include "session/session.h"

/* every = 0: never. */
static bool is_multiple(int64_t step, int64_t every) {
    return every > 0 && step % every == 0;
}

/* Samples per second of training, without evaluations; NaN where this process trained no step. */
static double rate_of(const hu_session *session) {
    return session->train_seconds > 0.0 ? (double)session->train_samples / session->train_seconds
                                        : (double)NAN;
}

/* value: of the samples that the training is followed on, NaN where there was no evaluation. */
static hu_status write_row(const hu_session *session, const hu_step_report *report, double value,
                           const hu_session_result *result) {
    bool is_test = session->evaluation == HU_SPLIT_TEST;
    hu_metrics_row row = {.report = report,
                          .rate = rate_of(session),
                          .test = is_test ? value : result->test.last,
                          .validation = is_test ? (double)NAN : value,
                          .bits = hu_trainer_bits(session->trainer)};
    return hu_metrics_write(session->folder.metrics, &row);
}

/* What has been measured by now; metric: NaN where no evaluation was after the step. */
static hu_messages_state message_state(const hu_session *session, const hu_step_report *report,
                                       double metric) {
    return (hu_messages_state){.report = report,
                               .rate = rate_of(session),
                               .metric = metric,
                               .trouble = hu_session_trouble(session)};
}

/* What one process writes for all of them: rows, and what the model was judged by. */
static hu_status write_step(hu_session *session, const hu_step_report *report,
                            hu_session_result *result) {
    hu_status st = HU_OK;
    double value;
    bool is_logged = hu_session_is_evaluated(session) || report->skipped ||
                     is_multiple(report->step, session->log_every);
    const hu_run *run = hu_trainer_run(session->trainer);
    hu_recorder *recorder = session->folder.numerics;
    bool has_row =
        is_logged || hu_run_pass(run)->count_products || report->events > 0 || report->changes_next;
    hu_step_end end = report->skipped ? HU_STEP_SKIPPED : HU_STEP_DONE;
    HU_TRY(hu_recorder_note(recorder, run, report->step, end)); /* before evaluation counts */
    if (has_row) HU_TRY(hu_recorder_row(recorder));
    if (report->events > 0) HU_TRY(hu_run_folder_events(&session->folder, report, run));
    if (session->folder.bits)
        HU_TRY(hu_bit_log_step(session->folder.bits, report->step, is_logged));
    HU_TRY(hu_session_judge(session, result, &value));
    if (is_logged) HU_TRY(write_row(session, report, value, result));
    hu_messages_state state = message_state(session, report, value);
    HU_TRY(hu_messages_behind(&session->messages, &state));
done:
    return st;
}

/* Rows and checkpoint after a good step. */
static hu_status after_step(hu_session *session, const hu_step_report *report,
                            hu_session_result *result) {
    hu_status st = HU_OK;
    HU_TRY(session->leads ? write_step(session, report, result) : hu_session_judge_along(session));
    bool is_saved =
        hu_session_is_over(session) || is_multiple(report->step + 1, session->checkpoint_every);
    if (is_saved) HU_TRY(hu_session_save(session));
    if (session->leads && session->is_best) HU_TRY(hu_session_keep_best(session, is_saved));
done:
    return st;
}

/* A step that ends the run is a result, not a failure: its row and its numbers are written, and the
 * reason is kept. */
static hu_status one_step(hu_session *session, hu_session_result *result, hu_step_report *report) {
    double start = hu_seconds_now();
    hu_status st = hu_trainer_step(session->trainer, report);
    session->train_seconds += hu_seconds_now() - start;
    session->train_samples += report->samples;
    hu_messages_state state = message_state(session, report, (double)NAN);
    hu_status told = hu_messages_step(&session->messages, &state);
    if (st == HU_OK) st = told;
    if (st == HU_OK) st = hu_check_run_note(&session->check, session->trainer, report);
    if (st == HU_ERR_NONFINITE) {
        result->has_diverged = true;
        snprintf(result->reason, sizeof result->reason, "%s", hu_last_error());
        if (!session->leads) return HU_OK;
        st = hu_recorder_note(session->folder.numerics, hu_trainer_run(session->trainer),
                              report->step, report->skipped ? HU_STEP_SKIPPED : HU_STEP_BROKEN);
        if (st != HU_OK) return st;
        return write_row(session, report, NAN, result);
    }
    session->wants_stop = report->wants_stop;
    if (st == HU_OK) st = after_step(session, report, result);
    return st;
}

/* The flag is set by a signal handler; it is looked at between steps. Processes stop together. */
static bool is_interrupted(const hu_session *session) {
    if (session->processes && session->processes->transport) return session->wants_stop;
    return session->interrupted && *session->interrupted;
}

/* Where it stopped; the process that leads knows how to go on. */
static hu_status interrupted(const hu_session *session) {
    long long step = (long long)hu_trainer_progress(session->trainer)->step;
    if (!session->leads) return hu_fail(HU_ERR_INTERRUPTED, "after %lld steps", step);
    return hu_fail(HU_ERR_INTERRUPTED, "after %lld steps; `halfulp resume %s` goes on from there",
                   step, session->folder.path);
}

/* Without its rows nothing is known of it. */
static hu_status find_collapse(const hu_session *session, hu_session_result *result) {
    hu_chance chance = hu_trainer_chance(session->trainer, session->evaluation);
    if (result->has_diverged || !session->leads) return HU_OK;
    hu_status st =
        hu_collapse_read(session->folder.path, result->test.metric, &chance, result->collapse);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

/* Where to look, when rounding took much. */
static void tell_losses(const hu_session *session) {
    char words[HU_TROUBLE_BYTES];
    hu_trouble trouble = hu_session_trouble(session);
    if (hu_is_in_trouble(&trouble))
        hu_listener_tell(session->listener, "note: %s; `halfulp why %s`",
                         hu_trouble_words(&trouble, words), session->folder.path);
}

/* The last row of progress.jsonl. */
static hu_status tell_end(hu_session *session, hu_status status, const hu_session_result *result) {
    const char *state = result->is_early ? "stopped early" : "finished";
    if (result->has_diverged) state = "diverged";
    if (status != HU_OK) state = status == HU_ERR_INTERRUPTED ? "interrupted" : "failed";
    return hu_messages_end(&session->messages, state, status,
                           result->has_diverged ? result->reason : NULL);
}

/* A training that has ended loses nothing where a picture of it cannot be written. */
static void write_answers(hu_session *session) {
    int64_t written;
    hu_status st = hu_sample_images_write(session->trainer, session->dataset, session->folder.path,
                                          HU_ANSWERS_FOLDER, HU_ANSWERS_OF_TRAINING, &written);
    if (st != HU_OK)
        hu_listener_tell(session->listener, "note: no pictures of test samples: %s",
                         hu_last_error());
}

hu_status hu_session_begin(hu_session *session, hu_session_result *result) {
    hu_status st = HU_OK;
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    const hu_metric *metric = hu_trainer_task(session->trainer)->metric[0];
    *result = (hu_session_result){.train_loss = NAN,
                                  .test = {.metric = metric, .last = NAN, .best = NAN}};
    result->validation = result->test;
    /* Nothing is left to train: a run of no steps is evaluated once. */
    if (progress->step >= session->steps && progress->last_metric_step < 0) {
        double value;
        if (session->leads) HU_TRY(hu_session_judge(session, result, &value));
        HU_TRY(hu_session_save(session));
        if (session->leads && session->is_best) HU_TRY(hu_session_keep_best(session, true));
    }
    hu_trainer_watch(session->trainer, session->interrupted);
done:
    return st;
}

hu_status hu_session_step(hu_session *session, hu_session_result *result, hu_step_report *report) {
    hu_status st = hu_session_find_folder(session);
    return st == HU_OK ? one_step(session, result, report) : st;
}

hu_status hu_session_stop(hu_session *session) {
    hu_status st = hu_session_save(session);
    return st == HU_OK ? interrupted(session) : st;
}

/* What it has come to. */
static hu_status conclude(hu_session *session, hu_session_result *result) {
    hu_status st = HU_OK;
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    result->is_early = !result->has_diverged && progress->step < session->steps;
    if (progress->step > 0) result->train_loss = progress->last_epoch_loss;
    HU_TRY(hu_session_give_metric(session, result));
    result->images_per_second = rate_of(session);
    result->rate = result->images_per_second * (double)hu_trainer_places(session->trainer);
    result->counted = hu_task_counted(hu_trainer_task(session->trainer));
    HU_TRY(find_collapse(session, result));
    /* A walk over the samples: for what is reported, once. */
    if (session->leads)
        HU_TRY(hu_baseline_measure(hu_trainer_task(session->trainer), session->dataset,
                                   session->evaluation, session->listener, &session->baseline));
    if (session->leads && !result->has_diverged) write_answers(session);
    tell_losses(session);
done:
    return st;
}

hu_status hu_session_end(hu_session *session, hu_status status, hu_session_result *result) {
    hu_status st = status == HU_OK ? conclude(session, result) : status;
    /* A file that could not be made may be one of a folder that was moved just now. */
    if (st == HU_ERR_MISSING || st == HU_ERR_IO) {
        hu_status found = hu_session_find_folder(session);
        if (found != HU_OK) st = found;
    }
    return tell_end(session, st, result);
}

hu_status hu_session_run(hu_session *session, hu_session_result *result) {
    hu_step_report report;
    hu_status st = hu_session_begin(session, result);
    while (st == HU_OK && !hu_session_is_over(session) && !result->has_diverged) {
        st = hu_session_step(session, result, &report);
        if (st == HU_OK && is_interrupted(session) && !hu_session_is_over(session))
            st = hu_session_stop(session);
    }
    return hu_session_end(session, st, result);
}
