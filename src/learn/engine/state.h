/* engine/state.h - the inside of a run. Only for engine and layout: layout fills it, passes use it.
 * Others ask engine/run.h.
 *
 * The batch is cut into chunks of a fixed size; a chunk is one thread's work, and everything that
 * sums over the batch is a partial result per chunk, or per span of chunks that one thread takes in
 * order, merged in a tree over their index: threads do not change bits.
 */
#ifndef HU_ENGINE_STATE_H
#define HU_ENGINE_STATE_H
#include "engine/options.h"
#include "engine/slot.h"
#include "graph/weights.h"
#include "kernel/histogram/histogram.h"

/* Nodes that run in the visits of one region, in ascending order. */
typedef struct hu_members {
    uint32_t *node; /* [count] */
    uint32_t count;
} hu_members;

/* Lists of nodes that run as guests in another node's region; each list is linked through
 * hu_exec.next. */
typedef enum hu_fused_list {
    HU_GUESTS_REDUCED_FORWARD, /* ascending; indexed by hu_pass, like the next one */
    HU_GUESTS_REDUCED_BACKWARD,
    HU_GUESTS_PUSHED, /* descending */
    HU_FUSED_LISTS
} hu_fused_list;

/* Most partial results that the chunks leave of a node's parameter gradients. */
enum { HU_PARTIALS_MOST = 16 };

/* One node of the plan. How nodes are joined into regions: planner/fusion.h. */
typedef struct hu_exec {
    hu_node_info info;
    void *state;
    uint32_t mask, stats, dpartial;               /* buffers, HU_NONE if not needed */
    uint32_t partial[2], workspace[2], params[2]; /* by pass */
    size_t mask_bytes, partial_count[2];
    int64_t dparam_elements;
    int64_t span;             /* chunks whose parameter gradients are added one after the other */
    uint64_t absent;          /* numbers of out[0] that the present pass has not (op/op.h) */
    bool sums_in_batch_order; /* parameter gradients by the op's accumulate (op/op.h) */
    bool is_stacked; /* of a region: its partial parameter gradients lie on a stack (facts.h) */

    int kind;              /* index of its op in hu_op_table */
    bool is_lazy;          /* forward: runs in the visits of who reads its output */
    bool is_pulled;        /* backward: runs in the visits of who made its input, which store its
                              parameter gradients too, if chunks leave any */
    uint32_t backward_in;  /* region of its backward part, itself if its own; HU_NONE: none */
    uint32_t reduce_in[2]; /* region that leaves its partial results, HU_NONE: loops of its own */
    /* first: of the region that this node is, its first guest, or HU_NONE; next: the guest behind
     * this one in the same region, or HU_NONE. */
    uint32_t first[HU_FUSED_LISTS], next[HU_FUSED_LISTS];
    hu_members members[2];
} hu_exec;

/* Where numbers of a tensor lie during one visit. */
typedef struct hu_seen {
    uint64_t visit; /* number of the visit that this holds for */
    void *rows;
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
    hu_op_call *call; /* [node_count] */
    unsigned char *scratch;
    hu_tally *tally;               /* [hu_tally_count], see there */
    hu_seen *value, *contribution; /* [value_count], [use_count] */
    hu_seen *input;                /* [use_count] copies that are rounded at reading, or NULL */
    hu_loop_rows *loop;            /* [node_count] of nodes in loops */
    hu_seen *mask;                 /* [node_count] of nodes whose mask does not outlive the visit */
    uint64_t visits;
    double *seconds; /* [hu_run_work_count()] of passes that were timed */
    hu_gemm_counts (*product_counts)[HU_PRODUCT_ROLES]; /* [node_count] of the nodes that run */
    int64_t units[HU_LOSSES_MOST];                      /* of the chunks that it has loaded */
} hu_thread;

/* A state that goes on from pass to pass (engine/recurrent_state.h). */
typedef struct hu_carried {
    uint32_t node;         /* of the state, in its loop */
    uint32_t buffer[2];    /* [streams] rows of each bank */
    hu_storage storage[2]; /* how they are stored */
} hu_carried;

/* What the rehearsal of the passes notes while it runs (engine/chunk.h). */
typedef struct hu_rehearsal {
    bool is_on;
    int course; /* 0: of a step without turns, or of an evaluation; else number of the turn */
    int32_t time;
    bool *has_met; /* [node_count] nodes that ran in the present region */
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
    size_t arena_bytes, scratch_bytes;
    hu_thread *thread;     /* [options.threads] */
    void **pointers;       /* argument arrays of all calls */
    bool *has_contributed; /* [use_count] of parameters: in the present backward pass */
    hu_carried *carried;   /* [carried_count] */
    uint32_t carried_count;
    int carried_from, carried_to; /* banks that passes read and write */
    int64_t streams;              /* rows of a bank */
    uint32_t
        *history; /* maxima of earlier steps (engine/dynamic_scale.h); NULL: no scale is delayed */
    uint32_t history_words;
    double *learned; /* [use_count][chunks] (engine/learn.h); NULL: no use learns */
    float *ranges;   /* running ranges (engine/dynamic_scale.h); NULL: none is kept */
    uint32_t range_count;
    hu_histogram
        *histogram; /* [hu_tally_count] (engine/exponent_record.h); NULL: nothing is recorded */
    uint64_t record_step;     /* step that the histograms are of */
    bool has_record, records; /* the histograms hold a step; passes record now */
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

#endif
