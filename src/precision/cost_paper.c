/* The unit of LDP's tables on CIFAR. Its numbers fit this rule: a layer has F = 2 MAC + 2 per
 * element of a batch norm + 1 per element of a relu + 1 per element of an addition of branches; a
 * pass of training takes F p q / 2, a sample at inference F b b / 4. Source: found from tables 1 to
 * 3 of the paper, which does not give the rule; docs/results.md compares. */
#include "precision/cost.h"

static void passes(const hu_cost_task *task, const hu_bits_layer *layer, const hu_cost_bits *bits,
                   double cost[HU_COST_PASSES]) {
    double half = 0.5 * (double)(2 * layer->macs + layer->others);
    (void)task;
    cost[HU_COST_FORWARD] = half * bits->weight * bits->input;
    cost[HU_COST_ERROR] = half * bits->weight * bits->gradient;
    cost[HU_COST_UPDATE] = half * bits->input * bits->update;
}

static double slope(const hu_bits_layer *layer, double b) {
    return (double)(2 * layer->macs + layer->others) * b;
}

const hu_cost hu_cost_paper = {.name = "paper",
                               .unit = "bit-operations as LDP's tables count them",
                               .help = "with those of batch norms, relus and additions",
                               .inference = 0.5,
                               .passes = passes,
                               .slope = slope};
