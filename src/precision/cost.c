#include "precision/cost.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

const hu_cost *const hu_cost_list[HU_COST_COUNT] = {
#define COST_ROW(identifier) &hu_cost_##identifier,
    HU_COST_LIST(COST_ROW)
#undef COST_ROW
};

hu_status hu_cost_find(const char *name, const hu_cost **cost) {
    const char *names[HU_COST_COUNT];
    char nearest[128];
    for (int c = 0; c < HU_COST_COUNT; c++) {
        names[c] = hu_cost_list[c]->name;
        *cost = hu_cost_list[c];
        if (strcmp(name, names[c]) == 0) return HU_OK;
    }
    *cost = NULL;
    hu_nearest(name, names, HU_COST_COUNT, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown cost '%.40s', nearest: %s", name, nearest);
}

void hu_cost_passes(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                    const hu_cost_bits *bits, double passes[HU_COST_PASSES]) {
    cost->passes(task, layer, bits, passes);
    if (!cost->is_held) passes[HU_COST_FORWARD] *= layer->forwards;
    if (!layer->has_errors) passes[HU_COST_ERROR] = 0.0;
    if (!layer->has_updates) passes[HU_COST_UPDATE] = 0.0;
}

double hu_cost_forward(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                       double b) {
    double passes[HU_COST_PASSES];
    const hu_cost_bits bits = {b, b, b, b, false}; /* gradients play no part in the forward pass */
    cost->passes(task, layer, &bits, passes);
    return passes[HU_COST_FORWARD];
}

double hu_cost_slope(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                     const hu_bits_range *range, double b) {
    double below = b - 1.0, above = b + 1.0;
    if (cost->slope) return cost->slope(layer, b);
    if (below < range->least) below = range->least;
    if (above > range->most) above = range->most;
    if (above <= below) return 0.0;
    return (hu_cost_forward(cost, task, layer, above) - hu_cost_forward(cost, task, layer, below)) /
           (above - below);
}
