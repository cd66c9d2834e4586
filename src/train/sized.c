#include "train/sized.h"

#include <string.h>

#include "base/error.h"
#include "engine/scale.h"
#include "layout/create.h"
#include "train/network.h"

/* The data set as its test samples are. */
static hu_dataset as_tested(const hu_dataset *dataset) {
    hu_dataset made = *dataset;
    const hu_field *field = hu_dataset_fields(dataset, HU_HALF_TEST);
    for (int f = 0; f < dataset->field_count; f++) made.field[f] = field[f];
    return made;
}

/* Weights are lent by number and must fit. */
static hu_status check_parameters(const hu_graph *graph, const hu_graph *other) {
    bool is_same = graph->value_count == other->value_count &&
                   graph->use_count == other->use_count && graph->node_count == other->node_count;
    for (hu_value_id v = 0; is_same && v < graph->value_count; v++) {
        const hu_value_info *a = &graph->value[v], *b = &other->value[v];
        is_same = a->role == b->role && strcmp(a->name, b->name) == 0;
        bool is_weight = a->role == HU_VALUE_PARAMETER || a->role == HU_VALUE_BUFFER;
        if (is_weight && !hu_shape_equal(&a->shape, &b->shape)) is_same = false;
        if (!is_same && is_weight)
            return hu_fail(HU_ERR_SHAPE,
                           "'%s' has another shape for test samples than for training samples; "
                           "expected a model whose parameters do not depend on the size",
                           a->name);
    }
    if (is_same) return HU_OK;
    return hu_fail(HU_ERR_SHAPE, "the model has other layers for test samples than for training "
                                 "samples; expected the same ones for every size");
}

/* The edge tables are of graphs that differ in shapes alone. */
static hu_status plan(hu_trainer *trainer) {
    hu_sized *sized = &trainer->tested;
    hu_run_options options = trainer->options.run;
    options.batch = options.chunk = 1;
    options.streams = trainer->options.batch;
    options.only_forward = true;
    hu_edge_table_copy(&trainer->edges, &sized->edges);
    return hu_run_create(sized->graph, &sized->edges, &trainer->weights, &options, &sized->run);
}

hu_status hu_sized_create(hu_trainer *trainer) {
    hu_sized *sized = &trainer->tested;
    hu_status st = HU_OK;
    hu_task_choice choice;
    if (!trainer->dataset->test.field) return HU_OK;
    hu_dataset tested = as_tested(trainer->dataset);
    HU_TRY(hu_train_network(&trainer->options, &tested, &choice, &sized->graph));
    sized->shapes = choice.shapes;
    HU_TRY(check_parameters(trainer->graph, sized->graph));
    HU_TRY(hu_edge_table_create(sized->graph, &sized->edges));
    HU_TRY(plan(trainer));
    hu_sized_end(trainer, false);
done:
    return st;
}

void hu_sized_free(hu_sized *sized) {
    hu_run_free(sized->run);
    hu_edge_table_free(&sized->edges);
    hu_graph_free(sized->graph);
    *sized = (hu_sized){0};
}

/* Scales that depend on earlier steps go on from there. */
static hu_status take_scales(const hu_run *from, hu_run *run) {
    const void *data;
    size_t bytes;
    hu_status st;
    hu_scale_history(from, &data, &bytes);
    HU_TRY(hu_scale_restore(run, data, bytes));
    hu_run_ranges(from, &data, &bytes);
    HU_TRY(hu_run_restore_ranges(run, data, bytes));
done:
    return st;
}

hu_status hu_sized_begin(hu_trainer *trainer) {
    hu_status st = plan(trainer);
    return st == HU_OK ? take_scales(trainer->run, trainer->tested.run) : st;
}

void hu_sized_end(hu_trainer *trainer, bool counts) {
    hu_sized *sized = &trainer->tested;
    if (counts) hu_edge_table_copy(&sized->edges, &trainer->edges);
    hu_run_free(sized->run);
    sized->run = NULL;
}
