/* engine/slot.h - one tensor of a run: its edge record, its storage and its place in the arena. */
#ifndef HU_ENGINE_SLOT_H
#define HU_ENGINE_SLOT_H
#include <stddef.h>
#include <stdint.h>

#include "graph/edge.h"
#include "graph/graph.h"
#include "kernel/round/round.h"
#include "kernel/uniform/uniform.h"
#include "tensor/storage.h"

/* ---- buffer ---- */

/* One buffer of a run's arena: its size, its lifetime and what it holds. */

/* What a buffer of the arena holds; the ledger's rows. */
#define HU_BUFFER_ROLES(X)                                                                         \
    X(ACTIVATION, "activations")                                                                   \
    X(MASK, "masks")                                                                               \
    X(GRADIENT, "gradients")                                                                       \
    X(WEIGHT, "weight copies") X(WEIGHT_GRADIENT, "weight gradients") X(SCRATCH, "scratch")

typedef enum hu_buffer_role {
#define HU_BUFFER_ENUM(name, text) HU_BUFFER_##name,
    HU_BUFFER_ROLES(HU_BUFFER_ENUM)
#undef HU_BUFFER_ENUM
        HU_BUFFER_ROLE_COUNT
} hu_buffer_role;

const char *hu_buffer_role_name(hu_buffer_role role);

/* Passes that follow each other: of a step without turns, or of an evaluation and each turn.
 * Nothing but parameters and their gradients outlives one of them. */
enum { HU_COURSES = 1 + HU_PHASES_MOST };

typedef struct hu_life {
    int32_t first, last; /* alive from time first to time last, both included (planner/memory.h) */
} hu_life;

typedef struct hu_buffer {
    size_t bytes;
    hu_life life[HU_COURSES];
    hu_buffer_role role;
    size_t offset; /* in the arena, given by hu_arena_place; a multiple of 64 */
} hu_buffer;

/* Nobody has used it yet. */
void hu_buffer_forget(hu_buffer *buffer);

/* It is used in a course at a time. */
void hu_buffer_use(hu_buffer *buffer, int course, int32_t time);

bool hu_buffer_is_used(const hu_buffer *buffer);
bool hu_buffer_is_alive(const hu_buffer *buffer, int course, int32_t time);

/* True if it is alive behind a time of some course. */
bool hu_buffer_outlives(const hu_buffer *buffer, int32_t time);

/* True if both are alive at some time of some course. */
bool hu_buffers_meet(const hu_buffer *a, const hu_buffer *b);

typedef struct hu_slot {
    hu_edge *edge;
    hu_quantizer prepared; /* what rounder and storage are prepared for */
    uint32_t
        capacity_bits; /* the edge's; 0 if the plan is for a quantizer with a scale or blocks */
    bool has_master;   /* unrounded, the numbers are read elsewhere: a parameter */
    hu_storage storage;
    hu_rounder rounder;      /* of number formats: of the present scale */
    hu_blocker *blocker;     /* of block formats, else NULL */
    hu_uniformer *uniformer; /* of uniform quantizers, else NULL */
    hu_uniform_scale *scale; /* [scales] of uniform quantizers */
    int64_t scales;          /* 1, or channels of a parameter */
    int32_t exponent;        /* k of the tensor's scale 2^k */
    uint64_t stream;         /* random sequence of stochastic rounding */
    int64_t elements;        /* of one row: a sample, or a whole parameter */
    int64_t steps;           /* parts of a row that loops read and write one by one, else 1 */
    bool in_loop;            /* a loop rounds the parts, each alone */
    uint32_t buffer;         /* index of the run's buffer, HU_NONE: no memory of its own */
    uint32_t residual;       /* buffer of the residuals of a use that learns, HU_NONE: none kept */
    uint32_t staging;        /* buffer of float32 rows of a tensor whose scale is not known yet */
    uint32_t history;        /* place of its maxima in the run's, HU_NONE: keeps none */
    uint32_t maxima;         /* how many these are */
    uint32_t range;          /* place of its running range in the run's, HU_NONE: keeps none */
    uint32_t top;            /* largest magnitude seen in this step (bits), HU_NONE: none yet */
    unsigned char *data;
    unsigned char *residuals;
    float *staged; /* rows of the staging buffer */
} hu_slot;

/* What a thread met of one tensor in the present region. */
typedef struct hu_tally {
    hu_round_counts counts;
    uint32_t top;    /* largest magnitude (bits), where scales need it */
    float low, high; /* range, where uniform quantizers need it */
} hu_tally;

/* What rounding of one step needs to know. */
typedef struct hu_slot_context {
    uint64_t seed, step;
    int64_t
        first_row; /* place of row 0 in the whole batch: random numbers are counted from there */
    bool scan;     /* a repeated pass: counts in the tensors that are not rounded, and only there */
    bool counts_all; /* counts in them too */
} hu_slot_context;

/* Elements that are rounded together and share a scale, a range or the ends of blocks: a row, or a
 * part of it. */
static inline int64_t hu_slot_rounded_elements(const hu_slot *slot) {
    return slot->in_loop ? slot->elements / slot->steps : slot->elements;
}

/* How the slot is stored where a run asks for a mode: parts of a row begin at whole bytes, and are
 * kept in float32 where they have scales of their own, or codes that are not read in parts. */
hu_storage_mode hu_slot_mode(const hu_slot *slot, hu_storage_mode mode);

/* Prepares rounding and storage for the edge's quantizer: none, or a number format. */
hu_status hu_slot_prepare(hu_slot *slot, hu_storage_mode mode);

/* True if the slot is prepared for the edge's quantizer; true if it could be within its capacity.
 */
bool hu_slot_is_prepared(const hu_slot *slot);
bool hu_slot_has_room(const hu_slot *slot);

/* True for quantizers between which a capacity lets a slot change: none, and number formats without
 * a scale. */
bool hu_quantizer_is_plain(const hu_quantizer *quantizer);

/* The same, or one that changes to its like: uniform, or scaled by its present maximum. */
bool hu_quantizer_can_change(const hu_quantizer *quantizer);

/* True if the scale of a quantizer's numbers, or of blocks of them, comes from numbers that it
 * rounds. */
static inline bool hu_quantizer_looks(const hu_quantizer *quantizer) {
    return hu_quantizer_needs_maximum(quantizer) || hu_quantizer_needs_range(quantizer) ||
           quantizer->kind == HU_QUANTIZER_BLOCK;
}

/* True if no number can be rounded before all of the tensor are there. In a loop that is never so:
 * what a scale or a range comes from is the part that is rounded. */
static inline bool hu_slot_waits(const hu_slot *slot) {
    return !slot->in_loop && (hu_quantizer_needs_maximum(&slot->edge->quantizer) ||
                              hu_quantizer_needs_range(&slot->edge->quantizer));
}

/* True if rows are rounded and packed at once: what they became must be read from storage. */
static inline bool hu_slot_packs_rows(const hu_slot *slot) {
    return hu_storage_is_blocks(&slot->storage) || hu_storage_is_uniform(&slot->storage);
}

/* Sets the range of a uniform quantizer's tensor. What is stored must not be read any more. */
void hu_slot_set_range(hu_slot *slot, float low, float high);

/* The same for the one row x of a parameter, whose channels may have ranges of their own. */
void hu_slot_set_ranges(hu_slot *slot, const float *x);

/* Sets the scale of the tensor from the bits of a largest magnitude, where the quantizer has one.
 * What is stored must not be read any more. */
void hu_slot_set_scale(hu_slot *slot, uint32_t top_bits);

/* Rounds rows first .. of x, counts, and stores them; x is then of no use. counts is added to,
 * NULL: not counted. */
void hu_slot_store(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, hu_round_counts *counts);

/* Rounds without storing. */
void hu_slot_round(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, hu_round_counts *counts);

/* The same to y, of a slot that rounds: y is x, or does not overlap it. */
void hu_slot_round_to(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                      int64_t rows, const float *x, float *y, hu_round_counts *counts);

/* Rounds n elements of a row from `first` on: a part. Where the slot is in a loop, a scale or a
 * range is that of these elements. */
void hu_slot_round_part(const hu_slot *slot, const hu_slot_context *context, int64_t row,
                        int64_t first, int64_t n, float *x, hu_round_counts *counts);

/* Rounds rows first .. of x to y, counts, and stores what y then holds. x and y do not overlap. */
void hu_slot_store_copy(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                        int64_t rows, const float *x, float *y, hu_round_counts *counts);

/* Counts and stores rows that are on the slot's grid already, as if they were rounded; stores:
 * false only counts. Only for number formats without a scale. */
void hu_slot_store_on_grid(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                           int64_t rows, const float *x, bool stores, hu_round_counts *counts);

/* Rounds the one row of a parameter from x, which stays as it is, counts, and stores it. x may be
 * the slot's own data if it does not round. */
void hu_slot_store_row(const hu_slot *slot, const hu_slot_context *context, const float *x,
                       hu_round_counts *counts);

#endif
