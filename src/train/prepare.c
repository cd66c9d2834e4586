#include "train/prepare.h"

#include "base/error.h"
#include "base/memory.h"
#include "layout/create.h"
#include "model/model.h"

hu_status hu_prepare_graph(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = HU_OK;
    hu_task_choice choice;
    void *block;
    HU_TRY(
        hu_model_choose(options->model, options->task, options->loss, trainer->dataset, &choice));
    hu_model_options model = {
        .name = options->model, .own = options->own, .width = options->width, .choice = &choice};
    HU_TRY(hu_model_build(&model, &trainer->graph));
    trainer->task = choice.task;
    trainer->loss = choice.loss;
    trainer->shapes = choice.shapes;
    int64_t elements = trainer->graph->value[hu_task_target_value(trainer->graph)].elements;
    HU_TRY(hu_alloc_array((size_t)elements, sizeof(float), &block));
    trainer->target = block;
done:
    return st;
}

hu_status hu_write_edges(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = hu_precision_write(&options->precision, trainer->graph, options->batch,
                                      hu_scaler_signals(options), &trainer->edges);
    if (st != HU_OK) return st;
    return hu_accumulators_write(&options->precision.accumulators, trainer->graph, &trainer->edges);
}

hu_status hu_prepare_run(hu_trainer *trainer) {
    const hu_train_options *options = &trainer->options;
    hu_status st = HU_OK;
    hu_run_options run = options->run;
    run.batch = trainer->part;
    HU_TRY(hu_edge_table_create(trainer->graph, &trainer->edges));
    HU_TRY(hu_write_edges(trainer));
    HU_TRY(hu_weights_create(trainer->graph, &trainer->weights));
    HU_TRY(hu_run_create(trainer->graph, &trainer->edges, &trainer->weights, &run, &trainer->run));
    if (options->histogram_every > 0) HU_TRY(hu_run_reserve_histograms(trainer->run));
    hu_weights_draw(&trainer->weights, trainer->graph, options->run.seed, options->run.threads);
done:
    return st;
}

hu_status hu_prepare_loaders(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_loader_settings train = {trainer->options.run.seed, !trainer->options.keep_order,
                                trainer->options.augment};
    hu_loader_settings test = {trainer->options.run.seed, false, {0}};
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
