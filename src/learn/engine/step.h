/* engine/step.h - what a step of a loop (graph/loop.h) has from other steps: states, the gradients
 * that they carry, and what is kept for the gradients of parameters. */
#ifndef HU_ENGINE_STEP_H
#define HU_ENGINE_STEP_H
#include "engine/chunk.h"
#include "graph/loop.h"

/* Stores +0 in the steps that the chunk's samples do not have. visit: of whole samples. length:
 * [count] their steps; NULL in a rehearsal. */
void hu_step_clear_rest(hu_chunk *visit, const hu_slot *slot, const int64_t *length);

/* True if a value is a state of the visit's loop; what it is in the present step. */
bool hu_is_state(const hu_chunk *visit, hu_value_id v);
const float *hu_step_state(hu_chunk *visit, uint32_t node);

/* True if the contribution of a use comes from the step behind: it is what the state of that node
 * carries. */
bool hu_is_carried(const hu_chunk *visit, uint32_t use);
const float *hu_step_carried(hu_chunk *visit, uint32_t node);

/* An input that a node holds, of the samples of the step; and room for its gradient there, which
 * hu_step_gather keeps for the sum behind the last step. */
const float *hu_step_held(hu_chunk *visit, uint32_t node, int i);
float *hu_step_held_room(hu_chunk *visit, uint32_t node, int i);
void hu_step_gather(const hu_chunk *visit, uint32_t node, int i, const float *x);

/* Sets what a state carries: gradients x of what it was in this step. */
void hu_step_carry(const hu_chunk *visit, uint32_t node, const float *x);

/* Keeps what a node with parameters reads in this step, for one gradient of them behind the last
 * step; until then the node brings that of its input alone. */
void hu_step_keep(const hu_chunk *visit, uint32_t node, hu_op_call *call);

#endif
