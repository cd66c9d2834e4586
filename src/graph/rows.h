/* graph/rows.h - what the forward and the backward half of a visit share: rows of tensors in the
 * arena or in scratch, calls, time. Only for visit.c and gradient.c.
 */
#ifndef HU_GRAPH_ROWS_H
#define HU_GRAPH_ROWS_H
#include "graph/visit.h"

/* Adds the time between two calls to a kind of work, where the pass is timed. */
void hu_work_start(hu_visit *visit);
void hu_work_stop(hu_visit *visit, int work);

/* Scratch of the visit; rows of a slot in it. Borrowed: valid during the visit. NULL in a
 * rehearsal. */
void *hu_visit_take(hu_visit *visit, size_t bytes);
float *hu_visit_take_rows(hu_visit *visit, const hu_slot *slot);

/* A buffer (HU_NONE: none) is used now. */
void hu_visit_touch(hu_visit *visit, uint32_t buffer);

/* The stored rows of a slot, in place or unpacked. */
const float *hu_visit_read(hu_visit *visit, const hu_slot *slot);

/* Where an op writes rows of a slot: in place, where rows wait, or scratch. */
float *hu_visit_place(hu_visit *visit, const hu_slot *slot, bool is_stored);

/* Rounds rows that an op wrote to their place, and stores them. is_member: they are on the slot's
 * grid already. tally NULL: counted before. True: they can be read there in this visit; false: they
 * must be read from storage, or wait. */
bool hu_visit_settle(hu_visit *visit, const hu_slot *slot, bool is_stored, bool is_member,
                     hu_tally *tally, float *x);

/* The call of a node of this region. */
hu_op_call *hu_visit_call(hu_visit *visit, uint32_t n);

/* Runs one of a node's functions, outside rehearsals. */
typedef void hu_visit_fn(const hu_op_call *call);
void hu_visit_run_op(hu_visit *visit, uint32_t n, hu_visit_fn *run, const hu_op_call *call);

/* Gives the op its own scratch, behind all that was taken. */
void hu_visit_lend_scratch(hu_visit *visit, uint32_t n, hu_op_call *call);

/* Points aux at the node's bytes: stored, or made again with the output of the node (makes_aux) and
 * living no longer than the visit. */
bool hu_visit_makes_aux(const hu_run *run, uint32_t n);
void hu_visit_point_aux(hu_visit *visit, uint32_t n, hu_op_call *call);

/* True if what one quantizer has rounded, and an op has picked from, the other leaves as it is. */
bool hu_keeps_members(const hu_run *run, const hu_quantizer *from, const hu_quantizer *to);

/* Input i as a node's backward part sees it: NULL if it is not saved. */
const float *hu_visit_saved(hu_visit *visit, const hu_node *node, int i);

/* Runs a node of this region backward. */
void hu_visit_run_backward(hu_visit *visit, uint32_t n);

/* The gradient of an output of node n, rounded; is_own: in scratch that nobody else reads. counts:
 * the rounding of its sum is counted. */
const float *hu_visit_gradient(hu_visit *visit, uint32_t n, hu_value_id v, bool counts,
                               bool *is_own);

/* What this visit has read or made already. */
static inline bool hu_is_seen(const hu_visit *visit, const hu_seen *seen) {
    return seen->visit == visit->number;
}
static inline void hu_see(const hu_visit *visit, hu_seen *seen, const void *rows) {
    seen->visit = visit->number;
    seen->rows = (void *)rows;
}
static inline void hu_forget(hu_seen *seen) {
    seen->visit = 0;
}

#endif
