/* precision/promote.h - promotion on overflow: a forward tensor of which too much is beyond its
 * format's range goes to the high candidate, for the rest of the training.
 *
 * Looked at after every step, from the counts of its roundings: the tensor's gradient, its group
 * and its readers stay as they are. Source: Lee et al., algorithm 2.
 */
#ifndef HU_PRECISION_PROMOTE_H
#define HU_PRECISION_PROMOTE_H
#include "precision/plan.h"

/* One promoted tensor. */
typedef struct hu_promotion {
    hu_value_id value;
    hu_quantizer from, to;
    double overflow_share; /* of the elements rounded in the step; NaNs count as overflows */
} hu_promotion;

/* The tensors whose counts of the present step ask for a promotion: those that round to fewer bits
 * than the high candidate and overflowed in at least the share precision->promote_at. promotions:
 * [value_count] room. Changes nothing. */
uint32_t hu_precision_overflowing(const hu_precision *precision, const hu_graph *graph,
                                  const hu_edge_table *edges, hu_promotion *promotions);

/* Gives a forward tensor the high candidate; storage must be planned again. */
void hu_precision_promote(const hu_precision *precision, const hu_graph *graph, hu_value_id v,
                          hu_edge_table *edges);

#endif
