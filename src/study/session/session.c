/* session/session.c - one training from a configuration to its folder: opened and closed, and its
 * state saved. What a user sees goes through the listener. */
#include "session/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "predict/confusion.h"
#include "predict/sample_images.h"
#include "render/json.h"
#include "runlog/folder.h"
#include "runlog/graph_json.h"
#include "runlog/plan_json.h"
#include "session/evaluation.h"
#include "session/saved_run.h"
#include "settings/dataset.h"
#include "settings/messages.h"
#include "settings/options.h"
#include "settings/planned.h"
#include "settings/saved_data.h"
#include "train/trainer.h"

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

static bool hu_session_is_evaluated(const hu_session *session) {
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
    if (st == HU_OK) {
        result->test.last = result->test.best = metrics[0];
        result->test_loss = loss;
    }
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

/* Whether a state that was loaded is that of the best evaluation so far. */
static bool hu_session_is_at_best(const hu_session *session) {
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

/* Evaluates there; *value is NaN elsewhere. After the last step, the test samples too. */
static hu_status hu_session_judge(hu_session *session, hu_session_result *result, double *value) {
    hu_status st = HU_OK;
    double loss;
    *value = (double)NAN;
    session->is_best = false;
    if (!hu_session_is_evaluated(session)) return HU_OK;
    HU_TRY(evaluate(session, value, &loss));
    if (session->evaluation == HU_SPLIT_TEST) result->test_loss = loss;
    if (!isfinite(loss)) HU_TRY(tell_evaluation(session));
    HU_TRY(draw(session));
    if (session->ends_with_test && hu_session_is_over(session)) HU_TRY(read_test(session, result));
done:
    return st;
}

/* What a process does that does not lead, so that it ends where the others do: the same evaluation,
 * if the training has a patience. */
static hu_status hu_session_judge_along(hu_session *session) {
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

/* The judged samples as the progress record knows them, into the result. */
static hu_status hu_session_give_metric(hu_session *session, hu_session_result *result) {
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

/* ---- session ---- */

/* Counting all tensors takes a tenth of a step: at rows, in one of ten steps at most. */
static int64_t count_every(int64_t log_every) {
    enum { LEAST = 10 };
    return log_every < 1 ? 0 : log_every * ((LEAST + log_every - 1) / log_every);
}

static hu_status read_intervals(hu_session *session) {
    hu_status st = HU_OK;
    char text[32];
    hu_config *config = session->config;
    int64_t per_epoch = hu_trainer_steps_per_epoch(session->trainer);
    snprintf(text, sizeof text, "%lld", (long long)per_epoch);
    HU_TRY(hu_config_set(config, "run.checkpoint_every", text, "recipe"));
    HU_TRY(hu_config_set(config, "run.log_every", "10", "recipe"));
    HU_TRY(hu_config_i64(config, "run.checkpoint_every", &session->checkpoint_every));
    HU_TRY(hu_config_i64(config, "run.log_every", &session->log_every));
    HU_TRY(hu_config_i64(config, "eval.every", &session->eval_every));
    hu_trainer_count_every(session->trainer, count_every(session->log_every));
done:
    return st;
}

/* The loss of the last evaluation is in no checkpoint: of a run that has ended, its result has it.
 * What is damaged there is written anew. */
static double ended_loss(const char *directory) {
    json_t *result = NULL;
    double loss = (double)NAN;
    if (hu_result_read(directory, &result) == HU_OK && result)
        loss = hu_json_real(result, "test_loss");
    json_decref(result);
    return loss;
}

/* Loads the newest checkpoint of a folder; a run that was stopped before its first one starts
 * anew. */
static hu_status load_newest(hu_session *session, const char *directory, hu_run_saved *saved) {
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    char warning[1024], path[4096];
    session->ended_test_loss = ended_loss(directory);
    snprintf(path, sizeof path, "%s/checkpoint", directory);
    st = hu_checkpoint_open_newest(path, &checkpoint, warning, sizeof warning);
    if (st == HU_ERR_MISSING) {
        HU_TRY(hu_saved_run_check_open(directory));
        hu_listener_tell(session->listener, "%s holds no checkpoint yet: starts from step 0",
                         directory);
        return hu_initial_weights(session->config, session->trainer, session->listener);
    }
    HU_TRY(st);
    if (warning[0]) hu_listener_tell(session->listener, "%s", warning);
    HU_TRY(hu_saved_run_restore(session->config, directory, session->trainer, checkpoint));
    HU_TRY(hu_run_saved_read(checkpoint, saved));
    int64_t step = hu_trainer_progress(session->trainer)->step;
    if (step > session->steps)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "%s has done %lld steps already, asked for %lld", directory,
                       (long long)step, (long long)session->steps));
    if (step == session->steps) {
        hu_listener_tell(session->listener,
                         "%s is finished: it has done its %lld steps; `halfulp resume %s "
                         "steps=MORE` trains on",
                         directory, (long long)step, directory);
        hu_unused_keys_tell_typed(session->config, "the run is finished", session->listener);
    } else if (hu_trainer_is_out_of_patience(session->trainer))
        hu_listener_tell(session->listener,
                         "%s has stopped early, at step %lld: `halfulp resume %s stop.patience=0` "
                         "trains to the end",
                         directory, (long long)step, directory);
    else
        hu_listener_tell(session->listener, "goes on from %s", hu_checkpoint_path(checkpoint));
done:
    hu_checkpoint_free(checkpoint);
    return st;
}

/* plan.json: what a training begins with, promotions of a checkpoint not yet made. Owner frees. */
static hu_status make_plan(const hu_session *session, char **text) {
    const hu_run *run = hu_trainer_run(session->trainer);
    hu_ledger ledger = hu_trainer_ledger(session->trainer);
    json_t *plan =
        hu_plan_json(hu_run_graph(run), hu_run_edges(run), hu_trainer_batch(session->trainer));
    if (plan) json_object_set_new(plan, "memory_bytes", hu_ledger_json(&ledger));
    if (plan)
        json_object_set_new(
            plan, "phases",
            hu_plan_phases_json(&session->precision, hu_trainer_steps_per_epoch(session->trainer)));
    return hu_json_line(plan, text);
}

/* plan.resolved.yaml: the formats that the next step begins with, promotions so far applied. */
static hu_status write_resolved(const hu_session *session) {
    char *yaml;
    hu_status st = hu_trainer_resolved_plan(session->trainer, &yaml);
    if (st == HU_OK) st = hu_run_folder_text(&session->folder, "plan.resolved.yaml", yaml);
    hu_free(yaml);
    return st;
}

/* Whether the folder is where it was; else the state is saved where it is now, if this process has
 * all of it, and the status says so (runlog/folder.h). */
static hu_status hu_session_find_folder(hu_session *session) {
    bool has_all = !session->processes || !session->processes->transport;
    if (!session->leads) return HU_OK;
    return hu_run_folder_find_again(&session->folder, has_all ? session->trainer : NULL);
}

/* A checkpoint, and the plan that goes with it. */
static hu_status hu_session_save(hu_session *session) {
    hu_status st = hu_processes_compare_weights(session->processes, session->trainer);
    if (st == HU_OK) st = hu_session_find_folder(session);
    if (st == HU_OK) st = hu_trainer_gather(session->trainer);
    if (st != HU_OK || !session->leads) return st;
    st = hu_run_folder_save(&session->folder, session->trainer);
    if (st == HU_OK) st = write_resolved(session);
    return st == HU_OK ? hu_messages_saved(&session->messages) : st;
}

/* The state of the best evaluation so far. Where several processes have parts of the state, they
 * are here only where it was saved. */
static hu_status hu_session_keep_best(hu_session *session, bool is_saved) {
    bool has_all = !session->processes || !session->processes->transport;
    if (!is_saved && !has_all) return HU_OK;
    hu_status st = hu_session_find_folder(session);
    if (st != HU_OK) return st;
    return hu_run_folder_keep_best(&session->folder, session->trainer, is_saved);
}

static hu_status make_graph(const hu_session *session, char **text) {
    const hu_trainer *trainer = session->trainer;
    return hu_json_line(hu_graph_json(hu_trainer_graph(trainer), hu_trainer_task(trainer),
                                      hu_trainer_loss(trainer)),
                        text);
}

/* What was damaged or missing in the folder, a message a line. */
static void tell_note(const hu_session *session) {
    const char *line = session->folder.note;
    for (const char *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        hu_listener_tell(session->listener, "note: %.*s", (int)(end - line), line);
    }
}

/* Where the run is to go on, or to begin; nothing of its folder is written yet. */
static hu_status load_state(hu_session *session, const char *directory, bool resume,
                            hu_run_saved *saved) {
    hu_status st = resume
                       ? load_newest(session, directory, saved)
                       : hu_initial_weights(session->config, session->trainer, session->listener);
    if (st == HU_OK && !resume)
        st = hu_initial_classes(session->config, session->dataset, session->trainer,
                                session->listener);
    if (st != HU_OK) return st;
    return hu_changed_data_find(session->config, session->dataset, resume ? directory : NULL,
                                session->listener, &session->data);
}

/* A new folder, or the one that is gone on with from its newest checkpoint. Plan and graph are
 * written again: they are this program's. */
static hu_status open_folder(hu_session *session, const char *directory, bool resume) {
    hu_status st = HU_OK;
    hu_run_saved saved = {0};
    char *plan = NULL, *graph = NULL;
    HU_TRY(make_plan(session, &plan));
    HU_TRY(make_graph(session, &graph));
    HU_TRY(load_state(session, directory, resume, &saved));
    if (resume) {
        HU_TRY(hu_run_folder_reopen(directory, session->config, session->trainer, &saved,
                                    &session->folder));
        tell_note(session);
    } else {
        HU_TRY(
            hu_run_folder_create(directory, session->config, session->trainer, &session->folder));
    }
    HU_TRY(hu_run_folder_record(&session->folder, hu_trainer_run(session->trainer), &saved));
    session->start_step = hu_trainer_progress(session->trainer)->step;
    HU_TRY(hu_run_folder_text(&session->folder, "plan.json", plan));
    HU_TRY(hu_run_folder_text(&session->folder, "graph.json", graph));
    HU_TRY(write_resolved(session));
    HU_TRY(hu_dataset_info_write(session->folder.path, session->dataset));
    HU_TRY(hu_held_out_images_write(session->config, session->dataset, session->folder.path));
    HU_TRY(hu_changed_data_write(&session->data, session->folder.path));
    /* Whoever saved it may have been stopped before it was kept. */
    if (resume && hu_session_is_at_best(session)) HU_TRY(hu_session_keep_best(session, true));
done:
    hu_run_saved_free(&saved);
    hu_free(plan);
    hu_free(graph);
    return st;
}

/* A process that does not lead begins where the leader does. */
static hu_status follow_folder(hu_session *session, const char *directory, bool resume) {
    hu_run_saved saved = {0};
    hu_status st = load_state(session, directory, resume, &saved);
    hu_run_saved_free(&saved);
    return st;
}

hu_status hu_session_open(hu_config *config, const hu_dataset *dataset, const hu_custom_net *own,
                          const char *directory, bool resume, const hu_listener *listener,
                          hu_processes *processes, hu_session *session) {
    hu_status st = HU_OK;
    hu_train_options options;
    *session = (hu_session){.config = config,
                            .dataset = dataset,
                            .listener = listener,
                            .processes = processes,
                            .leads = hu_processes_lead(processes),
                            .before = hu_ledger_now()};
    HU_TRY(hu_options_train(config, dataset, &session->precision, &options));
    options.own = own;
    hu_processes_join(processes, &options.comm);
    HU_TRY(hu_trainer_create(&options, dataset, &session->trainer));
    session->steps = options.steps;
    if (options.batch > dataset->train.count)
        hu_listener_tell(listener,
                         "batch %lld is larger than the %lld training samples: a step takes all",
                         (long long)options.batch, (long long)dataset->train.count);
    hu_ledger ledger = hu_trainer_ledger(session->trainer);
    /* Planned bytes against allocated ones, before the first step. */
    HU_TRY(hu_ledger_check(&ledger, &session->before));
    hu_unused_keys_tell(config, listener);
    hu_warnings_tell(hu_trainer_run(session->trainer), listener);
    HU_TRY(hu_sounds_tell(session->trainer, session->dataset, listener));
    HU_TRY(
        hu_network_tell(config, &options, dataset, hu_trainer_graph(session->trainer), listener));
    hu_options_tell_names(config, hu_trainer_graph(session->trainer), listener);
    hu_options_tell_precision(config, &session->precision, hu_trainer_graph(session->trainer),
                              hu_run_edges(hu_trainer_run(session->trainer)), listener);
    HU_TRY(hu_options_tell_bits(config, session->trainer, listener));
    HU_TRY(read_intervals(session));
    HU_TRY(hu_check_run_open(config, &session->check));
    HU_TRY(hu_evaluation_read(config, dataset, &session->evaluation, &session->ends_with_test));
    HU_TRY(session->leads ? open_folder(session, directory, resume)
                          : follow_folder(session, directory, resume));
    hu_opening opening = {config, dataset, &options, session->trainer, session->folder.path};
    HU_TRY(hu_messages_open(&opening, listener, session->evaluation, session->leads,
                            &session->messages));
    if (session->data.what[0]) HU_TRY(hu_messages_data(&session->messages, session->data.what));
done:
    if (st != HU_OK) hu_session_close(session);
    return st;
}

void hu_session_close(hu_session *session) {
    hu_messages_close(&session->messages);
    hu_trainer_free(session->trainer);
    hu_run_folder_close(&session->folder);
    hu_check_run_close(&session->check);
    hu_changed_data_free(&session->data);
    hu_precision_free(&session->precision);
    *session = (hu_session){0};
}

/* ---- session run ---- */

/* session/session_run.c - a training step by step: what each writes and says, where it stops, and
 * what it has come to in the end. */

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
    *result = (hu_session_result){
        .train_loss = NAN, .test_loss = NAN, .test = {.metric = metric, .last = NAN, .best = NAN}};
    result->validation = result->test;
    if (hu_session_is_over(session) && progress->last_metric_step >= 0)
        result->test_loss = session->ended_test_loss;
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
