/* engine/options.h - what a run is planned for, what one pass is asked to do, and what it found. */
#ifndef HU_ENGINE_OPTIONS_H
#define HU_ENGINE_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"
#include "product/geometry.h"
#include "tensor/storage.h"

/* How a run computes. None of these but chunk, seed, products and check_noise changes a bit. */
typedef struct hu_run_options {
    int64_t batch;   /* largest number of samples of a pass */
    int64_t chunk;   /* samples per chunk; part of the definition of the result */
    int64_t streams; /* samples of the whole batch, where states go on from batch to batch
                        (engine/recurrent_state.h); 0: batch */
    int threads;
    hu_storage_mode storage;
    uint64_t seed;
    bool fuse;     /* cheap nodes run inside their neighbours' loops (planner/fusion.h); false gives
                      the same bits, slower */
    int recompute; /* the backward pass computes cheap results again instead of reading them: 0
                      none, 1 those of two operations, 2 outputs of blocks as well
                      (planner/fusion.h)
                    */
    bool only_forward; /* no pass goes backward: numbers live only as long as the forward pass reads
                          them */
    hu_product_engine products; /* who computes products without a chosen accumulator */
    bool check_noise; /* noise is a formula on the names of nodes, as in a run with init=check */
    bool is_plan;     /* to look at only: there is no arena, and no pass */
} hu_run_options;

/* Where a batch comes from: called from several threads on disjoint ranges. field: index of the
 * value among the graph's loaded ones; first: sample of the pass; rows: [count, shape of the
 * value]. */
typedef struct hu_source {
    void *context;
    void (*fill)(void *context, uint32_t field, int64_t first, int64_t count, float *rows);
} hu_source;

/* What one pass is asked to do. */
typedef struct hu_pass_options {
    bool training; /* batch statistics, dropout, counting; forward updates running statistics */
    bool count_products; /* also count what the accumulators of products meet (slower) */
    bool use_masters;    /* parameters are read unrounded (evaluation) */
    bool timed;          /* add up what the time is spent on, see engine/run.h */
    bool counts_all; /* tensors that are not rounded are counted as well; of a pass that does not
                        train: all tensors, into the counts of the step */
    bool scan; /* repeat a pass to look for non-finite numbers in the tensors that are not rounded:
                  counts nothing else and leaves running statistics alone */
    bool keeps_statistics; /* training: running statistics stay as they are; those of one worker
                              count */
    int phase; /* of a graph with turns, from 1 on: its nodes alone run, in both directions. What an
                 earlier turn of the step has made is made again, the same bits, and neither counted
                 nor noted twice. 0: all nodes run, forward only if there are turns */
    int64_t samples;      /* 1 .. batch */
    int64_t first_sample; /* place of the pass's first sample in the whole batch, so that random
                             numbers do not depend on how a batch is cut into passes */
    uint64_t step;        /* random numbers of rounding and dropout */
    uint64_t drawn;       /* samples of the steps before this one, for check_noise */
    /* backward: called when the gradient of a trained parameter is final, from the thread that runs
     * the pass. NULL: nobody waits for it */
    void (*gradient_ready)(void *context, hu_value_id param);
    void *ready_context;
    float seed_gradient; /* backward: gradient of one sample's loss before the loss's weight: loss
                            scale / samples of the whole batch */
    float row_gradient[HU_LOSSES_MOST]; /* the same of one counted row, for losses HU_PER_ROW: loss
                             scale / counted rows of the whole batch (hu_graph_count_units) */
} hu_pass_options;

/* What a forward pass found. */
typedef struct hu_pass_result {
    double loss_sum; /* weighted sum of the samples' losses before any rounding of the losses; of a
                        loss HU_PER_ROW as if every sample had the same number of counted rows */
    double stats[HU_LOSSES_MOST][HU_LOSS_STATS]; /* by loss: sums over the pass, without weights */
    int64_t units[HU_LOSSES_MOST]; /* by loss: all samples, or HU_PER_ROW the rows that counted */
} hu_pass_result;

#endif
