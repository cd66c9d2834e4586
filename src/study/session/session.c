/* session/session.c - one training from a configuration to its folder: opened and closed, and its
 * state saved. What a user sees goes through the listener. */
#include "session/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "render/json.h"
#include "runlog/folder.h"
#include "runlog/graph_json.h"
#include "runlog/plan_json.h"
#include "session/evaluation.h"
#include "session/saved_run.h"
#include "settings/dataset.h"
#include "settings/messages.h"
#include "settings/options.h"
#include "settings/saved_data.h"
#include "train/trainer.h"

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

/* Loads the newest checkpoint of a folder; a run that was stopped before its first one starts
 * anew. */
static hu_status load_newest(hu_session *session, const char *directory, hu_run_saved *saved) {
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    char warning[1024], path[4096];
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
 * all of it. */
hu_status hu_session_find_folder(hu_session *session) {
    bool has_all = !session->processes || !session->processes->transport;
    if (!session->leads) return HU_OK;
    return hu_run_folder_find_again(&session->folder, has_all ? session->trainer : NULL);
}

/* A checkpoint, and the plan that goes with it. */
hu_status hu_session_save(hu_session *session) {
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
hu_status hu_session_keep_best(hu_session *session, bool is_saved) {
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
