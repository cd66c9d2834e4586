#include "settings/messages.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "config/unused_keys.h"
#include "planner/planner.h"
#include "render/terminal.h"
#include "runlog/plan_json.h"
#include "runlog/progress.h"
#include "train/weights.h"

/* ---- listener ---- */

/* Who hears of a training while it runs. The library itself never prints. */

const char *hu_listener_phases(const hu_step_report *report, char *text) {
    char loss[HU_FIXED_BYTES];
    text[0] = '\0';
    for (int t = 0; report->phases > 1 && t < report->phases; t++)
        hu_note_add(text, HU_METRIC_TEXT_BYTES, ", ", "%s%s %s%s", t > 0 ? "" : " (",
                    report->phase[t].name, hu_fixed_text(report->phase[t].loss, 4, loss),
                    t + 1 < report->phases ? "" : ")");
    return text;
}

void hu_listener_tell(const hu_listener *listener, const char *format, ...) {
    char text[2048], harmless[2048];
    va_list args;
    if (!listener || !listener->on_message) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_escape(text, harmless, sizeof harmless);
    listener->on_message(listener->context, harmless);
}

const char *hu_listener_rate(double samples, double places, const char *counted, char *text) {
    char number[HU_FIXED_BYTES];
    int length = snprintf(text, HU_METRIC_TEXT_BYTES, "%.40s %s/s",
                          hu_fixed_text(places, 0, number), counted);
    if (strcmp(counted, "images") != 0)
        snprintf(text + length, HU_METRIC_TEXT_BYTES - (size_t)length, ", %.40s samples/s",
                 hu_fixed_text(samples, 1, number));
    return text;
}

/* ---- What a planned run warns of: one line each ---- */

void hu_warnings_tell(const hu_run *run, const hu_listener *listener) {
    char text[HU_SLOW_BYTES];
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++)
        if (hu_run_is_slow(run, n, text)) hu_listener_tell(listener, "warning: %s", text);
}

json_t *hu_warnings_json(const hu_run *run) {
    char text[HU_SLOW_BYTES];
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < hu_run_graph(run)->node_count; n++)
        if (hu_run_is_slow(run, n, text)) json_array_append_new(list, json_string(text));
    return list;
}

void hu_unused_keys_tell(const hu_config *config, const hu_listener *listener) {
    char text[HU_IDLE_BYTES];
    for (size_t i = 0; hu_unused_key(config, i, text); i++)
        hu_listener_tell(listener, "warning: %s", text);
}

void hu_unused_keys_tell_typed(const hu_config *config, const char *reason,
                               const hu_listener *listener) {
    char text[HU_IDLE_BYTES];
    for (size_t i = 0; hu_unused_key_typed(config, i, reason, text); i++)
        hu_listener_tell(listener, "warning: %s", text);
}

/* ---- What is said of a training before its first step ---- */

/* "32x32x3": a sample of the first field that the task reads; "" of one number. */
static void print_shape(const hu_opening *o, char *text, size_t capacity) {
    const hu_task *task = hu_trainer_task(o->trainer);
    int f = hu_dataset_find(o->dataset, task->field[0].field);
    text[0] = '\0';
    for (int d = 0; f >= 0 && d < o->dataset->field[f].rank; d++)
        hu_note_add(text, capacity, "x", "%lld", (long long)o->dataset->field[f].extent[d]);
}

static double rate_at(const hu_opening *o, int64_t step) {
    int64_t steps = o->options->steps;
    return hu_schedule_lr(&o->options->schedule, step, hu_trainer_steps_per_epoch(o->trainer),
                          steps > 0 ? steps : 1);
}

static double epochs_of(const hu_opening *o) {
    return (double)o->options->steps / (double)hu_trainer_steps_per_epoch(o->trainer);
}

/* What is learned, and from what. */
static json_t *pack_subject(const hu_opening *o) {
    const char *model = "", *precision = "", *name = "";
    const hu_task *task = hu_trainer_task(o->trainer);
    char shape[128];
    hu_config_text(o->config, "model.name", &model);
    hu_config_text(o->config, "precision.name", &precision);
    hu_config_text(o->config, "run.name", &name);
    if (strcmp(name, "auto") == 0) name = "";
    print_shape(o, shape, sizeof shape);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:{s:I, s:I, s:I}, s:s, s:I, s:s}", "run", o->folder,
        "name", name, "model", model, "task", task->name, "parameters",
        (json_int_t)hu_graph_parameters(hu_trainer_graph(o->trainer)), "precision", precision,
        "data", o->dataset->name, "samples", "train", (json_int_t)o->dataset->train.count,
        "validation", (json_int_t)o->dataset->validation.count, "test",
        (json_int_t)o->dataset->test.count, "shape", shape, "classes",
        (json_int_t)hu_task_classes(task, o->dataset), "counted", hu_task_counted(task));
}

/* Formats of the optimizer's state as they were asked for; "" where all of it is float32. */
static const char *print_state(const hu_opening *o, char *text, size_t capacity) {
    const hu_keys *rules = o->options->optimizer_state;
    const hu_edge_table *edges = hu_run_edges(hu_trainer_run(o->trainer));
    bool packs = edges->has_state[HU_STATE_MOMENTUM] || edges->has_state[HU_STATE_SQUARES];
    text[0] = '\0';
    if (packs) hu_keys_join(rules, ", ", text, capacity);
    return text;
}

/* How it is learned. */
static json_t *pack_recipe(const hu_opening *o) {
    char scaling[HU_SCALING_BYTES], state[256];
    const hu_train_options *options = o->options;
    hu_ledger ledger = hu_trainer_ledger(o->trainer);
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:s, s:s, s:o, s:s, s:o, s:o, s:I, s:s, s:I, s:o, s:o}", "step",
        (json_int_t)hu_trainer_progress(o->trainer)->step, "steps", (json_int_t)options->steps,
        "steps_per_epoch", (json_int_t)hu_trainer_steps_per_epoch(o->trainer), "epochs",
        hu_json_number(epochs_of(o)), "optimizer", hu_optimizer_kinds[options->optimizer.kind].name,
        "optimizer_state", print_state(o, state, sizeof state), "lr",
        hu_json_number(options->schedule.lr), "schedule",
        hu_schedule_kinds[options->schedule.kind].name, "warmup_epochs",
        hu_json_number(options->schedule.warmup), "first_lr", hu_json_number(rate_at(o, 0)),
        "batch", (json_int_t)options->batch, "scaling",
        hu_loss_scaling_words(o->config, o->trainer, scaling), "workers",
        (json_int_t)options->comm.options.workers, "planned_bytes", hu_ledger_json(&ledger),
        "metric", hu_metric_json(hu_trainer_task(o->trainer)->metric[0]));
}

/* Where the user chose float32's places, gaps are what he wants. */
static void put_gaps(const hu_opening *o, json_t *facts) {
    char gaps[HU_GAPS_BYTES];
    if (o->options->run.storage != HU_STORAGE_PACKED) return;
    if (hu_gaps_words(hu_trainer_run(o->trainer), gaps)[0])
        json_object_set_new(facts, "gaps", json_string(gaps));
}

/* The facts of the event "start" (docs/reference/run-folder.md). New reference, NULL if out of
 * memory. */
static json_t *opening_json(const hu_opening *opening) {
    json_t *facts = pack_subject(opening), *recipe = pack_recipe(opening);
    if (!facts || !recipe || json_object_update(facts, recipe) != 0) {
        json_decref(facts);
        facts = NULL;
    }
    json_decref(recipe);
    if (facts) put_gaps(opening, facts);
    return facts;
}

/* Whether a format of gradients has so few bits that some of most gradients vanish in it. */
static bool is_fragile(const hu_quantizer *quantizer) {
    enum { FEW_BITS = 8 };
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_NONE &&
           hu_quantizer_bits(quantizer) <= FEW_BITS;
}

static void warn_of_gradients(const hu_opening *o, const hu_listener *listener) {
    char format[HU_QUANTIZER_BYTES];
    const hu_precision *precision = &o->options->precision;
    bool is_chosen = hu_config_asked(o->config, "scaler.name");
    const hu_quantizer *quantizer = &precision->role[HU_ROLE_ACT_GRAD];
    if (is_chosen || o->options->scaler.kind != HU_LOSS_SCALE_NONE) return;
    if (precision->scaling != HU_SCALING_NONE) return; /* the network scales them */
    if (precision->bits.schedule || precision->phase_count > 0 || !is_fragile(quantizer)) return;
    hu_quantizer_print(quantizer, format, sizeof format);
    hu_listener_tell(listener,
                     "warning: gradients are in %s and nothing scales them: small ones become "
                     "zero; scaler=dynamic keeps more of them, and so does "
                     "precision=%s:scale=current",
                     format, format);
}

static void warn_of_signs(const hu_opening *o, const hu_listener *listener) {
    static const hu_role roles[] = {HU_ROLE_WEIGHT, HU_ROLE_ACT_GRAD, HU_ROLE_WEIGHT_GRAD};
    static const char *const what[] = {"weights", "gradients", "gradients of weights"};
    char format[HU_QUANTIZER_BYTES];
    const hu_precision *precision = hu_precision_at(&o->options->precision, 0);
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
        const hu_quantizer *quantizer = &precision->role[roles[r]];
        if (precision->bits.schedule || !hu_quantizer_is_unsigned(quantizer)) continue;
        hu_quantizer_print(quantizer, format, sizeof format);
        hu_listener_tell(listener,
                         "warning: %s are in %s, which has no negative numbers: it loses half of "
                         "them; it is for activations behind relu (act=%s)",
                         what[r], format, format);
        return;
    }
}

/* Rates that only evaluations lower are the schedule's own here. */
static void warn_of_rate(const hu_opening *o, const hu_listener *listener) {
    enum { LOOKED_AT = 2 };
    int64_t steps = o->options->steps, first = hu_trainer_progress(o->trainer)->step;
    if (first > 0 || steps < 1 || steps > LOOKED_AT) return;
    for (int64_t s = 0; s < steps; s++)
        if (rate_at(o, s) != 0.0) return;
    hu_listener_tell(listener,
                     "warning: the learning rate is 0 in every step, as the warm-up begins with 0: "
                     "nothing is trained; lr.warmup=0 or more steps train");
}

/* Of a length that follows from epochs and all samples: whoever types steps, or how many samples to
 * take, has chosen it. Says what would make enough updates of the samples that are present. */
static void warn_of_length(const hu_opening *o, const hu_listener *listener) {
    enum { ENOUGH = 200, SMALL_BATCH = 16 };
    int64_t steps = o->options->steps, first = hu_trainer_progress(o->trainer)->step;
    bool is_chosen =
        hu_config_asked(o->config, "run.steps") || hu_config_asked(o->config, "data.limit");
    if (first > 0 || steps < 1 || steps >= ENOUGH || is_chosen) return;
    int64_t count = o->dataset->train.count, usual = o->options->batch;
    int64_t batch = usual < SMALL_BATCH ? usual : SMALL_BATCH;
    int64_t per_epoch = (count + batch - 1) / batch;
    int64_t epochs = (ENOUGH + per_epoch - 1) / per_epoch;
    hu_listener_tell(listener,
                     "warning: %lld update%s in all, of %lld samples each: few networks learn in "
                     "fewer than %d; batch=%lld epochs=%lld make %lld",
                     (long long)steps, steps == 1 ? "" : "s",
                     (long long)(usual < count ? usual : count), ENOUGH, (long long)batch,
                     (long long)epochs, (long long)(epochs * per_epoch));
}

/* Of a width that was typed, not that of a run that is trained again: channel numbers are rounded,
 * so that many widths may make one network. Nobody wonders where hundredths beside it make another.
 */
static void tell_width(const hu_opening *o, const hu_listener *listener) {
    const double few = 0.095;
    double below, above;
    char low[48] = "", high[48] = "";
    if (!hu_config_typed(o->config, "model.width") || o->options->own) return;
    if (hu_trainer_progress(o->trainer)->step > 0) return;
    hu_status st =
        hu_train_other_widths(o->options, o->dataset, hu_trainer_graph(o->trainer), &below, &above);
    if (st == HU_ERR_MEMORY)
        hu_listener_tell(listener, "note: other widths were not looked at: %s", hu_last_error());
    if (st != HU_OK || (isnan(below) && isnan(above)) || above - below < few) return;
    if (!isnan(below)) snprintf(low, sizeof low, "%g", below);
    if (!isnan(above)) snprintf(high, sizeof high, "%g", above);
    hu_listener_tell(listener,
                     "note: model.width=%g makes the network that widths beside it make, as "
                     "channels are rounded; the nearest that change it: %s%s%s",
                     o->options->width, low, *low && *high ? " and " : "", high);
}

/* Of a folder of photos, and of nothing that has seen others: lr and epochs do not help there. */
static void advise_trunk(const hu_opening *o, const hu_listener *listener) {
    enum { FEW = 200 };
    const char *data, *init;
    bool is_chosen = hu_config_asked(o->config, "data.limit");
    if (hu_config_text(o->config, "data.name", &data) != HU_OK ||
        hu_config_text(o->config, "model.init", &init) != HU_OK)
        return;
    int64_t classes = o->dataset->field[HU_FIELD_LABEL].classes, count = o->dataset->train.count;
    if (strncmp(data, "folder:", strlen("folder:")) != 0 || strcmp(init, "none") != 0 ||
        is_chosen || hu_trainer_progress(o->trainer)->step > 0 || count >= FEW * classes)
        return;
    hu_listener_tell(listener,
                     "note: %lld photos of %lld classes are few for a network that has seen no "
                     "others: init=FILE begins with the weights of one that has, "
                     "init.skip= leaves its head (docs/how-to/fine-tuning.md)",
                     (long long)count, (long long)classes);
}

/* Notes and warnings about what was chosen: a width that many others beside it are alike to;
 * gradients in formats of at most 8 bits that nothing scales, unless scaler=none was asked for;
 * weights or gradients without signs; and a training whose steps all have a learning rate of 0. */
static void opening_warn(const hu_opening *opening, const hu_listener *listener) {
    tell_width(opening, listener);
    warn_of_gradients(opening, listener);
    warn_of_signs(opening, listener);
    warn_of_rate(opening, listener);
    warn_of_length(opening, listener);
    advise_trunk(opening, listener);
}

/* ---- talk ---- */

/* What a training says while it runs: to its listener, and to progress.jsonl. */

/* A line inside of an epoch comes when nothing was said for so long. */
static const double silence_seconds = 60.0;

/* Writes an event and lets the listener hear it as lines. Drops the reference to facts. */
static hu_status say(hu_messages *messages, const char *event, json_t *facts) {
    char text[HU_PROGRESS_TEXT_BYTES];
    json_t *row = NULL;
    const hu_listener *listener = messages->listener;
    hu_status st = hu_progress_write(messages->file, event, facts, &row);
    if (st == HU_OK && listener && listener->on_event && *hu_progress_text(row, text))
        listener->on_event(listener->context, event, text);
    json_decref(row);
    return st;
}

/* Whether anybody would hear. */
static bool is_heard(const hu_messages *messages) {
    return messages->file || (messages->listener && messages->listener->on_event);
}

hu_status hu_messages_open(const hu_opening *opening, const hu_listener *listener,
                           hu_split_kind judged, bool writes, hu_messages *messages) {
    hu_status st = HU_OK;
    *messages = (hu_messages){.listener = listener,
                              .trainer = opening->trainer,
                              .folder = opening->folder,
                              .steps = opening->options->steps,
                              .first = hu_trainer_progress(opening->trainer)->step,
                              .is_test = judged == HU_SPLIT_TEST};
    if (writes) HU_TRY(hu_progress_open(opening->folder, &messages->file));
    opening_warn(opening, listener);
    if (is_heard(messages)) HU_TRY(say(messages, "start", opening_json(opening)));
    messages->began = messages->spoke = hu_seconds_now();
done:
    return st;
}

hu_status hu_messages_data(hu_messages *messages, const char *what) {
    if (!messages->file) return HU_OK;
    json_t *facts = json_pack("{s:I, s:s}", "step", (json_int_t)messages->first, "changed", what);
    return hu_progress_write(messages->file, "data", facts, NULL); /* the listener has heard it */
}

void hu_messages_close(hu_messages *messages) {
    hu_progress_close(messages->file);
    *messages = (hu_messages){0};
}

/* Seconds that are left if the rest goes as what this process has done, evaluations too; NaN where
 * nothing was done, or in no time that the clock tells. */
static double left_of(const hu_messages *messages, int64_t done) {
    double all = hu_seconds_now() - messages->began;
    bool is_known = done > messages->first && (all > 0.0 || done >= messages->steps);
    return is_known ? all / (double)(done - messages->first) * (double)(messages->steps - done)
                    : (double)NAN;
}

/* News for whoever shows a live line. */
static void tell_live(const hu_messages *messages, const hu_messages_state *state) {
    const hu_listener *listener = messages->listener;
    const hu_task *task = hu_trainer_task(messages->trainer);
    const hu_step_report *report = state->report;
    hu_step_news news = {.report = report,
                         .metric = task->metric[0],
                         .steps = messages->steps,
                         .per_epoch = hu_trainer_steps_per_epoch(messages->trainer),
                         .rate = state->rate,
                         .counted = hu_task_counted(task),
                         .per_sample = (double)hu_trainer_places(messages->trainer),
                         .left = left_of(messages, report->step + 1)};
    if (listener && listener->on_step) listener->on_step(listener->context, &news);
    if (report->zeroed > 0)
        hu_listener_tell(
            listener, "step %lld: states of %lld streams were not finite, or not made: now zeros",
            (long long)report->step, (long long)report->zeroed);
}

hu_status hu_messages_step(hu_messages *messages, const hu_messages_state *state) {
    hu_status st = HU_OK;
    const hu_step_report *report = state->report;
    tell_live(messages, state);
    messages->skipped += report->skipped;
    if (!messages->file) return HU_OK;
    if (report->skipped)
        HU_TRY(say(messages, "skipped",
                   json_pack("{s:I, s:o, s:s}", "step", (json_int_t)report->step, "loss_scale",
                             hu_json_number((double)report->scale), "culprit",
                             report->culprit ? report->culprit : "")));
    if (messages->scale != 0.0f && report->scale != messages->scale)
        HU_TRY(say(messages, "rescaled",
                   json_pack("{s:I, s:o, s:o}", "step", (json_int_t)report->step, "from",
                             hu_json_number((double)messages->scale), "to",
                             hu_json_number((double)report->scale))));
    messages->scale = report->scale;
done:
    return st;
}

/* {"name", "part", "value"} of the metric that the training is followed by. */
static json_t *metric_json(const hu_messages *messages, double value) {
    return json_pack("{s:s, s:s, s:o}", "name", hu_trainer_task(messages->trainer)->metric[0]->name,
                     "part", messages->is_test ? "test" : "validation", "value",
                     hu_json_number(value));
}

/* What lines of epochs and of steps inside of them say. */
static json_t *state_json(const hu_messages *messages, const hu_messages_state *state,
                          double loss) {
    const hu_step_report *report = state->report;
    int64_t done = report->step + 1;
    double per_epoch = (double)hu_trainer_steps_per_epoch(messages->trainer);
    double places = (double)hu_trainer_places(messages->trainer);
    json_t *facts = json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "step",
        (json_int_t)done, "steps", (json_int_t)messages->steps, "epoch",
        hu_json_number((double)done / per_epoch), "epochs",
        hu_json_number((double)messages->steps / per_epoch), "loss", hu_json_number(loss), "lr",
        hu_json_number(report->lr), "per_second", hu_json_number(state->rate * places), "counted",
        hu_task_counted(hu_trainer_task(messages->trainer)), "seconds",
        hu_json_number(hu_seconds_now() - messages->began), "left_seconds",
        hu_json_number(left_of(messages, done)), "tensors_lost", (json_int_t)state->trouble.lost,
        "tensors_gone", (json_int_t)state->trouble.gone, "sums_failed",
        (json_int_t)state->trouble.sums, "skipped", (json_int_t)messages->skipped);
    for (int t = 0; facts && report->phases > 1 && t < report->phases; t++) {
        char key[64];
        snprintf(key, sizeof key, "loss_%.40s", report->phase[t].name);
        json_object_set_new(facts, key, hu_json_number(report->phase[t].loss));
    }
    if (facts && !isnan(state->metric))
        json_object_set_new(facts, "metric", metric_json(messages, state->metric));
    return facts;
}

static hu_status say_evaluation(hu_messages *messages, const hu_messages_state *state) {
    return say(
        messages, "evaluation",
        json_pack("{s:I, s:o, s:o}", "step", (json_int_t)state->report->step + 1, "metric",
                  metric_json(messages, state->metric), "best",
                  metric_json(messages, hu_trainer_progress(messages->trainer)->best_metric)));
}

hu_status hu_messages_behind(hu_messages *messages, const hu_messages_state *state) {
    hu_status st = HU_OK;
    int64_t done = state->report->step + 1;
    double now = hu_seconds_now();
    bool ends =
        done % hu_trainer_steps_per_epoch(messages->trainer) == 0 || done >= messages->steps;
    if (!is_heard(messages)) return HU_OK;
    if (!isnan(state->metric)) HU_TRY(say_evaluation(messages, state));
    if (!ends && now - messages->spoke < silence_seconds) return HU_OK;
    double loss =
        ends ? hu_trainer_progress(messages->trainer)->last_epoch_loss : state->report->loss;
    HU_TRY(say(messages, ends ? "epoch" : "step", state_json(messages, state, loss)));
    messages->spoke = now;
    if (ends) messages->skipped = 0;
done:
    return st;
}

hu_status hu_messages_saved(hu_messages *messages) {
    if (!messages->file) return HU_OK;
    return say(
        messages, "checkpoint",
        json_pack("{s:I}", "step", (json_int_t)hu_trainer_progress(messages->trainer)->step));
}

static json_t *end_json(const hu_messages *messages, const char *state, const char *reason) {
    const hu_train_progress *progress = hu_trainer_progress(messages->trainer);
    json_t *facts = json_pack("{s:s, s:I, s:o}", "state", state, "step", (json_int_t)progress->step,
                              "seconds", hu_json_number(hu_seconds_now() - messages->began));
    if (facts && progress->last_metric_step >= 0) {
        json_object_set_new(facts, "metric", metric_json(messages, progress->last_metric));
        json_object_set_new(facts, "best", metric_json(messages, progress->best_metric));
    }
    if (facts && *reason) json_object_set_new(facts, "reason", json_string(reason));
    return facts;
}

hu_status hu_messages_end(hu_messages *messages, const char *state, hu_status status,
                          const char *reason) {
    char words[1024];
    snprintf(words, sizeof words, "%s", status == HU_OK ? "" : hu_last_error());
    if (!messages->file) return status;
    hu_status st = say(messages, "end", end_json(messages, state, reason ? reason : words));
    return status == HU_OK ? st : hu_fail(status, "%s", words);
}

const char *hu_loss_scaling_words(const hu_config *config, const hu_trainer *trainer, char *text) {
    const char *name = "none";
    char number[HU_DECIMAL_BYTES];
    bool has_begun = hu_trainer_progress(trainer)->step > 0;
    double scale = (double)hu_trainer_scaler(trainer)->scale;
    (void)hu_config_text(config, "scaler.name", &name);
    if (strcmp(name, "none") == 0)
        snprintf(text, HU_SCALING_BYTES, "none");
    else
        snprintf(text, HU_SCALING_BYTES, "%.16s, %s%s", name,
                 strcmp(name, "dynamic") == 0 && !has_begun ? "from " : "",
                 hu_scale_text(scale, number));
    return text;
}
