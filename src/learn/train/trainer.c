#include "train/trainer.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "engine/run.h"
#include "precision/adaptation.h"
#include "train/early_stopping.h"
#include "train/inner.h"
#include "train/micro_batch.h"
#include "train/recurrent_state.h"
#include "train/workers.h"

const hu_bits_meter *hu_trainer_bits(const hu_trainer *trainer) {
    return hu_bits_meter_of(&trainer->adaptations);
}

void hu_trainer_trained_bits(const hu_trainer *trainer, uint8_t *forward) {
    hu_bits_trained(&trainer->adaptations, trainer->progress.step, forward);
}

const hu_train_progress *hu_trainer_progress(const hu_trainer *trainer) {
    return &trainer->progress;
}

const hu_graph *hu_trainer_graph(const hu_trainer *trainer) {
    return trainer->graph;
}

const hu_weights *hu_trainer_weights(const hu_trainer *trainer) {
    return &trainer->weights;
}

const hu_run *hu_trainer_run(const hu_trainer *trainer) {
    return trainer->run;
}

const hu_loss_scale_state *hu_trainer_scaler(const hu_trainer *trainer) {
    return &trainer->phase[0].scaler.state;
}

int64_t hu_trainer_skipped(const hu_trainer *trainer) {
    int64_t skipped = 0;
    for (int t = 0; t < trainer->phases; t++) skipped += trainer->phase[t].scaler.state.skipped;
    return skipped;
}

uint32_t hu_trainer_promoted(const hu_trainer *trainer) {
    return hu_adapt_changed(&trainer->adaptations);
}

int64_t hu_trainer_steps_per_epoch(const hu_trainer *trainer) {
    return trainer->steps_per_epoch;
}

int64_t hu_trainer_batch(const hu_trainer *trainer) {
    return trainer->options.batch;
}

double hu_trainer_low_ratio(const hu_trainer *trainer) {
    return hu_precision_low_ratio(trainer->graph, &trainer->edges, trainer->options.batch);
}

/* Only trained parameters: running statistics follow from the data that were seen. */
uint64_t hu_trainer_weights_hash(const hu_trainer *trainer) {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        hu_value_id v = trainer->name_order[p];
        XXH64_update(&state, hu_weights_of(&trainer->weights, v),
                     (size_t)trainer->graph->value[v].elements * sizeof(float));
    }
    return XXH64_digest(&state);
}

const hu_task *hu_trainer_task(const hu_trainer *trainer) {
    return trainer->task;
}

const double *hu_trainer_test_metrics(const hu_trainer *trainer) {
    return trainer->room.test;
}

hu_chance hu_trainer_chance(const hu_trainer *trainer, hu_half half) {
    const hu_metric *metric = trainer->task->metric[0];
    const hu_loader *loader =
        half == HU_HALF_VALIDATION ? trainer->validation_loader : trainer->test_loader;
    if (!metric->chance) return (hu_chance){0.0, 0};
    return (hu_chance){metric->chance(trainer->shapes.outputs), hu_loader_count(loader)};
}

const hu_loss_form *hu_trainer_loss(const hu_trainer *trainer) {
    return trainer->loss;
}

void hu_trainer_record_metric(hu_trainer *trainer, double value) {
    hu_train_progress *progress = &trainer->progress;
    bool is_first = progress->last_metric_step < 0;
    progress->last_metric = value;
    if (is_first || hu_metric_is_better(trainer->task->metric[0], value, progress->best_metric))
        progress->best_metric = value;
    progress->last_metric_step = progress->step;
}

void hu_trainer_follow_metric(hu_trainer *trainer, double value) {
    hu_plateau_note_metric(trainer, value);
    hu_early_stopping_note(trainer, value);
}

bool hu_trainer_is_out_of_patience(const hu_trainer *trainer) {
    return hu_early_stopping_is_over(trainer);
}

static uint64_t moment_bytes(const hu_trainer *trainer) {
    const char *name;
    const void *data;
    size_t bytes;
    uint64_t all = 0;
    for (int t = 0; t < trainer->phases; t++)
        for (size_t i = 0; hu_optimizer_state(trainer->phase[t].optimizer, i, &name, &data, &bytes);
             i++)
            if (strcmp(name, "t") != 0) all += bytes;
    return all;
}

/* Counted as the allocator counts: moments, running means and the sum of gradients belong to the
 * optimizer, those of several workers to the workers. */
hu_ledger hu_trainer_ledger(const hu_trainer *trainer) {
    uint64_t optimizer = moment_bytes(trainer);
    if (trainer->average.mean) optimizer += (uint64_t)trainer->weights.trained * sizeof(float);
    if (trainer->gradient_sum && !trainer->workers.gradient)
        optimizer += (uint64_t)trainer->weights.trained * sizeof(float);
    return hu_ledger_of(trainer->run, optimizer, hu_workers_bytes(&trainer->workers));
}

int64_t hu_trainer_zeroed_streams(const hu_trainer *trainer) {
    return trainer->streams.numbers > 0 ? trainer->streams.zeroed : -1;
}

void hu_trainer_watch(hu_trainer *trainer, const volatile sig_atomic_t *stop) {
    trainer->stop = stop;
}

double hu_trainer_data_waited(const hu_trainer *trainer) {
    return hu_loader_waited(trainer->train_loader);
}

hu_process_group_seconds hu_trainer_team_seconds(const hu_trainer *trainer) {
    const hu_process_group *team = trainer->workers.team;
    return team ? hu_process_group_spent(team) : (hu_process_group_seconds){0};
}

hu_status hu_trainer_wire(const hu_trainer *trainer, hu_wire_report *report) {
    const hu_workers *workers = &trainer->workers;
    *report = (hu_wire_report){.workers = 0};
    if (!workers->team) return HU_OK;
    report->workers = workers->count;
    report->lost = workers->lost;
    return hu_comm_traffic_of(workers->plan, &report->traffic, NULL);
}

void hu_trainer_count_every(hu_trainer *trainer, int64_t every) {
    trainer->count_every = every;
}

void hu_trainer_time_work(hu_trainer *trainer, bool timed) {
    trainer->timed = timed;
    hu_run_clear_work(trainer->run);
}

/* The squares of the latest step stand by block. */
double hu_trainer_gradient_norm(const hu_trainer *trainer, hu_value_id parameter) {
    double squares = 0.0;
    for (int64_t b = 0; b < hu_gradient_block_count(trainer); b++)
        if (hu_gradient_block_at(trainer, b).param == parameter)
            squares += trainer->block_squares[b];
    return sqrt(squares);
}
