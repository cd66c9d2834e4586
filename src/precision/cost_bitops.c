/* Bit-operations: a multiply-accumulate of factors of p and q bits is p q of them. Source: Fu et
 * al., CPT and FracTrain; LDP, Eq. 4: there O (b/32)^2 with O = 32 32 MACs, which is the same. */
#include "precision/cost.h"

static void passes(const hu_cost_task *task, const hu_bits_layer *layer, const hu_cost_bits *bits,
                   double cost[HU_COST_PASSES]) {
    double macs = (double)layer->macs;
    (void)task;
    cost[HU_COST_FORWARD] = macs * bits->weight * bits->input;
    cost[HU_COST_ERROR] = macs * bits->weight * bits->gradient;
    cost[HU_COST_UPDATE] = macs * bits->input * bits->update;
}

static double slope(const hu_bits_layer *layer, double b) {
    return 2.0 * (double)layer->macs * b;
}

const hu_cost hu_cost_bitops = {.name = "bitops",
                                .unit = "bit-operations",
                                .help = "bits of both factors multiplied, per multiply-accumulate",
                                .inference = 1.0,
                                .passes = passes,
                                .slope = slope};
