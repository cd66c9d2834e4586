/* engine/residual.h - what roundings that learn took from their numbers, in few bits.
 *
 * The residual of x, rounded to Q, is (Q - x) / s: of uniform numbers s is their step, of floats
 * the spacing at Q. It lies in [-1/2, 1/2] and is rounded to r bits (kernel/uniform/uniform.h) in
 * every storage, whether it waits for the backward pass or x is read again there: so all give the
 * same bits. r = 0 (hu_edge.residual_bits): Q - x as it is.
 */
#ifndef HU_ENGINE_RESIDUAL_H
#define HU_ENGINE_RESIDUAL_H
#include "engine/slot.h"

/* Bits of the residuals of a use, 0: it does not learn, or from Q - x as it is. */
uint32_t hu_residual_bits(const hu_slot *slot);

/* Bytes of the residuals of so many rows. */
size_t hu_residual_bytes(const hu_slot *slot, int64_t rows);

/* Keeps the residuals of rows first .. of x, which the slot has rounded to q. */
void hu_residual_keep(const hu_slot *slot, int64_t first, int64_t rows, const float *x,
                      const float *q);

/* Sum over the elements of rows first .. of dq (Q - x), in double precision: element i of them is
 * added to sum i mod 16, in order, and these at the end. x: NULL where residuals were kept. */
double hu_residual_weigh(const hu_slot *slot, int64_t first, int64_t rows, const float *dq,
                         const float *q, const float *x);

/* The same of n elements, from Q - x as it is. */
double hu_residual_weigh_exact(int64_t n, const float *dq, const float *q, const float *x);

#endif
