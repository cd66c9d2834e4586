/* Bits that a step holds: of every input of a layer, kept for the backward pass, of the working
 * copy of the weights, which the batch shares, and of the gradient of the output. */
#include "precision/cost.h"

static void passes(const hu_cost_task *task, const hu_bits_layer *layer, const hu_cost_bits *bits,
                   double cost[HU_COST_PASSES]) {
    double weights = (double)layer->weights / (double)task->batch;
    cost[HU_COST_FORWARD] = (double)layer->inputs * bits->input + weights * bits->weight;
    cost[HU_COST_ERROR] = (double)layer->outputs * bits->gradient;
    /* Reads what is there, unless it has a gradient of its own; float32 gradients of weights do not
     * change. */
    cost[HU_COST_UPDATE] = bits->is_apart ? (double)layer->outputs * bits->update : 0.0;
}

const hu_cost hu_cost_memory = {.name = "memory",
                                .unit = "bits",
                                .help = "inputs kept for the backward pass, weights, gradients",
                                .is_held = true,
                                .inference = 1.0,
                                .passes = passes};
