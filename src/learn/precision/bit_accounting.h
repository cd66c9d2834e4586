/* precision/bit_accounting.h - the bits that layers had, what they have cost, and what they will
 * cost. */
#ifndef HU_PRECISION_BIT_ACCOUNTING_H
#define HU_PRECISION_BIT_ACCOUNTING_H
#include "precision/adaptation.h"
#include "precision/bit_schedule.h"

/* ---- bits meter ---- */

/* Which bits the layers of a training had, and what they have cost so far.
 *
 * Bit-operations are those of the quantised layers (bit_cost.c): b_w b_a per multiply-accumulate
 * of the forward pass, b_w b_g and b_a b_g of the two products of the backward pass. They are added
 * up step by step with the bits and the samples of that step, skipped steps too: their passes ran.
 * Sums are in double, and exact below 2^53. What the same samples cost with the most bits in all
 * layers is the measure of relative costs.
 */

/* What a checkpoint holds, followed by bits: [2 layers]. */
typedef struct hu_bits_spent {
    double forward, training; /* bit-operations so far */
    int64_t samples;          /* that they are of */
    int64_t layers;
} hu_bits_spent;

typedef struct hu_bits_meter {
    const hu_bits_task *task; /* Borrowed, as the layers in it */
    hu_bits_spent *spent;     /* in one block with the bits */
    /* [layers] of the step that was noted last, HU_BITS_FLOAT32 where a layer is not quantised;
     * 0: none was noted yet. */
    uint8_t *forward, *gradient;
    bool *has_changed; /* [layers] whether that step had other bits than the one before it */
    bool any_changed;
    const double *beta;              /* [layers] what is learned, NULL: nothing. Borrowed */
    double step_forward, step_total; /* bit-operations of a sample, of that step */
    double most_forward, most_total; /* with the most bits in all layers */
} hu_bits_meter;

/* Owner frees. HU_ERR_MEMORY. */
hu_status hu_bits_meter_create(const hu_bits_task *task, hu_bits_meter *meter);
void hu_bits_meter_free(hu_bits_meter *meter);

/* Notes a step with its bits, [layers] each. Allocates nothing. */
void hu_bits_meter_note(hu_bits_meter *meter, const uint8_t *forward, const uint8_t *gradient,
                        int64_t samples);

/* Shares of what the same samples cost with the most bits; NaN before the first. */
double hu_bits_relative_forward(const hu_bits_meter *meter);
double hu_bits_relative_training(const hu_bits_meter *meter);

/* The meter of a training whose precision has a schedule of bits, else NULL. */
hu_bits_meter *hu_bits_meter_of(const hu_adaptations *adaptations);

/* Bits with which the model is used after so many steps: [layers]. */
void hu_bits_trained(const hu_adaptations *adaptations, int64_t steps, uint8_t *forward);

/* Bit-operations of a sample when the model is used, forward [layers]; NULL: with the most bits. A
 * network that a step applies several times counts once. */
double hu_bits_meter_inference(const hu_bits_meter *meter, const uint8_t *forward);

/* Forward cost of a sample with such bits, and with the most in all layers: of a row of the list of
 * costs. */
double hu_bits_meter_forward(const hu_bits_meter *meter, const hu_cost *cost,
                             const uint8_t *forward);
double hu_bits_meter_most(const hu_bits_meter *meter, const hu_cost *cost);

/* The state for a checkpoint. Borrowed: valid until the next step. HU_ERR_CORRUPT unless the bytes
 * are those of a meter of so many layers; then nothing changes. 0 bytes: nothing was noted yet. */
void hu_bits_meter_state(const hu_bits_meter *meter, const void **data, size_t *bytes);
hu_status hu_bits_meter_check(const hu_bits_meter *meter, const void *data, size_t bytes);
void hu_bits_meter_restore(hu_bits_meter *meter, const void *data, size_t bytes);

/* ---- bits forecast ---- */

/* What a training with a schedule of bits costs, told before it.
 */

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
