#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "engine/run.h"
#include "model/model.h"
#include "planner/planner.h"
#include "precision/adaptation.h"
#include "precision/precision.h"
#include "train/internal.h"

/* ---- phases ---- */

/* Names of a turn begin alike, so that its parameters stand together in name order. */
static void find_parameters(hu_trainer *trainer, int phase) {
    hu_phase_state *learner = &trainer->phase[phase];
    const hu_graph *graph = trainer->graph;
    int64_t block = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        int64_t blocks = hu_gradient_blocks_of(trainer, p);
        if (graph->value[trainer->name_order[p]].phase == phase) {
            if (learner->count++ == 0) learner->first = p;
            if (learner->count == 1) learner->first_block = block;
            learner->blocks += blocks;
        }
        block += blocks;
    }
}

/* Masters stand in the order in which a model declares them. */
static hu_status find_masters(hu_trainer *trainer, int phase) {
    hu_phase_state *learner = &trainer->phase[phase];
    const hu_graph *graph = trainer->graph;
    int64_t first = INT64_MAX, end = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        int64_t offset = trainer->weights.offset[v];
        if (value->role != HU_VALUE_PARAMETER || value->phase != phase) continue;
        if (offset < first) first = offset;
        if (offset + value->elements > end) end = offset + value->elements;
        learner->elements += value->elements;
    }
    learner->offset = first;
    if (end - first == learner->elements) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "turn '%s': found parameters of others between its own, expected networks that "
                   "are declared one after the other",
                   graph->phase[phase].name);
}

static hu_status create_optimizer(hu_trainer *trainer, int phase) {
    hu_phase_state *learner = &trainer->phase[phase];
    hu_state_plan plan;
    hu_status st = hu_state_formats_plan(trainer, phase, &plan);
    if (st == HU_OK)
        st = hu_optimizer_create(&trainer->options.optimizer, learner->elements, &plan,
                                 &learner->optimizer);
    hu_free((void *)(uintptr_t)plan.tensor);
    return st;
}

double hu_phase_rate(const hu_trainer *trainer, int phase) {
    double rate = trainer->options.phase_2_rate;
    return phase == 0 || rate == 0.0 ? 1.0 : rate;
}

static hu_status hu_phases_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    trainer->phases = hu_graph_phases(trainer->graph);
    if (trainer->phases == 1 && hu_phase_rate(trainer, 1) != 1.0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "lr.turn_2: found %g with a model that has no second turn, expected 1",
                       trainer->options.phase_2_rate);
    for (int t = 0; t < trainer->phases; t++) {
        hu_phase_state *learner = &trainer->phase[t];
        find_parameters(trainer, t);
        HU_TRY(find_masters(trainer, t));
        HU_TRY(create_optimizer(trainer, t));
        if (!trainer->options.run.is_plan) hu_optimizer_begin(learner->optimizer);
        HU_TRY(hu_loss_scale_init(&trainer->options.scaler, &learner->scaler));
    }
done:
    return st;
}

/* Makes them for the listed parameters. HU_ERR_ARGUMENT where the masters of a turn do not stand
 * one after the other, or an option is out of range. */
static void hu_phases_free(hu_trainer *trainer) {
    for (int t = 0; t < trainer->phases; t++) hu_optimizer_free(trainer->phase[t].optimizer);
}

const char *hu_phase_section(const hu_trainer *trainer, int phase, const char *name,
                             char *section) {
    const hu_graph *graph = trainer->graph;
    if (graph->phase_count > 0)
        snprintf(section, HU_SECTION_BYTES, "%s.%s", graph->phase[phase].name, name);
    else
        snprintf(section, HU_SECTION_BYTES, "%s", name);
    return section;
}

/* ---- trainer ---- */

/* ---- The network that options and data ask for ---- */

/* What is learned decides head and loss of the model. named: as hu_model_options. */
static hu_status build_network(const hu_train_options *options, const hu_dataset *dataset,
                               hu_task_choice *choice, unsigned *named, hu_graph **graph) {
    hu_status st = hu_model_choose(options->model, options->task, options->loss, dataset, choice);
    if (st != HU_OK) return st;
    st = hu_model_widen(&options->sizes, choice);
    if (st != HU_OK) return st;
    choice->beta = options->beta;
    choice->real = (float)(1.0 - options->smoothing);
    choice->smoothing = options->smoothing;
    const hu_custom_net file = {.head = HU_NONE, .file = options->network};
    hu_model_options model = {.name = options->model,
                              .own = options->network ? &file : options->own,
                              .width = options->width,
                              .norm = options->norm,
                              .norms_all_rows = options->norms_all_rows,
                              .sizes = options->sizes,
                              .named = named,
                              .dropout = options->dropout,
                              .drop_path = options->drop_path,
                              .choice = choice,
                              .splits_bias = hu_precision_splits_bias(&options->precision)};
    return hu_model_build(&model, graph);
}

hu_status hu_train_network(const hu_train_options *options, const hu_dataset *dataset,
                           hu_task_choice *choice, hu_graph **graph) {
    return build_network(options, dataset, choice, NULL, graph);
}

hu_status hu_train_named_sizes(const hu_train_options *options, const hu_dataset *dataset,
                               unsigned *named) {
    hu_task_choice choice;
    hu_graph *graph = NULL;
    *named = 0;
    hu_status st = build_network(options, dataset, &choice, named, &graph);
    hu_graph_free(graph);
    return st;
}

/* ---- prepare ---- */

static hu_status hu_prepare_graph(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = HU_OK;
    hu_task_choice choice;
    HU_TRY(hu_train_network(options, trainer->dataset, &choice, &trainer->graph));
    trainer->task = choice.task;
    trainer->loss = choice.loss;
    trainer->shapes = choice.shapes;
    int64_t elements = trainer->graph->value[hu_task_target_value(trainer->graph)].elements;
    HU_TRY(HU_NEW_ARRAY(&trainer->target, (size_t)elements));
done:
    return st;
}

/* The whole table from its beginning: formats of tensors, then accumulators of products. */
hu_status hu_write_edges(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = hu_precision_write(&options->precision, trainer->graph, options->batch,
                                      hu_scaler_signals(options), &trainer->edges);
    if (st != HU_OK) return st;
    return hu_accumulators_write(&options->precision.accumulators, trainer->graph, &trainer->edges);
}

/* Before the run is made, after all that the edges tell of formats: its products stay as they are
 * planned. */
static hu_status choose_products(hu_trainer *trainer) {
    hu_train_options *options = &trainer->options;
    hu_status st = HU_OK;
    bool may;
    if (options->run.products != HU_ENGINE_FASTEST) return HU_OK;
    HU_TRY(hu_wire_formats_keep_range(&options->comm, &may));
    if (!may || !hu_precision_keeps_range(&options->precision, &trainer->edges))
        options->run.products = HU_ENGINE_OWN;
done:
    return st;
}

/* Initial weights depend on seed and name only, so that all precisions begin with the same; unit
 * scaling divides them by their standard deviation. */
static void draw_weights(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    const hu_run_options *run = &trainer->options.run;
    hu_weights_draw(&trainer->weights, graph, run->seed, run->threads);
    for (hu_value_id v = 0; trainer->edges.factors.any && v < graph->value_count; v++) {
        float *w = hu_weights_of(&trainer->weights, v);
        float factor = (float)(1.0 / trainer->edges.factors.drawn[v]);
        bool is_drawn = graph->value[v].role == HU_VALUE_PARAMETER;
        for (int64_t i = 0; is_drawn && i < graph->value[v].elements; i++) w[i] *= factor;
    }
}

/* Edge table, the optimizer's formats in it, and run with its initial weights. The parameters must
 * be listed. */
static hu_status hu_prepare_run(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = HU_OK;
    hu_run_options run;
    /* The edges are written before the run is made: they decide how large its buffers are. */
    HU_TRY(hu_edge_table_create(trainer->graph, &trainer->edges));
    HU_TRY(hu_write_edges(trainer));
    HU_TRY(hu_state_formats_write(trainer));
    HU_TRY(choose_products(trainer));
    run = options->run;
    run.batch = trainer->part;
    run.streams = options->batch;
    hu_adaptations_widen(&trainer->adaptations, trainer->graph, &trainer->edges);
    HU_TRY(hu_weights_create(trainer->graph, &trainer->weights));
    HU_TRY(hu_run_create(trainer->graph, &trainer->edges, &trainer->weights, &run, &trainer->run));
    if (options->histogram_every > 0) HU_TRY(hu_run_reserve_histograms(trainer->run));
    if (!run.is_plan) draw_weights(trainer);
done:
    return st;
}

/* data.buckets as numbers; owner frees. A plan has no samples to put into them or to sort. */
static hu_status read_buckets(const hu_train_options *options, int64_t **bound, size_t *count) {
    hu_status st = HU_OK;
    *count = options->buckets && !options->run.is_plan ? hu_keys_count(options->buckets) : 0;
    if (*count > 0) HU_TRY(HU_NEW_ARRAY(bound, *count));
    for (size_t i = 0; i < *count; i++)
        HU_TRY(hu_keys_as_i64(hu_keys_at(options->buckets, i), &(*bound)[i]));
done:
    return st;
}

/* Training samples, in an order that hangs on the options. */
static hu_status create_train_loader(hu_trainer *trainer, hu_loader_settings settings) {
    hu_status st;
    const hu_train_options *options = &trainer->options;
    int64_t *bound = NULL;
    HU_TRY(read_buckets(options, &bound, &settings.bucket_count));
    settings.shuffle = !options->keep_order;
    settings.sorted_epochs = options->run.is_plan ? 0 : options->sorted_epochs;
    settings.buckets = bound;
    settings.batch = options->batch;
    settings.augment = options->augment;
    settings.window = options->batch;
    settings.fillers = options->run.threads;
    settings.goes_on = true;
    st = hu_loader_create(trainer->dataset, HU_SPLIT_TRAIN, &settings, &trainer->train_loader);
done:
    hu_free(bound);
    return st;
}

/* Samples that a model is judged by come in their own order, and are never augmented. What is read
 * ahead is read by as many threads as compute: they wait for each other in turns. */
static hu_status hu_prepare_loaders(hu_trainer *trainer) {
    hu_status st = HU_OK;
    const hu_train_options *options = &trainer->options;
    const hu_loader_settings test = {
        .seed = options->run.seed, .window = trainer->part, .threads = options->run.threads};
    hu_loader_settings sized = test;
    HU_TRY(create_train_loader(trainer, test));
    if (trainer->dataset->test.field) sized.window = 1; /* one after the other */
    HU_TRY(hu_loader_create(trainer->dataset, HU_SPLIT_TEST, &sized, &trainer->test_loader));
    if (trainer->dataset->validation.count > 0)
        HU_TRY(hu_loader_create(trainer->dataset, HU_SPLIT_VALIDATION, &test,
                                &trainer->validation_loader));
done:
    return st;
}

hu_status hu_reserve_samples(hu_trainer *trainer, int64_t samples) {
    hu_status st = HU_OK;
    int32_t workers = trainer->workers.count;
    int64_t least = samples / workers, most = (samples + workers - 1) / workers;
    HU_TRY(hu_run_reserve(trainer->run, most < trainer->part ? most : trainer->part));
    HU_TRY(hu_run_reserve(trainer->run, least < trainer->part ? least : trainer->part));
    HU_TRY(hu_run_reserve(trainer->run, most % trainer->part));
    HU_TRY(hu_run_reserve(trainer->run, least % trainer->part));
done:
    return st;
}

hu_status hu_reserve_sizes(hu_trainer *trainer) {
    hu_status st = HU_OK;
    int64_t batch = trainer->options.batch, part = trainer->part;
    int64_t last = hu_loader_count(trainer->train_loader) % batch;
    int64_t test_last = hu_loader_count(trainer->test_loader) % part;
    /* Every size that a pass can have: whole parts, the last part of a batch, of an epoch, and of
     * the samples that are held out and of the test samples. */
    HU_TRY(hu_run_reserve(trainer->run, part));
    HU_TRY(hu_reserve_samples(trainer, batch));
    HU_TRY(hu_reserve_samples(trainer, last));
    HU_TRY(hu_run_reserve(trainer->run, test_last));
    HU_TRY(hu_run_reserve(trainer->run, batch % part)); /* of an evaluation of streams */
    if (trainer->given) HU_TRY(hu_reserve_samples(trainer, trainer->given->count));
    if (trainer->validation_loader)
        HU_TRY(hu_run_reserve(trainer->run, hu_loader_count(trainer->validation_loader) % part));
done:
    return st;
}

/* ---- Making a trainer ---- */

/* Making a trainer and ending it. */

/* Puts v into its place in ids[count], which are in name order. */
static void insert_by_name(const hu_graph *graph, uint32_t *ids, uint32_t count, hu_value_id v) {
    uint32_t at = count;
    for (; at > 0 && strcmp(graph->value[ids[at - 1]].name, graph->value[v].name) > 0; at--)
        ids[at] = ids[at - 1];
    ids[at] = v;
}

/* Name order is that of the hash of the weights, whatever order a model declares them in. */
static hu_status list_parameters(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    void *block;
    hu_status st = hu_alloc_array(graph->value_count, sizeof(uint32_t), &block);
    if (st != HU_OK) return st;
    trainer->name_order = block;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER)
            insert_by_name(graph, trainer->name_order, trainer->parameter_count++, v);
    return HU_OK;
}

/* All that the end of a step needs; the norm has one partial sum per block of the gradient. */
static hu_status create_update(hu_trainer *trainer) {
    hu_status st = HU_OK;
    void *block;
    int64_t trained = trainer->weights.trained;
    HU_TRY(hu_phases_create(trainer));
    HU_TRY(hu_schedule_check(&trainer->options.schedule));
    HU_TRY(hu_workers_create(trainer));
    if (trainer->options.accumulate > 1 && !trainer->gradient_sum) {
        HU_TRY(hu_alloc_for(HU_MEMORY_OPTIMIZER, (size_t)trained * sizeof(float), &block));
        trainer->gradient_sum = block;
    }
    HU_TRY(HU_NEW_ARRAY(&trainer->block_squares, (size_t)hu_gradient_block_count(trainer)));
    HU_TRY(hu_tensors_create(trainer));
    HU_TRY(hu_weight_average_create(trainer));
done:
    return st;
}

/* A part holds at least one sample. */
static hu_status check_options(const hu_train_options *options) {
    if (options->batch < 1 || options->steps < 0 || options->accumulate < 1)
        return hu_fail(
            HU_ERR_ARGUMENT, "batch %lld, steps %lld, accumulate %lld: expected positive numbers",
            (long long)options->batch, (long long)options->steps, (long long)options->accumulate);
    if (options->accumulate > options->batch)
        return hu_fail(HU_ERR_ARGUMENT, "accumulate %lld, expected at most the batch of %lld",
                       (long long)options->accumulate, (long long)options->batch);
    return HU_OK;
}

/* The last batch of an epoch may be a smaller one, or is left out. */
hu_status hu_trainer_epoch_steps(const hu_train_options *options, int64_t count, int64_t *steps) {
    *steps = (options->drop_last ? count : count + options->batch - 1) / options->batch;
    if (*steps > 0 || !options->drop_last) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "data.drop_last: found %lld training samples, expected a batch of %lld",
                   (long long)count, (long long)options->batch);
}

hu_status hu_trainer_create(const hu_train_options *options, const hu_dataset *dataset,
                            hu_trainer **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    HU_TRY(check_options(options));
    HU_TRY(hu_alloc(sizeof(hu_trainer), &block));
    hu_trainer *trainer = block;
    trainer->options = *options;
    trainer->dataset = dataset;
    trainer->loaded_epoch = -1;
    trainer->progress.last_metric_step = -1;
    trainer->progress.last_epoch_loss = (double)NAN;
    hu_plateau_begin(trainer);
    hu_early_stopping_begin(trainer);
    /* Parts of equal size but for the last one, which may be smaller. */
    trainer->part = (hu_worker_most(options) + options->accumulate - 1) / options->accumulate;
    if (dataset->train.count < 1 || dataset->test.count < 1)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "data: %lld training and %lld test samples, expected some",
                       (long long)dataset->train.count, (long long)dataset->test.count));
    /* The graph comes first: loaders, edges and run ask it for shapes. */
    HU_TRY(hu_prepare_graph(trainer));
    HU_TRY(hu_prepare_loaders(trainer));
    int64_t count = hu_loader_count(trainer->train_loader);
    HU_TRY(hu_trainer_epoch_steps(options, count, &trainer->steps_per_epoch));
    if (trainer->part > count) trainer->part = count; /* no step ever has more samples */
    HU_TRY(hu_tensor_order_create(
        trainer->graph, options->comm.options.workers > 0 ? HU_WALK_WIRE : 0, &trainer->walk));
    HU_TRY(hu_adapt_create(trainer));
    HU_TRY(list_parameters(trainer));
    HU_TRY(hu_prepare_run(trainer));
    HU_TRY(hu_evaluation_graph_create(trainer));
    if (!options->run.is_plan) HU_TRY(hu_evaluation_scratch_create(trainer));
    HU_TRY(create_update(trainer));
    HU_TRY(hu_streams_create(trainer));
    HU_TRY(hu_reserve_sizes(trainer));
    /* Without masters the weights are numbers of their format from the first step on. */
    if (!options->keep_masters && !options->run.is_plan) hu_round_masters(trainer);
    /* From here on the caller owns it. */
    *result = trainer;
    block = NULL;
done:
    hu_trainer_free(block);
    return st;
}

void hu_trainer_free(hu_trainer *trainer) {
    if (!trainer) return;
    hu_tensor_order_free(&trainer->walk);
    hu_evaluation_graph_free(&trainer->tested);
    hu_run_free(trainer->run);
    hu_weights_free(&trainer->weights);
    hu_edge_table_free(&trainer->edges);
    hu_graph_free(trainer->graph);
    hu_loader_close(trainer->train_loader);
    hu_loader_close(trainer->test_loader);
    hu_loader_close(trainer->validation_loader);
    hu_phases_free(trainer);
    hu_free(trainer->target);
    hu_evaluation_scratch_free(&trainer->room);
    if (!trainer->workers.gradient) hu_free(trainer->gradient_sum);
    hu_workers_free(&trainer->workers);
    hu_free(trainer->block_squares);
    hu_tensors_free(trainer);
    hu_weight_average_free(trainer);
    hu_streams_free(&trainer->streams);
    hu_free(trainer->name_order);
    hu_free(trainer->state_formats);
    hu_adaptations_free(&trainer->adaptations);
    hu_free(trainer);
}

/* ---- Questions about it ---- */

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

hu_status hu_trainer_watch_tensor(hu_trainer *trainer, hu_tensor tensor) {
    return hu_run_watch(trainer->run, tensor, trainer->options.batch);
}

void hu_trainer_unwatch(hu_trainer *trainer) {
    hu_run_unwatch(trainer->run);
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

hu_chance hu_trainer_chance(const hu_trainer *trainer, hu_split_kind half) {
    const hu_metric *metric = trainer->task->metric[0];
    const hu_loader *loader =
        half == HU_SPLIT_VALIDATION ? trainer->validation_loader : trainer->test_loader;
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
