/* precision/bits_forecast.h - what a training with a schedule of bits costs, told before it.
 */
#ifndef HU_PRECISION_BITS_FORECAST_H
#define HU_PRECISION_BITS_FORECAST_H
#include "precision/bits_schedule.h"

/* Of one layer, or of all quantised ones. Bits and costs: means over the steps, costs per sample.
 */
typedef struct hu_forecast_row {
    double bits, gradient_bits; /* of all layers: weighed by multiply-accumulates */
    double update_bits;         /* of gradients as those of weights read them */
    double least_bits, most_bits;
    double final_bits; /* of the trained model */
    double cost[HU_COST_COUNT][HU_COST_PASSES];
    double inference[HU_COST_COUNT];
} hu_forecast_row;

/* One case, of several where the bits depend on the training. */
typedef struct hu_forecast_case {
    const char *name;       /* "" where the bits are known. Borrowed: valid for ever */
    hu_forecast_row *layer; /* [layers] rows of float32 layers are zero but for their bits */
    hu_forecast_row total;
    /* Of training and inference, over those of static 8 bits with 8-bit gradients; NaN where a
     * table has no costs of 8 bits. */
    double relative[HU_COST_COUNT], relative_inference[HU_COST_COUNT];
} hu_forecast_case;

typedef struct hu_forecast {
    hu_forecast_case *cases; /* [count] from the cheapest on */
    uint32_t count;
} hu_forecast;

/* Walks through the steps of the task; costs of a table that is not there are 0. Owner
 * frees. HU_ERR_ARGUMENT: there are no steps. */
hu_status hu_forecast_create(const hu_bits_task *task, const hu_bits_course *course,
                             hu_forecast *forecast);
void hu_forecast_free(hu_forecast *forecast);

/* Whether the training is too short for its bits to leave the least of their range, whatever its
 * losses. */
hu_status hu_forecast_is_stuck(const hu_bits_task *task, const hu_bits_course *course,
                               bool *is_stuck);

/* Cost of one sample in training: the sum of its passes. */
double hu_forecast_training(const hu_forecast_row *row, int cost);

#endif
