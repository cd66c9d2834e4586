/* precision/bits.h - precisions that give every layer a number of bits, layer by layer and step by
 * step.
 *
 * The factors of a layer's forward product, its input and its weights, are read with `forward`
 * bits; the gradient of its output with `gradient` bits. A schedule says how both go during a
 * training. Source: Yu et al., "LDP" (2022), and the schedules that it compares.
 */
#ifndef HU_PRECISION_BITS_H
#define HU_PRECISION_BITS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/keys.h"
#include "graph/graph.h"

/* ---- bits.c: what texts and the keys bits.* say ---- */

/* Bits of a layer in a format; those of a layer that stays float32. */
enum { HU_BITS_LEAST = 2, HU_BITS_MOST = 16, HU_BITS_FLOAT32 = 32 };
enum { HU_BITS_SET_MOST = 15, HU_BITS_STAGES_MOST = 32, HU_BITS_BLOCKS_MOST = 32 };
enum { HU_BITS_TURNS_MOST = 8 };
enum { HU_BITS_RULES_MOST = 32, HU_BITS_PATTERN_BYTES = 96 };

/* What the bits are of. */
typedef enum hu_bits_kind {
    HU_BITS_INTEGER, /* uniform integers: int8 */
    HU_BITS_FLOAT    /* floats of fixed exponent bits: what changes is the mantissa */
} hu_bits_kind;

typedef struct hu_bits_range {
    uint32_t least, most;
} hu_bits_range;

/* Bits from a moment on: one number for all layers, or one per block of layers. */
typedef struct hu_bits_stage {
    int64_t from;
    uint32_t count;
    uint8_t bits[HU_BITS_BLOCKS_MOST]; /* [count] */
} hu_bits_stage;

/* "GLOB: 4", "GLOB: 4-6", "GLOB: float": between which bits the layers of these names stay,
 * whatever the schedule gives them. */
typedef struct hu_bits_rule {
    char pattern[HU_BITS_PATTERN_BYTES];
    hu_bits_range bounds; /* HU_BITS_FLOAT32 both: they stay float32 */
} hu_bits_rule;

typedef struct hu_bits_schedule hu_bits_schedule;
typedef struct hu_cost hu_cost;
typedef struct hu_cost_rates hu_cost_rates;

/* What `precision=` and the keys bits.* say. */
typedef struct hu_bits {
    const hu_bits_schedule *schedule; /* NULL: layers have no bits. Borrowed: valid forever */
    hu_bits_kind kind;
    uint32_t exponent_bits;          /* of HU_BITS_FLOAT */
    hu_bits_range forward, gradient; /* gradients: one number, but for the schedules that say so */
    bool gradient_follows;           /* gradients have the bits of the forward pass */
    uint32_t gradient_of_weights; /* bits of the gradient as the weights' gradient reads it, apart
                                     from that of the input; HU_BITS_FLOAT32: float32; 0: it
                                     reads the same */
    bool norms;                   /* norms after quantised layers have these bits, too */
    bool first_float, last_float; /* the first and the last product stay float32 */
    uint32_t rule_count;
    hu_bits_rule rule[HU_BITS_RULES_MOST]; /* of two that match a layer the later one holds */
    bool by_step;                          /* stages and until count steps, not epochs */
    /* cyclic: */
    int64_t cycles;
    /* random: every so many steps one of the set, until a moment (0: the end of the run) */
    int64_t every, until;
    uint32_t set_count;
    uint8_t set[HU_BITS_SET_MOST];
    /* staged: */
    uint32_t stage_count;
    hu_bits_stage stage[HU_BITS_STAGES_MOST];
    /* progressive: bits forward and backward from turn to turn, steps between two looks at the loss
     * (0: an epoch), and what is a plateau */
    uint32_t turn_count, gradient_turn_count;
    uint8_t turn[HU_BITS_TURNS_MOST], gradient_turn[HU_BITS_TURNS_MOST];
    int64_t interval;
    double epsilon, decay;
    /* learned: target cost as a share of that with the most bits everywhere, balance (alpha) and
     * learning rate of the bits */
    double target, balance, rate;
    uint32_t residual_bits; /* learned: of the residuals of inputs, 2 to 8; 0: float32 */
    const hu_cost *cost;    /* what the target is of. Borrowed: valid forever */
    hu_cost_rates *rates;   /* a user's costs, NULL: none. Belongs to the precision */
} hu_bits;

/* "4-8" or "8" -> range. HU_ERR_PARSE; HU_ERR_ARGUMENT: outside 2..16, or empty. */
hu_status hu_bits_parse_range(const char *text, hu_bits_range *range);

/* From the fewest to the most bits that any layer can have forward. */
hu_bits_range hu_bits_covered(const hu_bits *bits);

/* The first step of a moment; INT64_MAX where it lies after all numbers. */
static inline int64_t hu_bits_step(const hu_bits *bits, int64_t moment, int64_t steps_per_epoch) {
    if (bits->by_step) return moment;
    return moment > INT64_MAX / steps_per_epoch ? INT64_MAX : moment * steps_per_epoch;
}

/* "8", "6-8", or "same": the gradients have the bits of the forward pass. */
hu_status hu_bits_parse_gradient(const char *text, hu_bits *bits);

/* "same", "float" or "16": bits.grad_weights. */
hu_status hu_bits_parse_gradient_of_weights(const char *text, hu_bits *bits);

/* "4,6,8" or "4 6 8" -> at most `most` numbers; "" -> none. */
hu_status hu_bits_parse_list(const char *text, uint32_t most, uint8_t *list, uint32_t *count);

/* The set of bits that are drawn from, which is the range as well. */
hu_status hu_bits_parse_set(const char *text, hu_bits *bits);

/* Adds "30: 6 8 4" or "90: 8". HU_ERR_ARGUMENT unless moments ascend from 0. */
hu_status hu_bits_add_stage(hu_bits *bits, const char *text);

/* Adds "features.*: 4", "fc: 4-6" or "conv1: float" (bits.layers). HU_ERR_PARSE, HU_ERR_ARGUMENT,
 * HU_ERR_LIMIT. */
hu_status hu_bits_add_rule(hu_bits *bits, const char *text);

/* "int8", "e5m2"; "fp32" for 32 bits. text: room for 16. */
enum { HU_BITS_NAME_BYTES = 16 };
void hu_bits_name(hu_bits_kind kind, uint32_t exponent_bits, uint32_t b, char *text);

/* ---- bit_layers.c: the products of a graph, with the sizes by which their work is counted ---- */

/* One product: of an input with weights (conv, linear) or of two inputs (attention). Sizes are
 * those of one sample. */
typedef struct hu_bits_layer {
    char name[HU_NAME_BYTES]; /* "layer2.0.conv1", "fc" */
    uint32_t node;
    bool has_weights;  /* false: the second factor is an input, which has the bits of the first */
    bool is_quantised; /* false: it stays float32 */
    hu_bits_range bounds; /* of its bits forward, by a rule; {0, HU_BITS_FLOAT32}: it has none */
    uint32_t block;       /* which numbers of a stage are its own */
    uint32_t shares;      /* the next layer with the same weights, in a ring; itself: no other */
    int64_t macs;         /* forward; each of the two products of the backward pass has as many */
    int forwards;         /* forward passes of a step: one in each turn that runs the node */
    bool has_errors, has_updates; /* which of the two are computed in a step; errors also where the
                                     layer is the first, as the papers count them */
    bool is_repeated;             /* another node has applied the same network before, in turns */
    int64_t inputs, outputs, weights; /* elements; inputs of both factors where
                                        there are no weights */
    int64_t others; /* operations of what follows it: 2 per element of a batch norm, 1 per element
                       of a relu or of an addition of branches (the papers' unit counts them) */
} hu_bits_layer;

typedef struct hu_bits_layers {
    hu_bits_layer *layer; /* [count] in the order of the graph */
    uint32_t count;
    uint32_t quantised; /* of these */
    uint32_t blocks;
} hu_bits_layers;

/* Finds the layers. The last product stays float32 if bits->last_float, the first if
 * bits->first_float, unless a rule gives it bits: LDP keeps the classifier, and on ImageNet the
 * first convolution too. So does a layer whose weights one of these reads as well, and those of
 * which a rule says so. Blocks are the parts of names before the first dot ("layer2"), a layer
 * without one belonging to the next block, or to the last; where no name has a dot each layer is a
 * block. HU_ERR_ARGUMENT: no layer is left to quantise, or a rule is of none. HU_ERR_UNKNOWN: a
 * rule matches no layer. Owner frees. */
hu_status hu_bits_layers_create(const hu_graph *graph, const hu_bits *bits, hu_bits_layers *layers);
void hu_bits_layers_free(hu_bits_layers *layers);

/* Number of layer of a node, HU_NONE if it is none. */
uint32_t hu_bits_layer_of(const hu_bits_layers *layers, uint32_t node);

/* Multiply-accumulates of the quantised layers, or of those that stay float32. */
int64_t hu_bits_macs(const hu_bits_layers *layers, bool is_quantised);

/* ---- bit_cost.c: what a layer costs with so many bits, by five measures ---- */

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
    bool is_apart;   /* then dy is present twice */
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

/* ---- bit_schedule.c, learned_schedule.c: which layer has how many bits in which step ---- */

/* Schedules of bits: which layer has how many bits in which step.
 *
 * A schedule is one record and one line of the list. Most follow from the number of the
 * step alone; some follow the training: they are told of every step (hu_bits_news) and keep a state
 * that a checkpoint holds. All is double arithmetic without libm's cosine or logarithm: the same
 * bits on every machine. docs/how-to/add-a-bit-schedule.md shows how to add one.
 */

/* What a schedule knows of a training. All is borrowed and must outlive its state. */
typedef struct hu_bits_task {
    const hu_bits *bits;
    const hu_bits_layers *layers;
    int64_t batch, steps, steps_per_epoch; /* steps: 0 where a model is only evaluated */
    uint64_t seed;
} hu_bits_task;

/* What a step has brought. Borrowed for the call. */
typedef struct hu_bits_news {
    int64_t step;    /* its number, from 0 */
    int64_t samples; /* of its batch */
    double loss;     /* mean over the batch */
    bool is_skipped; /* the step changed no weight: its numbers were not finite */
    /* [layers->count]: over the quantisers of the layer's input and weights, the sum over their
     * elements of dL/dQ (round(u) - u) s, of the unscaled loss L; u = (x - Z) / s, and s the
     * quantiser's step (of the channel, where each has its own). For floats u = x / s with s the
     * spacing at x. Zero for layers that stay float32. Only schedules that want_residuals read it.
     */
    const double *residual;
} hu_bits_news;

struct hu_bits_schedule {
    const char *name;     /* "cpt": precision=cpt:4-8 */
    const char *argument; /* "A-B", "B" or "" */
    const char *help;
    const char *keys;       /* the bits.* that it alone reads, separated by spaces */
    bool cycles_gradient;   /* bits.grad may be a range */
    bool wants_residuals;   /* hu_bits_news.residual */
    const char *deploys_at; /* which bits the trained model has, for people */
    const char *hastened; /* what lets the bits rise sooner ("fewer bits.cycles"), NULL: nothing */

    /* Checks what the settings say together, and makes the state. Owner frees with hu_free. */
    hu_status (*create)(const hu_bits_task *task, void **state);
    /* Bits of all layers in a step, HU_BITS_FLOAT32 where they are not quantised, those of the
     * forward pass within the bounds of the layers (hu_bits_bound). A schedule that
     * follows the training gives those of the step that comes next, whatever the number.
     *   forward, gradient  [layers->count] */
    void (*at)(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient);
    /* The first later step that may have other bits. NULL: never. */
    int64_t (*until)(const void *state, int64_t step);
    /* Bits of the trained model. NULL: those of the last step. */
    void (*deploy)(const void *state, uint8_t *forward);
    /* After a step. NULL: all follows from its number. Allocates nothing. */
    void (*after_step)(void *state, const hu_bits_news *news);

    /* [layers->count] the numbers from which the bits follow, where they are learned. Borrowed: as
     * long as the state. NULL: nothing is learned. */
    const double *(*learned)(const void *state);

    /* What can be told before the training, where its bits depend on it: ends with NULL. NULL: the
     * bits are known. suppose gives the bits of a case, and the first step that may have others. */
    const char *const *cases;
    int64_t (*suppose)(const void *state, int which, int64_t step, double *forward,
                       double *gradient);

    /* The state as bytes of a checkpoint. Borrowed: valid until the next step. NULL: there is none.
     * check: HU_ERR_CORRUPT unless the bytes are those of such a state, HU_ERR_ARGUMENT if they are
     * of other settings (another range); it changes nothing. restore takes bytes that passed it. */
    void (*save)(const void *state, const void **data, size_t *bytes);
    hu_status (*check)(const void *state, const void *data, size_t bytes);
    void (*restore)(void *state, const void *data, size_t bytes);
};

/* X(identifier). The one list of schedules. */
#define HU_BITS_LIST(X)                                                                            \
    X(static)                                                                                      \
    X(cyclic)                                                                                      \
    X(progressive)                                                                                 \
    X(random)                                                                                      \
    X(staged)                                                                                      \
    X(learned)

#define HU_BITS_COUNT_ONE(identifier) +1
enum { HU_BITS_SCHEDULES = 0 HU_BITS_LIST(HU_BITS_COUNT_ONE) };
#undef HU_BITS_COUNT_ONE

#define HU_BITS_DECLARE(identifier) extern const hu_bits_schedule hu_bits_##identifier;
HU_BITS_LIST(HU_BITS_DECLARE)
#undef HU_BITS_DECLARE

extern const hu_bits_schedule *const hu_bits_table[HU_BITS_SCHEDULES];

/* Reads "static:8", "cpt:4-8", "random", ... with the usual settings of the keys bits.*. *found =
 * false, and success: no schedule has this name. HU_ERR_PARSE, HU_ERR_ARGUMENT. */
hu_status hu_bits_parse(const char *text, hu_bits *bits, bool *found);

/* Whether floats have room for sign and exponent, all that can occur. HU_ERR_ARGUMENT. */
hu_status hu_bits_check_floats(const hu_bits *bits);

/* One training's schedule with its state. */
typedef struct hu_bits_course {
    const hu_bits_schedule *schedule;
    void *state;
} hu_bits_course;

/* Checks the settings against the training and begins. HU_ERR_ARGUMENT names the key. Owner frees
 * with hu_bits_end. */
hu_status hu_bits_begin(const hu_bits_task *task, hu_bits_course *course);
void hu_bits_end(hu_bits_course *course);

/* ---- bit_accounting.c: what the bits of a training have cost, and what they will cost ---- */

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
    const char *name;       /* "" where the bits are known. Borrowed: valid forever */
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
