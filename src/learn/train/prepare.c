#include "train/internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "planner/planner.h"
#include "precision/adaptation.h"
#include "precision/precision.h"
#include "train/trainer.h"

/* ---- The network that options and data ask for ---- */

/* What is learned decides head and loss of the model. */
hu_status hu_train_network(const hu_train_options *options, const hu_dataset *dataset,
                           hu_task_choice *choice, hu_graph **graph) {
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
                              .dropout = options->dropout,
                              .drop_path = options->drop_path,
                              .choice = choice,
                              .splits_bias = hu_precision_splits_bias(&options->precision)};
    return hu_model_build(&model, graph);
}

/* ---- prepare ---- */

hu_status hu_prepare_graph(hu_trainer *trainer) {
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

hu_status hu_prepare_run(hu_trainer *trainer) {
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
    /* Initial weights depend on seed and name only, so that all precisions begin with the same. */
    if (!run.is_plan)
        hu_weights_draw(&trainer->weights, trainer->graph, options->run.seed, options->run.threads);
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
hu_status hu_prepare_loaders(hu_trainer *trainer) {
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

/* Sizes of the passes over so many samples of a training batch. */
static hu_status reserve_shares(hu_trainer *trainer, int64_t samples) {
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
    HU_TRY(reserve_shares(trainer, batch));
    HU_TRY(reserve_shares(trainer, last));
    HU_TRY(hu_run_reserve(trainer->run, test_last));
    HU_TRY(hu_run_reserve(trainer->run, batch % part)); /* of an evaluation of streams */
    if (trainer->validation_loader)
        HU_TRY(hu_run_reserve(trainer->run, hu_loader_count(trainer->validation_loader) % part));
done:
    return st;
}
