/* engine/chunk.h - passes, chunk by chunk: what their parts ask of each other. Only for engine, and
 * for planner, which rehearses them. */
#ifndef HU_ENGINE_CHUNK_H
#define HU_ENGINE_CHUNK_H
#include "engine/internal.h"
#include "graph/graph.h"

/* ---- chunk.c: one visit of a chunk by a thread ---- */

/* What the passes note while they are rehearsed (planner/rehearsal.c): when each
 * buffer is used, how much scratch a thread needs, and which nodes run in a region. */

/* A buffer (HU_NONE: none) is used at the present time. */
void hu_rehearse_buffer(hu_run *run, uint32_t buffer);

/* A thread's scratch is used up to so many bytes, now. */
void hu_rehearse_scratch(const hu_run *run, hu_visit_scratch *scratch, size_t bytes);

/* ---- parts ---- */

/* One step of the rows of some samples, in a slot whose rows have steps.
 *
 * Slots keep them sample by sample: parts are gathered before an op reads them, and stored one by
 * one. A scale or a range is that of one part, so that no step waits for another, and no sample
 * for the others.
 */

typedef struct hu_parts {
    int64_t step;
    int64_t first, count;  /* count samples: */
    const int32_t *sample; /* [count] first + sample[k] */
    const float *lengths; /* [first + samples] rows of each part that are present: nobody rounds the
                             zeros after them. NULL: all are present */
    int64_t row;          /* elements of such a row */
} hu_parts;

/* Elements of one part. */
static inline int64_t hu_part_elements(const hu_slot *slot) {
    return slot->elements / slot->steps;
}

/* Stores +0 in the steps from `step` on of one sample. zeros: [elements] */
void hu_parts_clear(const hu_slot *slot, int64_t sample, int64_t step, const float *zeros);

/* ---- padding ---- */

/* Rows of samples that are padding (graph/graph.h): zeros, which nobody counts.
 *
 * Whoever has made numbers of a value or of its gradient clears these rows before they are rounded.
 * Zeros stay zeros in a number format and make no scale larger: what remains is to leave them out
 * of the counters. A uniform quantizer may have no zero: its range is that of the other rows, and
 * the rows are cleared again where rounded numbers are read.
 *
 * A loop has the steps that are present and no others (graph/graph.h). What it makes of rows that a
 * node holds has padding in every step, which is cleared, and not looked at when the step is
 * rounded.
 */

/* True if the value has padding in some batch. */
static inline bool hu_has_padding(const hu_run *run, hu_value_id v) {
    return run->graph->value[v].ends.lengths != HU_NONE;
}

/* As hu_tensor_scale_add_maximum, of all rows of x [count, elements of v] but the padding. */
void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally);

/* Numbers of the value that are padding in the present pass. */
uint64_t hu_padding_elements(const hu_run *run, hu_value_id v);

/* Takes out of counts what these zeros were counted as when the slot rounded them. */
void hu_padding_uncount(const hu_run *run, const hu_slot *slot, hu_value_id v,
                        hu_round_counts *counts);

/* ---- rows ---- */

/* One visit: one chunk in one region, by one thread. What a visit reads and writes
 * lies in place (float32), or in the thread's scratch, from which it is packed.
 *
 * In a rehearsal the same code takes the same steps without numbers: it notes when each buffer is
 * used, how much scratch is needed, and which nodes run in a region (engine/chunk.h).
 */

/* Hands out parts of a thread's scratch memory; base NULL only measures. */
typedef struct hu_bump {
    unsigned char *base;
    size_t used;
} hu_bump;
void *hu_bump_take(hu_bump *bump, size_t bytes);

typedef struct hu_chunk {
    hu_run *run;
    hu_thread *thread;
    uint32_t region;
    hu_pass pass;
    int64_t chunk, first, count; /* samples first .. first+count-1 */
    int64_t partial;             /* index of the partial parameter gradients that are written */
    bool adds;                   /* this chunk's part is added to that partial gradient */
    hu_bump bump;
    const hu_loop *loop; /* the visit is of one step of a loop; NULL: of whole samples */
    hu_parts parts;      /* of the loop: the step, and the samples that take part in it */
    const int64_t *row;  /* of the loop: [samples of the chunk] steps of the samples before each */
    uint64_t number;
    double since; /* start of the work that is timed */
} hu_chunk;

/* Elements of one row of a slot in this visit: of a sample, or of one of its steps. */
static inline int64_t hu_chunk_elements(const hu_chunk *visit, const hu_slot *slot) {
    return visit->loop ? hu_part_elements(slot) : slot->elements;
}

/* Number of the calling thread in its team. */
int hu_thread_number(void);

/* Begins the visit of chunk c by a thread. */
hu_chunk hu_chunk_begin(hu_run *run, hu_thread *thread, uint32_t region, hu_pass pass, int64_t c);

/* Adds the time between two calls to a kind of work, where the pass is timed. */
void hu_work_start(hu_chunk *visit);
void hu_work_stop(hu_chunk *visit, int work);

/* Scratch of the visit; rows of a slot in it. Borrowed: valid during the visit. NULL in a
 * rehearsal. */
void *hu_chunk_take(hu_chunk *visit, size_t bytes);
float *hu_chunk_take_rows(hu_chunk *visit, const hu_slot *slot);

/* A buffer (HU_NONE: none) is used now. */
void hu_chunk_touch(hu_chunk *visit, uint32_t buffer);

/* The stored rows of a slot, in place or unpacked. Borrowed: valid during the visit. */
const float *hu_chunk_read(hu_chunk *visit, const hu_slot *slot);

/* The same of another step of the visit's loop. */
const float *hu_chunk_read_step(hu_chunk *visit, const hu_slot *slot, int64_t step);

/* Where an op writes rows of a slot: in place, in the staging buffer, or in scratch. */
float *hu_chunk_place(hu_chunk *visit, const hu_slot *slot, bool is_stored);

/* What hu_chunk_round does with rows. */
enum {
    HU_ROWS_STORED = 1u << 0, /* the rows outlive the visit */
    HU_ROWS_ON_GRID = 1u << 1 /* the numbers are values of the format already: they are counted,
                                 not rounded */
};

/* Rounds and counts the rows x that an op has just written, and stores them if they outlive the
 * visit. flags: HU_ROWS_*. tally: NULL if the rows were counted in an earlier visit. Returns
 * whether x may be read in this visit; if not, readers use the stored copy (packed blocks), or wait
 * for the tensor's maximum. */
bool hu_chunk_round(hu_chunk *visit, const hu_slot *slot, unsigned flags, hu_tally *tally,
                    float *x);

/* Zeroes rows of x, numbers of a value or of its gradient, that are padding (engine/chunk.h); x
 * NULL: there are none. */
void hu_chunk_clear_padding(hu_chunk *visit, hu_value_id v, float *x);

/* The same of what the slot has rounded, where that may have made something of zeros. */
void hu_chunk_clear_rounded(hu_chunk *visit, const hu_slot *slot, hu_value_id v, const float *x);

/* Only rounds the visit's rows x, of a value or of its gradient, and counts (NULL: not counted). */
void hu_chunk_round_rows(const hu_chunk *visit, const hu_slot *slot, hu_value_id v, float *x,
                         hu_round_counts *counts);

/* Notes the exponents of the visit's rows x of a tally, where the pass records; and looks at them
 * as a pass does that rounds nothing. Of all but padding in the steps of a loop. */
void hu_chunk_record(hu_chunk *visit, uint32_t tally, const float *x);
void hu_chunk_scan(hu_chunk *visit, uint32_t tally, const float *x);

/* The call of a node of this region. */
hu_op_call *hu_chunk_call(hu_chunk *visit, uint32_t n);

/* Runs one of a node's functions, outside rehearsals. */
typedef void hu_chunk_fn(const hu_op_call *call);
void hu_chunk_run_op(hu_chunk *visit, uint32_t n, hu_chunk_fn *run, const hu_op_call *call);

/* The inputs of a node that it reads by a factor become scaled copies in scratch. Before the op's
 * own scratch is lent. */
void hu_chunk_scale_inputs(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* What the op has just made is multiplied by the factors of its outputs, or of its inputs'
 * gradients. */
void hu_chunk_scale_outputs(hu_chunk *visit, uint32_t n, const hu_op_call *call);
void hu_chunk_scale_gradients(hu_chunk *visit, uint32_t n, const hu_op_call *call);

/* Gives the op its own scratch, after all that was taken. */
void hu_chunk_lend_scratch(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* Points the call at the mask of its samples: stored, or computed again in this visit. */
void hu_chunk_point_mask(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* What this visit has read or made already. */
static inline bool hu_is_seen(const hu_chunk *visit, const hu_seen *seen) {
    return seen->visit == visit->number;
}
static inline void hu_see(const hu_chunk *visit, hu_seen *seen, const void *rows) {
    *seen = (hu_seen){.visit = visit->number, .rows = (void *)rows};
}

/* What it has made just now; is_away: stored without being left to read. */
static inline void hu_see_made(const hu_chunk *visit, hu_seen *seen, const void *rows,
                               bool is_away) {
    *seen = (hu_seen){visit->number, (void *)rows, true, is_away};
}
static inline void hu_forget(hu_seen *seen) {
    seen->visit = 0;
}

/* ---- value.c: numbers of values in a visit ---- */

/* The rounded rows of a forward value. Borrowed: valid during the visit. */
const float *hu_chunk_value(hu_chunk *visit, hu_value_id v);

/* Makes a value that the visit stores, if it is lazy, and leaves it there. */
void hu_chunk_make(hu_chunk *visit, hu_value_id v);

/* Input i of node n: the value, or a copy that is rounded for this use. is_counted: the rounding is
 * counted here, where the node makes its output first. Borrowed: valid during the visit. */
const float *hu_chunk_input(hu_chunk *visit, uint32_t n, int i, bool is_counted);

/* Input i as a node's backward part sees it: NULL if it is not saved. */
const float *hu_chunk_saved(hu_chunk *visit, uint32_t n, int i);

/* Room for the rows of a value that is loaded or made by the region's own node; then their rounding
 * and storing. */
float *hu_chunk_room(hu_chunk *visit, hu_value_id v);
void hu_chunk_store(hu_chunk *visit, hu_value_id v, float *x);

/* ---- gradient.c: gradients in a visit ---- */

/* Rows of a gradient. */
typedef struct hu_gradient_rows {
    const float *rows; /* Borrowed: valid during the visit */
    bool is_own;       /* the rows lie in scratch that nobody else reads */
} hu_gradient_rows;

/* Sum of the contributions to the gradient of a value, not rounded. Borrowed: valid during the
 * visit. */
const float *hu_chunk_gradient_sum(hu_chunk *visit, hu_value_id v);

/* The gradient of output v of node n, rounded. tally: of the sum, NULL if its rounding is counted
 * elsewhere. */
hu_gradient_rows hu_chunk_gradient(hu_chunk *visit, uint32_t n, hu_value_id v, hu_tally *tally);

/* Points a node's call at the partial gradients of its parameters that the visit writes. */
void hu_chunk_point_dparams(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* Runs a node of this region backward. */
void hu_chunk_run_backward(hu_chunk *visit, uint32_t n);

/* ---- loop.c: what a step of a loop has from other steps ---- */

/* True if a value is a state of the visit's loop; what it is in the present step. */
bool hu_is_state(const hu_chunk *visit, hu_value_id v);
const float *hu_step_state(hu_chunk *visit, uint32_t node);

/* True if the contribution of a use comes from the step after: it is what the state of that node
 * carries. */
bool hu_is_carried(const hu_chunk *visit, uint32_t use);
const float *hu_step_carried(hu_chunk *visit, uint32_t node);

/* An input that a node holds, of the samples of the step; and room for its gradient there, which
 * hu_step_gather keeps for the sum after the last step. */
const float *hu_step_held(hu_chunk *visit, uint32_t node, int i);
float *hu_step_held_room(hu_chunk *visit, uint32_t node, int i);
void hu_step_gather(const hu_chunk *visit, uint32_t node, int i, const float *x);

/* Keeps what a node with parameters reads in this step, for one gradient of them after the last
 * step; until then the node brings that of its input alone. */
void hu_step_keep(const hu_chunk *visit, uint32_t node, hu_op_call *call);

void hu_loop_forward(hu_chunk *visit);
void hu_loop_backward(hu_chunk *visit);

/* ---- region.c: a node and those that run with it ---- */

/* What a region does in one visit: the node's own call, and those of the nodes
 * that run with it (planner/fusion.c). */

/* The region's node forward, and the partial results of its fused nodes. */
void hu_chunk_forward(hu_chunk *visit);

/* The region's node backward, and the nodes that are pulled, pushed and reduced with it. */
void hu_chunk_backward(hu_chunk *visit);

/* Only the partial result of the region's own node. */
void hu_chunk_reduce(hu_chunk *visit);

/* ---- call ---- */

/* Calls of a region's nodes before its loop over the chunks, and the partial
 * results of the chunks after it. */

/* Fills the node-wide facts of a call: everything but the sample pointers. */
void hu_call_prepare(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call);

/* Prepares the calls of all nodes that run in a region, and begins the region's own node. */
void hu_region_begin(hu_run *run, uint32_t n, hu_pass pass);

/* Takes the partial results of a node in loops of its own, and finishes it. */
void hu_region_reduce(hu_run *run, uint32_t n, hu_pass pass);

/* Finishes the fused nodes whose partial results this region has left. */
void hu_region_finish_fused(hu_run *run, uint32_t n, hu_pass pass);

/* ---- forward.c, backward.c ---- */

/* Loads the batch and runs all nodes of a pass that has been started. */
void hu_forward_run(hu_run *run, const hu_source *source, hu_pass_result *result);

/* Runs all nodes backward in a pass that has been started. */
void hu_backward_run(hu_run *run);

/* ---- counters.c: roundings counted by tensor ---- */

/* The counts of the threads go to the edges, and stop a pass where a format could
 * not encode a number. */

/* Zeroes the threads' tallies: the start of a pass. */
void hu_tally_clear(hu_run *run);

/* Adds counts to an edge (evaluation leaves no trace), and marks the pass as overflowed if what was
 * rounded cannot be encoded. end: how many of the first nodes count completely all the same;
 * HU_NONE: the tensor is a gradient. */
void hu_tally_add(hu_run *run, hu_edge *edge, const hu_round_counts *counts, hu_value_id value,
                  uint32_t end);

/* Counts of one tally by all threads, without the numbers that are missing. */
hu_round_counts hu_tally_sum(const hu_run *run, uint32_t index, hu_value_id value);

/* The node has run in the forward pass: notes how many numbers of its output are missing. */
void hu_tally_note_absent(hu_run *run, uint32_t n);

/* All rows of a tensor are present: rounds staged rows, and adds the tallies of all threads to the
 * edge. index: of the tally. */
void hu_tally_collect(hu_run *run, uint32_t index, hu_slot *slot, hu_value_id value,
                      bool in_gradient);

/* Adds the tallies of the inputs that node n rounds at reading. */
void hu_tally_collect_inputs(hu_run *run, uint32_t n);

/* Zeroes the threads' counts of the accumulators of a region's nodes, and lets their calls count
 * where the pass asks for it; then adds them to the nodes'. */
void hu_products_begin(hu_run *run, uint32_t region);
void hu_products_collect(hu_run *run, uint32_t region);

/* ---- findings ---- */

/* What the passes of a step counted in one process, as bytes: so that all
 * processes of a training can know what they counted together, and decide alike.
 *
 * Counts of weights are left out: every process rounds the same ones.
 */

/* ---- exponent_record.c: exponents before rounding, in the steps that are recorded ---- */

/* For passes: rows of the tensor with that tally; from several threads at once. */
void hu_exponent_record_rows(hu_run *run, uint32_t tally, int64_t n, const float *x);

/* The same for a whole tensor, outside of loops over chunks. */
void hu_exponent_record_whole(hu_run *run, uint32_t tally, int64_t n, const float *x);

/* ---- watch.c: numbers of tensors that somebody looks at ---- */

/* The tally of one part of a tensor; HU_NONE: the plan has none. */
uint32_t hu_watch_tally(const hu_run *run, hu_tensor tensor, uint32_t part);

/* A step begins: nothing of it is kept so far. */
void hu_watch_begin(const hu_run *run);

/* For passes of a step: rows of the tensor with that tally, a whole tensor, and rows whose scale is
 * known only now; all before they are rounded. The slot's scale must be that of the numbers. */
void hu_watch_rows(hu_chunk *visit, uint32_t tally, const float *x);
void hu_watch_whole(const hu_run *run, const hu_slot *slot, uint32_t tally, const float *x);
void hu_watch_staged(const hu_run *run, const hu_slot *slot, uint32_t tally, int64_t first,
                     int64_t rows, const float *x);

/* ---- recurrent_state.c: states that go on from pass to pass ---- */

/* States of recurrences that go on from pass to pass (hu_op.is_carried):
 * where the one before has ended, one row for each stream, which is a sample's place in the batch.
 *
 * A run has two banks of rows. A step reads one and writes the other, so that its passes, which may
 * be cut or run again, all begin with the same; hu_carried_end_step changes the banks round. An
 * evaluation goes over the bank that no step reads, in place. Rows are stored as the values are of
 * which they were the last, so that they come back bit for bit. No gradient goes through them:
 * truncated back-propagation, Williams and Peng 1990.
 */

/* True if a value is what such a state starts as. */
static inline bool hu_is_carried_start(const hu_run *run, hu_value_id v) {
    uint32_t producer = run->graph->value[v].producer;
    return producer != HU_NONE && run->graph->node[producer].op->is_carried;
}

/* How rows of one step of a value are stored now. */
hu_storage hu_carried_storage(const hu_slot *slot);

/* ---- passes ---- */

/* What a state starts as, for the samples of the visit: [count, elements]. Borrowed: valid during
 * the visit. */
const float *hu_carried_read(hu_chunk *visit, hu_value_id start);

/* After the last step of a loop: what the state of a node has become. length: [count] steps of the
 * samples; one that has none keeps its state. Does nothing for other states, and in a scan. */
void hu_carried_write(hu_chunk *visit, uint32_t node, const int64_t *length);

/* ---- learn.c: what the loss says of the bits of quantizers that learn ---- */

/* How the loss hangs on the steps of quantizers whose bits are learned.
 *
 * A quantizer gives Q = s round(u) + Z of x = s u + Z; with rounding passed straight through, dQ/ds
 * is round(u) - u. So s dL/ds is the sum of dL/dQ (Q - x) over the elements, of uniform numbers as
 * of floats, whose s is the spacing at x. It is summed in double precision, chunk by chunk in
 * order: threads change no bit. What becomes of it: precision/bit_adaptation.c.
 *
 * Source: the gradient of the loss by the precision in "LDP: Learnable Dynamic Precision".
 */

/* Doubles that a run keeps for its learned uses, 0 if none learns. */
size_t hu_learn_partials(const hu_run *run);

/* True if the rounding of input i of node n learns. Its gradient is then made whoever else wants
 * it: the network's input has one too. */
bool hu_learns_input(const hu_run *run, uint32_t n, int i);

/* dq: the gradient that node n has brought for its rounded input i. Steps of a loop, in which
 * residuals are Q - x as they are, add to one sum of the chunk, which begin_loop sets to 0. */
void hu_learn_begin_loop(const hu_chunk *visit, uint32_t n);
void hu_learn_input(hu_chunk *visit, uint32_t n, int i, const float *dq);

/* The chunks of a backward region are done: the sensitivities of node n's inputs. */
void hu_learn_collect(hu_run *run, uint32_t n);

/* The complete gradient dq of a rounded parameter in this pass. */
void hu_learn_parameter(hu_run *run, hu_value_id param, const float *dq);

/* What processes exchange between hu_learn_end_worker and hu_learn_join of what their own workers
 * have found: hu_learn_bytes bytes, the same in all processes of one plan. */
size_t hu_learn_bytes(const hu_run *run);
void hu_learn_write(const hu_run *run, void *bytes);
void hu_learn_clear(hu_run *run);
void hu_learn_add(hu_run *run, const void *bytes);

/* ---- learn.c: residuals ---- */

/* What roundings that learn took from their numbers, in few bits.
 *
 * The residual of x, rounded to Q, is (Q - x) / s: of uniform numbers s is their step, of floats
 * the spacing at Q. It lies in [-1/2, 1/2] and is rounded to r bits (kernel/uniform/uniform.h) in
 * every storage, whether it waits for the backward pass or x is read again there: so all give the
 * same bits. r = 0 (hu_edge.residual_bits): Q - x as it is.
 */

/* Bits of the residuals of a use, 0: it does not learn, or from Q - x as it is. */
uint32_t hu_residual_bits(const hu_slot *slot);

/* Bytes of the residuals of so many rows. */
size_t hu_residual_bytes(const hu_slot *slot, int64_t rows);

/* Keeps the residuals of rows first .. of x, which the slot has rounded to q. */
void hu_residual_keep(const hu_slot *slot, int64_t first, int64_t rows, const float *x,
                      const float *q);

#endif
