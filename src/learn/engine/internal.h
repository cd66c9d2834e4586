/* engine/internal.h - the inside of a run. Only for engine and planner: planner fills it, passes
 * use it. Others ask engine/run.h.
 *
 * The batch is cut into chunks of a fixed size; a chunk is one thread's work, and everything that
 * sums over the batch is a partial result per chunk, or per span of chunks that one thread takes in
 * order, merged in a tree over their index: threads do not change bits.
 */
#ifndef HU_ENGINE_INTERNAL_H
#define HU_ENGINE_INTERNAL_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/histogram.h>

#include "base/checked.h"
#include "engine/run.h"
#include "graph/edge.h"
#include "graph/graph.h"
#include "graph/tensor_order.h"
#include "kernel/round/round.h"
#include "kernel/uniform/uniform.h"
#include "tensor/storage.h"

/* ---- slot.c: one tensor of a run, its edge record, its storage and its place in the arena ---- */

/* One buffer of a run's arena: its size, its lifetime and what it holds. */

/* Passes that follow each other: of a step without turns, or of an evaluation and each turn.
 * Nothing but parameters and their gradients outlives one of them. */
enum { HU_COURSES = 1 + HU_PHASES_MOST };

typedef struct hu_life {
    int32_t first, last; /* alive from time first to time last, both included (planner/memory.c) */
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

/* True if it is alive after a time of some course. */
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
    float factor;            /* of a real scale: numbers are multiplied by it before */
    uint64_t stream;         /* random sequence of stochastic rounding */
    int64_t elements;        /* of one row: a sample, or a whole parameter */
    int64_t line;            /* last extent of the value: what blocks are cut from */
    int64_t steps;           /* parts of a row that loops read and write one by one, else 1 */
    bool in_loop;            /* a loop rounds the parts, each alone */
    bool is_read_at_once;    /* the visit that stores rows reads them, too: rehearsals say so */
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

/* A tensor that somebody looks at: a value, a sum, or one contribution to a gradient. */
typedef struct hu_watched {
    hu_tensor tensor;
    uint32_t part; /* of a gradient: which of its contributions, in the order of the consumers */
    int64_t rows, elements;
    float *made, *rounded; /* [rows, elements] */
    bool has_step;         /* they are of a step that began after it was watched */
} hu_watched;

typedef struct hu_watch {
    hu_watched *entry; /* [count] */
    uint32_t count;
    hu_watched **of_tally; /* [hu_tally_count] NULL: nobody looks */
} hu_watch;

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

/* Prepares rounding and storage for the edge's quantizer. Blocks and uniform numbers need what
 * planning has allocated for them: blocker, or uniformer and scale. */
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

/* True if no number can be rounded before all of the tensor are present. In a loop that is never
 * so: what a scale or a range comes from is the part that is rounded. */
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

/* Bits of the largest finite magnitude of n numbers of whole lines: of what is rounded. */
uint32_t hu_slot_top(const hu_slot *slot, int64_t n, const float *x);

/* True if rounding and packing is one pass over rows, whose rounded numbers need not be written. */
bool hu_slot_encodes(const hu_slot *slot);

/* Rounds rows first .. of x, counts, and stores them. x then has the rounded numbers if they are
 * wanted and the slot does not pack rows; it is of no use otherwise. counts is added to, NULL: not
 * counted. */
void hu_slot_store(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, bool is_wanted, hu_round_counts *counts);

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

/* ---- The inside of a run ---- */

/* Nodes that run in the visits of one region, in ascending order. */
typedef struct hu_members {
    uint32_t *node; /* [count] */
    uint32_t count;
} hu_members;

/* Lists of nodes that run as fused nodes in another node's region; each list is linked through
 * hu_exec.next. */
typedef enum hu_fused_list {
    HU_GUESTS_REDUCED_FORWARD, /* ascending; indexed by hu_pass, like the next one */
    HU_GUESTS_REDUCED_BACKWARD,
    HU_GUESTS_PUSHED, /* descending */
    HU_FUSED_LISTS
} hu_fused_list;

/* Most partial results that the chunks leave of a node's parameter gradients. */
enum { HU_PARTIALS_MOST = 16 };

/* Memory of the threads in the visits of a region: bytes of each, the buffer of all, and when the
 * visits are (hu_rehearsal). */
typedef struct hu_visit_scratch {
    size_t bytes;
    uint32_t buffer; /* HU_NONE: none is needed */
    int32_t time;
} hu_visit_scratch;

/* One node of the plan. How nodes are joined into regions: planner/fusion.c. */
typedef struct hu_exec {
    hu_node_info info;
    hu_operand_formats operands; /* that the state was made for */
    void *state;
    uint32_t mask, stats, dpartial;               /* buffers, HU_NONE if not needed */
    uint32_t partial[2], workspace[2], params[2]; /* by pass */
    hu_visit_scratch scratch[2]; /* by pass, of the region that begins with this node */
    size_t mask_bytes, partial_count[2];
    int64_t dparam_elements;
    int64_t span;             /* chunks whose parameter gradients are added one after the other */
    uint64_t absent;          /* numbers of out[0] that the present pass has not (op/op.h) */
    bool sums_in_batch_order; /* parameter gradients by the op's accumulate (op/op.h) */
    bool is_stacked; /* of a region: its partial parameter gradients lie on a stack (facts.h) */

    int kind;              /* index of its op in hu_op_table */
    bool is_lazy;          /* forward: runs in the visits of who reads its output */
    uint32_t lazy_depth;   /* lazy nodes that its reader runs one within the other, up to it */
    bool is_pulled;        /* backward: runs in the visits of who made its input, which store its
                              parameter gradients too, if chunks leave any */
    uint32_t backward_in;  /* region of its backward part, itself if its own; HU_NONE: none */
    uint32_t reduce_in[2]; /* region that leaves its partial results, HU_NONE: loops of its own */
    /* first: of the region that this node is, its first fused node, or HU_NONE; next: the fused
     * node after this one in the same region, or HU_NONE. */
    uint32_t first[HU_FUSED_LISTS], next[HU_FUSED_LISTS];
    hu_members members[2];
} hu_exec;

/* Where numbers of a tensor lie during one visit. */
typedef struct hu_seen {
    uint64_t visit; /* number of the visit that this holds for */
    void *rows;
    bool is_made; /* in this visit */
    bool is_away; /* and stored, so that it must be read again */
} hu_seen;

/* What the visit of a loop keeps of a node from step to step: rows of the chunk's samples. */
typedef struct hu_loop_rows {
    const float *initial; /* of a state: what it is in step 0 */
    float *carried;       /* of a state: the gradient that this step gives to the one before */
    const float *held[HU_MAX_HELD]; /* inputs that steps read as wholes */
    float *gathered[HU_MAX_HELD];   /* their gradients: all steps of sample 0, of sample 1, ... */
    float *in, *dout; /* of a node with parameters: all steps of sample 0, of sample 1, ... */
} hu_loop_rows;

/* What a thread owns during a pass. */
typedef struct hu_thread {
    hu_op_call *call;              /* [node_count] */
    hu_tally *tally;               /* [hu_tally_count], see there */
    hu_seen *value, *contribution; /* [value_count], [use_count] */
    hu_seen *input;                /* [use_count] copies that are rounded at reading, or NULL */
    hu_loop_rows *loop;            /* [node_count] of nodes in loops */
    hu_seen *mask;                 /* [node_count] of nodes whose mask does not outlive the visit */
    uint64_t visits;
    double *seconds; /* [hu_run_work_count()] of passes that were timed */
    hu_gemm_counts (*product_counts)[HU_PRODUCT_ROLES]; /* [node_count] of the nodes that run */
    hu_round_counts (*operand_counts)[HU_OPERANDS];     /* [node_count] likewise */
    int64_t units[HU_LOSSES_MOST];                      /* of the chunks that it has loaded */
} hu_thread;

/* A state that goes on from pass to pass (engine/recurrent_state.c). */
typedef struct hu_carried {
    uint32_t node;         /* of the state, in its loop */
    uint32_t buffer[2];    /* [streams] rows of each bank */
    hu_storage storage[2]; /* how they are stored */
} hu_carried;

/* What the rehearsal of the passes notes while it runs (engine/chunk.h). */
typedef struct hu_rehearsal {
    bool is_on;
    int course;    /* 0: of a step without turns, or of an evaluation; else number of the turn */
    int32_t time;  /* of the visits; what regions begin with is one earlier */
    bool *has_met; /* [node_count] nodes that ran in the present region, */
    uint32_t *met; /* [node_count] and the same in the order in which they did */
    uint32_t met_count;
} hu_rehearsal;

/* A number that is no id of its value, the first of a pass. */
typedef struct hu_bad_id {
    hu_value_id value; /* HU_NONE: there is none */
    int64_t place;     /* sample of the pass times elements, plus the place in the sample */
    float found;
} hu_bad_id;

typedef struct hu_run {
    const hu_graph *graph;
    hu_bad_id bad_id;
    hu_edge_table *edges; /* Borrowed, like graph and weights: valid as long as the run */
    hu_weights *weights;
    hu_run_options options;
    hu_slot *value;    /* [value_count] */
    hu_slot *use;      /* [use_count] rounding at reading; NULL: no use has a record of its own */
    hu_slot *grad;     /* [use_count] */
    hu_slot *grad_sum; /* [value_count] rounding only, but for parameters with several uses */
    hu_slot *grad_weights; /* [value_count] rounding only; without an edge where parameter gradients
                              read what grad_sum made. NULL: they do everywhere */
    hu_exec *exec;         /* [node_count] */
    uint32_t *made_in;     /* [value_count] region whose forward visits make a lazy value first */
    uint32_t *stored_as;   /* [use_count] use whose stored contribution is the same, or itself */
    bool *is_remade;  /* [value_count] not lazy, stored for the forward pass alone: made again for
                         every reader of the backward pass */
    bool *is_virtual; /* [value_count] never stored: lazy, and made again for every reader, or read
                         in the step of a loop that makes it, or taken over (hu_taker) */
    hu_buffer *buffers; /* [buffer_count] */
    uint32_t buffer_count, buffer_capacity;
    unsigned char *arena;
    size_t arena_bytes;
    hu_visit_scratch loading;                  /* of inputs and targets */
    uint64_t role_bytes[HU_BUFFER_ROLE_COUNT]; /* of the arena when most bytes are alive */
    hu_thread *thread;                         /* [options.threads] */
    void **pointers;                           /* argument arrays of all calls */
    bool *has_contributed; /* [use_count] of parameters: in the present backward pass */
    hu_carried *carried;   /* [carried_count] */
    uint32_t carried_count;
    uint32_t carried_room;        /* buffer for numbers of the longest row of a bank */
    int carried_from, carried_to; /* banks that passes read and write */
    int64_t streams;              /* rows of a bank */
    uint32_t
        *history; /* maxima of earlier steps (engine/tensor_scale.c); NULL: no scale is delayed */
    uint32_t history_words;
    double *learned; /* [use_count][chunks] (engine/learn.c); NULL: no use learns */
    float *ranges;   /* running ranges (engine/tensor_scale.c); NULL: none is kept */
    uint32_t range_count;
    hu_histogram
        *histogram; /* [hu_tally_count] (engine/exponent_record.c); NULL: nothing is recorded */
    uint64_t record_step;     /* step that the histograms are of */
    bool has_record, records; /* the histograms hold a step; passes record now */
    hu_watch *watch;          /* tensors that somebody looks at (engine/watch.c); NULL: none */
    bool repeats;             /* what runs has run in an earlier turn of the step */
    hu_rehearsal rehearsal;
    hu_slot_context context;
    hu_pass_options pass;
    int64_t chunks;                    /* of the present pass */
    bool overflowed;                   /* a format could not encode what was rounded */
    const char *overflow_name;         /* the tensor; Borrowed: valid as long as the graph */
    const char *unencodable_parameter; /* found when the masters were rounded, or NULL */
    bool overflow_in_gradient;
    uint32_t counted_nodes; /* of the forward pass: the first ones, whose outputs are all counted;
                               where a format stopped it, up to what it could not encode */
} hu_run;

/* Index of a tensor's tally: forward values, contributions by use, gradient sums by value, inputs
 * that are rounded at reading by use, sums that parameter gradients read apart by value. */
static inline uint32_t hu_tally_of_value(const hu_run *run, hu_value_id v) {
    (void)run;
    return v;
}
static inline uint32_t hu_tally_of_use(const hu_run *run, uint32_t use) {
    return run->graph->value_count + use;
}
static inline uint32_t hu_tally_of_sum(const hu_run *run, hu_value_id v) {
    return run->graph->value_count + run->graph->use_count + v;
}
static inline uint32_t hu_tally_of_input(const hu_run *run, uint32_t use) {
    return 2 * run->graph->value_count + run->graph->use_count + use;
}
static inline uint32_t hu_tally_of_weights(const hu_run *run, hu_value_id v) {
    return hu_tally_of_input(run, run->use ? run->graph->use_count : 0) + v;
}
static inline uint32_t hu_tally_count(const hu_run *run) {
    return hu_tally_of_weights(run, run->grad_weights ? run->graph->value_count : 0);
}

static inline void *hu_buffer_data(const hu_run *run, uint32_t buffer) {
    return buffer == HU_NONE || !run->arena ? NULL : run->arena + run->buffers[buffer].offset;
}

/* Samples of chunk c of the present pass. */
static inline int64_t hu_chunk_rows(const hu_run *run, int64_t c) {
    int64_t left = run->pass.samples - c * run->options.chunk;
    return left < run->options.chunk ? left : run->options.chunk;
}

/* True if what runs is a training step's own: not an evaluation, and nothing that is repeated. */
static inline bool hu_is_step(const hu_run *run) {
    return run->pass.training && !run->pass.scan && !run->repeats;
}

/* ---- scaling.c: fixed factors between ops and edges ---- */

/* True if a factor stands behind the forward part of a node or before it; behind its backward part.
 */
bool hu_makes_scaled(const hu_run *run, uint32_t node);
bool hu_reads_scaled(const hu_run *run, uint32_t node);
bool hu_gives_scaled(const hu_run *run, uint32_t node);

/* x [n] *= factor. */
void hu_scale_numbers(int64_t n, float factor, float *x);

/* ---- pass.c: questions about a planned run that planning and passes ask alike ---- */

/* True if the chunks leave parameter gradients. */
static inline bool hu_dparam_per_chunk(const hu_run *run, uint32_t node) {
    const hu_node *of = &run->graph->node[node];
    return of->n_params > 0 && of->op->dparam_per_chunk && !run->exec[node].sums_in_batch_order;
}

/* The loop that a node runs in, NULL: none. */
static inline const hu_loop *hu_loop_at(const hu_run *run, uint32_t n) {
    return hu_loop_of(run->graph, &run->graph->node[n]);
}

/* True if a node sums its parameter gradients in the visits of another node's region. */
static inline bool hu_sums_pulled(const hu_run *run, uint32_t node, uint32_t region) {
    const hu_exec *exec = &run->exec[node];
    return exec->is_pulled && exec->backward_in == region && hu_dparam_per_chunk(run, node);
}

/* True if a region sums parameter gradients of one of its nodes in the order of the batch. */
bool hu_region_sums_in_batch_order(const hu_run *run, uint32_t n);

/* True if the partial parameter gradients of a node lie on a stack: every thread makes one, then
 * what is complete of their tree is added before the next ones are made. So they take few places,
 * of which one thread has no use for more, and large ones no room. */
static inline bool hu_stacks_partials(const hu_run *run, uint32_t n) {
    uint32_t region = run->exec[n].backward_in;
    return region != HU_NONE && hu_dparam_per_chunk(run, n) && run->exec[region].is_stacked;
}

/* Threads that share so many visits: one where there is one visit, else all, since a team of
 * another size than the last has to be made. */
static inline int hu_visitors(const hu_run *run, int64_t visits) {
    return visits > 1 ? run->options.threads : 1;
}

/* Partial results on the stack below number `partial`: a subtree for each 1 of the number. */
static inline int64_t hu_stacked(int64_t partial) {
    return __builtin_popcountll((unsigned long long)partial);
}

/* The lazy node that runs right after a product, in its visits, and stores what it makes of the
 * product's output, which is never stored itself; HU_NONE: none does. */
static inline uint32_t hu_taker(const hu_run *run, uint32_t n) {
    hu_value_id out = run->graph->node[n].out[0];
    bool is_taken = !run->exec[n].is_lazy && !hu_loop_at(run, n) && run->is_virtual[out];
    return is_taken ? run->graph->use[run->graph->value[out].uses[0]].node : HU_NONE;
}

/* True if the partial results of a node are taken in loops of its own. */
static inline bool hu_reduces_alone(const hu_run *run, uint32_t n, hu_pass pass) {
    const hu_exec *exec = &run->exec[n];
    return run->graph->node[n].op->reduce && exec->partial_count[pass] > 0 &&
           exec->reduce_in[pass] == HU_NONE;
}

/* True if a product takes the largest numbers of its operands before it runs: they must be stored.
 */
static inline bool hu_looks_at_operands(const hu_run *run, uint32_t n, hu_pass pass) {
    return run->graph->node[n].op->rounds_operands && run->exec[n].partial_count[pass] > 0;
}

/* The region whose forward visits run a node first: its loop's, that of who reads it, or itself. */
static inline uint32_t hu_forward_region(const hu_run *run, uint32_t n) {
    const hu_loop *loop = hu_loop_at(run, n);
    if (loop) return loop->last;
    return run->exec[n].is_lazy ? run->made_in[run->graph->node[n].out[0]] : n;
}

/* True if a node has a loop over the chunks of its own in the forward pass: not if it is lazy, nor
 * within a loop but at its end. */
static inline bool hu_is_region(const hu_run *run, uint32_t n) {
    const hu_loop *loop = hu_loop_at(run, n);
    return loop ? n == loop->last : !run->exec[n].is_lazy;
}

/* The first and the last node whose backward parts, parameters and products a region takes care of:
 * those of its loop, or itself. */
static inline uint32_t hu_region_first(const hu_run *run, uint32_t n) {
    const hu_loop *loop = hu_loop_at(run, n);
    return loop ? loop->first : n;
}
static inline uint32_t hu_region_last(const hu_run *run, uint32_t n) {
    const hu_loop *loop = hu_loop_at(run, n);
    return loop ? loop->last : n;
}

/* The rounding of a forward value at one use, NULL if the use reads the value as it is. */
static inline hu_slot *hu_use_slot(const hu_run *run, uint32_t use) {
    bool rounds = run->use && hu_quantizer_rounds(&run->use[use].edge->quantizer);
    return rounds ? &run->use[use] : NULL;
}

/* The rounding by which parameter gradients read the gradient of an output, NULL if they read what
 * the gradient of the input does. */
static inline hu_slot *hu_weights_view(const hu_run *run, hu_value_id v) {
    return run->grad_weights && run->grad_weights[v].edge ? &run->grad_weights[v] : NULL;
}

/* True if what a use has rounded in the forward pass of a training waits, packed, for the backward
 * pass, which then does not read the value itself (planner/memory.c). */
static inline bool hu_use_is_kept(const hu_run *run, uint32_t use) {
    return run->use && run->use[use].buffer != HU_NONE;
}

/* True if a parameter has a rounded working copy now; else its master is read. */
static inline bool hu_is_rounded_copy(const hu_slot *slot) {
    return slot->buffer != HU_NONE && hu_quantizer_rounds(&slot->edge->quantizer);
}

/* True if numbers that were rounded by `from`, and selected by an op, are values of `to` already:
 * they are counted then, not rounded. */
bool hu_stays_on_grid(const hu_run *run, const hu_quantizer *from, const hu_quantizer *to);

/* True if the sum of a value's gradient contributions is rounded. A sum of one contribution that
 * has the sum's own numbers is not. */
bool hu_rounds_gradient_sum(const hu_run *run, hu_value_id value);

/* True if the contribution of a use outlives the visit that makes it. */
bool hu_use_is_stored(const hu_run *run, uint32_t use);

/* True if the mask of a node is computed again with the node's output, and lives no longer than the
 * visit. */
bool hu_remakes_mask(const hu_run *run, uint32_t n);

/* True if the array of input 0 may be overwritten: nobody else reads it. */
bool hu_overwrites_input(const hu_run *run, const hu_node *node);

/* The slot that holds the gradient of a parameter when it is complete. */
static inline hu_slot *hu_param_gradient(const hu_run *run, hu_value_id param) {
    return hu_is_summed_parameter(run->graph, param)
               ? &run->grad_sum[param]
               : &run->grad[hu_contribution_use(run->graph, param, 0)];
}

/* Notes that a use of a parameter has brought its contribution. True if the gradient is a sum, and
 * this was the last that it needs. */
bool hu_contribution_completes(hu_run *run, uint32_t use);

/* What a tally is of: the value, or that whose gradient it is; by_step: a loop rounds it step by
 * step. */
typedef struct hu_tallied_numbers {
    hu_value_id value;
    const hu_slot *slot;
    bool by_step;
} hu_tallied_numbers;
hu_tallied_numbers hu_tallied(const hu_run *run, uint32_t tally);

/* What the inputs of a node that no format rounds hold for the batch; NULL for the others. */
void hu_point_given(const hu_run *run, uint32_t n, const float **given);

/* Points dparam at partial gradient number `partial` of a node. */
void hu_point_dparams(const hu_run *run, uint32_t n, int64_t partial, float **dparam);

/* Work that is no op's, after those of hu_op_table. */
enum { HU_WORK_ROUND, HU_WORK_UNPACK, HU_WORK_OTHERS };

/* Index of an op, by name: a copy of a record counts as the record. */
int hu_work_of_op(const hu_op *op);

/* ---- tensor_scale.c: scales and ranges of whole tensors ---- */

/* Scales of whole tensors: maxima, and their history.
 *
 * A scale that comes from the tensor's own maximum is known when all rows are present
 * (hu_rescale_finish). A delayed scale is known beforehand: it comes from the maxima of earlier
 * steps, which are state of the run. A pass that is not a training step, or repeats one, leaves
 * that state alone.
 */

/* Gives every slot with a delayed scale its place in the history. Returns the history's length in
 * words, 0 if no scale is delayed; *fingerprint: of the tensors and their lengths. */
uint32_t hu_tensor_scale_place_history(hu_run *run, uint64_t *fingerprint);

/* Empties the history, which planner has just allocated. */
void hu_tensor_scale_clear_history(hu_run *run, uint64_t fingerprint);

/* Where rows from first on are staged until the maximum is known, NULL if the slot needs none. */
float *hu_tensor_scale_staged_rows(const hu_slot *slot, int64_t first);

/* Adds the largest magnitude of rows that are not rounded yet to a tally; for uniform quantizers
 * their range. */
void hu_tensor_scale_add_maximum(const hu_slot *slot, hu_tally *tally, int64_t n, const float *x);

/* Scale of a parameter or its gradient, before its one row x is rounded. is_noted: the maximum
 * belongs to the history. */
void hu_tensor_scale_set_from_row(hu_slot *slot, const float *x, bool is_noted);

/* Maxima of the present step, where several processes share it: how many there are, their bits
 * (HU_NONE: none) in one order, and those of another process joined with them. Bytes need no
 * alignment. */
size_t hu_tensor_scale_tops(const hu_run *run);
void hu_tensor_scale_read_tops(const hu_run *run, void *bytes);
void hu_tensor_scale_raise_tops(hu_run *run, const void *bytes);

/* Takes over the maxima of every tensor that has a delayed scale in both runs of the same graph,
 * the newest ones where it keeps fewer now: they are magnitudes, whatever the format. */
void hu_tensor_scale_carry(hu_run *run, const hu_run *from);

/* ---- range ---- */

/* Ranges of tensors that uniform quantizers round, and running ones of those that
 * are evaluated with them.
 *
 * Source: Banner et al., "Scalable Methods for 8-bit Training of Neural Networks", as CPT and
 * FracTrain implement it: running = 0.9 running + 0.1 current, of zero and width; the first step's
 * range is the first running one.
 */

/* Gives every slot with a running range its place. Returns their number of floats, 0 if there are
 * none; *fingerprint: of the tensors. */
uint32_t hu_tensor_range_place(hu_run *run, uint64_t *fingerprint);

/* Notes the largest magnitude of the threads' tallies, where the slot keeps a history. */
void hu_rescale_note(hu_run *run, hu_slot *slot, uint32_t index);

/* All rows are present: notes their maximum, rounds and stores staged rows. index: of the tally. */
void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index);

/* Sets the scales of the inputs that a node rounds at reading, before it runs forward. */
void hu_rescale_inputs(hu_run *run, uint32_t node);

/* Sets the scales of the gradient sums that a node reads, before it runs backward. */
void hu_rescale_sums(hu_run *run, uint32_t node);

#endif
