#include "train/adapt.h"

#include "base/error.h"
#include "engine/requantize.h"
#include "layout/create.h"
#include "train/prepare.h"

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

const hu_precision *hu_adapt_precision(const hu_trainer *trainer) {
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
