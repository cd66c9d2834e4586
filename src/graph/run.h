/* graph/run.h - a planned graph: formats, lifetimes, one arena; then forward and backward passes
 * that allocate nothing.
 *
 * The batch is cut into chunks of a fixed size; a chunk is one thread's work, and everything that
 * sums over the batch is a partial result per chunk, or per span of chunks that one thread takes in
 * order, merged in a tree over their index: threads do not change bits.
 */
#ifndef HU_GRAPH_RUN_H
#define HU_GRAPH_RUN_H
#include "graph/memory_plan.h"
#include "graph/slot.h"
#include "kernel/histogram/histogram.h"

typedef struct hu_run_options {
    int64_t batch; /* largest number of samples of a pass */
    int64_t chunk; /* samples per chunk; part of the definition of the result */
    int threads;
    hu_storage_mode storage;
    uint64_t seed;
    bool apart;       /* no node runs in the visits of another: the plain way, for comparison */
    bool recompute;   /* cheap results are made again in the backward pass instead of kept */
    bool by_dnn;      /* dense products by oneDNN */
    bool by_winograd; /* or by Winograd's algorithm where it fits */
} hu_run_options;

/* Where a batch comes from: called from several threads on disjoint ranges; images is [count, H, W,
 * C]. */
typedef struct hu_source {
    void *context;
    void (*fill)(void *context, int64_t first, int64_t count, float *images, float *labels);
} hu_source;

/* What one pass is asked to do. */
typedef struct hu_pass_options {
    bool training; /* batch statistics, dropout, counting; forward updates running statistics */
    bool count_products; /* also count what the accumulators of products meet (slower) */
    bool use_masters;    /* parameters are read unrounded (evaluation) */
    bool timed;          /* add up what the time is spent on, see hu_run_work_seconds */
    bool scan; /* repeat a pass to look for non-finite numbers in the tensors that are not rounded:
                  counts nothing else and leaves running statistics alone */
    int64_t samples;      /* 1 .. batch */
    int64_t first_sample; /* place of the pass's first sample in the whole batch, so that random
                             numbers do not depend on how a batch is cut into passes */
    uint64_t step;        /* random numbers of rounding and dropout */
    float seed_gradient; /* backward: gradient of every sample's loss, scale / samples of the global
                            batch */
} hu_pass_options;

/* What a forward pass found. */
typedef struct hu_pass_result {
    double loss_sum; /* of the samples' losses before the loss op's own rounding */
    int64_t correct;
} hu_pass_result;

/* Nodes that run in the visits of one region, in the order in which they were met. */
typedef struct hu_members {
    uint32_t *node; /* [count] */
    uint32_t count;
} hu_members;

/* One node of the plan. How nodes are joined into regions: graph/fuse.h. */
typedef struct hu_exec {
    hu_node_info info;
    void *state;
    uint32_t aux, stats, dpartial;                /* buffers, HU_NONE if not needed */
    uint32_t partial[2], workspace[2], params[2]; /* by pass */
    size_t aux_bytes, partial_count[2];
    int64_t dparam_elements;
    int64_t span;    /* chunks whose parameter gradients are added one after the other */
    bool sums_whole; /* parameter gradients by the op's accumulate (graph/whole.h) */

    int kind;              /* index of its op in hu_op_table */
    bool is_lazy;          /* forward: runs in the visits of who reads its output */
    bool is_pulled;        /* backward: runs in the visits of who made its input */
    uint32_t backward_in;  /* region of its backward part, itself if its own; HU_NONE: none */
    uint32_t reduce_in[2]; /* region that leaves its partial results, HU_NONE: loops of its own */
    uint32_t next_reduced[2];  /* further node that this region reduces, HU_NONE: no more */
    uint32_t next_pushed;      /* further node whose backward part this region runs, descending */
    uint32_t first_reduced[2]; /* of the region that this node is */
    uint32_t first_pushed;
    hu_members members[2];
} hu_exec;

/* What a thread met of one tensor in the present region. */
typedef struct hu_tally {
    hu_round_counts counts;
    uint32_t top; /* largest magnitude (bits), where scales need it */
} hu_tally;

/* Where numbers of a tensor lie during one visit. */
typedef struct hu_seen {
    uint64_t visit; /* number of the visit that this holds for */
    void *rows;
} hu_seen;

/* What a thread owns during a pass. */
typedef struct hu_thread {
    hu_op_call *call; /* [node_count] */
    unsigned char *scratch;
    hu_tally *tally;               /* [hu_tally_count], see there */
    hu_seen *value, *contribution; /* [value_count], [use_count] */
    hu_seen *aux;                  /* [node_count] of nodes whose aux does not outlive the visit */
    uint64_t visits;
    double *seconds; /* [hu_run_work_count()] of passes that were timed */
    hu_gemm_counts product_counts[HU_PRODUCT_ROLES]; /* of the node that runs */
} hu_thread;

typedef struct hu_run {
    const hu_graph *graph;
    hu_edge_table *edges; /* borrowed: valid as long as the run */
    hu_run_options options;
    hu_slot *value;    /* [value_count] */
    hu_slot *grad;     /* [use_count] */
    hu_slot *grad_sum; /* [value_count] rounding only */
    hu_exec *exec;     /* [node_count] */
    uint32_t *made_in; /* [value_count] region whose forward visits make a lazy value first */
    uint32_t *twin;    /* [use_count] use whose stored contribution is the same, or itself */
    bool *is_virtual;  /* [value_count] lazy and never stored: made again for every reader */
    float *parameters; /* masters, then buffers: one block */
    int64_t *offset;   /* [value_count] of parameters and buffers in that block */
    int64_t trained;   /* elements of all masters */
    int64_t block;     /* elements of masters and buffers */
    hu_buffer *buffers;
    uint32_t buffer_count, buffer_capacity;
    unsigned char *arena;
    size_t arena_bytes, scratch_bytes;
    hu_thread *thread;
    void **pointers;   /* argument arrays of all calls */
    uint32_t *history; /* maxima of earlier steps, see rescale.c; NULL: no scale is delayed */
    uint32_t history_words;
    hu_histogram *histogram;  /* [hu_tally_count] see graph/record.h; NULL: never recorded */
    uint64_t record_step;     /* what it holds is of this step */
    bool has_record, records; /* it holds a step; passes record now */
    bool is_rehearsal; /* the plan walks through the passes (graph/rehearse.h): nothing is computed
                        */
    int32_t time;      /* of the rehearsal */
    hu_status rehearsal;
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

/* Index of a tensor's tally: forward values, contributions by use, gradient sums by value. */
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
static inline uint32_t hu_tally_count(const hu_run *run) {
    return 2 * run->graph->value_count + run->graph->use_count;
}

/* Plans: checks the edges, makes primitives, lays out the arena. The graph must be finished. */
hu_status hu_run_create(const hu_graph *graph, hu_edge_table *edges, const hu_run_options *options,
                        hu_run **run);
void hu_run_free(hu_run *run);

/* Plans again for edges whose quantizers have changed: parameters, buffers and the maxima of
 * delayed scales stay; everything that lives in the arena is lost, and times begin at zero. On
 * failure *run is NULL and its parameters are lost. */
hu_status hu_run_replan(hu_run **run);

/* Initial parameters: f(seed, name), independent of formats. */
void hu_run_init_parameters(hu_run *run);

/* Makes what a batch of this many samples needs, so that passes of that size allocate nothing. */
hu_status hu_run_reserve(hu_run *run, int64_t samples);

/* Rounds the masters into the working copies: the start of a training step (counted) or of an
 * evaluation with rounded weights (not counted). A master that its format cannot encode overflows
 * all passes on these copies. */
void hu_run_round_parameters(hu_run *run, uint64_t step, bool counted);

/* Loads the batch and runs all nodes. overflowed is set (and the pass ends early) where a format
 * could not encode a number; fails only by HU_ERR_INTERNAL. */
hu_status hu_run_forward(hu_run *run, const hu_pass_options *pass, const hu_source *source,
                         hu_pass_result *result);

/* Runs the gradients of the last forward pass. */
hu_status hu_run_backward(hu_run *run, const hu_pass_options *pass);

/* The gradient of a trained parameter after backward: elements first .. first+count-1 (first a
 * multiple of 8), in scratch or in place. Borrowed: valid until the next backward pass. */
const float *hu_run_param_grad(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                               float *scratch);

/* What the threads' time in the visits of the chunks was spent on, in passes with `timed`: the ops
 * by name in the order of hu_op_table, then "round and pack", then "unpack"; seconds summed over
 * threads since hu_run_create or the last hu_run_clear_work. */
int hu_run_work_count(void);
const char *hu_run_work_name(int work);
double hu_run_work_seconds(const hu_run *run, int work);
void hu_run_clear_work(hu_run *run);

/* Bytes that survive from forward to backward: activations and masks. */
uint64_t hu_run_saved_bytes(const hu_run *run);

/* Bytes of the arena by role: the most that lives at one time, at the arena's own peak. */
void hu_run_role_bytes(const hu_run *run, uint64_t bytes[HU_BUFFER_ROLE_COUNT]);

#endif
