/* Bits that the products read from memory, each factor once; the batch shares a reading of the
 * weights. What they write is float32 whatever the bits are, and is not counted. */
#include "precision/cost.h"

static void passes(const hu_cost_task *task, const hu_bits_layer *layer, const hu_cost_bits *bits,
                   double cost[HU_COST_PASSES]) {
    double inputs = (double)layer->inputs * bits->input;
    double weights = (double)layer->weights * bits->weight / (double)task->batch;
    double gradients = (double)layer->outputs * bits->gradient;
    cost[HU_COST_FORWARD] = inputs + weights;
    cost[HU_COST_ERROR] = gradients + weights;
    cost[HU_COST_UPDATE] = (double)layer->outputs * bits->update + inputs;
}

const hu_cost hu_cost_traffic = {.name = "traffic",
                                 .unit = "bits",
                                 .help = "what the products read from memory",
                                 .inference = 1.0,
                                 .passes = passes};
