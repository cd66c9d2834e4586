/* precision/bit_cost.h - what a layer costs with so many bits, by five measures. */
#ifndef HU_PRECISION_BIT_COST_H
#define HU_PRECISION_BIT_COST_H
#include "base/keys.h"
#include "precision/bit_layers.h"

/* y = x w; dx = dy w'; dw = x' dy. */
typedef enum hu_cost_pass {
    HU_COST_FORWARD,
    HU_COST_ERROR,
    HU_COST_UPDATE,
    HU_COST_PASSES
} hu_cost_pass;

/* Bits of the factors of a layer's products. Fractions: between two choices. */
typedef struct hu_cost_bits {
    double weight, input;
    double gradient; /* dy of dx = dy w' */
    double update;   /* dy of dw = x' dy: the same bits, unless it is read apart */
    bool is_apart;   /* then dy is there twice */
} hu_cost_bits;

/* A user's costs of a multiply-accumulate, by the bits of its factors (HU_BITS_FLOAT32: fp32); NaN:
 * not in the table. */
struct hu_cost_rates {
    char unit[32];
    double cost[HU_BITS_FLOAT32 + 1][HU_BITS_FLOAT32 + 1];
};

/* What costs need to know of a training. */
typedef struct hu_cost_task {
    const hu_cost_rates *rates; /* NULL: there is none. Borrowed for the call */
    int64_t batch;              /* samples that share a reading of the weights */
} hu_cost_task;

struct hu_cost {
    const char *name, *unit, *help;
    bool needs_table;
    bool is_held;     /* room that is taken, once however often a step computes with it */
    double inference; /* cost of one sample when the model is used, over that of a forward pass */
    void (*passes)(const hu_cost_task *task, const hu_bits_layer *layer, const hu_cost_bits *bits,
                   double cost[HU_COST_PASSES]);
    /* Change of the forward cost per bit, where weights and input have b bits both. NULL: that
     * between b - 1 and b + 1, or as far as the range goes. */
    double (*slope)(const hu_bits_layer *layer, double b);
};

/* X(identifier). The one list of costs. */
#define HU_COST_LIST(X)                                                                            \
    X(bitops)                                                                                      \
    X(paper)                                                                                       \
    X(memory)                                                                                      \
    X(traffic)                                                                                     \
    X(table)

#define HU_COST_COUNT_ONE(identifier) +1
enum { HU_COST_COUNT = 0 HU_COST_LIST(HU_COST_COUNT_ONE) };
#undef HU_COST_COUNT_ONE

#define HU_COST_DECLARE(identifier) extern const hu_cost hu_cost_##identifier;
HU_COST_LIST(HU_COST_DECLARE)
#undef HU_COST_DECLARE

extern const hu_cost *const hu_cost_list[HU_COST_COUNT];

/* A cost by its name. HU_ERR_UNKNOWN with the nearest. */
hu_status hu_cost_find(const char *name, const hu_cost **cost);

/* Cost of the passes of a layer that a step computes: all three, unless networks learn in turns. */
void hu_cost_passes(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                    const hu_cost_bits *bits, double passes[HU_COST_PASSES]);

/* Forward cost of a layer whose input and weights have b bits, and its change per bit. */
double hu_cost_forward(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                       double b);
double hu_cost_slope(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                     const hu_bits_range *range, double b);

/* Reads a table of costs:
 *
 *   unit: pJ              # may be left out
 *   formats:
 *     int4: 0.2           # a multiply-accumulate of two factors of that format
 *     int8: 0.6           # int4*int8 is that of the dearer one
 *     int4*int6: 0.35     # unless it is named
 *     fp32: 4             # needed with bits.grad_weights=float alone
 *
 * Other formats may be there. HU_ERR_ARGUMENT: a format that bits can ask for is missing.
 * HU_ERR_PARSE: other keys, names that are no formats, two costs of one pair, costs that are
 * negative or no finite number. */
hu_status hu_cost_rates_read(const hu_keys *tree, const hu_bits *bits, hu_cost_rates *rates);

#endif
