/* explain/sums.h - accumulators as causes of death: products whose sums saturate, are flushed, or
 * do not move any more.
 *
 * Thresholds are shares of one counted step: of accumulators that rounded beyond the largest finite
 * number, of those that a format without subnormals flushed, and of terms of two nonzero factors
 * that changed nothing. Subnormal sums are kept, so that they count where they stall. Long sums of
 * trainings that go well ignore more than half of their terms, the small ones: such a share is a
 * death only where a training that is long enough to tell does not go well.
 */
#ifndef HU_EXPLAIN_SUMS_H
#define HU_EXPLAIN_SUMS_H
#include "explain/why.h"

#define HU_SUMS_SATURATED 0.01
#define HU_SUMS_FLUSHED 0.5
#define HU_SUMS_STALLED 0.9
#define HU_SUMS_SLOWED 0.5

/* The death of a product; false: it has none. What saturates or is flushed stalls too, so that it
 * is told first; the severity is the largest share of the three. The place is that of the tensor
 * that the product makes; behind is not filled in. */
bool hu_sums_death(const hu_why *why, uint32_t product, hu_death *death);

/* Share of a kind in one counted step; 0 for other kinds. */
double hu_sums_share(const hu_product_record *record, hu_death_kind kind);

#endif
