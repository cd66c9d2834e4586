#include "train/internal.h"
#include "train/trainer.h"

#include <math.h>

/* ---- The total loss of the samples of several passes ---- */

void hu_loss_sums_add(hu_loss_sums *sums, const hu_pass_result *result) {
    for (int k = 0; k < HU_LOSSES_MOST; k++) {
        for (int i = 0; i < HU_LOSS_STATS; i++) sums->stats[k][i] += result->stats[k][i];
        sums->units[k] += (double)result->units[k];
    }
}

/* A picture without boxes is no fault of the data: what finds none is no loss (Liu et al., "SSD",
 * equation 1: N = 0). Rows that nobody has labelled say nothing. */
double hu_loss_sums_total(const hu_loss_sums *sums, const hu_graph *graph, const hu_task *task) {
    double total = 0.0;
    bool is_known = task->kind == HU_LOSS_BOXES;
    for (int k = 0; k < graph->loss_count; k++) {
        double units = sums->units[k] > 0.0 ? sums->units[k] : 1.0;
        is_known = is_known || sums->units[k] > 0.0;
        total += (double)graph->loss[k].weight * sums->stats[k][HU_LOSS_SUM] / units;
    }
    return is_known ? total : (double)NAN;
}

/* ---- Passes of a step's samples ---- */

/* ---- block ---- */

/* The vector of all trained parameters, cut into blocks: what a thread works on at
 * a time, and what sums of squares are made of. */

int64_t hu_gradient_blocks_of(const hu_trainer *trainer, uint32_t index) {
    int64_t elements = trainer->graph->value[trainer->name_order[index]].elements;
    return (elements + HU_GRADIENT_BLOCK - 1) / HU_GRADIENT_BLOCK;
}

int64_t hu_gradient_block_count(const hu_trainer *trainer) {
    int64_t blocks = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        blocks += hu_gradient_blocks_of(trainer, p);
    return blocks;
}

/* Walks over the parameters: there are few, and blocks are large. */
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index) {
    for (uint32_t p = 0;; p++) {
        hu_value_id v = trainer->name_order[p];
        int64_t elements = trainer->graph->value[v].elements;
        int64_t blocks = hu_gradient_blocks_of(trainer, p);
        if (index >= blocks) {
            index -= blocks;
            continue;
        }
        int64_t first = index * HU_GRADIENT_BLOCK, left = elements - first;
        return (hu_gradient_block){v, p, first, left < HU_GRADIENT_BLOCK ? left : HU_GRADIENT_BLOCK,
                                   trainer->weights.offset[v] + first};
    }
}

/* ---- part ---- */

/* The samples of a step and the forward passes over their parts.
 *
 * A part is what one pass runs: the samples of a worker, which are the whole batch where there is
 * only one, or one of optimizer.accumulate pieces of them. */

/* Number of a loaded value in the graph, which is that of the task's field. */
static uint32_t field_of(const hu_graph *graph, hu_value_id v) {
    uint32_t field = 0;
    while (graph->loaded[field] != v) field++;
    return field;
}

/* Samples first .. first+count-1 of the batch, [count, field]. */
void hu_fill_batch(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_batch_source *batch = context;
    const hu_trainer *trainer = batch->trainer;
    hu_loader_fill(batch->loader, trainer->shapes.field[field], trainer->task->field[field].reading,
                   batch->first + first, count, rows);
}

/* Read from the data before the passes: the gradient of the first part needs the units of all. */
int64_t hu_count_units(hu_trainer *trainer, int loss, int64_t first, int64_t samples) {
    const hu_graph *graph = trainer->graph;
    hu_batch_source batch = {trainer, trainer->train_loader, first};
    hu_round_counts ignored;
    int64_t units = 0;
    if (graph->loss[loss].normaliser == HU_PER_SAMPLE) return samples;
    uint32_t field = field_of(graph, hu_graph_loss_target(graph, loss));
    hu_round_counts_clear(&ignored);
    for (int64_t s = 0; s < samples; s++) {
        hu_fill_batch(&batch, field, s, 1, trainer->target);
        units += hu_graph_count_units(graph, loss, 1, trainer->target, &ignored);
    }
    return units;
}

hu_status hu_forward_part(hu_trainer *trainer, const hu_step_batch *batch, hu_share *share,
                          hu_pass_options *pass, hu_pass_result *result) {
    hu_batch_source place = {trainer, trainer->train_loader, batch->first + share->first};
    hu_source source = {&place, hu_fill_batch};
    int64_t left = share->end - share->first;
    pass->first_sample = share->first;
    pass->samples = left < trainer->part ? left : trainer->part;
    share->first += pass->samples;
    hu_status st = hu_run_forward(trainer->run, pass, &source, result);
    return st == HU_OK ? hu_loader_status(trainer->train_loader) : st;
}
