#include "session/talk.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/process.h"
#include "journal/progress_text.h"

/* A line inside of an epoch comes when nothing was said for so long. */
static const double silence_seconds = 60.0;

/* Writes an event and lets the listener hear it as lines. Drops the reference to facts. */
static hu_status say(hu_talk *talk, const char *event, json_t *facts) {
    char text[HU_PROGRESS_TEXT_BYTES];
    json_t *row = NULL;
    const hu_listener *listener = talk->listener;
    hu_status st = hu_progress_write(talk->file, event, facts, &row);
    if (st == HU_OK && listener && listener->on_event && *hu_progress_text(row, text))
        listener->on_event(listener->context, event, text);
    json_decref(row);
    return st;
}

/* Whether anybody would hear. */
static bool is_heard(const hu_talk *talk) {
    return talk->file || (talk->listener && talk->listener->on_event);
}

hu_status hu_talk_open(const hu_opening *opening, const hu_listener *listener, hu_half judged,
                       bool writes, hu_talk *talk) {
    hu_status st = HU_OK;
    *talk = (hu_talk){.listener = listener,
                      .trainer = opening->trainer,
                      .folder = opening->folder,
                      .steps = opening->options->steps,
                      .first = hu_trainer_progress(opening->trainer)->step,
                      .is_test = judged == HU_HALF_TEST};
    if (writes) HU_TRY(hu_progress_open(opening->folder, &talk->file));
    hu_opening_warn(opening, listener);
    if (is_heard(talk)) HU_TRY(say(talk, "start", hu_opening_json(opening)));
    talk->began = talk->spoke = hu_seconds_now();
done:
    return st;
}

hu_status hu_talk_data(hu_talk *talk, const char *what) {
    if (!talk->file) return HU_OK;
    json_t *facts = json_pack("{s:I, s:s}", "step", (json_int_t)talk->first, "changed", what);
    return hu_progress_write(talk->file, "data", facts, NULL); /* the listener has heard it */
}

void hu_talk_close(hu_talk *talk) {
    hu_progress_close(talk->file);
    *talk = (hu_talk){0};
}

/* Seconds that are left if the rest goes as what this process has done, evaluations too; NaN where
 * nothing was done, or in no time that the clock tells. */
static double left_of(const hu_talk *talk, int64_t done) {
    double all = hu_seconds_now() - talk->began;
    bool is_known = done > talk->first && (all > 0.0 || done >= talk->steps);
    return is_known ? all / (double)(done - talk->first) * (double)(talk->steps - done)
                    : (double)NAN;
}

/* News for whoever shows a live line. */
static void tell_live(const hu_talk *talk, const hu_talk_state *state) {
    const hu_listener *listener = talk->listener;
    const hu_task *task = hu_trainer_task(talk->trainer);
    const hu_step_report *report = state->report;
    hu_step_news news = {.report = report,
                         .metric = task->metric[0],
                         .steps = talk->steps,
                         .per_epoch = hu_trainer_steps_per_epoch(talk->trainer),
                         .rate = state->rate,
                         .counted = hu_task_counted(task),
                         .per_sample = (double)hu_trainer_places(talk->trainer),
                         .left = left_of(talk, report->step + 1)};
    if (listener && listener->on_step) listener->on_step(listener->context, &news);
    if (report->zeroed > 0)
        hu_listener_tell(
            listener, "step %lld: states of %lld streams were not finite, or not made: now zeros",
            (long long)report->step, (long long)report->zeroed);
}

hu_status hu_talk_step(hu_talk *talk, const hu_talk_state *state) {
    hu_status st = HU_OK;
    const hu_step_report *report = state->report;
    tell_live(talk, state);
    talk->skipped += report->skipped;
    if (!talk->file) return HU_OK;
    if (report->skipped)
        HU_TRY(say(talk, "skipped",
                   json_pack("{s:I, s:o, s:s}", "step", (json_int_t)report->step, "loss_scale",
                             hu_json_number((double)report->scale), "culprit",
                             report->culprit ? report->culprit : "")));
    if (talk->scale != 0.0f && report->scale != talk->scale)
        HU_TRY(say(talk, "rescaled",
                   json_pack("{s:I, s:o, s:o}", "step", (json_int_t)report->step, "from",
                             hu_json_number((double)talk->scale), "to",
                             hu_json_number((double)report->scale))));
    talk->scale = report->scale;
done:
    return st;
}

/* {"name", "part", "value"} of the metric that the training is followed by. */
static json_t *metric_json(const hu_talk *talk, double value) {
    return json_pack("{s:s, s:s, s:o}", "name", hu_trainer_task(talk->trainer)->metric[0]->name,
                     "part", talk->is_test ? "test" : "validation", "value", hu_json_number(value));
}

/* What lines of epochs and of steps inside of them say. */
static json_t *state_json(const hu_talk *talk, const hu_talk_state *state, double loss) {
    const hu_step_report *report = state->report;
    int64_t done = report->step + 1;
    double per_epoch = (double)hu_trainer_steps_per_epoch(talk->trainer);
    double places = (double)hu_trainer_places(talk->trainer);
    json_t *facts = json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "step",
        (json_int_t)done, "steps", (json_int_t)talk->steps, "epoch",
        hu_json_number((double)done / per_epoch), "epochs",
        hu_json_number((double)talk->steps / per_epoch), "loss", hu_json_number(loss), "lr",
        hu_json_number(report->lr), "per_second", hu_json_number(state->rate * places), "counted",
        hu_task_counted(hu_trainer_task(talk->trainer)), "seconds",
        hu_json_number(hu_seconds_now() - talk->began), "left_seconds",
        hu_json_number(left_of(talk, done)), "tensors_lost", (json_int_t)state->trouble.lost,
        "tensors_gone", (json_int_t)state->trouble.gone, "sums_failed",
        (json_int_t)state->trouble.sums, "skipped", (json_int_t)talk->skipped);
    for (int t = 0; facts && report->turns > 1 && t < report->turns; t++) {
        char key[64];
        snprintf(key, sizeof key, "loss_%.40s", report->turn[t].name);
        json_object_set_new(facts, key, hu_json_number(report->turn[t].loss));
    }
    if (facts && !isnan(state->metric))
        json_object_set_new(facts, "metric", metric_json(talk, state->metric));
    return facts;
}

static hu_status say_evaluation(hu_talk *talk, const hu_talk_state *state) {
    return say(talk, "evaluation",
               json_pack("{s:I, s:o, s:o}", "step", (json_int_t)state->report->step + 1, "metric",
                         metric_json(talk, state->metric), "best",
                         metric_json(talk, hu_trainer_progress(talk->trainer)->best_metric)));
}

hu_status hu_talk_behind(hu_talk *talk, const hu_talk_state *state) {
    hu_status st = HU_OK;
    int64_t done = state->report->step + 1;
    double now = hu_seconds_now();
    bool ends = done % hu_trainer_steps_per_epoch(talk->trainer) == 0 || done >= talk->steps;
    if (!is_heard(talk)) return HU_OK;
    if (!isnan(state->metric)) HU_TRY(say_evaluation(talk, state));
    if (!ends && now - talk->spoke < silence_seconds) return HU_OK;
    double loss = ends ? hu_trainer_progress(talk->trainer)->last_epoch_loss : state->report->loss;
    HU_TRY(say(talk, ends ? "epoch" : "step", state_json(talk, state, loss)));
    talk->spoke = now;
    if (ends) talk->skipped = 0;
done:
    return st;
}

hu_status hu_talk_saved(hu_talk *talk) {
    if (!talk->file) return HU_OK;
    return say(talk, "checkpoint",
               json_pack("{s:I}", "step", (json_int_t)hu_trainer_progress(talk->trainer)->step));
}

static json_t *end_json(const hu_talk *talk, const char *state, const char *reason) {
    const hu_train_progress *progress = hu_trainer_progress(talk->trainer);
    json_t *facts = json_pack("{s:s, s:I, s:o}", "state", state, "step", (json_int_t)progress->step,
                              "seconds", hu_json_number(hu_seconds_now() - talk->began));
    if (facts && progress->last_metric_step >= 0) {
        json_object_set_new(facts, "metric", metric_json(talk, progress->last_metric));
        json_object_set_new(facts, "best", metric_json(talk, progress->best_metric));
    }
    if (facts && *reason) json_object_set_new(facts, "reason", json_string(reason));
    return facts;
}

hu_status hu_talk_end(hu_talk *talk, const char *state, hu_status status, const char *reason) {
    char words[1024];
    snprintf(words, sizeof words, "%s", status == HU_OK ? "" : hu_last_error());
    if (!talk->file) return status;
    hu_status st = say(talk, "end", end_json(talk, state, reason ? reason : words));
    return status == HU_OK ? st : hu_fail(status, "%s", words);
}
