#include "session/opening.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/run.h"
#include "journal/plan.h"
#include "layout/ledger.h"
#include "session/scale.h"
#include "train/weight_export.h"

/* "32x32x3": a sample of the first field that the task reads; "" of one number. */
static void print_shape(const hu_opening *o, char *text, size_t capacity) {
    const hu_task *task = hu_trainer_task(o->trainer);
    int f = hu_dataset_find(o->dataset, task->field[0].field);
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; f >= 0 && d < o->dataset->field[f].rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%lld", d > 0 ? "x" : "",
                                 (long long)o->dataset->field[f].extent[d]);
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
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; packs && i < hu_keys_count(rules) && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", i > 0 ? ", " : "",
                                 hu_keys_value(hu_keys_at(rules, i)));
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
        hu_scaling_words(o->config, o->trainer, scaling), "workers",
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

json_t *hu_opening_json(const hu_opening *opening) {
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
    if (precision->bits.schedule || precision->phase_count > 0 || !is_fragile(quantizer)) return;
    hu_quantizer_print(quantizer, format, sizeof format);
    hu_listener_tell(listener,
                     "warning: gradients are in %s and nothing scales them: small ones become "
                     "zero; scaler=dynamic keeps more of them, and so does "
                     "precision=%s:scale=current",
                     format, format);
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
 * take, has chosen it. Says what would make enough updates of the samples that are there. */
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
                     "init.skip= leaves its head (docs/fine-tuning.md)",
                     (long long)count, (long long)classes);
}

void hu_opening_warn(const hu_opening *opening, const hu_listener *listener) {
    tell_width(opening, listener);
    warn_of_gradients(opening, listener);
    warn_of_rate(opening, listener);
    warn_of_length(opening, listener);
    advise_trunk(opening, listener);
}
