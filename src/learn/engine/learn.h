/* engine/learn.h - how the loss hangs on the steps of quantizers whose bits are learned.
 *
 * A quantizer gives Q = s round(u) + Z of x = s u + Z; with rounding passed straight through, dQ/ds
 * is round(u) - u. So s dL/ds is the sum of dL/dQ (Q - x) over the elements, of uniform numbers as
 * of floats, whose s is the spacing at x. It is summed in double precision, chunk by chunk in
 * order: threads change no bit. What becomes of it: precision/bit_adaptation.c.
 *
 * Source: the gradient of the loss by the precision in "LDP: Learnable Dynamic Precision".
 */
#ifndef HU_ENGINE_LEARN_H
#define HU_ENGINE_LEARN_H
#include "engine/chunk.h"

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

/* Several workers: the sensitivities of a step are the sums of the workers' own, in their order,
 * whichever process they ran in. end_worker: the passes of one are done; join: those of all are.
 * Between the two, processes exchange what their own have found: hu_learn_bytes bytes, the same in
 * all processes of one plan. */
void hu_learn_end_worker(hu_run *run);
void hu_learn_join(hu_run *run);
size_t hu_learn_bytes(const hu_run *run);
void hu_learn_write(const hu_run *run, void *bytes);
void hu_learn_clear(hu_run *run);
void hu_learn_add(hu_run *run, const void *bytes);

#endif
