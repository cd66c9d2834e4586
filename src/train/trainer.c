#include "train/trainer.h"

#include <string.h>

#include "base/hash.h"

#include "base/error.h"
#include "base/memory.h"
#include "graph/record.h"
#include "train/inner.h"

static hu_status build_graph(hu_trainer *trainer) {
    const hu_dataset *data = trainer->dataset;
    hu_model_options model = {.name = trainer->options.model,
                              .width = trainer->options.width,
                              .image = {3, {data->height, data->width, data->channels}},
                              .classes = data->classes};
    return hu_model_build(&model, &trainer->graph);
}

hu_status hu_write_edges(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    bool signals = options->scaler.kind != HU_LOSS_SCALE_NONE;
    hu_status st = hu_precision_write(&options->precision, trainer->graph, options->batch, signals,
                                      &trainer->edges);
    if (st != HU_OK) return st;
    return hu_accumulators_write(&options->precision.accumulators, trainer->graph, &trainer->edges);
}

static hu_status plan_run(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = HU_OK;
    hu_run_options run = {.batch = trainer->part,
                          .chunk = options->chunk,
                          .threads = options->threads,
                          .storage = options->storage,
                          .apart = options->apart,
                          .recompute = options->recompute,
                          .by_dnn = options->by_dnn,
                          .by_winograd = options->by_winograd,
                          .seed = options->seed};
    HU_TRY(hu_edge_table_create(trainer->graph, &trainer->edges));
    HU_TRY(hu_write_edges(trainer));
    HU_TRY(hu_run_create(trainer->graph, &trainer->edges, &run, &trainer->run));
    if (options->histogram_every > 0) HU_TRY(hu_record_create(trainer->run));
    hu_run_init_parameters(trainer->run);
done:
    return st;
}

static hu_status open_loaders(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_loader_settings train = {trainer->options.seed, !trainer->options.keep_order,
                                trainer->options.augment};
    hu_loader_settings test = {trainer->options.seed, false, {0}};
    HU_TRY(hu_loader_create(trainer->dataset, HU_HALF_TRAIN, &train, &trainer->train_loader));
    HU_TRY(hu_loader_create(trainer->dataset, HU_HALF_TEST, &test, &trainer->test_loader));
done:
    return st;
}

hu_status hu_reserve_sizes(hu_trainer *trainer) {
    hu_status st = HU_OK;
    int64_t batch = trainer->options.batch, part = trainer->part;
    int64_t last = hu_loader_count(trainer->train_loader) % batch;
    int64_t test_last = hu_loader_count(trainer->test_loader) % part;
    HU_TRY(hu_run_reserve(trainer->run, part));
    HU_TRY(hu_run_reserve(trainer->run, batch % part));
    HU_TRY(hu_run_reserve(trainer->run, last % part));
    HU_TRY(hu_run_reserve(trainer->run, test_last));
done:
    return st;
}

/* Puts v into its place in ids[count], which are in name order. */
static void insert_by_name(const hu_graph *graph, uint32_t *ids, uint32_t count, hu_value_id v) {
    uint32_t at = count;
    for (; at > 0 && strcmp(graph->value[ids[at - 1]].name, graph->value[v].name) > 0; at--)
        ids[at] = ids[at - 1];
    ids[at] = v;
}

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

static hu_status create_update(hu_trainer *trainer) {
    hu_status st = HU_OK;
    void *block;
    int64_t trained = trainer->run->trained;
    HU_TRY(hu_optimizer_create(&trainer->options.optimizer, trained, &trainer->optimizer));
    HU_TRY(hu_loss_scale_init(&trainer->options.scaler, &trainer->scaler));
    HU_TRY(hu_schedule_check(&trainer->options.schedule));
    if (trainer->options.accumulate > 1) {
        HU_TRY(hu_alloc_for(HU_MEMORY_OPTIMIZER, (size_t)trained * sizeof(float), &block));
        trainer->gradient_sum = block;
    }
    HU_TRY(hu_alloc_array((size_t)hu_gradient_block_count(trainer), sizeof(double), &block));
    trainer->block_squares = block;
done:
    return st;
}

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
    trainer->progress.last_accuracy_step = -1;
    trainer->part = (options->batch + options->accumulate - 1) / options->accumulate;
    if (dataset->train.count < 1 || dataset->test.count < 1)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "data: %lld training and %lld test samples, expected some",
                       (long long)dataset->train.count, (long long)dataset->test.count));
    HU_TRY(build_graph(trainer));
    HU_TRY(open_loaders(trainer));
    int64_t count = hu_loader_count(trainer->train_loader);
    trainer->steps_per_epoch = (count + options->batch - 1) / options->batch;
    if (trainer->part > count) trainer->part = count; /* no step ever has more samples */
    HU_TRY(hu_walk_create(trainer->graph, &trainer->walk));
    HU_TRY(plan_run(trainer));
    HU_TRY(list_parameters(trainer));
    HU_TRY(create_update(trainer));
    HU_TRY(hu_create_promotions(trainer));
    HU_TRY(hu_reserve_sizes(trainer));
    if (!options->keep_masters) hu_round_masters(trainer);
    *result = trainer;
    block = NULL;
done:
    hu_trainer_free(block);
    return st;
}

void hu_trainer_free(hu_trainer *trainer) {
    if (!trainer) return;
    hu_walk_free(&trainer->walk);
    hu_run_free(trainer->run);
    hu_edge_table_free(&trainer->edges);
    hu_graph_free(trainer->graph);
    hu_loader_close(trainer->train_loader);
    hu_loader_close(trainer->test_loader);
    hu_optimizer_free(trainer->optimizer);
    hu_free(trainer->gradient_sum);
    hu_free(trainer->block_squares);
    hu_free(trainer->name_order);
    hu_free(trainer->promotion);
    hu_free(trainer->promoted);
    hu_free(trainer);
}

const hu_train_progress *hu_trainer_progress(const hu_trainer *trainer) {
    return &trainer->progress;
}

const hu_graph *hu_trainer_graph(const hu_trainer *trainer) {
    return trainer->graph;
}

const hu_run *hu_trainer_run(const hu_trainer *trainer) {
    return trainer->run;
}

const hu_loss_scale_state *hu_trainer_scaler(const hu_trainer *trainer) {
    return &trainer->scaler.state;
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

uint64_t hu_trainer_weights_hash(const hu_trainer *trainer) {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        hu_value_id v = trainer->name_order[p];
        XXH64_update(&state, trainer->run->parameters + trainer->run->offset[v],
                     (size_t)trainer->graph->value[v].elements * sizeof(float));
    }
    return XXH64_digest(&state);
}

void hu_trainer_note_accuracy(hu_trainer *trainer, double accuracy) {
    hu_train_progress *progress = &trainer->progress;
    progress->last_accuracy = accuracy;
    if (progress->last_accuracy_step < 0 || accuracy > progress->best_accuracy)
        progress->best_accuracy = accuracy;
    progress->last_accuracy_step = progress->step;
}

hu_ledger hu_trainer_ledger(const hu_trainer *trainer) {
    const char *name;
    const void *data;
    size_t bytes;
    uint64_t optimizer = 0;
    for (size_t i = 0; hu_optimizer_state(trainer->optimizer, i, &name, &data, &bytes); i++)
        if (strcmp(name, "t") != 0) optimizer += bytes;
    if (trainer->gradient_sum) optimizer += (uint64_t)trainer->run->trained * sizeof(float);
    return hu_ledger_of(trainer->run, optimizer);
}

void hu_trainer_time_work(hu_trainer *trainer, bool timed) {
    trainer->timed = timed;
    hu_run_clear_work(trainer->run);
}
