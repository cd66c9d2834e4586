#include "train/network.h"

#include "model/model.h"
#include "precision/plan.h"

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
    hu_model_options model = {.name = options->model,
                              .own = options->own,
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
