/* comm/plan.h - what a reduction is: tensors, buckets, format, schedule and scaling, and its codes.
 */
#ifndef HU_COMM_PLAN_H
#define HU_COMM_PLAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>
#include <halfulp/random.h>
#include <halfulp/round.h>
#include <halfulp/status.h>

#include "kernel/wire/wire.h"

/* ---- Schedules ---- */

/* Who sends what to whom when: reductions as lists that depend on numbers alone.
 *
 * A tensor is cut into pieces: piece c of P holds its elements n c / P .. n (c + 1) / P - 1. A
 * schedule gives every worker a list of actions on ranges of pieces. The same lists drive the
 * workers of one process, the processes of MPI and the model of their time, so that the result is a
 * function of the list, never of a transport. A schedule is one record and one line
 * here. Source: APS paper, section 3.4 (ring, masters and workers); Thakur et al., "Optimization of
 * collective communication operations in MPICH", 2005 (halving and doubling, pairwise exchange).
 */

typedef enum hu_comm_act {
    HU_COMM_SEND,   /* own pieces go to the peer */
    HU_COMM_TAKE,   /* the peer's pieces replace the own */
    HU_COMM_ADD,    /* the peer's pieces are added to the own, rounded */
    HU_COMM_KEEP,   /* the peer's pieces wait in a slot */
    HU_COMM_COMBINE /* own pieces and those in the slots become their sum, in the order of slots */
} hu_comm_act;

/* One thing that one worker does. In a step it sends at most once and receives at most once; what
 * it sends is what it held before the step. */
typedef struct hu_comm_action {
    hu_comm_act act;
    int32_t step;         /* from 0 */
    int32_t peer;         /* COMBINE: unused */
    int32_t first, count; /* pieces */
    int32_t slot;         /* KEEP: where; COMBINE: the slot that is the worker's own */
    int32_t slots;        /* COMBINE: summands, the own one included */
    int32_t level;        /* COMBINE: 0 for the sum of gradients, 1 for the sum of such sums */
    bool is_sum;          /* SEND, TAKE, KEEP where owners of pieces add: what travels is a sum, not
                             a gradient. Of lists with ADD unused */
} hu_comm_action;

/* What one worker does, in order. */
typedef struct hu_comm_list {
    hu_comm_action *action; /* [count], owned */
    int32_t count;
    int32_t steps;  /* of the whole schedule: the same for all workers */
    int32_t pieces; /* into which a tensor is cut */
    size_t capacity;
    hu_status status; /* of the first action for which there was no memory */
} hu_comm_list;

/* What a list depends on. */
typedef struct hu_comm_shape {
    int32_t workers;
    int32_t group; /* workers of one group; schedules without groups ignore it */
    bool wide;     /* sums are made in float32 by the owner of the pieces, see comm/plan.h */
} hu_comm_shape;

typedef struct hu_comm_schedule {
    const char *name; /* "ring" */
    const char *help;
    bool has_groups;  /* is written NAME:K */
    bool adds_on_way; /* partial sums travel: neither float32 sums nor Kahan's are possible */
    int32_t (*pieces)(const hu_comm_shape *shape);
    void (*write)(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list);
} hu_comm_schedule;

/* X(identifier). The one list of schedules. */

// clang-format off
#define HU_COMM_SCHEDULE_LIST(X) \
    X(seq)                       \
    X(ring)                      \
    X(hier)                      \
    X(hier2d)                    \
    X(halving)                   \
    X(pairwise)

// clang-format on

#define HU_COMM_SCHEDULE_DECLARE(identifier)                                                       \
    extern const hu_comm_schedule hu_comm_schedule_##identifier;
HU_COMM_SCHEDULE_LIST(HU_COMM_SCHEDULE_DECLARE)
#undef HU_COMM_SCHEDULE_DECLARE

/* Schedule number i in the order of the list, NULL after the last. Borrowed: valid forever. */
const hu_comm_schedule *hu_comm_schedule_at(size_t i);

/* "ring", "hier:16" -> schedule and group size (0 where there are no groups). HU_ERR_UNKNOWN with
 * all names; HU_ERR_PARSE where a group size is missing, wrong or too much. */
hu_status hu_comm_schedule_parse(const char *text, const hu_comm_schedule **schedule,
                                 int32_t *group);

/* "hier:16"; capacity bytes, 32 are enough. */
void hu_comm_schedule_print(const hu_comm_schedule *schedule, int32_t group, char *text,
                            size_t capacity);

/* HU_ERR_ARGUMENT where the schedule cannot serve the shape: says what was found and expected. */
hu_status hu_comm_schedule_check(const hu_comm_schedule *schedule, const hu_comm_shape *shape);

/* The list of one worker of a shape that the check has passed; free it with hu_comm_list_free.
 * HU_ERR_MEMORY. */
hu_status hu_comm_list_make(const hu_comm_schedule *schedule, const hu_comm_shape *shape,
                            int32_t rank, hu_comm_list *list);
void hu_comm_list_free(hu_comm_list *list);

/* First element of piece `piece` of a tensor of n elements that is cut into `pieces`. */
static inline int64_t hu_comm_edge(int64_t n, int32_t piece, int32_t pieces) {
    /* n below 2^62 / pieces: 128 bits keep the product exact for all. */
    return (int64_t)((__int128)n * piece / pieces);
}

/* ---- Scalings ---- */

/* How gradients fit the range of the format that they travel in.
 *
 * A scaling multiplies the numbers by a power of two, 2^-k, before they are rounded, or sends them
 * in codes of its own (comm/plan.h). A scaling is one file scaling_<name>.c and one line here.
 * Source: APS paper, Algorithm 1 and section 3.3; its Table 2 for those with codes.
 */

/* Exponents as they travel: 8 bits. */
enum {
    HU_COMM_NOTHING = -128,  /* all numbers are zero */
    HU_COMM_NONFINITE = 127, /* an infinity or a NaN is among them: they travel without a scale */
    HU_COMM_EXPONENT_LEAST = -127,
    HU_COMM_EXPONENT_MOST = 126
};

typedef struct hu_comm_code hu_comm_code;

typedef struct hu_comm_scaling {
    const char *name; /* "aps" */
    const char *help;
    bool takes_constant; /* is written NAME:K */
    bool wide;           /* owners add in float32 and round once; with codes: add what they stand
                            for, without rounding */
    bool fresh;          /* every piece of every level has a scale of its own, in the message; no
                            exponents are agreed upon */

    /* Exponent of a tensor whose largest finite magnitude is top > 0, at one worker. All workers
     * take the largest of theirs, E, and k = E - emax of the format. NULL: nothing is agreed. */
    int32_t (*exponent)(const hu_format *format, int32_t workers, double top);

    const hu_comm_code *code; /* numbers travel in codes of its own; NULL: in a format */
    const char *form;         /* what may stand after its name: "[:C]"; NULL: nothing, or K */
    int32_t usual;            /* constant of the name alone, where it has a form */
    bool (*read)(const char *text, int32_t *constant); /* what stands after the colon; false: it
                                                          is not of the form */
    void (*print)(int32_t constant, char *text, size_t capacity); /* the same, with its colon */
} hu_comm_scaling;

/* X(identifier): the one list of scalings. */

// clang-format off
#define HU_COMM_SCALING_LIST(X) \
    X(none)                     \
    X(constant)                 \
    X(aps)                      \
    X(aps_tight)                \
    X(aps_wide)                 \
    X(aps2)                     \
    X(terngrad)                 \
    X(qsgd)                     \
    X(flex)

// clang-format on

#define HU_COMM_SCALING_DECLARE(identifier)                                                        \
    extern const hu_comm_scaling hu_comm_scaling_##identifier;
HU_COMM_SCALING_LIST(HU_COMM_SCALING_DECLARE)
#undef HU_COMM_SCALING_DECLARE

/* Scaling number i in the order of the list, NULL after the last. Borrowed: valid forever. */
const hu_comm_scaling *hu_comm_scaling_at(size_t i);

/* "aps", "constant:10", "qsgd:4/512" -> scaling and its constant: the K of 2^K, or what its form
 * says; 0 where it takes none. HU_ERR_UNKNOWN with all names, HU_ERR_PARSE. */
hu_status hu_comm_scaling_parse(const char *text, const hu_comm_scaling **scaling,
                                int32_t *constant);

/* "constant:10"; capacity bytes, 32 are enough. */
void hu_comm_scaling_print(const hu_comm_scaling *scaling, int32_t constant, char *text,
                           size_t capacity);

/* The nearest exponent that is one of numbers. A tiny one becomes larger, which only costs range; a
 * huge one smaller, and the numbers overflow, rightly. */
int32_t hu_comm_clamp(int32_t exponent);

/* Exponent that a worker sends for numbers of which the largest finite magnitude has the bits top:
 * within 8 bits, NOTHING for 0, NONFINITE where has_nonfinite. */
int32_t hu_comm_exponent(const hu_comm_scaling *scaling, const hu_format *format, int32_t workers,
                         uint32_t top_bits, bool has_nonfinite);

/* The k of the exponent that all workers agreed upon; 0 for NOTHING and NONFINITE. */
int32_t hu_comm_scale_of(const hu_format *format, int32_t exponent);

/* ---- Counts ---- */

/* The roundings whose losses are fed back: of gradients and partial sums, of an owner's sum, of an
 * owner's sum of sums. */
enum { HU_COMM_LOSSES = 3 };

/* What one step did to the numbers of a layer, at one worker. Exponents are those of the numbers as
 * they are sent, x 2^-k (comm/plan.h): these are what the format holds or loses. */
typedef struct hu_comm_counts {
    hu_round_counts rounded; /* gradients into the format of the wire */
    hu_round_counts added;   /* sums into it */
} hu_comm_counts;

/* ---- Plans ---- */

/* Gradients that travel as small integers times a unit, in place of a number format:
 * what a scaling with codes of its own (comm/plan.h) does with numbers.
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
 * Blocks begin anew with every piece of a layer (comm/plan.h), the last of a piece is shorter.
 */

typedef struct hu_comm_options hu_comm_options; /* comm/plan.h */

/* Where sums of codes that are added on the way end. */
enum { HU_COMM_WHOLE_LEAST = -32768, HU_COMM_WHOLE_MOST = 32767 };

struct hu_comm_code {
    int32_t agreed_bytes; /* that a worker sends per layer before its numbers: 1, an exponent as in
                             comm/plan.h; 4, a magnitude as bits of float32; 0, none */
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
    const hu_comm_schedule *schedule; /* Borrowed, forever, as the scaling */
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

/* Buckets on their way at once, bucket b with b + HU_COMM_FLIGHTS after it: while the message of
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

/* Kinds of roundings whose losses error feedback keeps, 0 without it. */
int32_t hu_comm_loss_kinds(const hu_comm_plan *plan);

#endif
