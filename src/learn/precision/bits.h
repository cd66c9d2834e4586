/* precision/bits.h - precisions that give every layer a number of bits, layer by layer and step by
 * step: what their texts and the keys bits.* say.
 *
 * The factors of a layer's forward product, its input and its weights, are read with `forward`
 * bits; the gradient of its output with `gradient` bits. A schedule of bits (bit_schedule.h) says
 * how both go during a training. Source: Yu et al., "LDP" (2022), and the schedules that it
 * compares.
 */
#ifndef HU_PRECISION_BITS_H
#define HU_PRECISION_BITS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

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
    const hu_bits_schedule *schedule; /* NULL: layers have no bits. Borrowed: valid for ever */
    hu_bits_kind kind;
    uint32_t exponent_bits;          /* of HU_BITS_FLOAT */
    hu_bits_range forward, gradient; /* gradients: one number, but for the schedules that say so */
    bool gradient_follows;           /* gradients have the bits of the forward pass */
    uint32_t gradient_of_weights; /* bits of the gradient as the weights' gradient reads it, apart
                                     from that of the input; HU_BITS_FLOAT32: float32; 0: it
                                     reads the same */
    bool norms;                   /* norms behind quantised layers have these bits, too */
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
    const hu_cost *cost;    /* what the target is of. Borrowed: valid for ever */
    hu_cost_rates *rates;   /* a user's costs, NULL: none. Belongs to the precision */
} hu_bits;

/* "4-8" or "8" -> range. HU_ERR_PARSE; HU_ERR_ARGUMENT: outside 2..16, or empty. */
hu_status hu_bits_parse_range(const char *text, hu_bits_range *range);

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

/* From the fewest to the most bits that any layer can have forward. */
hu_bits_range hu_bits_covered(const hu_bits *bits);

/* The first step of a moment; INT64_MAX where it lies behind all numbers. */
static inline int64_t hu_bits_step(const hu_bits *bits, int64_t moment, int64_t steps_per_epoch) {
    if (bits->by_step) return moment;
    return moment > INT64_MAX / steps_per_epoch ? INT64_MAX : moment * steps_per_epoch;
}

/* "int8", "e5m2"; "fp32" for 32 bits. text: room for 16. */
enum { HU_BITS_NAME_BYTES = 16 };
void hu_bits_name(hu_bits_kind kind, uint32_t exponent_bits, uint32_t b, char *text);

#endif
