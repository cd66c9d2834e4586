/* comm/plan.h - what a reduction is: tensors, buckets, format, schedule and scaling. All workers of
 * a training have equal plans; a plan and the gradients decide every bit of the result.
 */
#ifndef HU_COMM_PLAN_H
#define HU_COMM_PLAN_H
#include <stddef.h>

#include "comm/scaling.h"
#include "comm/schedule.h"
#include "kernel/wire/wire.h"

typedef struct hu_comm_options hu_comm_options;
struct hu_comm_options {
    int32_t workers;
    const hu_comm_schedule *schedule; /* Borrowed, for ever, as the scaling */
    int32_t group;                    /* of schedules with groups */
    const hu_comm_scaling *scaling;
    int32_t constant;     /* of the scaling, hu_comm_scaling_parse: the K of constant:K */
    hu_format format;     /* on the wire; fp32: nothing is rounded. Unused where the scaling has
                             codes of its own */
    hu_rounding rounding; /* of every rounding on the way */
    bool kahan;           /* owners add in the format with Kahan's compensation */
    bool error_feedback;  /* what roundings lost is added to the gradient of the next step */
    uint64_t seed;        /* of stochastic rounding */
    int64_t bucket_bytes; /* of float32 gradients that travel together; changes no bit */
};

/* One tensor of the gradient. */
typedef struct hu_comm_layer {
    const char *name;         /* Borrowed */
    int64_t offset, elements; /* in the array of all gradients */
    bool exact;               /* travels in float32 */
} hu_comm_layer;

/* Buckets on their way at once, bucket b with b + HU_COMM_FLIGHTS behind it: while the message of
 * one is on the wire, the sums of the other are made. */
enum { HU_COMM_FLIGHTS = 2 };

/* Layers that travel together. */
typedef struct hu_comm_bucket {
    int32_t first, count; /* layers */
} hu_comm_bucket;

typedef struct hu_comm_plan {
    hu_comm_options options;
    hu_comm_shape shape;
    hu_wire narrow, exact;  /* narrow: float32 where the scaling has codes of its own */
    bool agrees;            /* workers agree upon something per layer before they send */
    bool loses_nonfinite;   /* the format has no code for infinities or none for NaNs, or rounds
                               infinities to numbers */
    hu_comm_layer *layer;   /* [layers], owned, in the order in which they travel */
    hu_comm_bucket *bucket; /* [buckets], owned */
    int32_t layers, buckets;
    int32_t pieces;   /* into which every layer is cut */
    int64_t elements; /* of the array of all gradients: the last one's end */
} hu_comm_plan;

/* layer[layers] is copied, in the order in which the gradients become known; names stay borrowed.
 * HU_ERR_ARGUMENT where options do not fit each other, HU_ERR_FORMAT, HU_ERR_MEMORY. */
hu_status hu_comm_plan_create(const hu_comm_options *options, const hu_comm_layer *layer,
                              int32_t layers, hu_comm_plan **plan);
void hu_comm_plan_free(hu_comm_plan *plan);

static inline const hu_wire *hu_comm_wire(const hu_comm_plan *plan, int32_t layer) {
    return plan->layer[layer].exact ? &plan->exact : &plan->narrow;
}

/* Whether the pieces of a layer carry scales of their own. */
static inline bool hu_comm_is_fresh(const hu_comm_plan *plan, int32_t layer) {
    return plan->options.scaling->fresh && !plan->layer[layer].exact;
}

/* Whether a layer travels in codes of the scaling's own (comm/code.h). */
static inline bool hu_comm_has_code(const hu_comm_plan *plan, int32_t layer) {
    return plan->options.scaling->code && !plan->layer[layer].exact;
}

/* Elements first .. first + count - 1 of a layer: those of a range of pieces. */
typedef struct hu_comm_range {
    int64_t first, count;
} hu_comm_range;
hu_comm_range hu_comm_range_of(const hu_comm_plan *plan, int32_t layer, int32_t piece,
                               int32_t pieces);

/* Where the scaling has codes of its own (comm/code.h): most blocks that a piece of a layer can
 * have; 0 where units are agreed upon. */
int64_t hu_comm_blocks(const hu_comm_plan *plan, int32_t layer);

/* Blocks of pieces first .. first + count - 1. */
int64_t hu_comm_blocks_of(const hu_comm_plan *plan, int32_t layer, int32_t first, int32_t count);

/* Bytes of a range of pieces of a layer in a message. */
size_t hu_comm_code_bytes(const hu_comm_plan *plan, int32_t layer, int32_t first, int32_t count,
                          bool is_sum);

/* "2 bits": what stands for the format of numbers with codes. */
void hu_comm_code_print(const hu_comm_options *options, char *text, size_t capacity);

/* Bytes of the message of an action on all layers of a bucket, its header included
 * (comm/message.h). */
size_t hu_comm_message_bytes(const hu_comm_plan *plan, int32_t bucket,
                             const hu_comm_action *action);

/* Workers agree upon a maximum per layer of a bucket: that many bytes for each layer, and how what
 * one has heard joins what it knows, [layers of the bucket] of them. 0 bytes: upon nothing. */
size_t hu_comm_agreed_bytes(const hu_comm_plan *plan);
void hu_comm_agree(const hu_comm_plan *plan, int32_t layers, const int8_t *heard, int8_t *known);

/* Largest magnitude of finite numbers among x[n], as bits; *has_nonfinite: there are others. */
uint32_t hu_comm_top(int64_t n, const float *x, bool *has_nonfinite);

#endif
