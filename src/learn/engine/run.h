/* engine/run.h - a planned run: what its parts ask of it in a pass, and codes written again at
 * another scale. */
#ifndef HU_ENGINE_RUN_H
#define HU_ENGINE_RUN_H
#include "engine/options.h"
#include "engine/state.h"
#include "graph/edge.h"
#include "graph/weights.h"

/* ---- Questions about a planned run that planning and passes ask alike ---- */

/* True if the chunks leave parameter gradients. */
static inline bool hu_dparam_per_chunk(const hu_run *run, uint32_t node) {
    return run->graph->node[node].op->dparam_per_chunk && !run->exec[node].sums_in_batch_order;
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

/* Partial results on the stack below number `partial`: a subtree for each 1 of the number. */
static inline int64_t hu_stacked(int64_t partial) {
    return __builtin_popcountll((unsigned long long)partial);
}

/* The lazy node that runs right behind a product, in its visits, and stores what it makes of the
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
 * pass, which then does not read the value itself (planner/memory.h). */
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

typedef struct hu_run hu_run;

/* What the run was made of. Borrowed: valid as long as the run. */
const hu_graph *hu_run_graph(const hu_run *run);
const hu_edge_table *hu_run_edges(const hu_run *run);
const hu_weights *hu_run_weights(const hu_run *run);

/* The options of the latest pass. Borrowed: valid until the next pass. */
const hu_pass_options *hu_run_pass(const hu_run *run);

/* True if a format could not encode a number in the latest passes: the step counts as overflowed.
 */
bool hu_run_has_overflowed(const hu_run *run);

/* What the passes of all workers of a step say together, in place of the latest one's: the end of
 * the step and adaptations ask for it. */
void hu_run_set_overflowed(hu_run *run, bool overflowed);

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

/* States that go on from pass to pass (engine/recurrent_state.h) as float32: numbers of one stream,
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

/* ---- work ---- */

/* What the threads' time in the visits of the chunks is spent on, in passes with
 * `timed`. */

/* Work that is no op's, behind those of hu_op_table. */
enum { HU_WORK_ROUND, HU_WORK_UNPACK, HU_WORK_OTHERS };

/* Index of an op, by name: a copy of a record counts as the record. */
int hu_work_of_op(const hu_op *op);

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

#endif
