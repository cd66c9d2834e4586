#include "train/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/run.h"
#include "planner/planner.h"
#include "precision/adaptation.h"
#include "precision/precision.h"
#include "train/trainer.h"

hu_status hu_adapt_create(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_adapt_task task = {.precision = &options->precision,
                          .graph = trainer->graph,
                          .batch = options->batch,
                          .signals = hu_scaler_signals(options),
                          .steps = options->steps,
                          .steps_per_epoch = trainer->steps_per_epoch,
                          .seed = options->run.seed};
    return hu_adaptations_create(&task, &trainer->adaptations);
}

/* report: NULL if nobody listens to events. */
static hu_adapt_moment moment_of(hu_trainer *trainer, int64_t step, const hu_step_report *report) {
    int64_t epoch = step / trainer->steps_per_epoch;
    return (hu_adapt_moment){.graph = trainer->graph,
                             .edges = &trainer->edges,
                             .precision = hu_precision_at(&trainer->options.precision, epoch),
                             .step = step,
                             .steps_per_epoch = trainer->steps_per_epoch,
                             .done = trainer->progress.step,
                             .samples = report ? report->samples : 0,
                             .loss = report ? report->loss : 0.0,
                             .scale = report ? report->scale : 1.0f,
                             .is_skipped = report && report->skipped,
                             .counted_nodes = trainer->counted_nodes,
                             .event = report ? trainer->adaptations.event : NULL,
                             .event_count = report ? report->events : 0};
}

/* The step whose precision holds where `done` steps are done: the last one of them. */
static int64_t last_step(int64_t done) {
    return done > 0 ? done - 1 : 0;
}

/* Quantizers for which the run has room change in place. */
static hu_status plan_again(hu_trainer *trainer) {
    hu_status st = HU_OK;
    if (hu_run_requantize(trainer->run)) return HU_OK;
    HU_TRY(hu_run_replan(&trainer->run));
    HU_TRY(hu_reserve_sizes(trainer));
done:
    return st;
}

hu_status hu_adapt_before(hu_trainer *trainer, hu_step_report *report) {
    hu_adapt_moment moment = moment_of(trainer, report->step, report);
    hu_adapt_before_step(&trainer->adaptations, &moment);
    report->event = moment.event;
    report->events = moment.event_count;
    return moment.rewritten ? plan_again(trainer) : HU_OK;
}

/* The precision of the step that was done last. Borrowed: valid as long as the options. */
static const hu_precision *hu_adapt_precision(const hu_trainer *trainer) {
    int64_t epoch = last_step(trainer->progress.step) / trainer->steps_per_epoch;
    return hu_precision_at(&trainer->options.precision, epoch);
}

hu_status hu_adapt_between(hu_trainer *trainer) {
    hu_adapt_moment moment = moment_of(trainer, last_step(trainer->progress.step), NULL);
    moment.is_between = true;
    hu_adapt_before_step(&trainer->adaptations, &moment);
    return moment.rewritten ? plan_again(trainer) : HU_OK;
}

void hu_adapt_after(hu_trainer *trainer, hu_step_report *report) {
    hu_adapt_moment moment = moment_of(trainer, report->step, report);
    hu_adapt_after_step(&trainer->adaptations, &moment);
    report->promoted = hu_adapt_changed(&trainer->adaptations);
    report->events = moment.event_count;
    report->changes_next = moment.changes_next;
}

hu_status hu_adapt_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        const hu_adaptation *adaptation = hu_adaptation_table[a];
        const void *data;
        size_t bytes = 0;
        if (trainer->adaptations.state[a] && adaptation->save)
            adaptation->save(trainer->adaptations.state[a], &data, &bytes);
        if (bytes > 0) HU_TRY(hu_checkpoint_add(writer, adaptation->section, data, bytes));
    }
done:
    return st;
}

/* The section of an adaptation, 0 bytes if there is none. */
static hu_status find_section(const hu_checkpoint *checkpoint, const hu_adaptation *adaptation,
                              const void **data, size_t *bytes) {
    *bytes = 0;
    if (!adaptation->save) return HU_OK;
    hu_status st = hu_checkpoint_section(checkpoint, adaptation->section, data, bytes);
    return st == HU_ERR_MISSING ? HU_OK : st;
}

static hu_status check_section(const hu_trainer *trainer, const hu_checkpoint *checkpoint, int a) {
    hu_status st = HU_OK;
    const hu_adaptation *adaptation = hu_adaptation_table[a];
    const void *state = trainer->adaptations.state[a], *data;
    const char *path = hu_checkpoint_path(checkpoint);
    size_t bytes;
    HU_TRY(find_section(checkpoint, adaptation, &data, &bytes));
    if (bytes == 0) return HU_OK;
    if (!state)
        return hu_fail(HU_ERR_ARGUMENT, "%s: made with %s, found precision '%s' without", path,
                       adaptation->asked, trainer->options.precision.name);
    st = adaptation->check(state, trainer->graph, data, bytes);
    if (st != HU_OK) return hu_fail_within(st, "%s: section '%s': ", path, adaptation->section);
done:
    return st;
}

hu_status hu_adapt_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_status st = HU_OK;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) HU_TRY(check_section(trainer, checkpoint, a));
done:
    return st;
}

hu_status hu_adapt_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint,
                           int64_t done_steps) {
    hu_status st = HU_OK;
    bool any = false;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        const hu_adaptation *adaptation = hu_adaptation_table[a];
        void *state = trainer->adaptations.state[a];
        const void *data = NULL;
        size_t bytes;
        HU_TRY(find_section(checkpoint, adaptation, &data, &bytes));
        if (state && adaptation->restore) adaptation->restore(state, data, bytes);
        any = any || state;
    }
    if (!any) return HU_OK;
    /* The present table may hold what the checkpoint's training has not done, so that it is written
     * from its beginning. */
    HU_TRY(hu_write_edges(trainer));
    hu_adapt_moment moment = moment_of(trainer, last_step(done_steps), NULL);
    moment.rewritten = true;
    hu_adapt_before_step(&trainer->adaptations, &moment);
    HU_TRY(plan_again(trainer));
done:
    return st;
}

/* ---- aggregate ---- */

/* The model aggregate over the steps: promotion and other changes of formats
 * make it larger or smaller while a training runs. */

#define SECTION "aggregate"

static double now(const hu_trainer *trainer) {
    return (double)hu_precision_aggregate_bits(trainer->graph, &trainer->edges,
                                               trainer->options.batch);
}

/* Sums of whole numbers: exact below 2^53 bits, and the same after a resume in any case. */
void hu_aggregate_add(hu_trainer *trainer, int64_t step) {
    double bits = now(trainer);
    if (step == 0) trainer->aggregate = (hu_aggregate){.first = bits};
    trainer->aggregate.sum += bits;
}

hu_aggregate_bits hu_trainer_aggregate(const hu_trainer *trainer) {
    double bits = now(trainer);
    int64_t steps = trainer->progress.step;
    if (steps == 0) return (hu_aggregate_bits){bits, bits, bits};
    return (hu_aggregate_bits){trainer->aggregate.first, bits,
                               trainer->aggregate.sum / (double)steps};
}

hu_status hu_aggregate_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    if (trainer->progress.step == 0) return HU_OK;
    return hu_checkpoint_add(writer, SECTION, &trainer->aggregate, sizeof trainer->aggregate);
}

hu_status hu_aggregate_check(const hu_checkpoint *checkpoint) {
    const void *data;
    size_t bytes;
    hu_aggregate saved = {0};
    hu_status st = hu_checkpoint_section(checkpoint, SECTION, &data, &bytes);
    if (st != HU_OK) return st == HU_ERR_MISSING ? HU_OK : st;
    if (bytes == sizeof saved) memcpy(&saved, data, sizeof saved);
    if (saved.first > 0.0 && isfinite(saved.first) && saved.sum >= saved.first &&
        isfinite(saved.sum))
        return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: section '" SECTION "' has %zu bytes and says %g bits, %g in all; expected "
                   "%zu bytes, bits above 0 and no less in all",
                   hu_checkpoint_path(checkpoint), bytes, saved.first, saved.sum, sizeof saved);
}

void hu_aggregate_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint, int64_t done) {
    const void *data;
    size_t bytes;
    double bits = now(trainer);
    trainer->aggregate = (hu_aggregate){bits, bits * (double)done};
    if (hu_checkpoint_section(checkpoint, SECTION, &data, &bytes) == HU_OK)
        memcpy(&trainer->aggregate, data, sizeof trainer->aggregate);
}

/* ---- The precision of a trainer as a resolved plan ---- */

static hu_status put(hu_keys *map, const char *name, const char *text) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, "plan", &node);
    return st == HU_OK ? hu_keys_put(map, name, node) : st;
}

/* All digits of a float32. YAML 1.1 takes a number with an exponent for one only if it has a point
 * too. */
static hu_status put_number(hu_keys *map, const char *name, double value) {
    char digits[32], text[40];
    snprintf(digits, sizeof digits, "%.9g", value);
    char *exponent = strchr(digits, 'e');
    bool needs_point = exponent && !strchr(digits, '.');
    size_t length = exponent ? (size_t)(exponent - digits) : strlen(digits);
    snprintf(text, sizeof text, "%.*s%s%s", (int)length, digits, needs_point ? ".0" : "",
             digits + length);
    return put(map, name, text);
}

static hu_status put_count(hu_keys *map, const char *name, int32_t count) {
    char text[40];
    snprintf(text, sizeof text, "%d", (int)count);
    return put(map, name, text);
}

/* The keys scaler.*: those that the kind reads; 0 stands for no bound. */
static hu_status scaler_map(const hu_loss_scale_options *scaler, hu_keys **map) {
    hu_status st = HU_OK;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "plan", map));
    HU_TRY(put(*map, "name", hu_loss_scale_kinds[scaler->kind].name));
    if (scaler->kind == HU_LOSS_SCALE_NONE) return HU_OK;
    HU_TRY(put_number(*map, "init", (double)scaler->init));
    HU_TRY(put_count(*map, "stop_after", scaler->max_consecutive_skips));
    if (scaler->kind != HU_LOSS_SCALE_DYNAMIC) return HU_OK;
    HU_TRY(put_number(*map, "growth", (double)scaler->growth));
    HU_TRY(put_number(*map, "backoff", (double)scaler->backoff));
    HU_TRY(put_count(*map, "interval", scaler->interval));
    HU_TRY(put_number(*map, "min", (double)scaler->min));
    if (scaler->max > 0.0f) HU_TRY(put_number(*map, "max", (double)scaler->max));
done:
    return st;
}

hu_status hu_trainer_resolved_plan(hu_trainer *trainer, char **yaml) {
    hu_status st = HU_OK;
    const hu_train_options *options = &trainer->options;
    hu_keys *scaler = NULL, *tree = NULL;
    *yaml = NULL;
    HU_TRY(hu_adapt_between(trainer));
    HU_TRY(scaler_map(&options->scaler, &scaler));
    hu_plan_facts facts = {.model = options->model,
                           .width = options->width,
                           .precision = hu_adapt_precision(trainer),
                           .keep_masters = options->keep_masters,
                           .eval_masters = options->eval_masters,
                           .scaler = scaler,
                           .step = trainer->progress.step};
    HU_TRY(hu_resolved_tree(&facts, trainer->graph, &trainer->edges, &tree));
    HU_TRY(hu_keys_print(tree, yaml));
done:
    hu_keys_free(tree);
    hu_keys_free(scaler);
    return st;
}
