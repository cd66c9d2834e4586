#include "train/inner.h"

#include <math.h>

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
