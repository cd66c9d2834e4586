/* engine/run.h - a planned run, as others see it: what passes are asked, and what they leave.
 * planner/planner.h makes one; passes allocate nothing. */
#ifndef HU_ENGINE_RUN_H
#define HU_ENGINE_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/histogram.h>

#include "graph/edge.h"
#include "graph/graph.h"
#include "graph/tensor_order.h"
#include "product/geometry.h"
#include "tensor/storage.h"

typedef struct hu_run hu_run;

/* ---- What a run is planned for, what one pass is asked to do, and what it found ---- */

/* How a run computes. None of these but chunk, seed, products and check_noise changes a bit. */
typedef struct hu_run_options {
    int64_t batch;   /* largest number of samples of a pass */
    int64_t chunk;   /* samples per chunk; part of the definition of the result */
    int64_t streams; /* samples of the whole batch, where states go on from batch to batch
                        (engine/recurrent_state.c); 0: batch */
    int threads;
    hu_storage_mode storage;
    uint64_t seed;
    bool fuse;     /* cheap nodes run inside their neighbours' loops (planner/fusion.c); false gives
                      the same bits, slower */
    int recompute; /* the backward pass computes cheap results again instead of reading them: 0
                      none, 1 those of two operations, 2 outputs of blocks as well
                      (planner/fusion.c)
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

/* ---- Passes ---- */

/* Rounds the masters into the working copies: the start of a training step (counted) or of an
 * evaluation with rounded weights (not counted). A master that its format cannot encode overflows
 * all passes on these copies. */
void hu_run_round_parameters(hu_run *run, uint64_t step, bool counted);

/* Rounds those of the parameters that an update in the midst of the step has changed: of one turn,
 * counted from 0. The next step counts them. */
void hu_run_round_phase(hu_run *run, uint64_t step, int phase);

/* Rounds a master in place, uncounted: weights that live in their format. */
void hu_run_round_master(hu_run *run, hu_value_id v);

/* Loads the batch and runs all nodes. The run has overflowed (and the pass ends early) where a
 * format could not encode a number; fails only by HU_ERR_INTERNAL. */
hu_status hu_run_forward(hu_run *run, const hu_pass_options *pass, const hu_source *source,
                         hu_pass_result *result);

/* Runs the gradients of the last forward pass. */
hu_status hu_run_backward(hu_run *run, const hu_pass_options *pass);

/* Elements first .. first + count of the rounded working copy of a parameter; of one that is not
 * rounded, of its master. scratch: room for count floats. Borrowed: valid until the next rounding.
 */
const float *hu_run_rounded_part(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                                 float *scratch);

/* The gradient of a trained parameter after backward: elements first .. first+count-1 (first a
 * multiple of 8), in scratch or in place. Borrowed: valid until the next backward pass. */
const float *hu_run_param_grad(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                               float *scratch);

/* ---- What the latest passes have left ---- */

/* What the run was made of. Borrowed: valid as long as the run. */
const hu_graph *hu_run_graph(const hu_run *run);
const hu_edge_table *hu_run_edges(const hu_run *run);
const hu_weights *hu_run_weights(const hu_run *run);

/* The options of the latest pass. Borrowed: valid until the next pass. */
const hu_pass_options *hu_run_pass(const hu_run *run);

/* True if a format could not encode a number in the latest passes: the step counts as overflowed.
 */
bool hu_run_has_unencodable(const hu_run *run);

/* What the passes of all workers of a step say together, in place of the latest one's: the end of
 * the step and adaptations ask for it. */
void hu_run_set_unencodable(hu_run *run, bool overflowed);

/* Nodes whose outputs the latest forward pass counted completely: the first so many. All, unless a
 * format stopped the pass; then those up to the one that made what the format could not encode. */
uint32_t hu_run_counted_nodes(const hu_run *run);

/* Name of a parameter that its format could not encode when the masters were rounded last, or NULL.
 * Borrowed: valid as long as the graph. */
const char *hu_run_unencodable_parameter(const hu_run *run);

/* The rounded working copy of a parameter; of one that is not rounded, and of running statistics,
 * the weights themselves. scratch: room for its elements. Borrowed: valid until the next rounding.
 */
const float *hu_run_rounded_parameter(const hu_run *run, hu_value_id v, float *scratch);

/* How that copy was rounded: by which quantizer, of kind NONE where it was not, and with which
 * exponent of a scale. */
void hu_run_parameter_rounding(const hu_run *run, hu_value_id v, hu_quantizer *quantizer,
                               int32_t *exponent);

/* The first rows of a value, as the latest forward pass stored them: of a value that the pass still
 * holds, such as the loss node's inputs. scratch: room for rows. Borrowed: valid until the next
 * pass. */
const float *hu_run_value(const hu_run *run, hu_value_id v, int64_t rows, float *scratch);

/* States that go on from pass to pass (engine/recurrent_state.c) as float32: numbers of one stream,
 * 0 where there are none, and [streams][numbers] of what the next step begins with. */
int64_t hu_run_carried_numbers(const hu_run *run);
void hu_run_carried(const hu_run *run, float *rows);

/* Takes them over. Streams with a number that is none of the format that it is stored in begin
 * again as zeros: so many. */
int64_t hu_run_restore_carried(hu_run *run, const float *rows);

/* Running ranges of uniform quantizers as bytes of a checkpoint; *bytes = 0: there are none.
 * Borrowed: valid as long as the run. */
void hu_run_ranges(const hu_run *run, const void **data, size_t *bytes);

/* Takes ranges over if they are of the same tensors; else, and for no data (NULL), there are none
 * yet. HU_ERR_CORRUPT: a number is not finite. */
hu_status hu_run_restore_ranges(hu_run *run, const void *data, size_t bytes);

/* ---- What the threads' time in the visits of the chunks is spent on, in passes with `timed` ----
 */

/* The ops by name in the order of hu_op_table, then "round and pack", then "unpack"; seconds summed
 * over threads since the run was made or the last hu_run_clear_work. */
int hu_run_work_count(void);
const char *hu_run_work_name(int work);
double hu_run_work_seconds(const hu_run *run, int work);
void hu_run_clear_work(hu_run *run);

/* ---- Other quantizers for a planned run, between steps ---- */

/* Takes over the quantizers that the edge table holds now. True if the run has room for all that
 * have changed (hu_edge.capacity_bits): it then computes what a run that is planned for them
 * computes. The rounded copies of the parameters must be made anew. False: nothing has changed, and
 * the run must be planned again (planner/planner.h, hu_run_replan). Allocates nothing. */
bool hu_run_requantize(hu_run *run);

/* ---- Buffers of the arena by role ---- */

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

/* ---- Maxima for delayed scales ---- */

/* The end of a training step: its maxima enter the history and set the next step's scales; of a
 * step that a format stopped only those of what could not be encoded. What the step has stored in
 * tensors with delayed scales must not be read any more. */
void hu_tensor_scale_end_step(hu_run *run);

/* The history as bytes of a checkpoint; *bytes = 0: there is none. Borrowed: valid as long as the
 * run. */
void hu_tensor_scale_history(const hu_run *run, const void **data, size_t *bytes);

/* Takes a history over if it is of the same tensors and lengths; else, and for no data (NULL), it
 * is empty. HU_ERR_CORRUPT: a maximum is no finite number. */
hu_status hu_tensor_scale_restore(hu_run *run, const void *data, size_t bytes);

/* ---- States that go on from pass to pass ---- */

/* An epoch begins: the next step reads zeros. */
void hu_carried_clear(hu_run *run);

/* A step begins: streams that none of its passes comes to keep their states. */
void hu_carried_begin_step(hu_run *run);

/* After a forward pass over samples first .. of the batch, or for samples that no pass of the step
 * has come to. States of a stream that are not all finite, or that the pass did not come to an end
 * with, become zeros. Returns how many streams. */
int64_t hu_carried_settle(hu_run *run, int64_t first, int64_t count, bool has_ended);

/* A step is done: the next one begins where it has ended. */
void hu_carried_end_step(hu_run *run);

/* An evaluation begins with zeros and leaves alone what the next step reads. Its passes begin at
 * samples u streams + i and do not reach into the next u. */
void hu_carried_begin_evaluation(hu_run *run);
void hu_carried_end_evaluation(hu_run *run);

/* ---- Exponents of all tensors before rounding, in the steps that are recorded ---- */

/* Forgets what was recorded; passes record this step from now on, those of a scan too. Nothing
 * happens without room (hu_run_reserve_histograms). */
void hu_exponent_record_begin(hu_run *run, uint64_t step);
void hu_exponent_record_end(hu_run *run);

/* Passes record this step again, beside what was recorded of it. */
void hu_exponent_record_go_on(hu_run *run, uint64_t step);

/* True if there is room for records; true if they hold this step. */
bool hu_exponent_record_has_room(const hu_run *run);
bool hu_exponent_record_has(const hu_run *run, uint64_t step);

/* Records the masters of the parameters. */
void hu_exponent_record_parameters(hu_run *run);

/* What was recorded of a tensor; of a gradient: contributions of all consumers. false: nothing.
 * total must be zero or hold what is added to. */
bool hu_exponent_record_value(const hu_run *run, hu_value_id v, hu_histogram *total);
bool hu_exponent_record_gradient(const hu_run *run, hu_value_id v, hu_histogram *total);
bool hu_exponent_record_sum(const hu_run *run, hu_value_id v, hu_histogram *total);

/* The same of any tensor of a walk. Of what travels between workers nothing is recorded; the update
 * leaves its record of state in the table. */
bool hu_exponent_record_tensor(const hu_run *run, hu_tensor tensor, hu_histogram *total);

/* Counts of numbers that are not rounded, as their histogram tells them. */
hu_round_counts hu_exponent_record_counts(const hu_histogram *x);

/* ---- Numbers of single tensors, for whoever looks at them ---- */

/* Arrays of numbers that a tensor is: contributions of consumers to a gradient, else 1; 0: passes
 * make none, as of a sum that is its only contribution, or of what travels between workers. */
uint32_t hu_run_parts(const hu_run *run, hu_tensor tensor);
bool hu_run_is_watched(const hu_run *run, hu_tensor tensor);

/* Whether a step was made since. */
bool hu_run_has_watched(const hu_run *run, hu_tensor tensor);

/* What is kept of a watched tensor: [contributions of a gradient, samples, elements]. rows: samples
 * of the step; x NULL: none are written. Gives their number. */
int64_t hu_run_watched(const hu_run *run, hu_tensor tensor, int64_t rows, bool rounded, float *x);

/* ---- What several workers and processes have found in one step ---- */

/* Bytes of the findings of a run: the same in all processes of one plan. 0: nothing is counted. */
size_t hu_counters_bytes(const hu_run *run);

/* Writes the counts of the edge table, the maxima for delayed scales, and what learned roundings
 * found (engine/learn.c), of the present step. */
void hu_counters_write(const hu_run *run, void *bytes);

/* all[rows][hu_counters_bytes]: all these become those of all rows together,
 * added in the order of the rows. */
void hu_counters_merge(hu_run *run, const void *all, int32_t rows);

/* Several workers: the sensitivities of a step are the sums of the workers' own, in their order,
 * whichever process they ran in. end_worker: the passes of one are done; join: those of all are. */
void hu_learn_end_worker(hu_run *run);
void hu_learn_join(hu_run *run);

#endif
