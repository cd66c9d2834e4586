/* comm/plan.h - what a reduction is: tensors, buckets, format, schedule and scaling, and its codes.
 */
#ifndef HU_COMM_PLAN_H
#define HU_COMM_PLAN_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/random.h>

#include "comm/scaling.h"
#include "comm/schedule.h"
#include "kernel/wire/wire.h"

/* ---- code ---- */

/* Gradients that travel as small integers times a unit, in place of a number format:
 * what a scaling with codes of its own (comm/scaling.h) does with numbers.
 *
 * A code is a whole number c, kept in memory as float32 and sent as two's complement in `bits`
 * bits; its number is c times a unit. Units are of two kinds:
 *
 *   agreed     one per layer, from what all workers agree upon: codes of all workers have it, and
 *              the code of a sum is the sum of the codes
 *   of blocks  every block of numbers of a piece has its own, sent before the codes as float32;
 *              owners add numbers in float32, and sums travel in float32
 *
 * A unit that is NaN makes numbers of NaN: so infinities and NaNs come through, whatever the code.
 * Blocks begin anew with every piece of a layer (comm/schedule.h), the last of a piece is shorter.
 */

typedef struct hu_comm_options hu_comm_options; /* comm/plan.h */

/* Where sums of codes that are added on the way end. */
enum { HU_COMM_WHOLE_LEAST = -32768, HU_COMM_WHOLE_MOST = 32767 };

struct hu_comm_code {
    int32_t agreed_bytes; /* that a worker sends per layer before its numbers: 1, an exponent as in
                             comm/scaling.h; 4, a magnitude as bits of float32; 0, none */
    bool adds_on_way;     /* partial sums are codes of 16 bits, too */

    /* Bits of a code on the wire; is_sum: of a sum, 32 where that is a float32. */
    uint32_t (*bits)(const hu_comm_options *options, bool is_sum);

    /* Numbers of a block; NULL: units are agreed upon. */
    int64_t (*block)(const hu_comm_options *options);

    /* What becomes of a layer's gradient before anything is agreed upon; NULL: nothing. */
    void (*prepare)(const hu_comm_options *options, int64_t n, float *x);

    /* Unit of a layer from what all agreed upon (an exponent, or bits); of blocks: NULL. */
    float (*unit)(int32_t exponent, uint32_t top_bits);

    /* Unit of a block x[n]; where units are agreed upon: NULL. */
    float (*unit_of)(const hu_comm_options *options, int64_t n, const float *x);

    /* code[n] of x[n], whole numbers; unit > 0; word first + i of the key serves x[i]. */
    void (*encode)(const hu_comm_options *options, float unit, int64_t n, const float *x,
                   float *code, const hu_random_key *key, uint64_t first);
};

/* Whole numbers code[n] <-> two's complement of `bits` bits, the least significant bit first,
 * filled up to a whole byte. bits: 2..31. */
void hu_comm_pack_whole(uint32_t bits, int64_t n, const float *code, uint8_t *to);
void hu_comm_unpack_whole(uint32_t bits, int64_t n, const uint8_t *from, float *code);

/* One draw: floor(x) or the next whole number, which has the probability x - floor(x); x >= 0. */
float hu_comm_draw_whole(double x, uint32_t word);

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

/* Whether a layer travels in codes of the scaling's own (comm/plan.h). */
static inline bool hu_comm_has_code(const hu_comm_plan *plan, int32_t layer) {
    return plan->options.scaling->code && !plan->layer[layer].exact;
}

/* Elements first .. first + count - 1 of a layer: those of a range of pieces. */
typedef struct hu_comm_range {
    int64_t first, count;
} hu_comm_range;
hu_comm_range hu_comm_range_of(const hu_comm_plan *plan, int32_t layer, int32_t piece,
                               int32_t pieces);

/* Where the scaling has codes of its own (comm/plan.h): most blocks that a piece of a layer can
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
 * (comm/transport.h). */
size_t hu_comm_message_bytes(const hu_comm_plan *plan, int32_t bucket,
                             const hu_comm_action *action);

/* Workers agree upon a maximum per layer of a bucket: that many bytes for each layer, and how what
 * one has heard joins what it knows, [layers of the bucket] of them. 0 bytes: upon nothing. */
size_t hu_comm_agreed_bytes(const hu_comm_plan *plan);
void hu_comm_agree(const hu_comm_plan *plan, int32_t layers, const int8_t *heard, int8_t *known);

/* Largest magnitude of finite numbers among x[n], as bits; *has_nonfinite: there are others. */
uint32_t hu_comm_top(int64_t n, const float *x, bool *has_nonfinite);

#endif
